"""A build by cocotb's runner in a process of its own: ``cosim.simulator.launch REQUEST.json``.

The runner prints to standard output, ends failures with SystemExit and takes its environment from the process; here
it may. A request holds arguments of ``Runner.build``, besides ``simulator`` and ``step``.
"""

import json
import sys
from pathlib import Path

from cocotb_tools.runner import get_runner

__all__ = ["main"]


def main() -> None:
    """Do what the request file says; the exit status is not 0 if it failed."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    runner = get_runner(request.pop("simulator"))
    del request["step"]
    request["timescale"] = tuple(request["timescale"])
    runner.build(**request)


if __name__ == "__main__":
    main()
