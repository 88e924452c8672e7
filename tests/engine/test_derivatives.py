"""Products of vectors with Jacobians, compared with torch's own."""

import subprocess
import sys

import pytest
import torch

from engine.core.derivatives import vector_jacobian, vector_jacobians


def outputs_of(x, y):
    """Two outputs, of which the second is computed from the first, so that each sends gradients to x."""
    first = torch.tanh(x @ x.T)
    return first, (first.exp() * y).sum(1)


def inputs_and_vectors(several=()):
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    return (
        [draw(3, 2).requires_grad_(), draw(3).requires_grad_()],
        [draw(*several, 3, 3), draw(*several, 3)],
    )


def test_vector_jacobian_products_equal_torch():
    inputs, vectors = inputs_and_vectors()
    outputs = outputs_of(*inputs)
    expected = torch.autograd.grad(outputs, inputs, vectors, retain_graph=True)
    for gradient, reference in zip(vector_jacobian(outputs, vectors, inputs), expected, strict=True):
        torch.testing.assert_close(gradient, reference, rtol=1e-14, atol=1e-14)


def test_batched_vector_jacobian_products_equal_torch():
    inputs, vectors = inputs_and_vectors((4,))
    outputs = outputs_of(*inputs)
    expected = torch.autograd.grad(outputs, inputs, vectors, is_grads_batched=True, retain_graph=True)
    for gradients, reference in zip(vector_jacobians(outputs, vectors, inputs), expected, strict=True):
        torch.testing.assert_close(gradients, reference, rtol=1e-14, atol=1e-14)


def test_the_gradient_of_an_unused_input_is_zero():
    inputs, vectors = inputs_and_vectors((4,))
    unused = torch.ones(5, dtype=torch.float64, requires_grad=True)
    gradients = vector_jacobians(outputs_of(*inputs), vectors, [unused])
    torch.testing.assert_close(gradients[0], torch.zeros(4, 5, dtype=torch.float64))


def test_products_can_be_differentiated_through_the_vectors():
    inputs, _ = inputs_and_vectors()
    first, _ = outputs_of(*inputs)
    (gradient,) = vector_jacobian([first], [first**2], inputs[:1], create_graph=True)
    (expected,) = torch.autograd.grad((first**3).sum() / 3, inputs[:1], create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), inputs[:1], retain_graph=True)
    (reference,) = torch.autograd.grad(expected.sum(), inputs[:1])
    torch.testing.assert_close(second, reference, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_products_import_no_sympy():
    program = (
        "import sys, torch\n"
        "from engine.core.derivatives import vector_jacobians\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "vector_jacobians([x**2], [torch.ones(2, 3)], [x])\n"
        "print('sympy' in sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["False"], "sympy takes half a second to import"
