"""Predictions as tables."""

from collections.abc import Sequence

from hwgen.api.predictions import LayerOnCluster, LayerOnHierarchy, LayerOnHwc, LayerPrediction
from hwgen.cli.console import print_table
from hwgen.ir.counts import DIRECTIONS, Counts, directions_at, quantities_at
from hwgen.ir.level import LOCAL
from hwgen.ir.schedule import ARRAYS

__all__ = ["count_rows", "print_layer", "print_together"]


def print_layer(one: LayerPrediction) -> None:
    """Print counts, needs and cycles of a schedule; on a hierarchy its energy."""
    match one:
        case LayerOnHwc():
            _print_on_hwc(one)
        case LayerOnCluster():
            _print_on_cluster(one)
        case LayerOnHierarchy():
            _print_on_hierarchy(one)


def print_together(layers: Sequence[LayerPrediction]) -> None:
    """Print several schedules side by side, a row each."""
    if len(layers) < 2:
        return
    rows: list[list[object]] = [
        [one.given.title, one.schedule.layer.macs, one.bytes, *one.by_operand.values(), one.cycles] for one in layers
    ]
    columns = ["schedule", "MACs", "bytes", *(f"{operand} bytes" for operand in ARRAYS), "cycles"]
    if any(isinstance(one, LayerOnHwc) and one.found is None for one in layers):
        columns[-1] = "cycles at least"
    if all(one.cycles is None for one in layers):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    print_table("Side by side", columns, rows, wide=["MACs", *columns[3:6]])


def _print_on_hwc(one: LayerOnHwc) -> None:
    prediction = one.model
    rows = count_rows(prediction.counts)
    words = prediction.counts.total_words()
    rows.append(["I+W+O", "total", prediction.total_bytes, words])
    with_bias = words + prediction.counts["tcdm", "B", "read"].words
    rows.append(["I+W+O+B", "total", prediction.total_with_bias, with_bias])
    print_table(one.given.title, ["operand", "direction", "bytes", "words"], rows)
    if one.schedule.lane_registers:
        vectors = _rows(prediction.counts, LOCAL.name, ("words",))
        print_table("Vectors that the lanes access in the local memories", ["operand", "direction", "words"], vectors)
    buffers: list[list[object]] = [
        [operand, prediction.need[operand], prediction.need_bytes[operand], prediction.allocation[operand]]
        for operand in ARRAYS
    ]
    buffers.append(["total", prediction.need.total, prediction.need_bytes.total, prediction.allocated_bytes])
    print_table("", ["buffer", "elements", "bytes", "bytes allocated"], buffers)
    _print_cycles(one)


def _print_cycles(one: LayerOnHwc) -> None:
    macs, cycles = one.schedule.layer.macs, one.found
    if cycles is None:
        row: list[object] = [macs, one.cycles, macs / one.cycles]
        print_table("", ["MACs", "cycles at least", "MACs per cycle at most"], [row])
        return
    stalls = [cycles.stalls[operand] for operand in ARRAYS]
    row = [macs, cycles.total, cycles.startup, cycles.compute, *stalls, cycles.drain, macs / cycles.total]
    columns = [
        "MACs",
        "cycles",
        "start",
        "compute",
        "wait for I",
        "wait for W",
        "wait for O",
        "drain",
        "MACs per cycle",
    ]
    print_table("", columns, [row], wide=["drain", "start"])


def count_rows(counts: Counts) -> list[list[object]]:
    """One row per operand and direction: bytes and words."""
    return [
        [operand, direction, counts["tcdm", operand, direction].bytes, counts["tcdm", operand, direction].words]
        for operand, directions in DIRECTIONS.items()
        for direction in directions
    ]


def _print_on_cluster(one: LayerOnCluster) -> None:
    found, times, rings = one.found.prediction, one.found.times, one.found.rings
    title = one.given.title
    for level in found.counts.levels():
        columns = quantities_at(level)
        print_table(f"{title}: {level}", ["operand", "direction", *columns], _rows(found.counts, level, columns))
    shares = [
        [number, *(counts.operand_bytes(operand) for operand in ARRAYS), counts.total_words()]
        for number, counts in enumerate(found.hwcs)
    ]
    print_table("", ["HWC", "I bytes", "W bytes", "O bytes", "words"], shares)
    needs: list[list[object]] = [
        [
            operand,
            found.tcdm_need[operand],
            found.tcdm_need_bytes[operand],
            "" if rings is None else rings[operand],
            found.local.need_bytes[operand],
            found.local.allocation[operand],
            found.replicated[operand],
        ]
        for operand in ARRAYS
    ]
    totals = (found.tcdm_need, found.tcdm_need_bytes, rings, found.local.need_bytes, found.local.allocation)
    needs.append(["total", *("" if total is None else total.total for total in totals), found.replicated.total])
    print_table(
        "", ["buffer", "in the TCDM", "its bytes", "its ring", "local bytes", "allocated", "words read alike"], needs
    )
    if times is None:
        print_table("", ["no program, so neither P is counted nor cycles"], [[one.found.refused]])
        return
    macs = one.schedule.layer.macs
    busy = [round(times.busy[queue]) for queue in ("load", "compute", "store")]
    waits = round(times.waits.get(("compute", "load"), 0)), round(times.waits.get(("compute", "store"), 0))
    print_table(
        "",
        ["MACs", "cycles", "load", "compute", "store", "wait for load", "wait for store", "MACs per cycle"],
        [[macs, round(times.total), *busy, *waits, macs / times.total]],
        wide=["store", "load"],
    )


def _rows(counts: Counts, level: str, columns: tuple[str, ...]) -> list[list[object]]:
    """One row per operand and direction, and the sum of I, W and O."""
    rows: list[list[object]] = []
    totals = dict.fromkeys(columns, 0)
    for operand, directions in directions_at(level).items():
        for direction in directions:
            values = {column: getattr(counts[level, operand, direction], column) for column in columns}
            rows.append([operand, direction, *values.values()])
            if operand in ARRAYS:
                totals = {column: totals[column] + values[column] for column in columns}
    return [*rows, ["I+W+O", "total", *totals.values()]]


def _print_on_hierarchy(one: LayerOnHierarchy) -> None:
    rows: list[list[object]] = [
        [level.name, operand, way, one.counts[level.name, operand, way].bytes]
        for level in one.hierarchy.levels
        for operand in ARRAYS
        for way in DIRECTIONS[operand]
        if one.counts[level.name, operand, way].bytes
    ]
    title = f"{one.given.title} on {one.hierarchy.name}"
    print_table(title, ["served by", "operand", "direction", "bytes"], rows)
    needs: list[list[object]] = []
    for level in one.hierarchy.inner:
        need = one.found.need_bytes[level.name]
        needs.append([level.name, *(need[operand] for operand in ARRAYS), need.total, level.total])
    if needs:
        print_table("", ["bytes held", *ARRAYS, "total", "of"], needs)
    energies: list[list[object]] = [
        [level, *(_microjoule(of[operand]) for operand in ARRAYS), _microjoule(sum(of.values()))]
        for level, of in one.spent.levels.items()
    ]
    energies.append(["multiply-accumulates", "", "", "", _microjoule(one.spent.mac)])
    energies.append(["total", "", "", "", _microjoule(one.spent.total)])
    print_table("", ["energy in uJ", *ARRAYS, "total"], energies)


def _microjoule(picojoule: float) -> str:
    return f"{picojoule / 1e6:,.3f}"
