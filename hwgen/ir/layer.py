"""One layer of a network: the loop extents, strides, padding and groups of a convolution."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, SerializerFunctionWrapHandler, model_serializer, model_validator

from hwgen.ir.document import Expected, Name, Value
from hwgen.ir.requantisation import GivenRequantisation, Requantisation
from hwgen.ir.shorthand import completed

__all__ = [
    "AS_IT_IS",
    "DIMS",
    "IMAGE",
    "LARGEST",
    "LOOP_DIMS",
    "MAX_KERNEL",
    "MAX_STRIDE",
    "OUTPUT_DIMS",
    "REDUCTION_DIMS",
    "TAPS",
    "WEIGHT_DIMS",
    "Dim",
    "Form",
    "Layer",
    "Padding",
    "Shape",
    "Taps",
]

Dim = Literal["m", "c", "y", "x", "k", "l", "n"]
"""Loop dimensions: output channel, input channel (of one group), output row and column, kernel row and column,
image."""

DIMS: tuple[Dim, ...] = ("m", "c", "y", "x", "k", "l")
"""The six dimensions of one image: those that the hardware has."""
IMAGE: Dim = "n"
"""The loop over the images of a batch: I and O have it, W is shared by it."""
LOOP_DIMS: tuple[Dim, ...] = (IMAGE, *DIMS)
"""Dimensions that a loop of a nest may run over."""
OUTPUT_DIMS: tuple[Dim, ...] = ("m", "y", "x")
"""Dimensions that the O of one image has."""
REDUCTION_DIMS: tuple[Dim, ...] = ("c", "k", "l")
"""Dimensions that are summed over."""
WEIGHT_DIMS: tuple[Dim, ...] = ("m", "c", "k", "l")
"""Dimensions that W has."""

LARGEST = (1 << 16) - 1
"""Largest size along a dimension: what coordinates of the hardware, of 16 bits, can reach."""
MAX_KERNEL = 11
"""Rows or columns of a kernel that an HWC runs, at most."""
MAX_STRIDE = 4
"""Rows or columns from one of its windows to the next, at most."""

Size = Annotated[int, Field(strict=True, ge=1, le=LARGEST)]
Pad = Annotated[int, Field(strict=True, ge=0, le=LARGEST)]
Pair = Annotated[tuple[Size, Size], Expected(f"[height, width], or one number for both, from 1 to {LARGEST}")]
Pads = Annotated[tuple[Pad, Pad], Expected(f"[height, width], or one number for both, from 0 to {LARGEST}")]
Padding = Annotated[
    tuple[Pad, Pad, Pad, Pad],
    Expected(f"[top, left, bottom, right], [vertical, horizontal], one number from 0 to {LARGEST}, same or valid"),
]


class Shape(Value):
    """What every row of a layer table has, whatever its operation.

    Sizes are in elements. ``kernel`` and ``stride`` are (height, width); ``padding`` is (top, left, bottom, right).
    ``input_channels`` and ``output_channels`` count over all groups. ``batch`` is how many images share the weights.
    What follows from other keys may be left out when it is read (`hwgen.ir.shorthand`).
    """

    name: Name
    op: str
    input_channels: Size
    output_channels: Size
    input_height: Size
    input_width: Size
    output_height: Size
    output_width: Size
    kernel: Pair
    stride: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    groups: Size = 1
    batch: Size = 1

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return completed(data, {key for key, field in cls.model_fields.items() if field.is_required()})

    def check_groups(self) -> None:
        """Raise ValueError unless the channels divide into the groups."""
        for key in ("input_channels", "output_channels"):
            if getattr(self, key) % self.groups:
                raise ValueError(f"{key}: expected a multiple of groups ({self.groups}), got {getattr(self, key)}")
        if self.op == "depthwise_conv" and self.groups != self.input_channels:
            raise ValueError(f"groups: expected input_channels ({self.input_channels}) for a depthwise_conv")

    def check_window(self) -> None:
        """Raise ValueError unless the output size follows from input, padding, kernel and stride."""
        top, left, bottom, right = self.padding
        for index, (axis, pads) in enumerate((("height", top + bottom), ("width", left + right))):
            size, kernel, stride = getattr(self, f"input_{axis}"), self.kernel[index], self.stride[index]
            if size + pads < kernel:
                raise ValueError(f"kernel: {axis} {kernel} exceeds the padded input {axis} {size + pads}")
            expected, given = (size + pads - kernel) // stride + 1, getattr(self, f"output_{axis}")
            if given != expected:
                raise ValueError(
                    f"output_{axis}: expected {expected} from input {size}, padding {pads}, kernel {kernel}, "
                    f"stride {stride}, got {given}"
                )


Taps = Literal["columns", "rows", "window"]
TAPS: tuple[Taps, ...] = ("columns", "rows", "window")


@dataclass(frozen=True, slots=True)
class Form:
    """How a layer is run: as it is, or as another layer that computes the same.

    Members
    -------
    groups_at_once : groups that are run as one, whose weights are zero between channels of different groups.
    taps_as_channels : the columns, the rows, or both of the kernel, the window, that are input channels: the input is
        laid out with a copy of each channel for each of these taps.
    column_window : lanes along c do the columns of the kernel, each output channel those of its own channel, which
        pass through a window one after the other. Each weight stands where that of a channel would.
    """

    groups_at_once: int = 1
    taps_as_channels: Taps | None = None
    column_window: bool = False

    def as_data(self) -> dict[str, Any]:
        """The keys of a file; none for a layer as it is."""
        return {key: value for key, value in asdict(self).items() if value != getattr(AS_IT_IS, key)}


AS_IT_IS = Form()


class Layer(Shape):
    """A convolution (or fully connected) layer as schedules see it.

    One that is made by `in_form` has the shape that is run; `of_network` is the layer that it stands for.
    """

    called = "layer"

    op: Literal["conv", "depthwise_conv", "fc"] = "conv"
    requantisation: GivenRequantisation | None = None
    _stands_for: "Layer | None" = PrivateAttr(default=None)
    _form: Form = PrivateAttr(default=AS_IT_IS)

    if TYPE_CHECKING:  # as a table may say it: the fields are what becomes of that

        def __init__(
            self,
            *,
            name: str,
            input_channels: int,
            output_channels: int,
            input_height: int,
            input_width: int,
            kernel: int | Sequence[int],
            op: Literal["conv", "depthwise_conv", "fc"] = "conv",
            stride: int | Sequence[int] = 1,
            padding: int | str | Sequence[int] = 0,
            output_height: int | None = None,
            output_width: int | None = None,
            groups: int = 1,
            batch: int = 1,
            requantisation: GivenRequantisation | None = None,
        ) -> None: ...

    @model_serializer(mode="wrap")
    def _said(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        if data.get("requantisation", 0) is None:
            del data["requantisation"]
        if data.get("batch") == 1:
            del data["batch"]
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.check_groups()
        self.check_window()
        return self

    # --- other forms ---

    @property
    def form(self) -> Form:
        """How the layer of the network is run."""
        return self._form

    @property
    def of_network(self) -> "Layer":
        """The layer as the network has it."""
        return self._stands_for or self

    def in_form(self, form: Form) -> "Layer":
        """The layer that is run in place of this one; raises ValueError where there is none.

        Outputs, names and what becomes of sums stay as they are, and so does the number of `macs`.
        """
        layer = self.of_network
        at_once = form.groups_at_once
        if at_once < 1 or layer.groups % at_once:
            raise ValueError(f"groups_at_once: expected a divisor of {layer.groups} groups, got {at_once}")
        if form == AS_IT_IS:
            return layer
        if at_once > 1 and form.taps_as_channels:
            raise ValueError("taps_as_channels: expected without groups_at_once")
        if form.column_window:
            layer._check_column_window(at_once)
        changed = {
            "op": "conv",
            "groups": layer.groups // at_once,
            **layer._with_taps_as_channels(form.taps_as_channels),
        }
        found = Layer.model_validate(layer.model_dump() | changed)
        found._stands_for, found._form = layer, form
        return found

    def run_as(self, layer: "Layer") -> Self:
        """Itself, made from a layer that is run with other sizes: its columns pass through a window as that one's."""
        if layer.form.column_window:
            self._form = layer.form
        return self

    def _check_column_window(self, groups: int) -> None:
        """Raise ValueError unless each output channel has an input channel, and a place for each of its weights."""
        if (self.channels_per_group, self.outputs_per_group) != (1, 1):
            raise ValueError(
                "column_window: expected groups of one input and one output channel, "
                f"got {self.channels_per_group} and {self.outputs_per_group}"
            )
        if not 2 <= self.kernel[1] <= groups:
            raise ValueError(
                f"column_window: expected a kernel of 2 to {groups} columns, as many as groups_at_once, "
                f"got {self.kernel[1]}"
            )
        if self.stride[1] > self.kernel[1]:
            raise ValueError(
                f"column_window: expected a horizontal stride of at most the kernel's {self.kernel[1]} columns, as "
                f"all columns pass, got {self.stride[1]}"
            )

    def _with_taps_as_channels(self, taps: Taps | None) -> dict[str, Any]:
        """What the layer with these taps as channels has otherwise."""
        if taps is None:
            return {}
        (down, across), (top, left, bottom, right) = self.kernel, self.padding
        rows, columns = taps != "columns", taps != "rows"
        copies = (down if rows else 1) * (across if columns else 1)
        if self.input_channels * copies > LARGEST:
            raise ValueError(
                f"taps_as_channels: expected at most {LARGEST} channels, got {self.input_channels * copies}"
            )
        return {
            "input_channels": self.input_channels * copies,
            "input_height": self.output_height if rows else self.input_height,
            "input_width": self.output_width if columns else self.input_width,
            "kernel": (1 if rows else down, 1 if columns else across),
            "stride": (1 if rows else self.stride[0], 1 if columns else self.stride[1]),
            "padding": (0 if rows else top, 0 if columns else left, 0 if rows else bottom, 0 if columns else right),
        }

    @cached_property
    def extents(self) -> dict[Dim, int]:
        """Extent of each loop dimension of one image; ``c`` runs over the input channels of one group, or over the
        columns of the kernel that pass through a window, with which ``l`` has nothing left to do."""
        return {
            "m": self.output_channels,
            "c": self.input_channels // self.groups,
            "y": self.output_height,
            "x": self.output_width,
            "k": self.kernel[0],
            "l": 1 if self.form.column_window else self.kernel[1],
        }

    @property
    def columns_beside(self) -> int:
        """Columns of the input that an iteration over ``l`` needs besides its own: those that are in a window."""
        return self.kernel[1] - self.extents["l"]

    def columns_passed(self, outputs: Any) -> Any:
        """Iterations of the innermost loop for a run of outputs, a number or an array of numbers: where columns pass
        through a window, one for each column."""
        if not self.form.column_window:
            return outputs
        return (outputs - 1) * self.stride[1] + self.kernel[1]

    @property
    def weight_kernel(self) -> tuple[int, int]:
        """Rows and columns of the kernels as weights are stored."""
        return self.kernel[0], self.extents["l"]

    @property
    def loop_extents(self) -> dict[Dim, int]:
        """Extent of each dimension that a loop may run over: those of one image, and the images."""
        return {IMAGE: self.batch, **self.extents}

    @property
    def shape_data(self) -> dict[str, Any]:
        """All that counts, cycles and searches depend on, as plain data: without names and requantisation."""
        return self.model_dump(mode="json", exclude={"name", "op", "requantisation"}) | self.form.as_data()

    def requantisation_at(self, bits: int) -> Requantisation:
        """How sums of products of operands of ``bits`` bits become outputs as wide."""
        given, layer = self.requantisation or GivenRequantisation(), self.of_network
        return given.complete(layer.channels_per_group * layer.kernel[0] * layer.kernel[1], bits)

    def requantised(self, requantisation: GivenRequantisation | None) -> "Layer":
        """The same layer with another requantisation."""
        return self.of_network.model_copy(update={"requantisation": requantisation}).in_form(self.form)

    def beyond_the_hardware(self) -> str:
        """Why no HWC runs it, whatever its parameters; empty if nothing is wrong."""
        if max(self.kernel) > MAX_KERNEL:
            return f"kernel: expected at most {MAX_KERNEL}, got {list(self.kernel)}"
        if max(self.stride) > MAX_STRIDE:
            return f"stride: expected at most {MAX_STRIDE}, got {list(self.stride)}"
        return ""

    @property
    def channels_per_group(self) -> int:
        """Input channels of one group."""
        return self.input_channels // self.groups

    @property
    def outputs_per_group(self) -> int:
        """Output channels of one group."""
        return self.output_channels // self.groups

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all images, padding included; of the layer as the network has it."""
        product = 1
        for extent in self.of_network.loop_extents.values():
            product *= extent
        return product

    def of_images(self, batch: int) -> "Layer":
        """The same layer for a batch of this many images."""
        if batch == self.batch:
            return self
        return self.of_network.model_copy(update={"batch": batch}).in_form(self.form)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Sizes of the input [C, H, W]; of a batch of several images [N, C, H, W]."""
        return self._shape(self.input_channels, self.input_height, self.input_width)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Sizes of the output [M, E, F]; of a batch of several images [N, M, E, F]."""
        return self._shape(self.output_channels, self.output_height, self.output_width)

    def _shape(self, *one_image: int) -> tuple[int, ...]:
        return one_image if self.batch == 1 else (self.batch, *one_image)

    @property
    def input_elements(self) -> int:
        """Elements of the input feature maps of all images."""
        return self.batch * self.input_channels * self.input_height * self.input_width

    @property
    def weight_elements(self) -> int:
        """Elements of the weight tensor."""
        rows, columns = self.weight_kernel
        return self.output_channels * self.channels_per_group * rows * columns

    @property
    def output_elements(self) -> int:
        """Elements of the output feature maps of all images."""
        return self.batch * self.output_channels * self.output_height * self.output_width
