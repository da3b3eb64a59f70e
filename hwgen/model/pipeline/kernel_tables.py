"""The columns of the tables that the compiled parts of `hwgen.model.pipeline.cycles` share."""

CONV, POOL, GLOBAL, SHUFFLE, JOIN = range(5)
OUTPUT, SAVED, OPERAND = range(3)

IN_FLIGHT, COMPLETE, LINE, COLUMN, NEXT_COLUMN, RELEASED, OVERLAP_LEVEL, M_VALID, M_ROOM = range(9)
(HAS_RELEASED, AT_LINE, AT_COLUMN, LEFT_COLUMNS, LEFT_LINES, SHIFTED, STEP, UNDER_WAY, DRAINING, SQUARE, FULL,
 LEVEL, VALID, OUTPUT_COLUMN, FETCHING, DONE) = range(16)  # fmt: skip
SQUARE_LINE = DRAINING
"""The registers of the datapath that have a pixel, a bit for each; what a global pool and a shuffle keep."""
B_HAS_RELEASED, B_LEVEL, B_VALID, B_ROOM, B_BACKLOG, B_COLUMN, B_CREDIT, B_READ, B_BEAT, B_PASSES, B_SENT = range(11)
S_BEAT, S_FULL, S_VALID, S_COLUMN, S_LINES, S_LEVEL, S_TAKEN, S_ROOM = range(8)
P_VALID, P_MAP, P_LEFT, P_INDEX, P_BEAT, P_FULL, P_TARGET = range(7)
# What has a turn to begin a tile: maps, sources, movers, maps at the mover of each direction of the overlap port. Its
# tile; whether it has yet to begin the tile that was started last; how far it is in beginning: see `turns_kernel`.
N_TILE, N_WAITS, N_BEGINS = range(3)
# Of a map: lines left at the overlap port, and runs left at its mover, in and out; by how many lines what is written
# of it is ahead of what is read again, and whether that has begun; lines that are being written; tiles that are left
# out, and those of them that count from the next cycle on.
L_IN, L_OUT, L_RUNS_IN, L_RUNS_OUT, L_LEAD, L_READ, L_UNWRITTEN, L_EMPTY, L_PASSES = range(9)
LEFT = 9
# Software: the next access, the next start, the tile that was started last, cycles of an access.
W_POLL, W_START, W_TILE, W_ACCESS = range(4)
M_LINE, M_LINES, M_OVERLAP, M_SAVED, M_RING, M_MAKER, M_SOURCE, M_BEATS, M_QUEUE, M_CHANNELS = range(10)
(T_KIND, T_READS, T_MAKES, T_STEPS, T_ACROSS, T_ALONG, T_STRIDE0, T_STRIDE1, T_LINES, T_COLUMNS, T_LINE0,
 T_COLUMN0, T_QUEUE, T_REGISTERS) = range(14)  # fmt: skip
R_KIND, R_MAP, R_FIRST, R_COLUMNS, R_QUEUE, R_BEATS, R_TARGET, R_MOVER = range(8)
(Q_COLUMNS, Q_LINES, Q_BEATS, Q_TARGET, Q_QUEUE, Q_CHANNELS, Q_MOVER, Q_AFTER, Q_BEFORE,
 Q_EACH) = range(10)  # fmt: skip
