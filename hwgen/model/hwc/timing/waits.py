"""What accesses of a port wait at the banks of a shared memory, on average."""

from hwgen.model.compiled import inner_unchecked
from hwgen.model.hwc.timing.state import PARTS

__all__ = ["waits_of"]


@inner_unchecked
def waits_of(stream, parts):  # type: ignore[no-untyped-def]
    """Whole cycles of waits that come to ``parts`` of a cycle; the rest is kept for the next ones."""
    parts += stream.waited
    stream.waited = parts % PARTS
    return parts // PARTS
