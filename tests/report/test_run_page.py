"""The page of a run of a network: sums over images, bars, and widths in a browser."""

import re
from pathlib import Path
from typing import Any

import pytest

from hwgen.report.run.page import run_page
from hwgen.report.run.rows import layer_rows
from tests.report.browser import Browser, chromium

NAMES = ("first<1>_QuantizeLinear_Output", "a_layer_with_quite_a_long_name_that_does_not_fit_QuantizeLinear_Output")


def layer(node: str, image: int, cycles: int, **changes: Any) -> dict[str, Any]:
    """A layer of a document, as much as the page reads."""
    moved = {"dram": {"I": {"read": {"bytes": 70}}, "O": {"write": {"bytes": 30}}, "P": {"read": {"bytes": 0}}},
             "tcdm": {"I": {"read": {"bytes": 200}}, "W": {"read": {"bytes": 40}},
                      "O": {"write": {"bytes": 50}, "read_partial": {"bytes": 10}}}}  # fmt: skip
    energy = {"levels": {"dram": {"I": 5e6, "O": 1e6}, "tcdm": {"I": 2e6}}, "mac": 2e6, "total": 1e7}
    shape = {"op": "depthwise_conv", "kernel": [3, 3], "output_channels": 8, "output_height": 5, "output_width": 6}
    return {
        "node": node, "image": image, "exact": True, "equal": True, "failures": [], "schedule": {"layer": shape},
        "cycles": {"predicted": 100, "measured": cycles}, "utilisation": 0.5, "predicted": moved, "measured": moved,
        "stalls": {"measured": {"input": 10, "weight": 0, "output": cycles}}, "energy": {"measured": energy},
        **changes,
    }  # fmt: skip


def document(**changes: Any) -> dict[str, Any]:
    """Two layers on two images."""
    layers = [layer(NAMES[0], 0, 100), layer(NAMES[1], 0, 300), layer(NAMES[0], 1, 110), layer(NAMES[1], 1, 310)]
    return {
        "network": "net & <co>", "layers": layers, "host": ["pool", "dilated"], "refused": {"dilated": "kernel: 13"},
        "onnxruntime": {"equal": 0.9999, "ties": 0}, "cycles": {"predicted": 400, "measured": 820},
        "utilisation": 0.5, "energy": {"measured": 4e7}, **changes,
    }  # fmt: skip


def test_images_are_added_up() -> None:
    first, second = layer_rows(document())
    assert (first.images, first.start, first.predicted, first.measured, first.useful) == (2, 0, 200, 210, 105)
    assert (second.start, second.measured) == (210, 610)
    assert second.traffic == {"dram": {"I": 140, "O": 60, "P": 0}, "tcdm": {"I": 400, "W": 80, "O": 120}}
    assert second.energy == {"dram": 12e6, "tcdm": 4e6, "MACs": 4e6}


def test_bars() -> None:
    text = run_page(document(), "hwc_16")
    assert not re.search(r"@[A-Z]+@", text)
    assert "net &amp; &lt;co&gt; on hwc_16" in text
    assert "first&lt;1&gt;</b>" in text
    assert "Every element is the integer reference's" in text
    assert "Node by node 99.9900% of all elements are ONNX Runtime's." in text
    ties = run_page(document(onnxruntime={"equal": 1.0, "ties": 1600}), "hwc_16")
    assert "Node by node 100.0000% of all elements are ONNX Runtime's, 1,600 ties aside." in ties
    assert "<li>dilated: kernel: 13</li>" in text
    # The second layer: 610 of 820 cycles from 210 on, half of them useful; it waits for all that is left.
    bars = re.findall(r'left:([\d.]+)%;width:([\d.]+)%" title="([^"]+)"', text)
    assert ("25.6098", "37.1951", "useful lanes: 305 cycles") in bars
    assert ("65.2439", "34.7561", "wait: output: 285 cycles") in bars
    assert "610 (+410)" in text
    assert "DRAM 60.0%, shared memory 20.0%, MACs 20.0%" in text
    assert "Bytes, measured: inputs 280, outputs 120;" in text, "what never moves is not named"


def on_a_cluster() -> dict[str, Any]:
    """A layer, and a node of the vector unit, as a program."""
    first = layer("a", 0, 100, busy={"predicted": {"load": 20, "compute": 80, "store": 10}})
    second = layer("b", 0, 300, schedule=None, kind="add", shape=[1, 8, 5, 6],
                   busy={"predicted": {"load": 50, "compute": 25, "store": 0}})  # fmt: skip
    busy = {
        "predicted": {"load": 70, "compute": 105, "store": 10},
        "measured": {"load": 71, "compute": 1060, "store": 12},
    }
    return document(layers=[first, second], programs=[{"busy": busy}])


def test_units_of_a_cluster() -> None:
    text = run_page(on_a_cluster(), "cluster")
    bars = re.findall(r"--c:var\(--(\w+)\);--h:([\d.]+);left:([\d.]+)%;width:([\d.]+)%", text)
    assert bars == [
        ("input", "0.2000", "0.0000", "25.0000"), ("input", "0.5000", "25.0000", "75.0000"),
        ("useful", "0.8000", "0.0000", "25.0000"), ("f1", "0.2500", "25.0000", "75.0000"),
        ("output", "0.1000", "0.0000", "25.0000"),
    ]  # fmt: skip
    assert "HWCs or vector unit 1,060 cycles (105 predicted)" in text
    assert "Which unit works when" not in run_page(document(), "hwc_16")


def test_what_is_wrong_is_said() -> None:
    one = document(layers=[layer("x", 0, 100), layer("y", 0, 100, equal=False)], energy=None, onnxruntime=None)
    text = run_page(one, "hwc")
    assert "1 of 2 layers not as it should be" in text
    assert '<b class="wrong">y</b>' in text
    assert "<b>x</b>" in text
    assert text.count("<td>NO</td>") == 1


def test_hardware_whose_accesses_take_no_energy() -> None:
    nothing = {"levels": {"dram": {"I": 0.0, "O": 0.0}, "tcdm": {"I": 0.0}}, "mac": 0.0, "total": 0.0}
    free = document(layers=[layer("x", 0, 100, energy={"measured": nothing})], energy={"measured": 0.0})
    assert "Where the energy goes" in run_page(document(), "hwc")
    assert "Where the energy goes" not in run_page(free, "hwc")


@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: the page of a run is NOT tried")
def test_in_a_browser(tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    with Browser.started(chromium() or "") as browser:
        long = document(network="a_model_with_a_name_that_is_longer_than_a_telephone_is_wide")
        for one, lines in ((document(), 8), (long, 8), (on_a_cluster(), 12)):
            file.write_text(run_page(one, "hardware"), encoding="utf-8")
            for width in (360, 1600):
                browser.open(file, width=width)
                assert browser.run("document.documentElement.scrollWidth") <= width
                bars = "[...document.querySelectorAll('.track i')].map(e => e.getBoundingClientRect())"
                assert browser.run(f"{bars}.every(r => r.width >= 1 && r.left >= 0 && r.right <= innerWidth)")
                assert browser.run("document.querySelectorAll('.line').length") == lines
        assert browser.complaints == []
