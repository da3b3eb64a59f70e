"""Networks end to end: from a trained model and a picture to the answer out of the simulated hardware.

`python -m examples` runs all of them, `python -m examples.digits` one. They need the extra `examples`, and a package
index for their data.
"""

import os

# Set before numpy is loaded: the matrices are small, and one thread adds in the same order everywhere.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
