"""Error codes of the status registers."""

from enum import IntEnum

__all__ = [
    "ERROR_BITS",
    "ClusterError",
    "DmaError",
    "ErrorCode",
    "HwcError",
    "PipelineError",
    "Refusal",
    "VectorError",
]

ERROR_BITS = 8


class ErrorCode(IntEnum):
    """An error code with its meaning, one sentence without a full stop."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "ErrorCode":
        """A code is written as its number and its meaning."""
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    @property
    def entry(self) -> tuple[int, str]:
        """Number and meaning."""
        return int(self), self.meaning


class Refusal(ErrorCode):
    """Why the configuration port of any block refuses an access."""

    NONE = 0, "No error"
    UNKNOWN_REGISTER = 1, "An access to an address where no register is"
    READ_ONLY_REGISTER = 2, "A write to a register that can only be read"
    VALUE_TOO_WIDE = 3, "A write of ones to bits that cannot be written, or of less than a whole word"
    WRITTEN_WHILE_BUSY = 4, "A write that has to wait until the block is idle"


class HwcError(ErrorCode):
    """Why an HWC did not start, or stopped."""

    NONE = Refusal.NONE.entry
    UNKNOWN_REGISTER = Refusal.UNKNOWN_REGISTER.entry
    READ_ONLY_REGISTER = Refusal.READ_ONLY_REGISTER.entry
    VALUE_TOO_WIDE = Refusal.VALUE_TOO_WIDE.entry
    WRITTEN_WHILE_BUSY = Refusal.WRITTEN_WHILE_BUSY.entry
    EXTENT = 5, "An extent of the layer or of its input is 0"
    STEP = 6, "The step of a loop is 0, or the innermost one is larger than the lanes"
    STRIDE = 7, "A stride is not 1 to 4"
    INPUT_RING = 8, "The input memory has no slabs, or a slab is empty or larger than the memory"
    GROUP = 9, "A group has no output channels"
    OTHER_HWC = 10, "The program was made for another HWC: its digest is not that of this one"
    LOCKED = 11, "The key is not what reset sets: there was no reset, or software locked the HWC"
    CONTRADICTION = 12, "Slab, line, phases or ring steps of the input memory contradict each other"
    INPUT_OVERFLOW = 16, "A tile of the input does not fit the input memory"
    WEIGHT_OVERFLOW = 17, "A tile of the weights does not fit the weight memory"
    OUTPUT_OVERFLOW = 18, "A tile of the output does not fit the output memory"
    INPUT_BUS = 32, "An access of the input port was answered with an error"
    WEIGHT_BUS = 33, "An access of the weight port was answered with an error"
    OUTPUT_BUS = 34, "An access of the output port was answered with an error"
    WRITE_WINDOW = 35, "A write outside the window from write_base to write_last; it was not made"
    ABORTED = 36, "Software aborted the layer"
    WATCHDOG = 37, "Nothing moved for as long as the watchdog waits"
    HALTED = 48, "The cluster halted the layer after a fault elsewhere"


class VectorError(ErrorCode):
    """Why a vector unit did not start, or stopped."""

    NONE = Refusal.NONE.entry
    UNKNOWN_REGISTER = Refusal.UNKNOWN_REGISTER.entry
    READ_ONLY_REGISTER = Refusal.READ_ONLY_REGISTER.entry
    VALUE_TOO_WIDE = Refusal.VALUE_TOO_WIDE.entry
    WRITTEN_WHILE_BUSY = Refusal.WRITTEN_WHILE_BUSY.entry
    EXTENT = HwcError.EXTENT.value, "An extent of the output or of the window is 0"
    READ_BUS = HwcError.INPUT_BUS.value, "An access of the reading port was answered with an error"
    WRITE_BUS = HwcError.OUTPUT_BUS.value, "An access of the writing port was answered with an error"
    HALTED = HwcError.HALTED.value, "The cluster halted the job after a fault elsewhere"


class DmaError(ErrorCode):
    """Why a channel of the DMA stopped; its address is that of the descriptor, the beat or the access."""

    NONE = Refusal.NONE.entry
    DESCRIPTOR = 48, "A descriptor cannot be decoded"
    DRAM_WINDOW = 49, "A transfer leaves the DRAM window"
    TCDM_WINDOW = 50, "A transfer leaves the TCDM window"
    AXI_SLAVE = 51, "An AXI transfer was answered with SLVERR, or with EXOKAY, which it did not ask for"
    AXI_DECODE = 52, "An AXI transfer was answered with DECERR"
    TCDM_BUS = 53, "An access to the TCDM was answered with an error"


class ClusterError(ErrorCode):
    """Why a cluster did not start, or stopped."""

    NONE = Refusal.NONE.entry
    UNKNOWN_REGISTER = Refusal.UNKNOWN_REGISTER.entry
    READ_ONLY_REGISTER = Refusal.READ_ONLY_REGISTER.entry
    VALUE_TOO_WIDE = Refusal.VALUE_TOO_WIDE.entry
    WRITTEN_WHILE_BUSY = Refusal.WRITTEN_WHILE_BUSY.entry
    PROGRAM_PLACE = 5, "The program is empty or its address is not aligned"
    DMA_BUSY = 6, "The DMA still works on transfers of an earlier program"
    ILLEGAL_COMMAND = 16, "A command cannot be decoded"
    PROGRAM_WITHOUT_END = 17, "The program has no END"
    TOO_MANY_TOKENS = 18, "A queue posted more tokens than a counter holds"
    WATCHDOG = 19, "Nothing moved for as many cycles as the watchdog waits"
    ABORTED = 20, "Software aborted the program"
    HWC = 32, "An HWC failed; fault_detail has its number and error code"
    LOAD = 33, "The DMA's load channel failed; fault_detail has its error code"
    STORE = 34, "The DMA's store channel failed; fault_detail has its error code"
    PROGRAM = 35, "The program could not be fetched; fault_detail has the DMA's error code"


class PipelineError(ErrorCode):
    """Why a tile of a pipeline did not start, or stopped."""

    NONE = Refusal.NONE.entry
    UNKNOWN_REGISTER = Refusal.UNKNOWN_REGISTER.entry
    READ_ONLY_REGISTER = Refusal.READ_ONLY_REGISTER.entry
    VALUE_TOO_WIDE = Refusal.VALUE_TOO_WIDE.entry
    WRITTEN_WHILE_BUSY = Refusal.WRITTEN_WHILE_BUSY.entry
    LINE = 5, "A line is longer, or there are more lines, than the pipeline was generated for"
    OVERLAP = 6, "The overlap is wider than the line, or than the pipeline was generated for"
    MOVERS_BUSY = 7, "The movers still wait for answers to bursts of a tile that has failed"
    WATCHDOG = 16, "Nothing moved for as many cycles as the watchdog waits"
    READ_BUS = 17, "A burst from the DRAM was answered with an error"
    WRITE_BUS = 18, "A burst to the DRAM was answered with an error"
