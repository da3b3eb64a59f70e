"""The enumeration of loops in threads: the same answers, its share is told, and an interruption ends it."""

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.search.cluster import outer_nest, outer_parts
from hwgen.search.cluster.outer_nest import OuterSpace
from hwgen.search.cluster.outer_parts import in_parts, tell, telling
from hwgen.search.cluster.spreading import shares_of

Ints = NDArray[np.int64]


def layer(kernel: int, size: int, channels: tuple[int, int]) -> Layer:
    return Layer(
        name="some", input_channels=channels[0], output_channels=channels[1], input_height=size, input_width=size,
        kernel=kernel,
    )  # fmt: skip


@pytest.mark.parametrize("most", [0, 40])
@pytest.mark.parametrize(("kernel", "size", "channels"), [(3, 9, (4, 6)), (1, 8, (7, 5))])
def test_threads_find_what_one_finds(
    kernel: int, size: int, channels: tuple[int, int], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = OuterSpace(layer(kernel, size, channels), Bits(), 420, shares=shares_of(4), lanes=Lanes(x=16))
    space.demand(most)
    monkeypatch.setattr(outer_parts, "_threads", lambda: 3)
    level: int | None = -1
    for _ in range(3):
        found = []
        for small in (1 << 60, 0):
            monkeypatch.setattr(outer_nest, "SMALL", small)
            least = space.least(-1 if level is None else level)
            near = [] if least is None else list(space.between(least, int(least * 1.05)))
            found.append((least, near))
        assert found[0] == found[1]
        level = found[0][0]
        assert level is not None
        assert found[0][1]


def test_the_share_is_told_while_the_parts_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outer_parts, "_threads", lambda: 2)
    monkeypatch.setattr(outer_parts, "TELL_SECONDS", 0.01)

    def explored(limits: Ints, part: int, done: Ints) -> None:
        for _ in range(5):
            time.sleep(0.03)
            done[part] += 1
        limits[part] = 7 + part

    shares: list[float] = []
    with telling(shares.append):
        assert in_parts(explored, 10, 100) == 7
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert any(0 < share < 1 for share in shares)
    told = len(shares)
    tell(0.5)
    assert len(shares) == told
    assert in_parts(explored, 10, 3) is None


def test_an_interruption_ends_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outer_parts, "_threads", lambda: 2)
    monkeypatch.setattr(outer_parts, "TELL_SECONDS", 0.01)
    ended = []

    def explored(limits: Ints, part: int, done: Ints) -> None:
        while limits.min() > 0:
            time.sleep(0.001)
        ended.append(part)

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with telling(interrupt), pytest.raises(KeyboardInterrupt):
        in_parts(explored, 1, 100)
    deadline = time.monotonic() + 10
    while len(ended) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(ended) == [0, 1]
