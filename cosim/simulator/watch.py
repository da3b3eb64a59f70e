"""Notices a simulator whose simulated time stands still: combinational logic that oscillates, say."""

import subprocess
import time
from pathlib import Path

from hwgen.tools.processes import processor_seconds

__all__ = ["HEARTBEAT", "Watch"]

HEARTBEAT = Path("alive")  # in the simulator's working directory; touched as long as simulated time goes on
QUIET_SECONDS = 60.0
PATIENCE_SECONDS = 200.0


class Watch:
    """A watch over one simulator, which touches `HEARTBEAT` now and then in the folder that it runs in.

    What counts is the processor time that it takes without a heartbeat, not the time of day: on a busy machine, or
    on one that was suspended, the next one comes late.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._process, self._folder = process, folder
        self._heartbeat, self._taken, self._asked = 0.0, 0.0, 0.0

    def stands_still(self) -> bool:
        """Whether it stands still; to be asked often. The processor time is counted from the first question after
        `QUIET_SECONDS` of quiet."""
        now, heartbeat = time.time(), self._last_heartbeat()
        if now - heartbeat <= QUIET_SECONDS or now - self._asked < 1:
            return False
        self._asked, taken = now, processor_seconds(self._process)
        if heartbeat != self._heartbeat:
            self._heartbeat, self._taken = heartbeat, taken
        return taken - self._taken > PATIENCE_SECONDS

    def _last_heartbeat(self) -> float:
        file = self._folder / HEARTBEAT
        return (file if file.exists() else self._folder).stat().st_mtime
