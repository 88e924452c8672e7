"""Products of vectors with Jacobians, by automatic differentiation."""

from __future__ import annotations

from collections.abc import Sequence

from engine.core.lazy import torch


def vector_jacobian(
    outputs: Sequence[torch.Tensor],
    vectors: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> tuple[torch.Tensor, ...]:
    """Return Σ_i v_i ∂y_i/∂x for every input x, given outputs y and vectors v of the same shapes.

    The gradient of an input is 0 if no output depends on it. `torch.autograd.grad` with `grad_outputs`
    returns the same, but its first call imports sympy, which takes half a second.

    Args:
        create_graph: whether the result can be differentiated, also with respect to the vectors.
        retain_graph: whether to keep the graph of the outputs; the default is `create_graph`.
    """
    with torch.enable_grad():
        # The hook sits on an alias, because a hook on an output would also replace what other outputs send.
        aliases = [output.view_as(output) for output in outputs]
        total = torch.stack([alias.sum() for alias in aliases]).sum()
    for alias, vector in zip(aliases, vectors, strict=True):
        alias.register_hook(lambda _, vector=vector: vector)  # type: ignore[no-untyped-call]
    gradients = torch.autograd.grad(
        total, inputs, retain_graph=retain_graph, create_graph=create_graph, allow_unused=True
    )
    pairs = zip(gradients, inputs, strict=True)
    return tuple(torch.zeros_like(leaf) if gradient is None else gradient for gradient, leaf in pairs)


def vector_jacobians(
    outputs: Sequence[torch.Tensor], vectors: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Return the products of `vector_jacobian` for S vectors per output.

    Vectors have the shape [S, …], and so have the results, one per input. The graph of the outputs is kept.
    """

    def product(*parts: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return vector_jacobian(outputs, parts, inputs, retain_graph=True)

    products: tuple[torch.Tensor, ...] = torch.func.vmap(product)(*vectors)
    return products
