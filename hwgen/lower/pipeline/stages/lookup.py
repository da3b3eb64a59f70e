"""Rows whose elements go through tables."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.pipeline import LookupStage
from hwgen.golden.network import RowData
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Node
from hwgen.ir.network.kinds import Lookup
from hwgen.ir.requantisation import LOWEST, TABLE_ENTRIES
from hwgen.lower.pipeline.lanes import Lanes, Work
from hwgen.lower.pipeline.stage import Int8, PlannedStage, RunningStage, Words
from hwgen.lower.pipeline.stages.window import WindowKind
from hwgen.model.pipeline.cycles import POOL
from hwgen.model.pipeline.graph import LineAxis

__all__ = ["KINDS"]


class _Lookup(WindowKind[LookupStage]):
    parameters = LookupStage
    played_kind = POOL

    def runs(self, node: Node) -> bool:
        return node.operator.tables

    def work(self, node: Node, pixels: int) -> Work:
        return Work.of_channels(pixels, 1, node.output_channels)

    def stage(self, planned: PlannedStage, lanes: Lanes) -> LookupStage:
        row, (source,) = planned.row, planned.operands
        return LookupStage(source.reads, planned.makes, row.kernel, row.stride, row.node.groups, lanes.outputs)

    def weight_words(self, stage: LookupStage, data: RowData, axis: LineAxis) -> Iterator[NDArray[np.uint8]]:
        """An entry of the table; or, block by block, the same entry of each lane's table."""
        if not isinstance(data.quantised, Lookup):
            raise InputError("lookup: expected its tables, got none")
        tables = np.ascontiguousarray(data.quantised.tables).view(np.uint8)
        if stage.tables == 1:
            yield tables[0].reshape(-1, 1)
        else:
            blocks = tables.reshape(-1, stage.lanes, TABLE_ENTRIES).transpose(0, 2, 1)
            yield np.ascontiguousarray(blocks.reshape(-1, stage.lanes))

    def of_windows(
        self, stage: LookupStage, tile: RunningStage, windows: Int8, in_map: NDArray[np.bool_], words: Words
    ) -> Int8:
        """The entries, with the tables as the weight port brought them."""
        entries, channels = np.ascontiguousarray(words["table"]).view(np.int8), windows.shape[0]
        if stage.tables == 1:
            tables = np.broadcast_to(entries[:, 0], (channels, TABLE_ENTRIES))
        else:
            tables = entries.reshape(-1, TABLE_ENTRIES, stage.lanes).transpose(0, 2, 1).reshape(-1, TABLE_ENTRIES)
        places = windows[..., 0, 0].astype(np.int16) - LOWEST
        made: Int8 = np.stack([table[place] for table, place in zip(tables, places, strict=True)])
        return made


KINDS = (_Lookup(),)
