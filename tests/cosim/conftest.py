"""What the simulated tests share."""

import shutil

import pytest


@pytest.fixture
def icarus() -> None:
    """Skips the test where Icarus Verilog is not installed."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
