"""Hardware files of which no hardware can be made are refused when they are read; every key says what it may be."""

from pathlib import Path
from typing import Any

import pytest

from hwgen.arch.hardware_file import hardware_keys, load_hardware, read_hardware_data
from hwgen.ir.document import InputError, dump_yaml
from hwgen.ir.keys import Choice, Range

PLAIN: dict[str, Any] = {"format": 1, "kind": "hardware", "name": "h"}

REJECTED = [
    (
        {"lanes": {"m": 16}, "buffers": {"I": 512, "W": 256, "O": 8}},
        "buffers: O: expected a multiple of 64 bytes from 128 to 65536 with lanes m16, got 8",
    ),
    (
        {"lanes": {"m": 4, "c": 4}, "ports": {"W": 512}, "buffers": {"I": 512, "W": 40, "O": 64}},
        "buffers: W: expected a multiple of 16 bytes from 32 to 65536 with lanes m4c4, got 40",
    ),
    (
        {"lanes": {"x": 16}, "ports": {"W": 512}, "buffers": {"I": 512, "W": 96, "O": 128}},
        "buffers: W: expected a multiple of 64 bytes from 128 to 65536 with lanes x16, got 96",
    ),
    ({"buffers": {"I": 512, "W": 256, "O": 4}}, "buffers: O: expected a multiple of "),
    ({"lanes": {"x": 256}, "budget": 1024}, "budget: expected at least 2568 bytes with lanes x256, got 1024"),
    ({"budget": 20}, "budget: expected at least 72 bytes with any lanes, got 20"),
    ({"constants": {"strid_y": 1}}, "constants: strid_y: expected the name of a setting of the HWC"),
    ({"setting_bits": {"step_0_q": 1}}, "setting_bits: step_0_q: expected the name of a setting of the HWC"),
    ({"lanes": {"m": 5, "c": 4}}, "lanes: expected powers of two along m, c, y, x, 4 to 256 together, got m5c4"),
    ({"lanes": {"m": 2}}, "lanes: expected powers of two along m, c, y, x, 4 to 256 together, got m2"),
    ({"cluster": {"banks": 1}}, "cluster: banks: expected at least 2, got 1"),
]


@pytest.mark.parametrize(("changes", "message"), REJECTED)
def test_rejected(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "h.yaml"
    path.write_text(dump_yaml({**PLAIN, **changes}), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_hardware(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_read() -> None:
    for changes in (
        {"lanes": {"x": 256}},  # --buffer may say how large its memories are
        {"constants": {"stride_y": 1, "step_3_m": 4, "rest_2_0": 1, "bias_stays": 0}},
        {"setting_bits": {"input_base": 32}},
        {"buffers": {"I": 512, "W": 256, "O": 8}},  # lanes along c alone
    ):
        assert read_hardware_data({**PLAIN, **changes}, "h.yaml").name == "h"


def test_every_limit_is_one_that_reading_has() -> None:
    """Values at the ends of what a key may be are read; those beyond them are refused with the key."""
    around: dict[str, Any] = {"hwcs": 1, "tcdm": 1 << 12, "banks": 16}
    checked = 0
    for key in hardware_keys():
        *inside, name = key.name.split(".")
        if not isinstance(key.domain, Choice | Range) or inside[1:2] not in ([], ["dram"]):
            continue
        wrong: list[Any] = ["of no kind", [1]]
        if isinstance(key.domain, Range):
            right = [max(key.domain.low, 1 if key.domain.powers else 0)]
            right += [] if key.domain.high is None or not key.domain.whole else [key.domain.high]
            wrong += [key.domain.low - 1, *([] if key.domain.high is None else [key.domain.high + key.domain.whole])]
        else:
            right = list(key.domain.values)
        for value in right:
            data = placed(inside, name, value, around)
            try:
                read_hardware_data(data, "h.yaml")
            except InputError as error:  # a rule, not a limit
                assert key.rules, (key.name, value, str(error))  # noqa: PT017
        for value in wrong:
            with pytest.raises(InputError, match=rf"^h.yaml: {': '.join([*inside, name])}: expected"):
                read_hardware_data(placed(inside, name, value, around), "h.yaml")
            checked += 1
    assert checked > 60


def placed(inside: list[str], name: str, value: Any, around: dict[str, Any]) -> dict[str, Any]:
    """A file in which a key has a value."""
    data: dict[str, Any] = {**PLAIN, **({"cluster": {**around}} if inside else {})}
    place = data
    for key in inside:
        place = place.setdefault(key, {})
    place[name] = value
    return data


def test_keys_say_what_they_are() -> None:
    keys = {key.name: key.as_json() for key in hardware_keys()}
    assert keys["position_bits"]["values"] == "8 to 16"
    assert keys["position_bits"]["default"] == 16
    assert keys["lanes"]["default"] is None
    assert keys["lanes"]["without"].startswith("free")
    assert keys["name"]["default"] == "hardware"
    assert keys["cluster.load.run"]["without"] == "required"
    assert keys["cluster.banks"]["values"] == "a power of two, 2 to 64"
    assert "a port is as wide as all `banks` together, at most" in keys["cluster.banks"]["rules"]
    assert all(one["meaning"] for one in keys.values())
