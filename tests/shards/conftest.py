"""The embedded molecules, and a machine without a network: as the tests of the graphs have them."""

from tests.graphs.conftest import data_root, molecules, no_network  # noqa: F401 (fixtures)
