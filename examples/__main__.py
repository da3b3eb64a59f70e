"""``python -m examples``: all examples, two at a time; exit status 1 if one of them misses a mark."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

NAMES = ("squeezenet", "mlperf_tiny", "digits", "face")
"""The longest first. SqueezeNet and the face take the same wheel, so they do not begin together."""


def main() -> int:
    """Run each in a process of its own; what it printed is shown when it has ended."""
    with ThreadPoolExecutor(2) as pool:
        missed = [name for name, status in zip(NAMES, pool.map(_status, NAMES), strict=True) if status]
    print(f"examples: {', '.join(missed)} MISSED" if missed else f"examples: all {len(NAMES)} met their marks")
    return 1 if missed else 0


def _status(name: str) -> int:
    done = subprocess.run([sys.executable, "-m", f"examples.{name}"], stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main())
