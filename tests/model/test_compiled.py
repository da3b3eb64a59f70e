"""The cache of compiled kernels: what changes in another file is compiled anew."""

import fcntl
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numba.core.errors import NumbaError

from hwgen.model.compiled import borrowing, digest, inner, njit

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """
import numpy as np
from numba import njit

import part
from hwgen.model.compiled import digest


def cached(sources):
    @njit(cache=True)
    def kernel(values):
        if sources:
            values[0] = part.doubled(values[0]) + part.MORE

    return kernel


kernel = cached(digest(part))
values = np.array([5])
kernel(values)
print(values[0], sum(kernel.stats.cache_hits.values()))
"""
PART = """
from numba import njit

MORE = {more}


@njit
def doubled(value):
    return {factor} * value
"""


def loaded(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_digest_changes_with_the_text(tmp_path: Path) -> None:
    paths = [tmp_path / "one.py", tmp_path / "two.py"]
    for path in paths:
        path.write_text("A = 1\n")
    one, two = (loaded(path, path.stem) for path in paths)
    before = digest(one, two)
    assert before == digest(one, two) != 0
    paths[1].write_text("A = 2\n")
    assert digest(one, two) != before


def test_a_kernel_is_compiled_anew_when_a_part_of_it_changes(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    paths = os.pathsep.join((str(tmp_path), str(ROOT)))
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(factor: int, more: int) -> list[int]:
        (tmp_path / "part.py").write_text(PART.format(factor=factor, more=more))
        command = [sys.executable, "-B", "-m", "kernel"]
        ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        return [int(word) for word in ended.stdout.split()]

    assert run(2, 1) == [11, 0]
    assert run(2, 1) == [11, 1]  # out of the cache
    assert run(3, 1) == [16, 0]
    assert run(3, 40) == [55, 0]


DAMAGED = """
from hwgen.model.compiled import njit

@njit(cache=True)
def kernel(a):
    return a + 1

@njit(cache=True)
def other(a):
    return a - 1

print(kernel(3), sum(kernel.stats.cache_hits.values()), other(3))
"""


def test_kept_machine_code_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    script, kept = tmp_path / "kernels.py", tmp_path / "kept"
    script.write_text(DAMAGED, encoding="utf-8")

    def call() -> tuple[list[int], str]:
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(kept)},
        )  # fmt: skip
        return [int(number) for number in done.stdout.split()], done.stderr

    assert call() == ([4, 0, 2], "")
    (index,), (code,), (others,) = (
        list(kept.rglob(f"*.{name}")) for name in ("kernel-*.nbi", "kernel-*.nbc", "other-*.nbc")
    )
    for file, damaged in (
        (code, code.read_bytes()[:-50]),
        (code, others.read_bytes()),  # whole, but of another function
        (index, index.read_bytes()[:-20]),
    ):
        file.write_bytes(damaged)
        numbers, told = call()
        assert (numbers, told.count("\n")) == ([4, 0, 2], 1)
        assert told.endswith(": damaged: compiled anew\n")
    assert call() == ([4, 1, 2], "")


COMPILING = "compiling kernels for this processor, kept for later calls: up to a minute, once"
HEARD = """
from types import SimpleNamespace
from hwgen.api.progress import listening

heard = listening(SimpleNamespace(note=print))
heard.__enter__()
"""


def test_who_listens_hears_when_kernels_are_compiled(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(HEARD + DAMAGED, encoding="utf-8")

    def call() -> list[str]:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        command = [sys.executable, str(tmp_path / "kernels.py")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout.splitlines()

    assert call() == [COMPILING, "", COMPILING, "", "4 0 2"]
    assert call() == ["4 1 2"]


def test_what_another_process_compiles_is_waited_for(tmp_path: Path) -> None:
    """The other process, which is the test, has the lock; what it has kept in the end is taken."""
    script, kept = tmp_path / "kernels.py", tmp_path / "kept"
    script.write_text(HEARD + DAMAGED, encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(kept)}
    command = [sys.executable, "-u", str(script)]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    (lock,) = kept.rglob("*.kernel-*.lock")
    files = [file for file in lock.parent.iterdir() if ".kernel-" in file.name and file != lock]
    for file in files:
        file.rename(tmp_path / file.name)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waits = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert waits.stdout is not None
        assert waits.stdout.readline() == f"{COMPILING}\n"
        for file in files:
            (tmp_path / file.name).rename(file)
    assert waits.communicate(timeout=60)[0] == "\n4 1 2\n"
    assert waits.returncode == 0


NOWHERE = """
import os
from hwgen.model import compiled

del compiled._PLACES[:-1]

@compiled.njit(cache=True)
def twice(value):
    return 2 * value

print(twice(4))
"""


def test_machine_code_is_kept_elsewhere_where_the_usual_folders_cannot_be_written_to(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(NOWHERE)
    kept, temporary = tmp_path / "kept", tmp_path / "temporary"
    temporary.mkdir()

    def ran(cache: Path) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "HWGEN_CACHE": str(cache), "TMPDIR": str(temporary)}
        command = [sys.executable, str(script)]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)

    found = ran(kept)
    assert (found.returncode, found.stdout, found.stderr) == (0, "8\n", "")
    assert list((kept / "numba").rglob("*.nbc"))
    barred = tmp_path / "file"
    barred.touch()
    found = ran(barred)
    assert (found.returncode, found.stdout, found.stderr) == (0, "8\n", "")
    assert list(temporary.iterdir()) == []


def test_a_function_that_borrows_arrays_makes_none() -> None:
    """What it makes would never be freed, so that it does not compile."""
    values = np.arange(5)
    assert _sum(values) == 10
    with pytest.raises(NumbaError, match="Only accept returning of array passed"):
        _made(values)


def test_a_part_of_a_kernel_has_no_machine_code_of_its_own() -> None:
    """What it raises is raised by the kernel."""
    assert _whole(4) == 2
    with pytest.raises(ValueError, match="an odd number"):
        _whole(5)
    (compiled,) = _half.overloads.values()
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


@inner
def _half(value):  # type: ignore[no-untyped-def]
    if value % 2:
        raise ValueError("an odd number")
    return value // 2


@njit
def _whole(value):  # type: ignore[no-untyped-def]
    return _half(value)


@borrowing
def _sum(values):  # type: ignore[no-untyped-def]
    return values[1:].sum()


@borrowing
def _made(values):  # type: ignore[no-untyped-def]
    return np.zeros(len(values))
