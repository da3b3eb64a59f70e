"""Programs of the vector unit, command by command on numpy, against golden; closed forms against the literal walk."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Opcode, Queue
from hwgen.arch.descriptor import Descriptor
from hwgen.arch.dram import DramPort
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.vector.shape import VectorShape
from hwgen.ir.document import InputError
from hwgen.ir.network.kinds import Addition, Concatenation
from hwgen.lower.vector.maps import FeatureMap
from hwgen.lower.vector.program import VectorProgram, compile_vector
from hwgen.model.vector.cycles import VectorAccess, vector_access
from tests.oracles.vector_walk import walk_vector
from tests.random.vectors import KINDS, VectorCase, vector_case

HWC = HwcParameters(("m", "x", "c"), 2, 2, 2, 256, 64, 128, cluster=True)
CLUSTER = ClusterParameters(HWC, hwcs=2, tcdm_bytes=1 << 15, vector=True)
DRAM_BYTES = 1 << 16
TABLES = 0x100


def between_channels(case: VectorCase, one: FeatureMap, rng: Random) -> int:
    """Bytes of a gap: any, but whole words between words for additions, and none where another axis is joined."""
    if isinstance(case.node, Addition):
        return 0 if one.plane % 4 else 4 * rng.randint(0, 2)
    return 0 if isinstance(case.node, Concatenation) and case.node.axis != 1 else rng.randint(0, 5)


def compiled(
    case: VectorCase, rng: Random, room: int, resident: tuple[bool, ...], elements: int = 1
) -> tuple[VectorProgram, list]:
    """A program of a case, and its maps: operands, output."""
    dram, tcdm, maps = TABLES + 8 * 256, 1 << 14, []
    for array, inside in zip((*case.operands, case.expected), resident, strict=True):
        base = (tcdm if inside else dram) + rng.randint(0, 3) * (not inside)
        one = FeatureMap.dense(base, *array.shape, resident=inside)
        if inside:
            one = replace(one, plane=one.plane + between_channels(case, one, rng))
        maps.append(one)
        if inside:
            tcdm = base + one.channels * one.plane + -one.channels * one.plane % 4
        else:
            dram = base + array.size
    *inputs, output = maps
    cluster = replace(CLUSTER, vector_elements=elements)
    return compile_vector(case.node, inputs, output, cluster, room=(64, room), constants=TABLES), maps


def run(program: VectorProgram, maps: list[FeatureMap], case: VectorCase) -> tuple[np.ndarray, VectorAccess]:
    """The output, with the queues one after the other as their tokens have it, and what the unit accessed."""
    dram = np.zeros(DRAM_BYTES, np.uint8)
    tcdm = np.zeros(CLUSTER.tcdm_bytes, np.uint8)
    dram[TABLES : TABLES + len(program.constants)] = np.frombuffer(program.constants, np.uint8)
    for one, array in zip(maps, case.operands, strict=False):
        (tcdm if one.resident else dram)[one.addresses] = array.view(np.uint8)
    table, jobs, found = np.zeros(256, np.int8), iter(program.jobs), VectorAccess()
    for command in program.commands:
        if command.opcode is Opcode.MOVE:
            move = Descriptor.decode(command.payload)
            for at, inside in move.runs():
                if command.queue is Queue.LOAD:
                    tcdm[inside : inside + move.length] = dram[at : at + move.length]
                else:
                    dram[at : at + move.length] = tcdm[inside : inside + move.length]
        elif command.opcode is Opcode.START:
            found += walk_vector(next(jobs), tcdm, table, program.cluster.vector_shape)
    output = maps[-1]
    return output.content(tcdm if output.resident else dram), found


@pytest.mark.parametrize("kind", KINDS)
def test_programs_compute_what_golden_computes_and_access_what_is_predicted(kind: str) -> None:
    rng = Random(kind)
    tiles = 0
    for number in range(60):
        case = vector_case(kind, rng, rng.choice((5, 12, 30)))
        resident = tuple(number % 3 == 2 and rng.random() < 0.5 for _ in range(len(case.operands) + 1))
        program, maps = compiled(case, rng, rng.choice((4096, 8000)), resident)
        output, access = run(program, maps, case)
        np.testing.assert_array_equal(output, case.expected, f"{number}: {case.node}")
        assert program.access == access
        assert tokens_left(program) == {}
        if number % 4 == 0:
            wide, maps = compiled(case, rng, 8000, (False,) * (len(case.operands) + 1), rng.choice((2, 4, 8)))
            output, access = run(wide, maps, case)
            np.testing.assert_array_equal(output, case.expected, f"{number}: {case.node}")
            assert wide.access == access
        tiles = max(tiles, sum(command.opcode is Opcode.JOIN for command in program.commands))
    assert tiles > 1


def tokens_left(program: VectorProgram) -> dict[tuple[Queue, Queue], int]:
    """What was posted and not taken."""
    left: dict[tuple[Queue, Queue], int] = {}
    for command in program.commands:
        for other in command.posts:
            left[command.queue, other] = left.get((command.queue, other), 0) + 1
        for other in command.takes:
            left[other, command.queue] = left.get((other, command.queue), 0) - 1
    return {pair: number for pair, number in left.items() if number}


def test_what_follows_without_a_gap_is_one_row_for_the_unit() -> None:
    rng = Random("rows")
    while (case := vector_case("tables", rng)).expected.shape[1] == 1:
        pass
    channels, rows, columns = case.expected.shape
    program, _ = compiled(case, rng, 8000, (False, False))
    assert [(job.channels, job.rows, job.columns) for job in program.jobs] == [(1, 1, rows * columns)] * channels


def test_counts_name_tensors_and_cycles_follow() -> None:
    case = vector_case("table", Random("counts"))
    program, _ = compiled(case, Random(0), 4096, (False, False))
    counts, size = program.counts(DramPort()), case.expected.size
    assert counts["dram", "I", "read"].bytes == counts["dram", "O", "write"].bytes == size
    assert counts["dram", "B", "read"].bytes == 256
    assert counts["tcdm", "B", "read"].words == 64
    assert counts["tcdm", "O", "write"].bytes == size
    assert program.times().total > sum(program.works)


def test_what_the_unit_does_not_compute_is_refused() -> None:
    case = vector_case("max pool", Random(1))
    with pytest.raises(InputError, match="no vector unit"):
        compile_vector(case.node, [], FeatureMap.dense(0, 1, 1, 1), replace(CLUSTER, vector=False), room=(0, 64))
    with pytest.raises(InputError, match="hold no two tiles of a row"):
        compiled(case, Random(0), 4, (False, False))
    add = vector_case("add", Random(1))
    with pytest.raises(InputError, match="expected 2 operands"):
        compile_vector(add.node, [], FeatureMap.dense(0, 1, 1, 1), CLUSTER, room=(0, 64))


def test_closed_forms_are_the_walk() -> None:
    """Single jobs with any alignment, pitch and plane."""
    rng = Random("jobs")
    for _ in range(60):
        case = vector_case(rng.choice(KINDS), rng, 6)
        program, _ = compiled(case, rng, 4096, (False,) * (len(case.operands) + 1))
        for job in program.jobs:
            shifted = replace(
                job,
                input=job.input + 8 * rng.randint(0, 9) + (job.mode != "add") * rng.randint(0, 3),
                input_pitch=job.input_pitch + rng.randint(0, 3),
                output=job.output + rng.randint(0, 3),
                output_pitch=job.output_pitch + rng.randint(0, 3),
                table_from=None,
            )
            memory = np.zeros(CLUSTER.tcdm_bytes, np.uint8)
            for elements in (1, 8):
                shape = VectorShape(elements)
                found = walk_vector(shifted, memory, np.zeros(256, np.int8), shape)
                assert found == vector_access(shifted, shape), shifted


def test_copies_are_moved_while_the_unit_works() -> None:
    """Of a concatenation of two maps, one of them through a table: sooner than one after the other."""
    rng = np.random.default_rng(1)
    given = tuple(rng.integers(-128, 128, (4, 32, 32), np.int16) for _ in range(2))
    names = {"name": "concat", "inputs": ("a", "b"), "outputs": ("o",), "covers": (), "shape": (1, 8, 32, 32)}
    table = rng.integers(-128, 128, 256, np.int8)

    def both(*tables: np.ndarray | None) -> VectorProgram:
        node = Concatenation(**names, axis=1, tables=tables)
        made = (one if through is None else through[one + 128] for one, through in zip(given, tables, strict=True))
        expected = np.concatenate(tuple(made))
        case = VectorCase(node, tuple(one.astype(np.int8) for one in given), expected.astype(np.int8))
        program, places = compiled(case, Random(0), 12000, (False,) * 3)
        np.testing.assert_array_equal(run(program, places, case)[0], case.expected)
        return program

    beside, copied, through = both(None, table), both(None, None), both(table, table)
    assert beside.times().total < through.times().total / 2 + 0.25 * copied.times().total / 2
