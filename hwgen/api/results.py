"""What every answer has: the document of ``--json``, rows for pandas, a line, a table for notebooks, a chart."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hwgen.ir.document import InputError, json_text, write_atomically

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Answer", "Difference", "Figure"]


class Difference(Exception):
    """A check that failed, said in one line: the RTL and the model differ, or an output is wrong."""


@dataclass(frozen=True, repr=False)
class Figure:
    """A chart as files: a notebook shows it, `save` writes it."""

    svg: str
    png: bytes

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> "Figure":
        """The figure of its files by suffix."""
        return cls(files["svg"].decode(), files["png"])

    def save(self, path: str | Path) -> Path:
        """Write it; the suffix, ``.svg``, ``.png`` or ``.pdf``, says as what."""
        place = Path(path)
        match place.suffix:
            case ".svg":
                content: str | bytes = self.svg
            case ".png":
                content = self.png
            case ".pdf":
                from hwgen.report.charts import as_pdf  # its libraries take a second

                content = as_pdf(self.svg)
            case _:
                raise InputError(f"{place}: expected a file name that ends in .svg, .png or .pdf")
        write_atomically(place, content)
        return place

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return "<Figure: .save('NAME.svg', 'NAME.png' or 'NAME.pdf')>"


class Answer(ABC):
    """What a call found out. It is frozen; nothing of it is printed before it is asked for."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """What ``--json`` prints, as values of Python."""

    def to_dict(self) -> dict[str, Any]:
        """The document that the command of the same name prints with ``--json``: lists, numbers, text."""
        found: dict[str, Any] = json.loads(json_text(self.document()))
        return found

    @abstractmethod
    def rows(self) -> Sequence[dict[str, object]]:
        """What `to_frame` shows, as dictionaries: one row a layer."""

    @abstractmethod
    def summary(self) -> str:
        """All of it in one line."""

    def to_frame(self) -> "DataFrame":
        """One row a layer, as a data frame of pandas. Raises `InputError` where pandas is not installed."""
        try:
            from pandas import DataFrame
        except ImportError:
            raise InputError("to_frame: needs the package pandas (pip install pandas); rows() does not") from None
        return DataFrame(list(self.rows()))

    def write(self, path: str | Path) -> Path:
        """Write the document, as the commands write it, complete or not at all."""
        write_atomically(Path(path), json_text(self.document()))
        return Path(path)

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        rows = self.rows()
        names = list(dict.fromkeys(name for row in rows for name, value in row.items() if value is not None))
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(_cell(row.get(name)) for name in names) + "</tr>" for row in rows)
        caption = f'<caption style="text-align:left">{escape(self.summary())}</caption>'
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    match value:
        case None:
            return "<td></td>"
        case bool():
            return f"<td>{'yes' if value else '<b>NO</b>'}</td>"
        case int():
            return f'<td style="text-align:right">{value:,}</td>'
        case float():
            return f'<td style="text-align:right">{value:.3f}</td>'
    return f'<td style="text-align:left">{escape(str(value))}</td>'
