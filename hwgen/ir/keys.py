"""The keys of a file, stated once: values, limits, default, what they exclude, purpose.

A field of a `Stated` model says all of this. Reading checks it, tables print it, random files are drawn from it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, model_validator
from pydantic.fields import FieldInfo

from hwgen.ir.document import Value, written

__all__ = [
    "Choice",
    "Key",
    "MaybePowerOfTwo",
    "PowerOfTwo",
    "Range",
    "Rule",
    "Stated",
    "Unset",
    "Values",
    "described",
]


@dataclass(frozen=True, slots=True)
class Unset:
    """What holds where a key is absent that has no default: annotates the field's type."""

    meaning: str


@dataclass(frozen=True, slots=True)
class Values:
    """What the value of a key with a form of its own may be: annotates the field's type."""

    form: str


@dataclass(frozen=True, slots=True)
class Powers:
    """Only powers of two: annotates a whole number."""


def _power_of_two(number: int | None) -> int | None:
    if number is not None and number & (number - 1):
        raise ValueError(f"expected a power of two, got {written(number)}")
    return number


PowerOfTwo = Annotated[int, Powers(), AfterValidator(_power_of_two)]
"""A whole number that is a power of two, or 0 where the limits of its field allow it."""
MaybePowerOfTwo = Annotated[int | None, Powers(), AfterValidator(_power_of_two)]
"""The same of a key that may be absent."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What values of some keys exclude.

    Members
    -------
    keys : the keys that it is about, from the model on: ``cluster.banks``.
    said : what it asks for, for tables.
    broken : of the whole value: what is wrong, with the key, as a message says it; None if nothing is.
    """

    keys: tuple[str, ...]
    said: str
    broken: Callable[[Any], str | None]


class Stated(Value):
    """A value of which every key is described, and that keeps its `rules`."""

    called = "value"
    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _keeps_the_rules(self) -> Self:
        for rule in self.rules:
            if wrong := rule.broken(self):
                raise ValueError(wrong)
        return self


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some values."""

    values: tuple[Any, ...]

    def __str__(self) -> str:
        words = [written(one).strip("'") for one in self.values]
        return f"{', '.join(words[:-1])} or {words[-1]}"


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; in real ranges ``high`` is not, and None is no limit."""

    low: float
    high: float | None
    whole: bool = True
    powers: bool = False

    def __str__(self) -> str:
        if not self.whole:
            return f"a number from {self.low:g}" + (f" to below {self.high:g}" if self.high is not None else " on")
        what = "a power of two, " if self.powers else ""
        zero = ", or 0" if self.powers and self.low == 0 else ""
        return f"{what}{int(max(self.low, self.powers))} to {int(self.high or 0)}{zero}"


Domain = Choice | Range | str
"""What a value may be; of values with a form of their own, its description."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a file.

    Members
    -------
    name : from the outermost mapping on: ``cluster.dram.banks``.
    domain : its values.
    default : as in a file; where it has none, None and what holds ``unset``; required if this is empty, too.
    unset : what holds without it.
    rules : what it excludes, or asks of others.
    meaning : what it is for.
    field : its field.
    """

    name: str
    domain: Domain
    default: Any
    unset: str
    rules: tuple[str, ...]
    meaning: str
    field: FieldInfo

    @property
    def otherwise(self) -> str:
        """What holds without it, as a table says it."""
        return self.unset or ("required" if self.default is None else written(self.default).strip("'"))

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "key": self.name,
            "values": str(self.domain),
            "default": self.default,
            "without": self.otherwise,
            "rules": list(self.rules),
            "meaning": self.meaning,
        }


def described(model: type[Stated], more: Sequence[Rule] = ()) -> Iterator[Key]:
    """Every key of a model, and of the mappings inside it, in their order; ``more``: rules beside its own."""
    said: dict[str, list[str]] = {}
    for name, rule in [*_rules(model, ""), *((key, one) for one in more for key in one.keys)]:
        if rule.said not in said.setdefault(name, []):
            said[name].append(rule.said)
    for name, field, inner in _fields(model, ""):
        unset = next((one.meaning for one in field.metadata if isinstance(one, Unset)), "")
        default = None if field.is_required() else _plain(field.default)
        assert field.description, f"{name}: expected a description"
        assert unset or default is not None or field.is_required(), f"{name}: expected what holds without it"
        domain = _domain(name, field, inner)
        yield Key(name, domain, default, unset, tuple(said.pop(name, ())), field.description, field)
    assert not said, f"rules: expected keys, got {list(said)}"


def _fields(model: type[Stated], within: str) -> Iterator[tuple[str, FieldInfo, type[Stated] | None]]:
    for name, field in model.model_fields.items():
        inner = _stated_in(field.annotation)
        yield f"{within}{name}", field, inner
        if inner is not None:
            yield from _fields(inner, f"{within}{name}.")


def _rules(model: type[Stated], within: str) -> Iterator[tuple[str, Rule]]:
    yield from ((f"{within}{key}", rule) for rule in model.rules for key in rule.keys)
    for name, field in model.model_fields.items():
        if (inner := _stated_in(field.annotation)) is not None:
            yield from _rules(inner, f"{within}{name}.")


def _plain(value: Any) -> Any:
    """A default as a file has it."""
    return value.as_data() if hasattr(value, "as_data") else value


def _stated_in(annotation: Any) -> type[Stated] | None:
    """The model that a field's value is, or may be."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        assert issubclass(annotation, Stated)
        return annotation
    return next((found for one in get_args(annotation) if (found := _stated_in(one)) is not None), None)


def _domain(name: str, field: FieldInfo, inner: type[Stated] | None) -> Domain:
    for one in field.metadata:
        if isinstance(one, Values):
            return one.form
    if inner is not None:
        return f"a mapping with the keys of a {inner.called}"
    kind = field.annotation
    if get_origin(kind) in (Union, UnionType):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is Literal:
        return Choice(get_args(kind))
    if kind is bool:
        return Choice((False, True))
    assert kind in (int, float), f"{name}: expected Values, which says what its values are"
    whole = kind is int
    limits = {side: getattr(one, side) for one in field.metadata for side in ("ge", "le", "lt") if hasattr(one, side)}
    high = limits["le"] if "le" in limits else limits["lt"] - whole if "lt" in limits else None
    assert "ge" in limits, f"{name}: expected a limit"
    assert not whole or high is not None, f"{name}: expected a limit"
    return Range(limits["ge"], high, whole, any(isinstance(one, Powers) for one in field.metadata))
