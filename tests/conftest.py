"""One thread, and the same random examples each time; of a nightly run, other ones each night."""

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
settings.register_profile(
    "ci",
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "nightly",
    parent=settings.get_profile("ci"),
    max_examples=2000,
    derandomize=False,
    print_blob=True,
)
settings.load_profile("ci")
