"""Settings of all tests: property tests draw the same examples on every run, except in the nightly tests."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "nightly", deadline=None, print_blob=True, max_examples=1000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
