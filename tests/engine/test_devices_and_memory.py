"""What the machine has: devices that are not there, and memory that would not be enough."""

import psutil
import pytest
import torch
from building import LLS, data_of, experiment, gd

import engine.run
from engine import catalogue, device, memory
from engine.parts import BadInput
from engine.problems.matrices.gaussian import Gaussian
from engine.run import run


def test_a_device_that_is_not_there_is_refused_with_those_that_are(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    for absent in ("cuda", "cuda:0", "cuda:7"):
        with pytest.raises(BadInput) as caught:
            run(experiment(device=absent, d=4))
        assert caught.value.where == "run.device"
        assert "this machine has cpu" in caught.value.what


def test_auto_takes_cuda_when_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device.resolve("auto") == "cuda:0"
    assert device.resolve("cuda") == "cuda:0"
    assert device.resolve("cuda:1") == "cuda:1"
    assert device.resolve("cpu") == "cpu"
    with pytest.raises(BadInput, match="cpu, cuda:0, cuda:1"):
        device.resolve("cuda:2")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert device.resolve("auto") == "cpu"


def test_too_much_memory_is_refused_before_anything_is_drawn(monkeypatch):
    def never(*_):
        raise AssertionError("nothing may be allocated")

    monkeypatch.setattr(engine.run, "draw", never)
    monkeypatch.setattr(Gaussian, "draw", never)
    monkeypatch.setattr(memory, "available", lambda device: 3 << 30)
    with pytest.raises(BadInput) as caught:
        run(experiment("gaussian", d=65536, replicas=10))
    error = caught.value
    assert error.where == "problem.matrix.d"
    for said in (
        "65536",
        "10 replicas",
        "GiB",
        "cpu has 3.0 GiB free",
        "take a smaller d or fewer replicas",
    ):
        assert said in error.what
    assert "\n" not in str(error)


def test_a_net_that_is_too_large_is_refused_at_its_place_before_its_start_is_drawn(monkeypatch):
    def never(*_):
        raise AssertionError("nothing may be allocated")

    net = {"update": "adagrad-full", "architecture": {"kind": "dense", "widths": [1 << 20, 1 << 20]}}
    monkeypatch.setattr(catalogue.members("architectures")["dense"], "start", never)
    monkeypatch.setattr(memory, "available", lambda device: 3 << 30)
    with pytest.raises(BadInput) as caught:
        run(experiment(d=16, learners={"GD": gd(0.01), "net": net}))
    assert caught.value.where == "learners[1].architecture"
    assert "take a smaller learner or a smaller d" in caught.value.what


def test_what_fits_exactly_is_run_and_a_byte_less_is_not(monkeypatch):
    described = experiment(d=8, learners={"GD": gd(0.01), "LLS": LLS})
    need = memory.needed(described)
    monkeypatch.setattr(memory, "available", lambda device: need)
    assert run(described).curves[0].complete
    monkeypatch.setattr(memory, "available", lambda device: need - 1)
    with pytest.raises(BadInput):
        run(described)


def test_available_is_what_the_system_says(monkeypatch):
    class Said:
        available = 12345

    monkeypatch.setattr(psutil, "virtual_memory", Said)
    assert memory.available("cpu") == 12345


@pytest.mark.parametrize(
    "words",
    [
        {"matrix": "gaussian", "d": 128},
        {"replicas": 50},
        {"target": "all"},
        {"dtype": "float64"},
        {"learners": {"GD": gd(0.01), "LLS": LLS}},
        {"learners": {"GD": gd(0.01, kind="dense", widths=[512])}},
    ],
)
def test_more_of_anything_needs_more(words):
    base = {"d": 64, "dtype": "float32", "learners": {"GD": gd(0.01)}}
    assert memory.needed(experiment(**{**base, **words})) > memory.needed(experiment(**base))


@pytest.mark.parametrize("target", ["feature", "all"])
@pytest.mark.parametrize("family", ["hadamard", "gaussian", "rademacher"])
def test_the_drawn_data_fit_into_what_is_said_to_be_needed(family, target):
    described = experiment(family, target, d=64, replicas=3)
    data = data_of(described)
    held = data.instances.rows.nbytes + data.labels.nbytes
    assert held <= memory.needed(described)
