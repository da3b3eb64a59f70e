"""``hwgen network``: a quantised network whole, what of it hardware can run, and its integer reference."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.quantised import QuantisedRequest
from hwgen.cli.console import Json, print_json
from hwgen.cli.jobs import hardware_names
from hwgen.cli.printers.quantised import print_quantised

__all__ = ["network"]

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A quantised model: ONNX (QDQ or QOperator form), or TFLite (a file *.tflite)."
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="[NAME=]FILE",
        help="An input, as numpy.save wrote it, or a picture (PNG, JPEG), which is scaled to the model's size; with "
        "its name if there are several. Several files for one input are images of it.",
    ),
]
Mean = Annotated[
    str | None,
    typer.Option(
        "--mean",
        metavar="M[,M,M]",
        help="Of a picture's pixels, 0 to 255, the network's numbers are (pixel - mean) / std: mean, 0 if not given.",
    ),
]
Std = Annotated[
    str | None, typer.Option("--std", metavar="S[,S,S]", help="See --mean: std, 255 if not given, which is 0 to 1.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Run on random inputs of this seed.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder for the outputs, as .npy.")
]
Hardware = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="Say what this HWC or cluster runs, as run does: a hardware file, or a built-in name. If not given: "
        "what the built-in cluster_64_vector can run, memories aside.",
        autocompletion=hardware_names,
    ),
]
Tensors = Annotated[bool, typer.Option("--tensors", help="Write every tensor of the first image, too.")]


def network(
    model: Model,
    *,
    hardware: Hardware = None,
    given: Inputs = None,
    mean: Mean = None,
    std: Std = None,
    seed: Seed = None,
    output: Output = None,
    tensors: Tensors = False,
    as_json: Json = False,
) -> None:
    """Print the nodes of a quantised network, and which of them hardware runs; with an input, run its reference.

    The integer reference says, to the bit, what hardware must make of the input. It is run beside ONNX Runtime,
    or LiteRT for TFLite: each node is compared on what that itself has at its input. Nothing is simulated.
    """
    found = QuantisedRequest(
        model=model, hardware=hardware, given=given, mean=mean, std=std, seed=seed, output=output, tensors=tensors
    ).answer()
    if as_json:
        print_json(found.document())
    else:
        print_quantised(found)
    if not found.passed:
        raise typer.Exit(1)
