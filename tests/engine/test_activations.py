"""Transfer functions and their slopes."""

import pytest
import torch

from engine.core.activations import SLOPES, TABLE, slope, with_slope


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", TABLE)
def test_a_slope_is_the_derivative_that_torch_takes_at_kinks_too(name, dtype):
    z = torch.cat((torch.linspace(-30, 30, 1001), torch.tensor([-0.0, 0.0, 1e-3, -1e-3]))).to(dtype)
    leaf = z.clone().requires_grad_()
    (expected,) = torch.autograd.grad(TABLE[name](leaf).sum(), leaf)
    values, found = with_slope(name, z)
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected, rtol=0, atol=20 * torch.finfo(dtype).eps)
    assert torch.equal(values, TABLE[name](z))
    assert torch.equal(found, slope(name, z))


def test_every_transfer_function_has_a_slope():
    assert SLOPES.keys() == TABLE.keys()
