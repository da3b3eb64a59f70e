"""``python -m examples.notebooks DIR``: the notebooks for Jupyter, with what they take.

``--shown`` writes what their cells show, which the documentation has, beside them.
"""

import argparse
import json
import os
from pathlib import Path
from shutil import copy

from examples.notebooks.cells import FOLDER, NOTEBOOKS, SHOWN, as_ipynb, html_of, shown


def main() -> None:
    """Write the notebooks, or what they show."""
    parser = argparse.ArgumentParser(prog="python -m examples.notebooks")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    target.add_argument("--shown", action="store_true")
    asked = parser.parse_args()
    if asked.shown:
        os.chdir(FOLDER)
        found = {name: [html_of(value) for value in shown(name)] for name in NOTEBOOKS}
        SHOWN.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    for name in NOTEBOOKS:
        text = json.dumps(as_ipynb(name), indent=1)
        (asked.folder / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")
    for file in ("digits.onnx", "seven.png", "vgg9.json"):
        copy(FOLDER / file, asked.folder)
    print(f"{len(NOTEBOOKS)} notebooks in {asked.folder}")


if __name__ == "__main__":
    main()
