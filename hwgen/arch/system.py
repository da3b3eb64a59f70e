"""What a system of several clusters is generated for."""

from dataclasses import dataclass

from hwgen.arch.bus import master_bits
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.parameter_error import ParameterError

__all__ = ["START_AFTER_START", "START_ANSWERED", "WINDOW_BYTES", "SystemParameters"]

START_ANSWERED = 1
"""Cycles from the grant of the write that starts a cluster to its answer on the configuration port."""
START_AFTER_START = 4
"""Cycles from the start of a cluster to that of the next one: a write on the configuration port each."""
WINDOW_BYTES = 4096
"""Bytes of the configuration port's addresses that each cluster has, from those of cluster 0 up: a page each, so that
an operating system can give every cluster to another process."""


@dataclass(frozen=True)
class SystemParameters:
    """Generation-time parameters of a system.

    Parameters
    ----------
    cluster
        Each of its clusters.
    clusters
        How many: 2 to 16.
    """

    cluster: ClusterParameters
    clusters: int

    def __post_init__(self) -> None:
        try:
            master_bits(self.clusters)
        except ParameterError as error:
            raise ParameterError(str(error).replace("masters", "clusters")) from None
