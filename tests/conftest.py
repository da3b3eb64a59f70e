"""Settings of all tests: property tests draw the same examples on every run, except in the nightly tests."""

import gc
import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

from hwgen.cli import heartbeat, main
from hwgen.search.core import shared_out
from tests.cli.command_line import Answer, Run
from tests.kernels import collected, compile_for_plans, compile_when_collected, compile_yosys, convert_quickly

settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "nightly", deadline=None, print_blob=True, max_examples=1000, suppress_health_check=[HealthCheck.too_slow]
)
compile_when_collected()
convert_quickly()
# A design is a million small objects: to collect less often saves a tenth of the tests' time.
gc.set_threshold(4_000_000, 5, 10)
# The processors have other tests to run: a search that starts processes to be done sooner says so in its test.
shared_out.ALONE_SECONDS = 60.0
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_finish() -> None:
    """Kernels may be compiled from now on; modules and tests, which stay, are no garbage that is looked through."""
    collected.set()
    gc.freeze()


@pytest.fixture(scope="session")
def kernels_of_plans(tmp_path_factory: pytest.TempPathFactory) -> None:
    """For tests whose processes have little time to plan: the kernels are in the cache."""
    compile_for_plans(tmp_path_factory.mktemp("plans"))


@pytest.fixture(scope="session")
def yosys() -> None:
    """For tests that run Yosys: it is compiled."""
    compile_yosys()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process, with what it wrote to the file descriptors themselves.

    However slow the machine, no line of progress is among it.
    """
    monkeypatch.setattr(heartbeat, "SECONDS", 3600.0)

    def answer(*arguments: object) -> Answer:
        monkeypatch.setattr("sys.argv", ["hwgen", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capfd.readouterr()
        assert isinstance(stopped.value.code, int)
        return Answer(stopped.value.code, captured.out, captured.err)

    return answer


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of sweeps and regressions are done in this process, which has all that a worker would have to load."""
    from tests.studies.engine.inline import open_inline

    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)


@pytest.fixture
def icarus() -> None:
    """Skips the test where Icarus Verilog is not installed."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
