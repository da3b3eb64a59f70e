"""Networks and layer lists: the tables of `schedules/layersets`, validated and turned into layers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from hwgen.ir.coverage import Coverage, Ignored, LeftOut
from hwgen.ir.document import (
    Expected,
    InputError,
    Value,
    check_header,
    dump_yaml,
    nearest,
    validated,
    write_atomically,
    written,
)
from hwgen.ir.layer import Layer, Pad, Pads, Pair, Shape, Size
from hwgen.ir.operators import OPERATORS, Operator
from hwgen.ir.requantisation import GivenRequantisation
from hwgen.ir.shorthand import reading

__all__ = ["CONVOLUTIONS", "Feature", "Network", "Node", "Totals", "save_network"]


def _operation(name: str) -> str:
    if name not in OPERATORS:
        *most, last = OPERATORS
        raise ValueError(f"expected {', '.join(most)} or {last}, got {written(name)}{nearest(name, OPERATORS)}")
    return name


Op = Annotated[str, AfterValidator(_operation)]
"""An operation's name in `OPERATORS`."""
Count = Annotated[int, Field(strict=True, ge=0)]

RANGE = Expected("[least, most], two whole numbers")

CONVOLUTIONS = tuple(name for name, operator in OPERATORS.items() if operator.schedulable)
"""The operations that a schedule can be made for."""


class Node(Shape):
    """One row of a table: a layer of a network and what it reads. Which optional keys matter depends on op."""

    called = "row"

    op: Op
    inputs: tuple[str, ...] = ()
    kernel: Pair = (1, 1)
    pool: Literal["max", "avg"] | None = None
    global_pool: bool = False
    factor: Size | None = None
    output_padding: Pads = (0, 0)
    size: Size | None = None
    activation: str | None = None
    requantisation: GivenRequantisation | None = None
    batchnorm: bool = False
    scale_in: Size | None = None
    scale_out: Size | None = None
    part: str | None = None
    onnx: str | None = None
    # Where the row comes from and how it was read: documentation, never used in a computation.
    note: str | None = None
    ref: str | None = None
    table: str | None = None
    label: str | None = None
    printed: str | None = None
    same_shape_as: str | None = None
    size_cells_blank: bool = False
    pad_total_range_h: Annotated[tuple[Pad, Pad] | None, RANGE] = None
    pad_total_range_w: Annotated[tuple[Pad, Pad] | None, RANGE] = None
    halo_input_height: Size | None = None
    halo_input_width: Size | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.operator.windowed and "kernel" not in self.model_fields_set:
            raise ValueError(f"kernel: missing key (a {self.op} has one)")
        self.check_groups()
        self.operator.check(self)
        if self.requantisation is not None and not self.operator.requantises:
            raise ValueError(f"requantisation: expected none for {self.op}")
        return self

    @property
    def operator(self) -> Operator:
        """Its operation."""
        return OPERATORS[self.op]

    @property
    def macs(self) -> int:
        """Multiply-accumulates: padding included for convolutions, per input pixel for deconv, 0 without weights."""
        return self.batch * self.weights * self.operator.positions(self)

    @property
    def weights(self) -> int:
        """Weights, without biases and batch normalisation."""
        if not self.operator.weighted:
            return 0
        return self.output_channels * (self.input_channels // self.groups) * self.kernel[0] * self.kernel[1]

    @property
    def given_requantisation(self) -> GivenRequantisation | None:
        """What the row says of its requantisation, its activation included; None: nothing."""
        given = (self.requantisation or GivenRequantisation()).activated(self.activation)
        return None if given == GivenRequantisation() else given

    def layer(self) -> Layer:
        """The row as a schedule sees it; only for `CONVOLUTIONS`."""
        shape = self.model_dump(include=set(Layer.model_fields) - {"requantisation"})
        return Layer.model_validate({**shape, "requantisation": self.given_requantisation})


class Feature(Value):
    """The input of a network."""

    called = "network's input"

    name: str = "input"
    channels: Size
    height: Size
    width: Size


class Totals(Value):
    """What a table says its rows add up to."""

    called = "table's totals"

    layers: Count
    weighted_layers: Count
    macs: Count
    conv_macs: Count
    fc_macs: Count
    weights: Count
    conv_weights: Count

    @classmethod
    def of(cls, nodes: tuple[Node, ...]) -> "Totals":
        """Totals of the rows; ``conv`` is everything with weights but fc."""
        weighted = [node for node in nodes if node.operator.weighted]
        convs = [node for node in weighted if not node.operator.flattens]
        return cls(
            layers=len(nodes),
            weighted_layers=len(weighted),
            macs=sum(node.macs for node in nodes),
            conv_macs=sum(node.macs for node in convs),
            fc_macs=sum(node.macs for node in weighted if node.operator.flattens),
            weights=sum(node.weights for node in nodes),
            conv_weights=sum(node.weights for node in convs),
        )


class Network(Value):
    """A layer set: a connected network, or a list of independent layers.

    In a network every row names its producers (the network input by the name in ``input``), producers come first, and
    what they produce is what the row reads. The rows of a layer list name none.
    """

    called = "layer set"

    kind: Literal["network", "layer_list"]
    network: str
    source: str = ""
    used_by: str | None = None
    parametric: str | None = None
    published: dict[str, str | int | float] = Field(default_factory=dict)
    counts: dict[str, Any] = Field(default_factory=dict)
    macs_by_network: dict[str, Count] = Field(default_factory=dict)
    input: Feature | None = None
    totals: Totals | None = None
    totals_by_part: dict[str, Count] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    not_connected: str | None = None
    layers: tuple[Node, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        seen: dict[str, Shape | Feature] = {self.input.name: self.input} if self.input else {}
        for node in self.layers:
            if node.batch > 1 and self.kind == "network":
                raise ValueError(f"layers: {node.name}: batch: expected 1 in a connected network, got {node.batch}")
            if node.name in seen:
                raise ValueError(f"layers: {node.name}: the name is used twice")
            self._check_inputs(node, seen)
            seen[node.name] = node
        if self.totals is not None and self.totals != (found := Totals.of(self.layers)):
            key = next(key for key in Totals.model_fields if getattr(self.totals, key) != getattr(found, key))
            raise ValueError(f"totals: {key}: expected {getattr(found, key)}, got {getattr(self.totals, key)}")
        return self

    def _check_inputs(self, node: Node, seen: dict[str, Shape | Feature]) -> None:
        if self.kind == "layer_list":
            if node.inputs:
                raise ValueError(f"layers: {node.name}: inputs: expected none in a layer_list")
            return
        many = node.operator.several_inputs
        if not (len(node.inputs) >= 2 if many else len(node.inputs) == 1):
            rows = "names of two or more rows" if many else "the name of one row"
            where = f"layers: {node.name}: inputs"
            raise ValueError(f"{where}: expected {rows}, or of the network's input, for {node.op}")
        shapes = []
        for producer in node.inputs:
            if producer not in seen:
                raise ValueError(f"layers: {node.name}: inputs: {producer} is not the input or an earlier layer")
            shapes.append(_produced(seen[producer]))
        needed = (node.input_channels, node.input_height, node.input_width)
        joined = node.operator.channels_read([shape[0] for shape in shapes])
        if joined != shapes[0][0]:
            shapes = [(joined, *shape[1:]) for shape in shapes]
        if node.operator.flattens:
            shapes = [(channels * height * width, 1, 1) for channels, height, width in shapes]
        for producer, shape in zip(node.inputs, shapes, strict=True):
            if shape != needed:
                raise ValueError(
                    f"layers: {node.name}: inputs: {producer} gives {'x'.join(map(str, shape))} "
                    f"(channels x height x width), expected {'x'.join(map(str, needed))}"
                )

    def coverage(self) -> Coverage:
        """Which rows are scheduled, which carry no work, and what is left out."""
        return Coverage.of(self.network, self.layers, self.left_out)

    def convolutions(self, *, partial: bool = False, batches: bool = False) -> tuple[Layer, ...]:
        """The rows that a schedule can be made for, in order; fc is a 1x1 convolution over its flattened channels.

        Raises `InputError` if there is none, and if other rows have multiply-accumulates, unless ``partial``; and for
        a batch of several images, unless ``batches``: an HWC alone runs one.
        """
        return self.coverage().require(partial=partial, batches=batches)

    def connected_input(self) -> Feature:
        """The input of a connected network. Raises `InputError` for a layer list."""
        if self.kind != "network" or self.input is None:
            why = f" ({self.not_connected})" if self.not_connected else ""
            raise InputError(f"{self.network}: expected a connected network with an input, got a layer list{why}")
        return self.input

    def starting_with(self, prefix: str) -> "Network":
        """The rows whose name starts with ``prefix``, as a layer list."""
        nodes = tuple(node.model_copy(update={"inputs": ()}) for node in self.layers if node.name.startswith(prefix))
        lost = tuple(one for one in self.left_out if one.name.startswith(prefix))
        if not nodes:
            why = f": {Coverage.of('', (), lost).lost}" if lost else ""
            raise InputError(f"{self.network}: no layer's name starts with {prefix!r}{why}")
        name = f"{self.network}: {prefix}"
        return Network(kind="layer_list", network=name, source=self.source, left_out=lost, layers=nodes)

    def as_data(self) -> dict[str, Any]:
        """Plain data in the file format, with the keys that were given."""
        return {"format": 1, **self.model_dump(mode="json", exclude_unset=True)}

    @classmethod
    def from_data(cls, data: object, where: str = "layer set") -> "Network":
        """Validate plain data; raises `InputError` with one line that names the row and its key."""
        header = check_header(data, ("network", "layer_list"), where, cls.called)
        rows = header.pop("layers", None)
        if not isinstance(rows, list) or not rows:
            raise InputError(f"{where}: layers: expected a list of at least one layer")
        nodes: list[Node] = []
        shapes = _given_shape(header.get("input")) if header["kind"] == "network" else {}
        for index, row in enumerate(rows):
            name = row.get("name") if isinstance(row, dict) else None
            place = f"{where}: layers: {name if isinstance(name, str) else f'item {index}'}"
            nodes.append(validated(Node, _with_inputs(row, shapes, place), place))
            shapes[nodes[-1].name] = _produced(nodes[-1])
        return validated(cls, {**header, "layers": tuple(nodes)}, where)


_READ = ("input_channels", "input_height", "input_width")


def _given_shape(feature: object) -> dict[str, tuple[int, int, int]]:
    """The shape of a network's input, by its name; none if it is not well-formed, which is told later."""
    try:
        given = Feature.model_validate(feature)
    except ValidationError:
        return {}
    return {given.name: _produced(given)}


def _with_inputs(row: object, shapes: Mapping[str, tuple[int, int, int]], where: str) -> object:
    """A row with the sizes of what it reads, if it leaves them out."""
    inputs = row.get("inputs") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(inputs, list) or all(key in row for key in _READ):
        return row
    for name in inputs if shapes else ():
        if not isinstance(name, str) or name not in shapes:
            raise InputError(f"{where}: inputs: {written(name)} is not the input or an earlier layer")
    return reading(row, [shapes[name] for name in inputs]) if shapes else row


def _produced(producer: Shape | Feature) -> tuple[int, int, int]:
    if isinstance(producer, Feature):
        return producer.channels, producer.height, producer.width
    return producer.output_channels, producer.output_height, producer.output_width


def save_network(network: Network, path: Path) -> bool:
    """Write one layer table atomically; False if it was already there and equal."""
    return write_atomically(path, dump_yaml(network.as_data()))
