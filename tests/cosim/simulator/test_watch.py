"""A simulator is given up for the processor time that it takes without a heartbeat, not for the time of day."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cosim.simulator import watch
from cosim.simulator.watch import HEARTBEAT, Watch
from hwgen.tools.processes import processor_seconds, stop

BUSY = "while True: pass"
# As a script around a simulator does: the one that is busy is a child of the process that was started.
BUSY_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
ASLEEP = "import time; time.sleep(1000)"


@pytest.fixture
def started(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> "Iterator[subprocess.Popen[bytes]]":
    monkeypatch.setattr(watch, "PATIENCE_SECONDS", 0.5)
    process = subprocess.Popen([sys.executable, "-c", request.param], start_new_session=True)
    yield process
    stop(process)


def quiet(folder: Path) -> None:
    """As if the last heartbeat were long ago."""
    (folder / HEARTBEAT).touch()
    os.utime(folder / HEARTBEAT, (time.time() - 2 * watch.QUIET_SECONDS,) * 2)


@pytest.mark.parametrize("started", [BUSY, BUSY_CHILD], indirect=True)
def test_one_that_works_without_a_heartbeat_stands_still(started: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    quiet(tmp_path)
    watched = Watch(started, tmp_path)
    while not watched.stands_still():
        assert started.poll() is None
        time.sleep(0.05)
    assert processor_seconds(started) > 0.5

    (tmp_path / HEARTBEAT).touch()
    assert not watched.stands_still()


@pytest.mark.parametrize("started", [ASLEEP], indirect=True)
def test_one_that_gets_no_processor_does_not(started: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    quiet(tmp_path)
    watched = Watch(started, tmp_path)
    for _ in range(3):
        assert not watched.stands_still()
        time.sleep(1.1)
