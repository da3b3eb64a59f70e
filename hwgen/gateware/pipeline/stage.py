"""The hardware of a stage: what all kinds have in common, and how a pipeline finds the one that it needs."""

from abc import abstractmethod
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

import hwgen.gateware.pipeline.stages
from hwgen.arch.pipeline import PipelineParameters, Stage
from hwgen.gateware.pipeline.collect import Collect

__all__ = ["StageComponent", "component_kinds", "stage_component"]


class StageComponent(wiring.Component):
    """One stage of a pipeline. Every module in `hwgen.gateware.pipeline.stages` may define kinds of it.

    Parameters
    ----------
    parameters
        Of the pipeline.
    number
        Of the stage.

    The pipeline connects the members that a kind has, by their names. All have ``o_pixel`` and ``moved``:

    Members
    -------
    window : In(WindowPort)
        The map that it reads while its newest pixel is in flight.
    map_line : In
        Columns of a line of that map in this tile.
    i_pixel_{n} : In(stream)
        Pixels of its operand n.
    begin : In(1)
        A tile begins on the map that it reads, and all settings are valid.
    settings : In(WindowSettings)
        The settings of its windows. Other settings are members of its own, by the names in `Stage.settings`.
    load, loading, i_weights, keep, biases
        See `WeightStore`; of the kinds that load weights.
    o_pixel : Out(stream)
        The pixels that it makes.
    moved : Out(1)
        It has done a step in this cycle.
    idle : Out(1)
        It needs the settings of its windows no longer, once it has released all pixels of the tile. Without this
        member it never does then.
    """

    builds: ClassVar[type[Stage]]
    """The parameters that this kind is built from."""

    _stage: Any

    def __init__(self, parameters: PipelineParameters, number: int) -> None:
        stage = parameters.stages[number]
        assert isinstance(stage, self.builds)
        self._stage, self._maps = stage, parameters.maps
        self._source, self._made = self._maps[stage.reads_of_all[0]], self._maps[stage.makes]
        self._beat = parameters.weight_beat
        made = {"o_pixel": Out(stream.Signature(8 * self._made.channels)), "moved": Out(1)}
        super().__init__({**self._members(), **made})

    @abstractmethod
    def _members(self) -> dict[str, wiring.Member]:
        """The members of this kind beside ``o_pixel`` and ``moved``."""

    def _load_members(self) -> dict[str, wiring.Member]:
        """The members of a kind that loads weights."""
        return {
            "load": In(1),
            "loading": Out(1),
            "i_weights": In(stream.Signature(8 * self._beat)),
            "keep": Out(self._beat),
            "biases": Out(1),
        }

    def _collect(self, m: Module, lanes: int) -> Collect:
        """What assembles the pixels that it makes from blocks of ``lanes`` channels."""
        m.submodules.collect = collect = Collect(channels=self._made.channels, lanes=lanes, depth=self._made.queue)
        return collect


def stage_component(parameters: PipelineParameters, number: int) -> StageComponent:
    """The hardware of a pipeline's stage, of the kind that its parameters ask for."""
    kind = type(parameters.stages[number])
    return next(one for one in component_kinds() if one.builds is kind)(parameters, number)


def component_kinds() -> list[type[StageComponent]]:
    """All kinds."""
    folder = hwgen.gateware.pipeline.stages
    for module in iter_modules(folder.__path__, f"{folder.__name__}."):
        import_module(module.name)
    return StageComponent.__subclasses__()
