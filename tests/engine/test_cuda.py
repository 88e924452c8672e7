"""One code path on every device: a CUDA device gives the same results as the CPU."""

import numpy as np
import pytest
import torch
from building import experiment, losses
from crossing import crossed
from discovery import GENTLE, traits

from engine.runtime.run import run

if not torch.cuda.is_available():
    pytest.skip("this machine has no CUDA device", allow_module_level=True)


AMPLIFIED = 100
"""Multiple of the difference between float32 and float64 on the CPU that rounding on a card may reach.

Polyak's steps divide by ‖g‖², and bases of SOAP are arbitrary where gradients vanish: some runs diverge, and
then amplify rounding without bound.
"""


@crossed(learner_name=traits(GENTLE), problem=["hadamard", "gaussian"], dtype=["float32", "float64"])
def test_cuda_equals_cpu(learner_name, problem, dtype):
    def learner_losses(device, dtype):
        words = {"learners": {learner_name: GENTLE[learner_name]}, "d": 16, "replicas": 2, "seed": 1}
        return losses(experiment(problem, "all", device=device, dtype=dtype, **words))[learner_name]

    on_cpu, exact = learner_losses("cpu", dtype), learner_losses("cpu", "float64")
    by_rounding = np.maximum.accumulate(abs(on_cpu - exact).max(1, keepdims=True))
    tolerance = 1e-4 * exact.max() + AMPLIFIED * by_rounding
    assert (abs(learner_losses("cuda", dtype) - on_cpu) <= tolerance).all()


def test_auto_selects_the_first_cuda_device_and_reports_it():
    nets = experiment(learners={"net": GENTLE["sgd dense"]}, device="auto", path="dense")
    assert run(nets).environment["device"].startswith("cuda:0 (")


def test_a_run_without_torch_stays_on_the_cpu():
    assert run(experiment(device="auto")).environment["device"] == "cpu"
