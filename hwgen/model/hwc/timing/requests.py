"""What an HWC asks for at its ports, written down while the timing model plays: a record for what comes together.

A record of `ASKED` says from which cycle on words may be asked for, but for those before them: when the operations
are far enough and the ring has room. Before it stands one that says of which tile or vector they are.
"""

from hwgen.model.compiled import inner_unchecked

__all__ = [
    "ASKED",
    "AT",
    "COUNT",
    "LIMIT",
    "NUMBER",
    "RECORD_FIELDS",
    "SAVED_COUNT",
    "SAVED_GONE",
    "note",
    "note_words",
]

RECORD_FIELDS = 10
COUNT, LIMIT, SAVED_COUNT, SAVED_GONE = range(4)
"""Fields of the first record: records after it; the last cycle that is played; what there was before loads that are
computed once more, and how many accesses there had been."""
ASKED = -1
"""The first field of a record of words; of others it is not negative."""
AT, NUMBER = 1, 2
"""Fields of a record of words: their cycle, and how many there are."""


@inner_unchecked
def note(records, a, b, c, d, e, f, g, h, i, j):  # type: ignore[no-untyped-def]
    """Write down a record, where records are written down and there is room."""
    at = records[0, 0] + 1
    if at < len(records):
        records[0, 0] = at
        records[at, 0], records[at, 1], records[at, 2], records[at, 3], records[at, 4] = a, b, c, d, e
        records[at, 5], records[at, 6], records[at, 7], records[at, 8], records[at, 9] = f, g, h, i, j


@inner_unchecked
def note_words(records, at, number):  # type: ignore[no-untyped-def]
    """Write down that words are asked for from a cycle on."""
    place = records[0, 0] + 1
    if number > 0 and place < len(records):
        records[0, 0] = place
        records[place, 0], records[place, 1], records[place, 2] = -1, at, number
