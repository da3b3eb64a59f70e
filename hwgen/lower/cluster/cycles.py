"""The cycles of a cluster's program: what each START begins, then the whole program."""

from collections.abc import Iterator

from hwgen.arch.dram import Dram
from hwgen.ir.layer import DIMS, REDUCTION_DIMS
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.cluster.tiles import Slice, TileCommands
from hwgen.model.hwc.cycles import cycles
from hwgen.model.nest.one_level import PerOperand
from hwgen.model.system.cycles import PlayedProgram, play_together
from hwgen.model.system.times import ClusterTimes

__all__ = ["cluster_cycles", "played", "works_of"]

IMMEDIATE = Dram()


def cluster_cycles(program: ClusterProgram, timing: Dram = IMMEDIATE) -> ClusterTimes:
    """The cycles of a program, with a DRAM of this timing."""
    return play_together([played(program)], program.hardware, timing)[0]


def played(program: ClusterProgram) -> PlayedProgram:
    """What decides about the cycles of a program."""
    return PlayedProgram(program.commands, tuple(works_of(program)), program.layout.program, len(program.words))


def works_of(program: ClusterProgram) -> Iterator[int]:
    """Cycles of the layer that each START begins, in program order."""
    schedule, parameters = program.schedule, program.parameters
    buffers = PerOperand(parameters.input_bytes, parameters.weight_bytes, parameters.output_bytes)
    tiles = TileCommands(schedule, None, program.cluster.hwcs, program.placement, {})
    extents = schedule.layer.extents
    found: dict[tuple[str, bool, bool], int] = {}

    def work(part: Slice) -> int:
        small = tiles.small(part)
        reduction = [(part.ranges[DIMS.index(dim)], extents[dim]) for dim in REDUCTION_DIMS]
        resumes = any(low > 0 for (low, _), _ in reduction)
        goes_on = any(high < extent for (_, high), extent in reduction)
        key = repr((small.layer, small.nest)), resumes, goes_on
        if key not in found:
            found[key] = cycles(
                small,
                buffers,
                resumes=resumes,
                goes_on=goes_on,
                in_cluster=True,
                most_requantisers=parameters.most_requantisers,
            ).total
        return found[key]

    return (work(part) for parts in tiles.slices for part in parts)
