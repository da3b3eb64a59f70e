"""Values set in the text of a YAML document, in whatever style it is written."""

import pytest
import yaml

from hwgen.ir.document import edited

NEW = {"load": {"run": 1.5}, "store": {"run": 2}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a: 1  # one\nc: {x: 1, y: [2, 3]}  # two\nz: 3\n",
            "a: 1  # one\nc: {x: 1, y: [2, 3], load: {run: 1.5}, store: {run: 2}}  # two\nz: 3\n",
        ),
        (
            "c: {x: 1,  # why\n    y: 2,  # last\n  }\n",
            "c: {x: 1,  # why\n    y: 2, load: {run: 1.5}, store: {run: 2},  # last\n  }\n",
        ),
        ("c: {}\n", "c: {load: {run: 1.5}, store: {run: 2}}\n"),
        (
            "c:\n    x: 1\n    y:\n      - 1  # in\n  # below\nz: 1\n",
            "c:\n    x: 1\n    y:\n      - 1  # in\n    load: {run: 1.5}\n    store: {run: 2}\n  # below\nz: 1\n",
        ),
        (
            "c:\n  load: {run: 7}  # old\n  x: 1\n  store:\n    run: 8\n  # below\n",
            "c:\n  load: {run: 1.5}  # old\n  x: 1\n  store: {run: 2}\n  # below\n",
        ),
        ("c: {load: {run: 7}, x: 1, 'store': null}", "c: {load: {run: 1.5}, x: 1, 'store': {run: 2}}"),
        ("c:\n  x: 1", "c:\n  x: 1\n  load: {run: 1.5}\n  store: {run: 2}\n"),
        ("c:\r\n  x: 1\r\nz: 2\r\n", "c:\r\n  x: 1\r\n  load: {run: 1.5}\r\n  store: {run: 2}\r\nz: 2\r\n"),
    ],
)  # fmt: skip
def test_all_else_stays(text: str, expected: str) -> None:
    before, after = yaml.safe_load(text), edited(text, "c", NEW)
    assert after == expected
    assert yaml.safe_load(after) == {**before, "c": {**before["c"], **NEW}}
