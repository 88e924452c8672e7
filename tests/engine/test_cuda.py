"""One code path on every device: a CUDA device gives the same results as the CPU."""

import numpy as np
import pytest
import torch
from building import experiment, losses
from crossing import crossed
from discovery import GENTLE, traits

from engine.runtime.run import run
from engine.spec import presets

if not torch.cuda.is_available():
    pytest.skip("this machine has no CUDA device", allow_module_level=True)


@crossed(learner_name=traits(GENTLE), problem=["hadamard", "gaussian"], dtype=["float32", "float64"])
def test_cuda_equals_cpu(learner_name, problem, dtype):
    words = {
        "learners": {learner_name: GENTLE[learner_name]},
        "d": 16,
        "replicas": 2,
        "dtype": dtype,
        "seed": 1,
    }
    on_cpu = losses(experiment(problem, "all", device="cpu", **words))[learner_name]
    on_cuda = losses(experiment(problem, "all", device="cuda", **words))[learner_name]
    np.testing.assert_allclose(on_cuda, on_cpu, rtol=0, atol=1e-4 * on_cpu.max())


def test_auto_takes_the_first_cuda_device_and_says_so():
    assert run(presets.load("hadamard-128")).environment["device"].startswith("cuda:0 (")
