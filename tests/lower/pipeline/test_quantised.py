"""What quantised networks begin with as rows of pipelines: row by row the integer reference, and what ends it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hwgen.golden.network import row_output
from hwgen.golden.quantised.execution import execute
from hwgen.ir.document import InputError
from hwgen.ir.network import kinds
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Node, Window
from hwgen.ir.network.tensors import Constants, Quantisation, Tensor
from hwgen.ir.requantisation import Requantisation, Scale
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.quantised import Beginning, beginnings_of, solution_of
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.readers.integers.reader import read_quantised
from tests.oracles.pipeline_interpreter import Memory, interpret
from tests.random.quantised import quantised_model, random_model
from tests.readers.integers.models import Draft

EVERY_RUN, MODELS = 24, 200


def check(graph: Graph, beginning: Beginning, image: dict[str, Any]) -> None:
    """Each row makes what its node makes, and the lowered stacks too, out of registers and the words of the port."""
    maps = beginning.maps(execute(graph, image))
    for row in beginning.network.layers:
        made = row_output(row, beginning.rows[row.name], [maps[name] for name in row.inputs])
        assert np.array_equal(made, maps[row.name]), row.name
    solution = solution_of(beginning)
    memory = Memory.of(beginning.network)
    numbers = {one.name: number for number, one in enumerate(solution.graph.maps)}
    memory.put(0, maps[solution.graph.maps[0].name])
    for stack in solution.stacks:
        interpret(lower_stack(plan_stack(solution, stack), beginning.rows), memory)
        for number in solution.graph.outputs(stack.span):
            assert np.array_equal(memory.data[number], maps[solution.graph.maps[number].name])
    assert set(numbers) == set(maps)


def begun(seed: int, folder: Path) -> int:
    """The rows that a random model begins with; none if its beginning is refused."""
    rng = np.random.default_rng(seed)
    image = quantised_model(rng, random_model(rng), folder / "x.onnx")
    graph = read_quantised(folder / "x.onnx")
    try:
        beginning = beginnings_of(graph)[0]
    except InputError:
        return 0
    check(graph, beginning, image)
    return len(beginning.nodes)


def test_random_models(tmp_path: Path) -> None:
    rows = [begun(seed, tmp_path) for seed in range(EVERY_RUN)]
    assert sum(one > 0 for one in rows) > EVERY_RUN // 2
    assert max(rows) >= 4


@pytest.mark.nightly
def test_many_random_models(tmp_path: Path) -> None:
    rows = [begun(seed, tmp_path) for seed in range(EVERY_RUN, MODELS)]
    assert sum(one > 0 for one in rows) > MODELS // 2


# --- graphs by hand ---

SIZE = (1, 4, 6, 6)
FIXED = Constants(arrays={"fixed": np.zeros(SIZE, np.int8)})


def graph(*nodes: Node, outputs: tuple[str, ...] = ()) -> Graph:
    """Nodes in their order; the input is ``x``."""
    tensors = {"x": Tensor("x", SIZE, Quantisation(0.1, 3))}
    tensors |= {name: Tensor(name, node.shape, Quantisation(0.1, -5)) for node in nodes for name in node.outputs}
    last = outputs or (nodes[-1].output,)
    return Graph(name="net", nodes=nodes, inputs=("x",), outputs=last, tensors=tensors, constants=FIXED)


def base(name: str, *inputs: str, shape: tuple[int, ...] = SIZE) -> dict[str, Any]:
    return {"name": name, "inputs": inputs, "covers": (name,), "shape": shape}


def conv(name: str = "conv", read: str = "x", **changes: Any) -> kinds.Convolution:
    rng = np.random.default_rng(1)
    made = kinds.Convolution(
        **base(name, read), weights=rng.integers(-128, 128, (4, 4, 3, 3), np.int8),
        bias=rng.integers(-900, 900, 4, np.int32), window=Window((3, 3), padding=(1, 1, 1, 1)),
        requantisation=Requantisation(tuple(Scale(40000 + n, 27) for n in range(4)), zero_in=3, zero_out=-5),
    )  # fmt: skip
    return replace(made, **changes)


def average(read: str, **changes: Any) -> kinds.AveragePool:
    made = kinds.AveragePool(
        **base("pool", read, shape=(1, 4, 6, 6)), window=Window((3, 3), padding=(1, 1, 1, 1)), counted=(1, 1, 1, 1),
        scales={count: Scale.nearest(1.5 / count) for count in range(1, 10)}, zero_in=-5, zero_out=2, low=-100,
        high=127,
    )  # fmt: skip
    return replace(made, **changes)


LARGEST = kinds.MaxPool(**base("pool", "conv"), window=Window((3, 3), padding=(1, 1, 1, 1)))
ADDED = kinds.Addition(
    **base("sum", "conv", "x"), scales=Scale.common([0.7, 1.0]), zeros=(-5, 3), zero_out=1, low=-128, high=90
)
JOINED = kinds.Concatenation(**base("join", "conv", "x", shape=(1, 8, 6, 6)), axis=1, tables=(None, None))
FLAT = kinds.View(**base("flat", "conv", shape=(1, 144)))
SCORES = kinds.Product(
    **base("scores", "flat", shape=(1, 5)), weights=np.random.default_rng(2).integers(-128, 128, (5, 144), np.int8),
    bias=np.arange(5, dtype=np.int32), requantisation=Requantisation((Scale(30000, 29),), zero_in=-5),
)  # fmt: skip
TABLE = np.arange(-128, 128).astype(np.int8)[::-1].copy()


@pytest.mark.parametrize(
    "nodes",
    [
        (conv(),),
        (conv(window=Window((3, 3), (2, 2), (1, 0, 1, 0)), shape=(1, 4, 3, 2)),),
        (conv(window=Window((3, 3), padding=(2, 2, 2, 2), dilation=(2, 2))),),
        (conv(), average("conv")),
        (conv(), average("conv", window=Window((6, 6)), counted=(0, 0, 0, 0), shape=(1, 4),
                         scales={36: Scale.nearest(0.9 / 36)})),
        (conv(), average("conv", window=Window((1, 1)), counted=(0, 0, 0, 0), scales={1: Scale(1 << 16, 15)})),
        (conv(), LARGEST),
        (conv(), ADDED),
        (conv(), JOINED),
        (conv(), FLAT, SCORES),
        (conv(), kinds.Lookup(**base("table", "conv"), tables=TABLE[None])),
        (conv(), kinds.Lookup(**base("table", "conv"), tables=np.stack([TABLE, TABLE[::-1], TABLE, TABLE]))),
        (conv(), replace(LARGEST, table=np.sort(TABLE) // 2)),
        (conv(), replace(JOINED, tables=(None, TABLE))),
        (conv(), replace(JOINED, tables=(TABLE, None))),
    ],
)  # fmt: skip
def test_each_kind_of_node(nodes: tuple[Node, ...]) -> None:
    whole = graph(*nodes)
    beginning = beginnings_of(whole)[0]
    assert beginning.nodes == tuple(node.name for node in nodes if not isinstance(node, kinds.View))
    assert beginning.ends is None
    check(whole, beginning, {"x": np.random.default_rng(3).integers(-128, 128, SIZE, np.int8)})


MOVED = kinds.Movement(**base("moved", "conv"), operator="Transpose", index=np.arange(144)[::-1].reshape(SIZE))
CROP = Window((3, 3), padding=(-1, 1, 1, 1))
ENDS = [
    (replace(LARGEST, window=Window((2, 2), padding=(2, 2, 2, 2), dilation=(2, 2))), "its window is dilated"),
    (average("conv", counted=(0, 0, 0, 0)), "windows at its borders have fewer elements that count than 9"),
    (replace(JOINED, axis=2), "it joins maps along axis 2, not their channels"),
    (replace(ADDED, inputs=("conv", "conv")), "it reads one map twice"),
    (replace(ADDED, inputs=("conv", "fixed")), "it reads a map that is constant"),
    (replace(ADDED, inputs=("conv", "y")), "it reads y, which is not made before it, beside the network's first map"),
    (MOVED, "a pipeline has no stage for move (Transpose)"),
    (conv("late", "conv", window=CROP, shape=(1, 4, 5, 6)), "its windows leave out a border of the map"),
    (conv("late", "conv", window=Window((3, 3), padding=(3, 1, 1, 1)), shape=(1, 4, 8, 6)),
     "its padding is as large as its kernel"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "why"), ENDS, ids=[why for _, why in ENDS])
def test_what_ends_a_beginning(node: Node, why: str) -> None:
    beginning = beginnings_of(graph(conv(), node))[0]
    assert (beginning.nodes, beginning.ends) == (("conv",), (node.name, why))


def test_a_map_that_is_read_again_ends_it_earlier() -> None:
    """A pipeline leaves nothing but the maps that it reads no more."""
    beginning = beginnings_of(graph(conv(), LARGEST, MOVED, outputs=("pool", "moved")))[0]
    assert beginning.nodes == ("conv",)
    assert beginning.ends == ("pool", "what it would follow is read again by the host")


def test_a_network_that_begins_otherwise_is_refused() -> None:
    largest = replace(LARGEST, inputs=("x",), window=Window((2, 2), padding=(2, 2, 2, 2), dilation=(2, 2)))
    with pytest.raises(InputError, match=r"^net: no node of its beginning runs depth-first: pool: its window is dil"):
        beginnings_of(graph(largest))
    with pytest.raises(InputError, match=r"^net: expected nodes that a pipeline has stages for, got none$"):
        beginnings_of(graph(replace(MOVED, inputs=("x",))))


@pytest.mark.parametrize("operator", ["LeakyRelu", "PRelu", "Selu", "Sigmoid"])
def test_activations_that_are_no_clips_are_tables(operator: str, tmp_path: Path) -> None:
    """Those of a map that was quantised before them: as the integer reference has them, below zero too."""
    rng, draft = np.random.default_rng(4), Draft([1, 2, 5, 6])
    weights = draft.weights(rng.integers(-99, 99, (4, 2, 3, 3)), [0.01, 0.02, 0.005, 0.01])
    made = draft.both(draft.node("Conv", draft.both("x", 0.05, 100), weights, kernel_shape=[3, 3]), 0.1, 128)
    slopes = [draft.constant([[[0.1]], [[0.5]], [[-0.2]], [[2.0]]])] if operator == "PRelu" else []
    made = draft.both(draft.node(operator, made, *slopes), 0.08, 100)
    second = draft.weights(rng.integers(-99, 99, (3, 4, 1, 1)), 0.01)
    made = draft.both(draft.node("Conv", made, second, kernel_shape=[1, 1]), 0.2, 120)
    whole = read_quantised(draft.write(tmp_path / "x.onnx", made, [1, 3, 3, 4]))
    beginning = beginnings_of(whole)[0]
    assert (len(beginning.nodes), beginning.ends) == (3, None)
    (row,) = [row for row in beginning.network.layers if row.op == "lookup"]
    assert row.groups == (4 if operator == "PRelu" else 1)
    check(whole, beginning, {"x": rng.normal(size=(1, 2, 5, 6)).astype(np.float32) * 3})


def test_memory_that_is_not_enough() -> None:
    beginning = beginnings_of(graph(conv(), average("conv")))[0]
    least = min(range(1, 400), key=lambda size: (not _fits(beginning, size), size))
    assert solution_of(beginning, least).requantisation == "scaled"
    with pytest.raises(InputError, match=f"^--memory: expected at least {least} bytes, got {least - 1}$"):
        solution_of(beginning, least - 1)


def _fits(beginning: Beginning, memory: int) -> bool:
    try:
        solution_of(beginning, memory)
    except InputError:
        return False
    return True
