"""Columns and cells of the arrays that the kernels of this room work on; all are of 64-bit integers.

A *row* is the state of one cluster. Parts of it that come twice, for loads and stores, begin at `LOAD` and `STORE`.
"""

from hwgen.arch.commands import WORKING_QUEUES
from hwgen.arch.dma import SCATTERED_BYTES
from hwgen.model.dram.cycles_kernel import DRAM_PARAMETERS

# Commands of a program: queue, what it does, payload words, tokens that it takes and posts (a bit for each queue),
# mask of HWCs, cycles of what it starts on them; what lines of the DMA wait meanwhile, of each of `LINES`, in `PARTS`
# of a cycle; what loads and stores move from then on while HWCs compute, in `BESIDE_FIELDS`.
C_QUEUE, C_KIND, C_LENGTH, C_TAKES, C_POSTS, C_MASK, C_WORK, C_LATE = range(8)
PARTS = 1024
LINES = 3
WORDS_LOADED, BYTES_LOADED, WORDS_STORED = range(LINES)
C_BESIDE = C_LATE + LINES
BESIDE_FIELDS = 3
BESIDE_CYCLES, BESIDE_LINES, BESIDE_LAST = range(BESIDE_FIELDS)
COMMAND = C_BESIDE + 2 * BESIDE_FIELDS
MOVES, CONFIGURES, STARTS, JOINS, LEADS, SETTLES, ENDS = range(7)
"""What a command does. One that only takes and posts tokens joins no HWC in the compute queue, and ends elsewhere."""
QUEUES = len(WORKING_QUEUES)
LOADS, COMPUTES, STORES = range(QUEUES)

# Descriptors: those of `hwgen.arch.descriptor` that decide about times. Without folds `E_FOLD` is beyond every run.
(E_DRAM, E_TCDM, E_LENGTH, E_COUNT_1, E_COUNT_2, E_DRAM_1, E_DRAM_2, E_TCDM_1, E_TCDM_2, E_FOLD, E_SLOW, E_APART,
 E_CONTINUES, E_FAST) = range(14)  # fmt: skip
DESCRIPTOR = 14

# Parameters, after those of the DRAM (`hwgen.model.dram.cycles_kernel`).
(P_WINDOW, P_OUTSTANDING, P_BEATS_AHEAD, P_SCATTERED, P_DESCRIPTORS, P_LINES, P_LINE_READ, P_UNDER_WAY, P_CHUNK,
 P_CHUNKS, P_BEATS_KEPT, P_WRITES, P_BANKS, P_RESTLESS) = range(DRAM_PARAMETERS, DRAM_PARAMETERS + 14)  # fmt: skip

# --- a row: the program ---

NOW, ENDED, AWAKE, TOTAL = range(4)
"""The last cycle that was played; whether the program has ended; the cycle to wake in if nothing comes before; the
cycle of the end."""
F_ADDRESS, F_TO_ASK, F_OFFERED, F_PROMISED, F_LEVEL, F_TO_GIVE, F_WORD = range(4, 11)
"""The fetcher: next address, words to be asked for, whether a burst is offered, beats promised and there, words to be
given, the word of the beat."""
R_STATE, R_COMMAND, R_LEFT, R_SETTLED = range(11, 15)
"""The reader; how often it has waited until all was done."""
IN_HEADER, IN_ADDRESS, IN_SENDING, IN_PAYLOAD, IN_DRAIN, IN_SETTING, IN_END = range(7)
A_FULL, A_FIRST, A_LAST, A_STREAM = range(15, 19)
"""The register of a burst that is to be read, before the port."""
B_LEVEL, B_READY, B_IN, B_OUT, B_LEFT = range(19, 24)
"""Beats that were read: how many are in the queue and after it, bursts that were asked for and have come, beats left
of the oldest."""

# --- a row: queues, one after the other ---

QUEUE = 24
(Q_LEVEL, Q_READY, Q_ROOM, Q_STATE, Q_COMMAND, Q_LEFT, Q_OLDEST, Q_UNDER_WAY, Q_MOVED, Q_SETTLED) = range(10)
"""Words in the queue and after it, words that fit, the state, the next command, its words left; of moves the oldest
under way, how many are, and how many of them have moved; whether it has rested for a cycle."""
TO_ADDRESS, TO_HEADER, TO_PAYLOAD, TO_REGISTER, TO_WRITE, TO_START, TO_JOIN, TO_LEADERS = range(8)
FIELDS = 10
TOKENS = QUEUE + FIELDS * QUEUES
"""Tokens by the queue that posts, then by the one that takes."""
POSTED, TAKEN, WAITING_FOR = TOKENS + 9, TOKENS + 12, TOKENS + 15
"""What each queue posts, takes and waits for in this cycle, a bit for each other one."""
BUSY, WAITS, COMPUTED = TOKENS + 18, TOKENS + 21, TOKENS + 30
"""Cycles: in which a channel is at work; in which a queue waits for tokens of another one; until HWCs compute."""

# --- a row: channels ---

STARTED, LATE = TOKENS + 31, TOKENS + 32
"""The START that lasts longest; parts of a cycle that lines of each kind have waited and that are no cycle yet."""
LOAD = LATE + LINES
(D_STATE, D_WORDS, D_NUMBER, D_WAITING, G_FULL, G_FIRST, G_LAST, G_ENDS, S_INSIDE, S_REST, S_LATER, S_GATHERS,
 S_BEGIN, S_GATHERED) = range(14)  # fmt: skip
"""The descriptor that is read, those that wait, the burst in the register of the front, and the splitter."""
COLLECTS, SUMS, JUDGES, OFFERS = range(4)
AHEAD, FOLLOWING = 14, 24
"""Two walkers of runs."""
W_BUSY, W_DESCRIPTOR, W_DRAM, W_TCDM, W_DRAM_0, W_TCDM_0, W_LEFT_1, W_LEFT_2, W_JOINS, W_LAST = range(10)
(T_BUSY, T_DRAM, T_TCDM, T_LENGTH, T_JOINS, T_LAST, T_FOLD, T_SLOW) = range(34, 42)
"""The segmenter."""
(N_BUSY, N_TAKE, N_GIVE, N_PRIMES, N_KEEPS, N_JOINS, N_ENDS) = range(42, 49)
"""The aligner."""
(O_BURSTS, O_BEATS, L_BUSY, L_LEFT, L_LANE, L_JOINS, L_LAST, L_PENDING, L_DRAINS,
 L_MOVE, L_FIRST, L_BYTE, L_WAITS) = range(49, 62)  # fmt: skip
L_BANKS, L_GRANTS = 62, 62 + SCATTERED_BYTES
"""Bursts and beats that are unanswered, the scatterer, the line that is written, and the end that is awaited; the
descriptor of the scatterer's run, where it begins, its next byte; cycles until the next line. Of ports that write
single bytes the bank of the last one, and when the last `KEPT` ones could be written, from the cycle of their line on
if none waited."""
KEPT = 3
CHANNEL = L_GRANTS + KEPT * SCATTERED_BYTES
STORE = LOAD + CHANNEL
# Of stores besides:
(Z_WALKING, Z_LEFT, Z_ASKED, Z_GIVEN, Z_SHIFTS_IN, Z_SHIFTS_OUT, Z_OWED_IN, Z_OWED_OUT, Z_NUMBER, Z_BEAT, Z_BEAT_LAST,
 Z_ANSWERED, Z_OFFERED, Z_WAITS) = range(STORE + CHANNEL, STORE + CHANNEL + 14)  # fmt: skip
LINES_MOVED, LINE_LAST = STORE + CHANNEL + 14, STORE + CHANNEL + 16
"""Lines of the memory that have been loaded and stored, and the cycles of the last ones."""
REST = 4
"""Cycles between two lines of a channel; in what is more than these it rests."""
ROW = STORE + CHANNEL + 18

# Rings beside the rows.
RING = 64
K_STREAM, K_BEATS = range(2)
H_SOURCE, H_TARGET, H_LENGTH, H_JOINS = range(4)

# --- the bus ---

X_READ, X_READ_FIRST, X_READ_LAST, X_READ_STREAM, X_READER = range(5)
X_WRITE, X_WRITE_FIRST, X_WRITE_LAST, X_WRITE_STREAM, X_WRITER = range(5, 10)
X_ORDER_IN, X_ORDER_OUT, X_NONE = 10, 11, 12
BUS = 13
STREAMS = 4
LOAD_STREAM, STORE_STREAM, PROGRAM_STREAM = range(3)
