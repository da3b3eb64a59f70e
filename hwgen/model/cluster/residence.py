"""Feature maps that stay in the TCDM from one layer to the next, and weights that are there early: where, and what of
a layer the DMA then moves."""

from collections.abc import Collection
from dataclasses import dataclass

from hwgen.ir.counts import Operand
from hwgen.ir.schedule import ArrayName

__all__ = ["ALL_MOVED", "Residence"]


@dataclass(frozen=True)
class Residence:
    """The maps of one layer that are in the TCDM before or after it, whole, channel by channel.

    Parameters
    ----------
    inputs : TCDM byte address of the input, which is not loaded; None: it comes from the DRAM.
    output : TCDM byte address at which the output stays; None: it does not.
    stored : whether the output goes to the DRAM.
    room : bytes from address 0 on that the layer has for all else; None: the whole TCDM.
    weights : TCDM byte address of the ring of the weights; None: after the inputs that do not stay.
    ahead : whether the first tile of the weights is loaded before the layer begins.
    """

    inputs: int | None = None
    output: int | None = None
    stored: bool = True
    room: int | None = None
    weights: int | None = None
    ahead: bool = False

    def place(self, array: ArrayName) -> int | None:
        """The address of an operand that stays; None: it does not."""
        return {"I": self.inputs, "W": self.weights, "O": self.output}[array]

    @property
    def arrays(self) -> tuple[ArrayName, ...]:
        """The operands that stay."""
        found: tuple[ArrayName, ...] = ("I", "O")
        return tuple(array for array in found if self.place(array) is not None)

    @property
    def unmoved(self) -> Collection[Operand]:
        """The operands that the DMA does not move."""
        kept: tuple[Operand, ...] = () if self.inputs is None else ("I",)
        return kept if self.stored else (*kept, "O")


ALL_MOVED = Residence()
