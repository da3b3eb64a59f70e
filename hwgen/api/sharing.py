"""Layers shared out to several clusters: how many, and in which way."""

from dataclasses import dataclass

from hwgen.arch.bus import MOST_MASTERS
from hwgen.ir.document import InputError
from hwgen.lower.system.shares import PARTITIONS, Partition

__all__ = ["MOST_MASTERS", "Sharing", "sharing_of"]

_NAMES: dict[str, Partition] = {partition.replace("&", "+"): partition for partition in PARTITIONS}


@dataclass(frozen=True)
class Sharing:
    """How many clusters, and how each layer is shared out; None: in the way that is the fastest for it."""

    clusters: int
    partition: Partition | None


def sharing_of(clusters: int | None, partition: str | None) -> Sharing | None:
    """What two options ask for; None without them."""
    if clusters is None:
        if partition is not None:
            raise InputError("--partition: expected with --clusters")
        return None
    if not 2 <= clusters <= MOST_MASTERS:
        raise InputError(f"--clusters: expected 2 to {MOST_MASTERS}, got {clusters}")
    if partition is not None and partition not in _NAMES:
        raise InputError(f"--partition: expected {', '.join(_NAMES)}, got {partition[:40]!r}")
    return Sharing(clusters, None if partition is None else _NAMES[partition])
