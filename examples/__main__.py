"""``python -m examples``: all examples, one after the other; exit status 1 if one of them misses a mark."""

import subprocess
import sys

NAMES = ("digits", "face", "squeezenet")


def main() -> int:
    """Run each in a process of its own."""
    missed = [name for name in NAMES if subprocess.run([sys.executable, "-m", f"examples.{name}"]).returncode]
    print(f"examples: {', '.join(missed)} MISSED" if missed else f"examples: all {len(NAMES)} met their marks")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
