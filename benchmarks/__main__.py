"""Runs every benchmark, or those whose names are given; the exit status is 1 if one misses its mark.

A benchmark is a module ``bench_*.py`` here with a function ``main() -> bool``, which prints what it measured and says
whether its marks were met. Options after the name of a benchmark are functions of the module that are called in place
of it: those that it has in ``OPTIONS``, such as ``area --fit``.
"""

import sys
from importlib import import_module
from pathlib import Path


def main() -> int:
    """Run the benchmarks that the command line names; all of them without."""
    names = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    wanted = [word for word in sys.argv[1:] if word not in options] or names
    for name in wanted:
        if name not in names:
            print(f"{name}: expected one of {', '.join(names)}", file=sys.stderr)
            return 2
    met = True
    for name in wanted:
        module = import_module(f"benchmarks.bench_{name}")
        known: tuple[str, ...] = getattr(module, "OPTIONS", ())
        if unknown := [option for option in options if option not in known]:
            print(f"{unknown[0]}: expected {' or '.join(known) or 'no option'} after {name}", file=sys.stderr)
            return 2
        print(f"== {name} {' '.join(options)}".rstrip(), flush=True)
        calls = [option.removeprefix("--") for option in options] or ["main"]
        for call in calls:
            met = getattr(module, call)() and met
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
