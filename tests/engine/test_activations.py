"""Transfer functions and their slopes."""

import pytest
import torch

from engine.core.activations import SLOPES, TABLE, sent_back, slope, with_slope


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("activation_name", TABLE)
def test_slopes_equal_the_derivatives_of_torch_also_at_kinks(activation_name, dtype):
    z = torch.cat((torch.linspace(-30, 30, 1001), torch.tensor([-0.0, 0.0, 1e-3, -1e-3]))).to(dtype)
    leaf = z.clone().requires_grad_()
    (expected,) = torch.autograd.grad(TABLE[activation_name](leaf).sum(), leaf)
    values, slopes = with_slope(activation_name, z)
    assert slopes.dtype == dtype
    torch.testing.assert_close(slopes, expected, rtol=0, atol=20 * torch.finfo(dtype).eps)
    assert torch.equal(values, TABLE[activation_name](z))
    assert torch.equal(slopes, slope(activation_name, z))


@pytest.mark.parametrize("activation_name", TABLE)
def test_backpropagation_through_a_unit_multiplies_by_its_slope(activation_name):
    z = torch.cat((torch.linspace(-5, 30, 301, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)))
    sent = torch.linspace(-2, 3, len(z), dtype=torch.float64).requires_grad_()
    values, slopes = with_slope(activation_name, z)
    products = sent_back(activation_name, sent, z, values)
    rounding = 2 * torch.finfo(torch.float64).eps  # in one pass factors come in another order
    torch.testing.assert_close(products, sent * slopes, rtol=rounding, atol=0)
    (again,) = torch.autograd.grad(products.sum(), sent)
    torch.testing.assert_close(again, slopes, rtol=rounding, atol=0)


def test_every_transfer_function_has_a_slope():
    assert SLOPES.keys() == TABLE.keys()
