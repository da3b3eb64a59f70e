"""The figures of Sousa et al. 2022 computed anew: rows of plain values for tables and plots.

Table II and Fig. 5 to 7: the time of the convolutions of six networks on four clusters of eight cores, mapped by an
objective that counts DRAM bursts and by one that counts bytes, both timed with bursts; with one slicing or one
schedule for all layers; the shares of loads, stores and MACs; MACs a second against MACs a byte. Fully connected
layers are left out: Algorithm 1 maps convolutions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hwgen.ir.layer import Layer
from hwgen.ir.operators import OPERATORS
from hwgen.papers.sousa.model import FLOWS, Flow, Npu, Reading, Slicing
from hwgen.papers.sousa.search import Choice, Mapped, search_mappings
from hwgen.readers.layer_sets import load_layer_set

__all__ = [
    "MODELS",
    "NPU",
    "PUBLISHED",
    "READINGS",
    "LayerRow",
    "ModelRow",
    "PublishedTimes",
    "layer_rows",
    "mapped_layers",
    "model_rows",
]

NPU = Npu()
READINGS: tuple[Reading, ...] = ("published", "exact")
MODELS = {
    "inception_v3": "InceptionV3",
    "lenet": "LeNet",
    "mobilenet_v2": "MobileNetV2",
    "resnet50_tfslim": "ResNet-50",
    "squeezenet": "SqueezeNet",
    "yolo_fvlpd": "YOLO",
}
"""Layer tables and the paper's names."""


@dataclass(frozen=True)
class PublishedTimes:
    """A line of their Table II, microseconds on the board; the last two by slicing and by schedule."""

    burst: int
    volume: int
    slicings: tuple[int, int, int]
    flows: tuple[int, int, int]


PUBLISHED = {
    "inception_v3": PublishedTimes(72686, 88478, (82370, 81367, 91408), (73706, 93731, 101641)),
    "lenet": PublishedTimes(199, 231, (202, 224, 231), (199, 233, 228)),
    "mobilenet_v2": PublishedTimes(14030, 15470, (17765, 16696, 17571), (14084, 17387, 15155)),
    "resnet50_tfslim": PublishedTimes(55927, 62375, (62077, 63118, 78844), (59714, 71905, 77535)),
    "squeezenet": PublishedTimes(12504, 13713, (16579, 14134, 12993), (12908, 15840, 13452)),
    "yolo_fvlpd": PublishedTimes(53271, 57225, (56591, 55713, 63550), (68530, 58592, 55375)),
}


@dataclass(frozen=True)
class LayerRow:
    """One layer: how it is mapped with and without bursts, and the times with bursts, in microseconds.

    Members
    -------
    first, kindest : of the mappings that tie without bursts, the first, and the fastest with them.
    KS, KS_OFM, OFM, IS, OS, WS : the fastest with that slicing or schedule; None where nothing fits.
    bytes : loaded and stored by the mapping with bursts. loads, stores, macs_time: what its time is made of.
    volume_loads, volume_stores, volume_macs_time : the same without bursts.
    """

    reading: Reading
    network: str
    layer: str
    macs: int
    burst_mapping: str
    volume_mapping: str
    burst: float
    volume: float
    first: float
    kindest: float
    KS: float | None
    KS_OFM: float | None
    OFM: float | None
    IS: float | None
    OS: float | None
    WS: float | None
    bytes: int
    loads: float
    stores: float
    macs_time: float
    volume_loads: float
    volume_stores: float
    volume_macs_time: float

    @property
    def speedup(self) -> float:
        """Time of the byte-counting mapping over that of the burst-aware one."""
        return self.volume / self.burst

    @property
    def macs_per_byte(self) -> float:
        """Operational intensity."""
        return self.macs / self.bytes

    @property
    def gmacs(self) -> float:
        """Giga MACs a second."""
        return self.macs / self.burst / 1e3


@dataclass(frozen=True)
class ModelRow:
    """One network: sums of its layers, microseconds.

    Members
    -------
    unfit : layers in which a fixed schedule fits no tile, by schedule; they take their best time in its sum.
    transfer_share : percent of the time that loads and stores take, mapped without bursts.
    burst_transfer_share : what they take mapped with bursts, in percent of the same time.
    """

    reading: Reading
    network: str
    layers: int
    burst: float
    volume: float
    first: float
    kindest: float
    KS: float
    KS_OFM: float
    OFM: float
    IS: float
    OS: float
    WS: float
    unfit: str
    transfer_share: float
    burst_transfer_share: float

    @property
    def speedup(self) -> float:
        """Time of the byte-counting mappings over that of the burst-aware ones (Fig. 5)."""
        return self.volume / self.burst

    @property
    def speedup_kindest(self) -> float:
        """The same with the kindest tie-break."""
        return self.kindest / self.burst

    @property
    def speedup_first(self) -> float:
        """The same with the first of the ties."""
        return self.first / self.burst

    @property
    def slicings(self) -> tuple[float, float, float]:
        """Times with one slicing for all layers, as Table II orders them."""
        return self.KS, self.KS_OFM, self.OFM

    @property
    def flows(self) -> tuple[float, float, float]:
        """Times with one schedule for all layers."""
        return self.IS, self.OS, self.WS


def mapped_layers(network: str) -> tuple[Layer, ...]:
    """The convolutions of a network, depthwise ones included."""
    return tuple(layer for layer in load_layer_set(network).convolutions() if not OPERATORS[layer.op].flattens)


def layer_rows(
    networks: Sequence[str],
    npu: Npu = NPU,
    readings: Sequence[Reading] = READINGS,
    progress: Callable[[], None] = lambda: None,
) -> list[LayerRow]:
    """Each layer of each network in each reading; layers that differ in nothing but their names are searched once."""
    known: dict[tuple[Reading, str], Mapping[tuple[Slicing, Flow], Choice | None]] = {}
    rows = []
    for reading in readings:
        for network in networks:
            for layer in mapped_layers(network):
                key = (reading, layer.model_dump_json(exclude={"name", "requantisation"}))
                if key not in known:
                    known[key] = search_mappings(layer, npu, reading)
                rows.append(_row(reading, network, layer, known[key], npu))
            progress()
    return rows


def _row(
    reading: Reading, network: str, layer: Layer, choices: Mapping[tuple[Slicing, Flow], Choice | None], npu: Npu
) -> LayerRow:
    found = [choice for choice in choices.values() if choice is not None]
    burst = min((one.burst for one in found), key=lambda one: one.spent.time(npu))
    volume = min((one.volume for one in found), key=lambda one: one.spent.volume_time(npu))
    first = min((one.first for one in found), key=lambda one: one.spent.volume_time(npu))
    least = volume.spent.volume_time(npu)
    kindest = min(one.kindest.spent.time(npu) for one in found if one.kindest.spent.volume_time(npu) == least)
    loads, stores, macs_time = _parts(burst, npu)
    volume_loads, volume_stores, volume_macs_time = _parts(volume, npu)

    def fastest(key: Slicing | Flow) -> float | None:
        times = [one.burst.spent.time(npu) for pair, one in choices.items() if key in pair and one is not None]
        return min(times) / 1e3 if times else None

    return LayerRow(
        reading,
        network,
        layer.name,
        layer.macs,
        _text(burst),
        _text(volume),
        burst=burst.spent.time(npu) / 1e3,
        volume=volume.spent.time(npu) / 1e3,
        first=first.spent.time(npu) / 1e3,
        kindest=kindest / 1e3,
        KS=fastest("KS"),
        KS_OFM=fastest("KS&OFM"),
        OFM=fastest("OFM"),
        IS=fastest("IS"),
        OS=fastest("OS"),
        WS=fastest("WS"),
        bytes=burst.spent.load_bytes + burst.spent.store_bytes,
        loads=loads,
        stores=stores,
        macs_time=macs_time,
        volume_loads=volume_loads,
        volume_stores=volume_stores,
        volume_macs_time=volume_macs_time,
    )


def _text(one: Mapped) -> str:
    mapping = one.mapping
    return f"{mapping.slicing} {mapping.flow} {mapping.rows}x{mapping.columns}x{mapping.channels}"


def _parts(one: Mapped, npu: Npu) -> tuple[float, float, float]:
    spent = one.spent
    return (
        (spent.load_bytes * npu.byte_time + spent.load_bursts * npu.latency) / 1e3,
        (spent.store_bytes * npu.byte_time + spent.store_bursts * npu.latency) / 1e3,
        spent.cycles * npu.cycle / 1e3,
    )


def model_rows(rows: Iterable[LayerRow]) -> list[ModelRow]:
    """Sums over the layers of each network, by reading."""
    groups: dict[tuple[Reading, str], list[LayerRow]] = {}
    for row in rows:
        groups.setdefault((row.reading, row.network), []).append(row)
    return [_model(group) for group in groups.values()]


def _model(group: Sequence[LayerRow]) -> ModelRow:
    burst, volume = sum(row.burst for row in group), sum(row.volume for row in group)
    burst_moving = sum(row.loads + row.stores for row in group)
    moving = sum(row.volume_loads + row.volume_stores for row in group)
    unfit = {key: sum(getattr(row, key) is None for row in group) for key in ("KS", "KS_OFM", "OFM", *FLOWS)}
    return ModelRow(
        group[0].reading,
        group[0].network,
        len(group),
        burst=burst,
        volume=volume,
        first=sum(row.first for row in group),
        kindest=sum(row.kindest for row in group),
        KS=sum(row.burst if row.KS is None else row.KS for row in group),
        KS_OFM=sum(row.burst if row.KS_OFM is None else row.KS_OFM for row in group),
        OFM=sum(row.burst if row.OFM is None else row.OFM for row in group),
        IS=sum(row.burst if row.IS is None else row.IS for row in group),
        OS=sum(row.burst if row.OS is None else row.OS for row in group),
        WS=sum(row.burst if row.WS is None else row.WS for row in group),
        unfit=", ".join(f"{key}: {number}" for key, number in unfit.items() if number),
        transfer_share=100 * moving / volume,
        burst_transfer_share=100 * burst_moving / volume,
    )
