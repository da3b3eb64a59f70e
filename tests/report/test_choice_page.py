"""The page of a choice: what the cloud leaves out, what a browser draws, what a click shows."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hwgen.report.choice.page import choice_page, choice_picture, thinned
from tests.report.browser import Browser, chromium

COLUMNS = [{"name": name, "kind": kind, "unit": unit, "meaning": ""}
           for name, kind, unit in (("hardware", "text", ""), ("area", "number", "LUT4"))]  # fmt: skip
CLOUD = thinned([(30_000 + 10 * step, 1 + step / 100) for step in range(400)])
ASKED = [{"ms": 4.0}, {"area": 90_000}]


def row(name: str, hwcs: int, lut4: int, ms: float, **changes: Any) -> dict[str, Any]:
    """A plan, with all that the page reads."""
    nodes = [["conv<1>_QuantizeLinear_Output", "conv", 3000, 64_000], ["pool", "max pool", 500, 0]]
    return {
        "hardware": name, "family": f"{hwcs} HWCs", "text": f"{name}\n{ms} ms", "counted": False, "lut4": lut4,
        "area": lut4, "area_unit": "LUT4",
        "ms": ms,
        "images_a_second": 1000 / ms, "images": round(1000 / ms), "mhz": 50.0, "mhz_estimated": 95.0, "dsps": 31,
        "brams": 22, "cycles": 3500, "measured": None, "expected": 3600, "bound": 3000, "bytes": 1000, "energy": 2e6,
        "host": 0, "multipliers": 32 * hwcs, "lanes": "m8c4", "lanes_m": 8, "lanes_c": 4, "hwcs": hwcs,
        "tcdm_bytes": 1 << 15, "banks": 4, "axi_bits": 32, "vector_elements": 2, "port_bits": 32, "I_buffer": 256,
        "W_buffer": 256, "O_buffer": 1024, "nodes": nodes, "front": True, "chosen": False, **changes,
    }  # fmt: skip


ROWS = [
    row("small", 1, 30_000, 8.0),
    row("taken", 2, 50_000, 3.0, measured=3700, counted=True, chosen=True),
    row(
        "a_name_that_is_longer_than_a_telephone_is_wide_and_has_no_place_to_break", 4, 100_000, 1.0, vector_elements=0
    ),
]


def test_the_cloud_has_one_point_of_each_cell() -> None:
    assert 10 < len(CLOUD) < 400
    assert thinned([(1000, 1.0), (1001, 1.0), (2000, 1.0)]) == [{"area": 1000, "ms": 1.0}, {"area": 2000, "ms": 1.0}]


def test_the_picture_has_the_lines_that_are_asked_for() -> None:
    svg = choice_picture(ROWS, CLOUD, ASKED, "LUT4")["svg"].decode()
    without = choice_picture(ROWS, CLOUD, [], "mm2")["svg"].decode()
    assert svg.count("stroke-dasharray") > without.count("stroke-dasharray")
    assert all(text in svg for text in ("1 HWCs", "4 HWCs", "chosen", "the front", "milliseconds an image"))


def test_no_text_of_a_row_ends_the_data() -> None:
    text = choice_page("a & b", "<i>", [row("</script>", 1, 10, 1.0)], CLOUD, ASKED, COLUMNS, "LUT4")
    assert "a &amp; b" in text
    assert not re.search(r"@[A-Z]+@", text.partition('type="module"')[0])
    (data,) = re.findall(r'id="data">(.*?)</script>', text)
    assert json.loads(data)["rows"][0]["hardware"] == "</script>"


@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: the page of a choice is NOT tried")
def test_in_a_browser(tmp_path: Path) -> None:
    file = tmp_path / "choice.html"
    file.write_text(
        choice_page("net: which hardware", ROWS[2]["hardware"], ROWS, CLOUD, ASKED, COLUMNS, "LUT4"), encoding="utf-8"
    )
    points = "#front .point_marks > path"
    event = "document.querySelectorAll('{}')[1].dispatchEvent(new {}('{}', {{bubbles: true}}))"
    with Browser.started(chromium() or "") as browser:
        for width, dark in ((360, False), (360, True), (1600, False), (1600, True)):
            browser.open(file, width=width, dark=dark)
            assert browser.run(f"document.querySelectorAll('{points}').length") == len(ROWS)
            assert browser.run("document.querySelectorAll('#front svg path[opacity=\"0.6\"]').length") == len(CLOUD)
            assert browser.run("document.querySelectorAll('#clusters tbody tr').length") == len(ROWS)
            assert browser.run("document.documentElement.scrollWidth") <= width
            names = "[...document.querySelectorAll('#clusters tbody th')]"
            assert browser.run(f"{names}.every(cell => cell.scrollWidth <= cell.clientWidth)"), "no name is cut"
            assert (
                browser.run("document.querySelector('#clusters thead [data-name=area]').textContent") == "area, LUT4"
            )
            browser.run(event.format(points, "PointerEvent", "pointermove"))
            assert browser.run("document.getElementById('tip').textContent") == "taken3.0 ms"
            browser.run(event.format(points, "MouseEvent", "click"))
            assert browser.run("document.getElementById('detail-title').textContent") == "taken, chosen"
            assert browser.run("document.querySelectorAll('#detail .lane.busy').length") == 2 * 32
            # 64,000 products on 64 multipliers are 1,000 cycles of the 3,000, which are the longest bar.
            widths = "[...document.querySelectorAll('#detail .track i')].map(e => e.style.width)"
            assert browser.run(widths) == ["33.3333%", "66.6667%", "16.6667%"]
            assert "3,700" in browser.run("document.getElementById('detail').textContent")
            assert browser.run(
                "document.getElementById('detail').scrollWidth <= document.getElementById('detail').clientWidth"
            )
            assert browser.run("document.documentElement.scrollWidth") <= width
            browser.run("document.getElementById('detail').close()")
            browser.run("document.querySelectorAll('#clusters tbody tr')[2].click()")
            assert browser.run("document.getElementById('detail').textContent").count("vector unit,") == 0
        assert browser.complaints == []


@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: the page of a choice is NOT tried")
def test_hwcs_alone_have_the_memory_of_their_host(tmp_path: Path) -> None:
    alone: dict[str, Any] = {
        "family": "one HWC alone", "tcdm_bytes": 0, "banks": 0, "axi_bits": 0, "vector_elements": 0, "host": 3,
    }  # fmt: skip
    rows = [row("hwc_small", 1, 9_000, 20.0, **alone), row("hwc_large", 1, 19_000, 5.0, chosen=True, **alone)]
    file = tmp_path / "choice.html"
    page = choice_page("net: which hardware", "hwc_large", rows, CLOUD, ASKED, COLUMNS, "LUT4")
    file.write_text(page, encoding="utf-8")
    with Browser.started(chromium() or "") as browser:
        for width in (360, 1600):
            browser.open(file, width=width, dark=False)
            browser.run("document.querySelectorAll('#clusters tbody tr')[1].click()")
            picture = browser.run("document.querySelector('#detail svg').textContent")
            assert "memoryof the host" in picture
            assert "DMA" not in picture
            assert "DRAM" not in picture
            assert browser.run("document.querySelectorAll('#detail .lane.busy').length") == 32
            assert browser.run("document.documentElement.scrollWidth") <= width
            browser.run("document.getElementById('detail').close()")
        assert browser.complaints == []
