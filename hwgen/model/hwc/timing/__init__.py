"""The events of an HWC in time: boxes of I and W that arrive, operations, vectors of O that come and go.

There is an operation in every cycle, unless it waits for a box, for a place in the output memory, or while that
memory serves the output's stream. The three streams meet only in the operations: a box of I or W is asked for when
the one before has been, as far as its ring has room and the operations are not too many boxes behind; a box of O
leaves when its last operation is done. So all events can be computed in program order, each by a maximum of sums of
earlier ones: when a box is due at the operations, everything that its arrival depends on has happened. Between two
boxes any number of operations takes one step of this computation.

Left out, a cycle or two where they occur: that rows of padding far above a small ring's contents take longer to
place, and that biases may be fetched between the loads of partial sums before their box ends.

The memory grants every request at once and answers in the next cycle. Times are cycles, counted from the one in which
the blocks are started.
"""
