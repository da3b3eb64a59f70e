"""Steps of a sweep done in this process, one after the other: no workers, no time limits."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hwgen.ir.document import InputError
from hwgen.studies.engine.attempt import Order, Step
from hwgen.studies.engine.farm import Place
from hwgen.tools.toolchain import ToolError

__all__ = ["open_inline"]


class _Inline:
    """As `hwgen.studies.engine.farm.Farm`."""

    def __init__(self, order: Order) -> None:
        module, _, name = order.perform.partition(":")
        self._perform = getattr(importlib.import_module(module), name)
        self._waiting: list[Step] = []

    def submit(self, step: Step) -> None:
        self._waiting.append(step)

    def records(self, patience: float) -> Iterator[tuple[Step, dict[str, Any]]]:
        while self._waiting:
            step = self._waiting.pop(0)
            try:
                record = {"status": "done", "value": self._perform(step, lambda stage: None)}
            except InputError as error:
                record = {"status": "refused", "reason": str(error)}
            except ToolError as error:
                record = {"status": "failed", "reason": str(error)}
            except OSError as error:
                record = {"status": "failed", "reason": f"{error.filename}: {error.strerror}"}
            yield step, record | {"title": step.title}


@contextmanager
def open_inline(place: Place, order: Order, say: Callable[[str], None]) -> Iterator[_Inline]:
    """In place of `hwgen.studies.engine.farm.open_farm`."""
    yield _Inline(order)
