"""The events of an HWC in time: tiles of I and W that arrive, operations, vectors of O that come and go.

A tile of I, W or O is what one iteration of the loop that the operand is buffered at touches of it. Where no
operand is named, a tile is the part of the nest that is played at a time: see `hwgen.model.hwc.tiles`.

There is an operation in every cycle, unless it waits for a tile of I or W, for a place in the output memory, or
while that memory serves the output's stream. The three streams meet only in the operations. A tile of I or W is
requested after the tile before, as soon as its ring has room, and at most `TILES_AHEAD` tiles before its
operations. A tile of O is drained when its last operation is done. So all events can be computed in program order,
each by a maximum of sums of earlier ones: when a tile is due at the operations, everything that its arrival
depends on has happened. Between two tiles any number of operations takes one step of this computation.

Three effects of a cycle or two are not modelled: rows of padding far above the contents of a small ring take longer
to place; biases may be fetched between the loads of partial sums before their tile ends; and after a reset,
unless the HWC was told what memory it has, a read that follows the very first write at once waits until that has been
answered (see `gateware.bus.tcdm.TcdmMaster`).

The memory grants every request at once and answers in the next cycle. Times are cycles, counted from the one in
which the blocks are started.
"""
