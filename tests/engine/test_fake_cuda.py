"""One code path on every device, tested without a GPU by tensors that claim to be on one.

The CPU computes every operation, so all numbers are equal bit by bit, except where the engine has products,
blocks or compiled loops for the CPU only.
"""

import numpy as np
import pytest
import torch
from building import experiment, losses
from crossing import covering_names
from discovery import GENTLE, traits
from fake_cuda import fake_cuda

from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
from engine.spec.documents import sweep_of

pytestmark = pytest.mark.slow


def test_the_fake_card_refuses_mixed_devices_and_numpy():
    with fake_cuda():
        on_card = torch.ones(3, device="meta")
        assert (on_card + 1).cpu().tolist() == [2, 2, 2]
        assert (on_card * torch.tensor(2.0)).sum().item() == 6
        assert on_card[torch.tensor([0, 1])].device == on_card.device
        with pytest.raises(RuntimeError, match="on the card and one of"):
            on_card + torch.ones(3)
        with pytest.raises(RuntimeError, match="numpy"):
            on_card.numpy()
        assert torch.zeros(2, 2, device="meta").conj().mT.device.type == "meta"


@pytest.mark.parametrize("problem", ["hadamard", "gaussian"])
@pytest.mark.parametrize("learner_name", covering_names(traits(GENTLE)))
def test_every_learner_has_equal_losses_on_the_fake_card_and_cpu(learner_name, problem):
    words = {
        "learners": {learner_name: GENTLE[learner_name]},
        "d": 4,
        "replicas": 2,
        "dtype": "float64",
        "seed": 1,
    }
    on_cpu = losses(experiment(problem, "all", device="cpu", **words))[learner_name]
    with fake_cuda():
        on_card = losses(experiment(problem, "all", device="cuda", **words))[learner_name]
    np.testing.assert_allclose(on_card, on_cpu, rtol=0, atol=1e-9 * on_cpu.max())


SHORT = ["protocol.steps=4", "protocol.records=3", "axes.rho.values=[0, 0.3]"]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("hadamard-128", []),
        ("rank-64", []),
        ("label-noise", SHORT),
        ("criticality", ["run.replicas=4"]),
        ("layer-shortcut", ["run.replicas=4"]),
    ],
)
def test_presets_run_completely_on_the_fake_card(name, changes):
    document = presets.document(name, ["run.device=cuda", "claims=[]", *changes])
    with fake_cuda():
        results = run_sweep(sweep_of(document))
    assert results.complete
    assert {trace.environment["device"] for trace in results.traces.values()} == {"meta"}
