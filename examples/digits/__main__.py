"""``python -m examples.digits``: a LeNet is trained, quantised and run in the RTL on 100 digits that it never saw."""

import gzip
import time

import numpy as np
import onnx
from numpy.typing import NDArray

from examples.accelerator import Record, chosen_hardware, depth_first, hwgen, judge, on_a_cluster
from examples.digits.lenet import Floats, LeNet, as_onnx
from examples.digits.training import train
from examples.quantising import quantise
from examples.wheels import DIGITS

SEED = 1
HELD_OUT, IN_HARDWARE, ON_A_CLUSTER, CALIBRATING = 50, 10, 1, 100
"""Images of each digit: held out of training; of these in the RTL; of these on a cluster, too. Images that the
quantiser sees, from training."""
ENOUGH = 0.97


def main() -> int:
    """Train, quantise, run; exit status 1 if a mark is missed."""
    hardware = chosen_hardware("hwc_16.yaml")
    record = Record("digits")
    rng = np.random.default_rng(SEED)
    digits, labels = known_digits()
    held, learned = split(rng, labels)
    started = time.process_time()
    network = trained(rng, digits[learned], labels[learned])
    seconds = time.process_time() - started
    right = (network.forward(digits[held]).argmax(1) == labels[held]).mean()
    record.say(
        f"  trained on {len(learned)} digits in {seconds:.0f} s of a processor: {right:.1%} of {len(held)} others"
    )

    floats = record.folder / "lenet_float.onnx"
    onnx.save(as_onnx(network), floats)
    chosen = rng.choice(learned, CALIBRATING, replace=False)
    model = quantise(floats, record.folder / "lenet.onnx", [{"digits": digits[chosen]}])
    files = {name: record.folder / f"{name}.npy" for name in ("held_out", "in_hardware", "on_a_cluster")}
    np.save(files["held_out"], digits[held])
    np.save(files["in_hardware"], digits[held[: 10 * IN_HARDWARE]])
    np.save(files["on_a_cluster"], digits[held[: 10 * ON_A_CLUSTER]])

    reference = hwgen("network", model, "--input", files["held_out"], "-o", record.folder / "reference")
    expected = np.load(record.folder / "reference" / reference["outputs"]["answers"])
    part = (expected.argmax(1) == labels[held]).mean()
    record.mark(
        f"integer reference: {part:.1%} of {len(held)} held-out digits right (from {ENOUGH:.0%} on)", part >= ENOUGH
    )

    run = hwgen("run", model, "--hardware", hardware, "--input", files["in_hardware"],
                "-o", record.folder / "run")  # fmt: skip
    made = np.load(record.folder / "run" / run["outputs"]["answers"])
    same = int((made.argmax(1) == expected[: len(made)].argmax(1)).sum())
    number = int((made.argmax(1) == labels[held[: len(made)]]).sum())
    record.mark(f"RTL: {same} of {len(made)} answers are the reference's, {number} are right", same == len(made))
    judge(record, run)
    command = ["run", model, "--input", files["on_a_cluster"], "--resident"]
    on_a_cluster(record, "resident", "cluster_64_vector.yaml", command, {"answers": made[: 10 * ON_A_CLUSTER]})
    depth_first(record, ["run", model, "--input", files["on_a_cluster"]], {"answers": made[: 10 * ON_A_CLUSTER]})
    record.figures |= {"training_seconds": seconds, "float_right": float(right), "right": float(part)}
    return record.close()


def split(rng: np.random.Generator, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which digits are held out, 0 to 9 fifty times, and which are learned."""
    order = [rng.permutation(np.flatnonzero(labels == digit)) for digit in range(10)]
    held = np.array([one[:HELD_OUT] for one in order]).T.reshape(-1)
    return held, np.concatenate([one[HELD_OUT:] for one in order])


def trained(rng: np.random.Generator, digits: Floats, labels: NDArray[np.int64]) -> LeNet:
    """The network, each epoch told."""
    return train(rng, digits, labels, lambda epoch, part: print(f"  epoch {epoch}: {part:.2%} right", flush=True))


def known_digits() -> tuple[Floats, NDArray[np.int64]]:
    """5,000 digits [images, 1, 28, 28], 0 to 1, and what they are."""
    with gzip.open(DIGITS.path(), "rt") as lines:
        rows = np.loadtxt(lines, delimiter=",", dtype=np.int64)
    return (rows[:, :-1].reshape(-1, 1, 28, 28) / 255).astype(np.float32), rows[:, -1]


if __name__ == "__main__":
    raise SystemExit(main())
