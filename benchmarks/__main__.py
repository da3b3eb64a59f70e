"""Runs every benchmark, or those whose names are given; the exit status is 1 if one misses its mark.

A benchmark is a module ``bench_*.py`` here with a function ``main() -> bool``, which prints what it measured and says
whether its marks were met.
"""

import sys
from importlib import import_module
from pathlib import Path


def main() -> int:
    """Run the benchmarks that the command line names; all of them without."""
    names = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    wanted = sys.argv[1:] or names
    for name in wanted:
        if name not in names:
            print(f"{name}: expected one of {', '.join(names)}", file=sys.stderr)
            return 2
    met = True
    for name in wanted:
        print(f"== {name}", flush=True)
        met = import_module(f"benchmarks.bench_{name}").main() and met
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
