"""The integer reference beside ONNX Runtime, or LiteRT: what differs, as lines and as plain data."""

from typing import Any

from hwgen.golden.quantised.comparison import LITE_RT, ONNX_RUNTIME, Beside

__all__ = ["judgement", "runtime_documents"]

RUNTIME_KEYS = {ONNX_RUNTIME: "onnxruntime", LITE_RT: "litert"}

CARRIED_ON = "what a tie rounds otherwise is carried on from node to node"


def judgement(beside: Beside) -> list[str]:
    """What differs from ONNX Runtime and why, in lines; how far the outputs differ, end to end."""
    found = [f"{one.name}: {one.apart or one.different} elements: {one.why}" for one in beside.unlike if one.why]
    if not beside.holds:
        found.append(
            f"Wrong: more differs from {beside.runtime} than the roundings of ties explain (docs/networks.md)"
        )
    if beside.fused:
        found.append(
            f"ONNX Runtime alone makes {beside.fused} elements otherwise: its optimiser leaves out quantisers"
        )
    return found + [
        f"output {name}: {one.equal:.2%} equal end to end, largest difference {one.largest:g}"
        + (f"; {CARRIED_ON}" if beside.holds and one.equal < 1 else "")
        for name, one in beside.differences.items()
    ]


def runtime_documents(beside: Beside | None) -> dict[str, Any]:
    """The comparison as plain data, under the key of what the integer reference was compared with."""
    whole = None if beside is None else _runtime_document(beside)
    key = "onnxruntime" if beside is None else RUNTIME_KEYS[beside.runtime]
    return {"onnxruntime": None, key: whole}


def _runtime_document(beside: Beside) -> dict[str, Any]:
    whole = beside.whole
    return {
        "equal": whole.equal,
        "largest_difference": whole.largest,
        "ties": whole.ties,
        "apart": whole.apart,
        "fused": beside.fused,
        "holds": beside.holds,
        "nodes": [
            {
                "name": one.name,
                "elements": one.elements,
                "different": one.different,
                "ties": one.ties,
                "apart": one.apart,
                "largest_difference": one.largest,
            }
            for one in beside.agreements
        ],
        "end_to_end": {
            name: {"equal": one.equal, "largest_difference": one.largest} for name, one in beside.differences.items()
        },
    }
