"""Products of large matrices are those of any size, by whichever library."""

import pytest
import torch

from engine.core import linear_algebra
from engine.core.linear_algebra import with_rows


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("replicas", "k", "n", "d"), [(1, 64, 300, 250), (3, 5, 7, 11), (2, 40, 500, 300)])
def test_products_with_rows_are_accurate_to_their_dtype(replicas, k, n, d, dtype):
    generator = torch.Generator().manual_seed(1)
    a, x = (torch.randn(replicas, count, d, generator=generator, dtype=torch.float64) for count in (k, n))
    lengths = a.norm(dim=2)[:, :, None] * x.norm(dim=2)[:, None]
    for several, rows in ((a, x), (a.mT.contiguous().mT, x), (a, x.mT.contiguous().mT)):
        products = with_rows(several.to(dtype), rows.to(dtype))
        error = (products - several @ rows.mT).abs() / lengths
        assert products.shape == (replicas, k, n)
        assert products.dtype == dtype
        assert error.max() < 4 * torch.finfo(dtype).eps


def test_products_match_with_and_without_onednn(monkeypatch):
    monkeypatch.setattr(linear_algebra, "LARGE", 1)
    a, x = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    products_by_library = {}
    for onednn in (False, torch.backends.mkldnn.is_available()):
        monkeypatch.setattr(linear_algebra, "_has_onednn_product", lambda onednn=onednn: onednn)
        products_by_library[onednn] = with_rows(a, x)
    for products_found in products_by_library.values():
        torch.testing.assert_close(products_found, a @ x.mT)
