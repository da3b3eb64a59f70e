"""When the commands of a cluster's program begin and end: small programs worked out by hand."""

import pytest

from hwgen.model.cluster_cycles import QueueName, Step, simulate

ROOM: dict[QueueName, int] = {"load": 64, "compute": 128, "store": 64}
READ, TAKE, END = 3, 2, 4
LOAD, COMPUTE, STORE = (frozenset({name}) for name in ("load", "compute", "store"))


def load(cycles: float, **more: object) -> Step:
    return Step("load", 8, cycles=cycles, **more)  # type: ignore[arg-type]


def store(cycles: float, **more: object) -> Step:
    return Step("store", 8, cycles=cycles, **more)  # type: ignore[arg-type]


def start(cycles: float, mask: int = 1, **more: object) -> Step:
    return Step("compute", mask=mask, starts=cycles, **more)  # type: ignore[arg-type]


def join(mask: int = 1, **more: object) -> Step:
    return Step("compute", mask=mask, **more)  # type: ignore[arg-type]


def test_one_after_the_other() -> None:
    steps = [load(100, posts=COMPUTE), start(500, takes=LOAD), join(posts=STORE), store(50, takes=COMPUTE)]
    found = simulate(steps, ROOM, start=20)
    began = 20 + READ + 8
    assert found.total == began + 100 + TAKE + 1 + 500 + 1 + 50 + END
    assert found.busy == {"load": 100, "compute": 500, "store": 50}
    # The start is read 3 cycles after the load, the store 14 after that.
    assert found.waits == {("compute", "load"): 100 - READ, ("store", "compute"): found.total - END - 50 - began - 17}


def test_the_next_load_goes_on_beside_the_work() -> None:
    def tiles(serial: bool) -> list[Step]:
        steps = [load(100, posts=COMPUTE)]
        for tile in range(4):
            steps += [start(100, takes=LOAD), join(posts=LOAD if serial else frozenset())]
            if tile < 3:
                steps.append(load(100, posts=COMPUTE, takes=COMPUTE if serial else frozenset()))
        return steps

    beside, serial = simulate(tiles(False), ROOM), simulate(tiles(True), ROOM)
    assert 500 < beside.total < 500 + 60
    assert 800 < serial.total < 800 + 80


def test_several_hwcs_and_waiting_for_all_of_them() -> None:
    steps = [start(300), start(200, 2), start(100, 4), join(7), start(40, 7), join(7)]
    found = simulate(steps, ROOM)
    # Read by 3; taken in 2, started in 1: work until 306, taken by 8: the last join ends behind 306 + 1 + 2 + 1 + 40.
    assert found.total == 306 + 1 + TAKE + 1 + 40 + 1 + END
    assert found.busy["compute"] == 340


def test_a_configuration_waits_for_its_hwcs() -> None:
    configure = Step("compute", 10, mask=1)
    assert simulate([start(300), configure, start(5), join()], ROOM).total == 306 + 10 + TAKE + 1 + 5 + 1 + END
    other = Step("compute", 10, mask=2)
    assert simulate([start(300), other, join()], ROOM).total == 306 + 1 + END


def test_a_load_that_nothing_is_before_takes_longer() -> None:
    steps = [load(100, lead=15), load(100, lead=15)]
    assert simulate(steps, ROOM).total == READ + 8 + 215 + END
    apart = [load(10, lead=15), load(100, lead=15, takes=COMPUTE), start(400), join(posts=LOAD)]
    assert simulate(apart, ROOM).total > 400 + 115


def test_loads_and_stores_share_the_dram() -> None:
    def both(load_demand: float, store_demand: float) -> float:
        return simulate([load(1000, demand=load_demand), store(1000, demand=store_demand)], ROOM).total

    alone = both(500, 500)
    assert alone == 2 * (READ + 8) + 1000 + END
    # Each gets a half; the load ends 11 cycles before the store does, and begins so much before it.
    assert both(1000, 1000) == pytest.approx(2 * (READ + 8) + 1000 + 989 + END, abs=12)
    # The store wants little and gets it, the load gets the rest.
    assert both(1000, 200) == pytest.approx(READ + 8 + 1000 / 0.8, abs=210)
    assert both(1000, 200) > alone + 150


def test_a_full_queue_holds_up_the_reader() -> None:
    steps = [start(1000), *[Step("compute", 60, mask=1)] * 3, load(900)]
    assert simulate(steps, ROOM).total > 1900
    assert simulate(steps, {**ROOM, "compute": 512}).total < 1250


def test_a_program_read_slowly() -> None:
    steps = [Step("compute", 31, mask=1), start(10), join()]
    assert simulate(steps, ROOM, word=8).total - simulate(steps, ROOM).total == pytest.approx(
        32 * 8 - 34 + 10, abs=20
    )


def test_a_token_that_never_comes() -> None:
    with pytest.raises(ValueError, match="waits for a token that never comes"):
        simulate([load(10), start(10, takes=STORE)], ROOM)
