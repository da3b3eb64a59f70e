"""When the commands of a cluster's program begin and end: small programs worked out by hand."""

from random import Random

import pytest

from hwgen.model.cluster.cycles import Fetch, QueueName, Step, simulate

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
    found = simulate(steps, ROOM)
    loaded = READ + TAKE + 100
    assert found.total == loaded + TAKE + 1 + 500 + 1 + TAKE + 50 + END
    assert found.busy == {"load": TAKE + 100, "compute": 500, "store": TAKE + 50}
    # The start's header is read with cycle 14, the store's with cycle 20.
    assert found.waits == {("compute", "load"): loaded - 14, ("store", "compute"): found.total - END - 52 - 20}


def test_a_payload_is_read_while_its_command_is_done() -> None:
    configure = Step("compute", 10, mask=1)
    assert simulate([configure, join()], ROOM).total == READ + 10 + max(TAKE, READ) + TAKE + 1 + END


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
    assert simulate(steps, ROOM).total == READ + TAKE + 215 + END
    apart = [load(10, lead=15), load(100, lead=15, takes=COMPUTE), start(400), join(posts=LOAD)]
    assert simulate(apart, ROOM).total > 400 + 115


def test_loads_and_stores_share_the_dram() -> None:
    def both(load_demand: float, store_demand: float) -> float:
        return simulate([load(1000, demand=load_demand), store(1000, demand=store_demand)], ROOM).total

    alone = both(500, 500)
    assert alone == 2 * READ + 8 + TAKE + 1000 + END
    # Each gets a half; the load ends 11 cycles before the store does, and begins so much before it.
    assert both(1000, 1000) == pytest.approx(2 * (READ + 8) + 1000 + 989 + END, abs=12)
    # The store wants little and gets it, the load gets the rest.
    assert both(1000, 200) == pytest.approx(READ + 8 + 1000 / 0.8, abs=210)
    assert both(1000, 200) > alone + 150


def test_a_full_queue_holds_up_the_reader() -> None:
    steps = [start(1000), *[Step("compute", 60, mask=1)] * 3, load(900)]
    assert simulate(steps, ROOM).total > 1900
    assert simulate(steps, {**ROOM, "compute": 512}).total < 1250


def test_the_program_comes_in_chunks() -> None:
    """Two are asked for at once; the third when there is room for it, behind what the loads have asked for."""
    steps = [*[Step("compute", 15, mask=1)] * 5, join()]
    there = simulate(steps, {**ROOM, "compute": 512}).total
    first = simulate(steps, {**ROOM, "compute": 512}, Fetch(6, 4, 20, (0, 0, 0), 16, 32, 64)).total
    assert first == there + 6 + 20
    slow = simulate(steps, {**ROOM, "compute": 512}, Fetch(6, 4, 20, (100, 300, 50), 16, 32, 64)).total
    # The first chunk comes with cycle 6 + 100, the second 300 + 4 later; the third, asked for when the first has been
    # read, 50 + 4 behind that. In it are the last command and the join.
    third = 6 + 100 + 300 + 4 + 50 + 4
    assert slow == third + READ + 15 + READ + TAKE + 1 + END


def test_chunks_and_loads_wait_for_each_other() -> None:
    steps = [load(1000, demand=1000, share=1, requests=5), *[Step("compute", 15, mask=1)] * 4, join()]
    fetch = Fetch(6, 4, 0, (20, 20, 20), 16, 32, 64)
    alone = simulate(steps[:1], ROOM, Fetch(6, 4, 0, (20,), 16, 32, 64))
    found = simulate(steps, ROOM, fetch)
    # The third chunk waits for 200 cycles of the load, and holds the rest of it up for its own 20.
    assert found.busy["load"] == alone.busy["load"] + 20
    apart = simulate([steps[0], *steps], ROOM, fetch)
    assert apart.busy["load"] == 2000 + TAKE + 20


def test_a_token_that_never_comes() -> None:
    with pytest.raises(ValueError, match="waits for a token that never comes"):
        simulate([load(10), start(10, takes=STORE)], ROOM)


def test_a_chunk_waits_for_all_loads_that_were_asked_for_before() -> None:
    steps = [*[load(100, requests=0.25, stands=1, lead=15)] * 4, *[Step("compute", 15, mask=1)] * 2]
    room: dict[QueueName, int] = {**ROOM, "load": 512, "compute": 512}
    fetch = Fetch(6, 4, 0, (0, 0, 0), 16, 32, 64)
    # The third chunk, in which the second configuration ends, is asked for with cycle 39, with the fourth load's
    # header. The descriptor of the third one is being read by its channel: the chunk comes behind the second load,
    # and the third one behind its 16 beats.
    assert simulate(steps, room, fetch).busy["load"] == TAKE + 15 + 400 + 16
    works = simulate([*steps, start(1000), join()], room, fetch)
    second = 9 + TAKE + 15 + 200
    assert works.total == second + READ + 15 + READ + TAKE + 1 + 1000 + 1 + END


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_end(seed: int) -> None:
    """Whatever is asked for comes, and time goes on."""
    rng = Random(seed)

    def program() -> tuple[list[Step], Fetch]:
        steps: list[Step] = []
        for _ in range(rng.randint(1, 12)):
            for _ in range(rng.randint(1, 8)):
                cycles = rng.choice([1, 2, 38, 400])
                times = {name: rng.choice([0, 0.5, 1]) for name in ("share", "stands")}
                more = {"demand": rng.choice([0, cycles / 2, cycles]), "beats": rng.randint(1, cycles), **times}
                steps.append(load(cycles, lead=rng.choice([0, 19]), requests=rng.choice([0, 0.1, 0.6, 5]), **more))
            steps += [Step("load", posts=COMPUTE), start(rng.choice([1, 50, 700]), takes=LOAD)]
            steps += [Step("compute", rng.randint(1, 30), mask=1)] * rng.randint(0, 9)
            steps += [join(posts=STORE), store(rng.randint(1, 90), demand=1, lead=19, takes=COMPUTE)]
            if rng.random() < 0.3:
                steps.append(Step(None, 7))
        words = sum(1 + step.payload for step in steps)
        chunks = tuple(rng.choice([0.0, 18.0, 48.0]) for _ in range(-(-words // 32)))
        return steps, Fetch(6, 4, rng.choice([1, 20]), chunks, 16, 32, 64)

    steps, fetch = program()
    times = simulate(steps, ROOM, fetch)
    assert times.total >= sum(step.cycles for step in steps if step.queue == "load")
    assert times.total >= sum(step.payload + 1 for step in steps)
    assert times.busy["load"] <= times.total
