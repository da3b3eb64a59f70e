"""The best loop order for many layers, and the best shape of the lanes for one layer."""

from collections.abc import Sequence
from dataclasses import dataclass

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.search.core.optimal import Result, search
from hwgen.search.core.space import Target
from hwgen.search.hwc.order_candidates import LayerSet
from hwgen.search.objectives.of_hwc import hwc_objective

__all__ = ["BestOrder", "best_lanes", "best_order"]


@dataclass(frozen=True)
class BestOrder:
    """The order in which a set of layers costs least, and each layer's best schedule in it."""

    order: Order
    results: tuple[Result, ...]

    @property
    def total_bytes(self) -> int:
        """Traffic of all layers."""
        return sum(result.total_bytes for result in self.results)


def best_order(
    layers: Sequence[Layer],
    buffer_bytes: int,
    hardware: Hardware | None = None,
    objective: str = "traffic",
    *,
    bits: Bits | None = None,
) -> BestOrder:
    """The order (loops and marker places) that is best for all layers layer_set (Stoutchinin et al. 2019, V-B).

    Each layer has its own steps and its own split of the buffer. An HWC has one split for all layers: see
    `hwgen.search.hwc.shared.best_shared`. Of orders of equal cost, one with the fewest loops is returned. Raises
    `InputError` if no order fits the buffer with all layers.
    """
    layer_set = LayerSet(
        tuple(layers), Target.of(hardware), float(buffer_bytes), hwc_objective(objective), bits or Bits()
    )
    variants = layer_set.variants
    best = None
    for variant in (variants[0], *sorted(variants[1:], key=lambda variant: variant.loops)):
        if best is not None and variant.loops >= best.variant.loops:
            continue
        words = objective != "traffic"
        candidates = (
            layer_set.candidates(variant, best.bound, words=words)
            if best
            else layer_set.nearest_candidates(variant, words=words)
        )
        if candidates:
            best = candidates[0]
    if best is None:
        raise InputError(f"no order fits a buffer of {buffer_bytes} bytes with all {len(layers)} layers")
    triple = int(best.triples.index[best.triple])
    for order in layer_set.orders_of(best.variant, triple):
        try:
            found = [search(layer, [buffer_bytes], hardware, objective, order, bits=bits)[0] for layer in layers]
        except InputError:  # an idle loop is needed after all, for its marker
            continue
        if sum(result.value(hwc_objective(objective)) for result in found) == best.bound:
            return BestOrder(order, tuple(found))
    raise RuntimeError(f"search of the best order: no order gives {best.bound}")


def best_lanes(
    layer: Layer, buffer_bytes: int, lanes: int = 16, objective: str = "cycles", *, bits: Bits | None = None
) -> Result:
    """The best schedule over all shapes of the lanes; of equal ones, that of the first shape (along x).

    The shape is the schedule's ``lanes``. Costs and needs are those of hardware, also for shapes that no HWC has yet.
    """
    best = None
    refusal = InputError(f"{layer.name}: no shape of {lanes} lanes")
    for shape in Lanes.shapes(lanes):
        try:
            (found,) = search(layer, [buffer_bytes], Hardware(name="lanes", lanes=shape), objective, bits=bits)
        except InputError as error:
            refusal = error
            continue
        if best is None or found.value(hwc_objective(objective)) < best.value(hwc_objective(objective)):
            best = found
    if best is None:
        raise refusal
    return best
