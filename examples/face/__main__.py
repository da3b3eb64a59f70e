"""``python -m examples.face``: BlazeFace converted, quantised and run in the RTL finds the astronaut's face."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from examples.accelerator import Record, chosen_hardware, hwgen, judge, on_a_cluster
from examples.face.detection import SIZE, Face, faces, overlap
from examples.quantising import quantise
from examples.wheels import BLAZEFACE, FACES, picture
from hwgen.readers.tflite.conversion import as_onnx

MEAN = DEVIATION = 127.5
"""Pixels of 0 to 255 as the network takes them: -1 to 1."""
SCENES = ("camera.png", "cell.png", "chelsea.png", "coffee.png", "coins.png", "color.png", "motorcycle_left.png")
SIZES = (30, 40, 50, 60, 70)
"""Columns of the faces that are put into a scene."""
ENOUGH = 0.9
SHARE = 0.7
"""The largest part of the bytes at the DRAM that may remain where maps stay in the TCDM between layers."""
SHOWN = 256
"""Rows and columns of the picture with the box."""


def main() -> int:
    """Convert, quantise, run; exit status 1 if a mark is missed."""
    hardware = chosen_hardware("hwc_16.yaml")
    record = Record("face")
    floats = record.folder / "blazeface_float.onnx"
    onnx.save(as_onnx(BLAZEFACE.path()), floats)
    model = quantise(floats, record.folder / "blazeface.onnx", [{"input": one} for one in _calibrating()])
    astronaut = picture("astronaut.png")
    session = onnxruntime.InferenceSession(floats, providers=["CPUExecutionProvider"])
    outputs = ("regressors", "classificators")
    float_face = _only(faces(*session.run(outputs, {"input": _pixels(Image.open(astronaut))})), "float model")

    taken = ("--input", astronaut, "--mean", MEAN, "--std", DEVIATION)
    run = hwgen("run", model, "--hardware", hardware, *taken, "-o", record.folder / "run")
    made = {name: np.load(record.folder / "run" / run["outputs"][name]) for name in outputs}
    face = _only(faces(*made.values()), "RTL")
    shared = overlap(face.box, float_face.box)
    record.mark(
        f"RTL: the face is at {_text(face)}, score {face.score:.3f}; float model: {_text(float_face)}, score "
        f"{float_face.score:.3f}; overlap {shared:.3f} (from {ENOUGH} on)",
        shared >= ENOUGH,
    )
    judge(record, run)
    _draw(astronaut, face, record.folder / "astronaut.png")
    command = ["run", model, *taken]
    through = on_a_cluster(record, "through_dram", "cluster_64_vector.yaml", command, made)
    left = on_a_cluster(record, "resident", "cluster_64_vector.yaml", [*command, "--resident"], made)
    record.mark(
        f"maps that stay leave {left / through:.3f} of the bytes at the DRAM (up to {SHARE})", left <= SHARE * through
    )
    record.figures |= {"box": face.box, "score": face.score, "float_box": float_face.box,
                       "float_score": float_face.score, "overlap": shared}  # fmt: skip
    return record.close()


def _only(found: list[Face], source: str) -> Face:
    if len(found) != 1:
        raise SystemExit(f"face: {source}: expected one face, got {len(found)}")
    return found[0]


def _pixels(image: Image.Image) -> NDArray[np.float32]:
    """A picture as the network's input, as `hwgen run` makes it of a picture's file."""
    small = image.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    return ((np.asarray(small, np.float32) - MEAN) / DEVIATION)[None].astype(np.float32)


def _calibrating() -> list[NDArray[np.float32]]:
    """Scenes, and one of them with the faces of ten others, of several sizes. The astronaut is in none."""
    found = [_pixels(Image.open(picture(name))) for name in SCENES]
    table = Image.open(picture("coffee.png")).convert("RGB").resize((SIZE, SIZE))
    for number, pixels in enumerate(np.load(FACES.path())[:100:10]):
        size = SIZES[number % len(SIZES)]
        face = Image.fromarray((pixels.clip(0, 1) * 255).astype(np.uint8)).convert("RGB").resize((size, size))
        scene = table.copy()
        scene.paste(face, (6 * number % (SIZE - size), 10 * number % (SIZE - size)))
        found.append(_pixels(scene))
    return found


def _text(face: Face) -> str:
    return ", ".join(f"{one:.3f}" for one in face.box)


def _draw(picture_file: Path, face: Face, path: Path) -> None:
    """The picture with the box and the six points."""
    image = Image.open(picture_file).convert("RGB").resize((SHOWN, SHOWN), Image.Resampling.LANCZOS)
    draw = ImageDraw.Draw(image)
    draw.rectangle([one * SHOWN for one in face.box], outline=(0, 255, 80), width=2)
    for x, y in face.points:
        draw.ellipse([x * SHOWN - 2, y * SHOWN - 2, x * SHOWN + 2, y * SHOWN + 2], fill=(255, 220, 0))
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    raise SystemExit(main())
