import pytest
import torch


@pytest.fixture
def float64():
    """Encodings are stored in torch's default type."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
