"""Limits of the machine: missing devices, and memory that would not suffice."""

import gc
import re
import subprocess
import sys
import tracemalloc
import weakref

import numpy as np
import psutil
import pytest
import torch
from building import LLS, data_of, experiment, gd, needed

import engine.runtime.run
from engine.backends import backends
from engine.core import catalogue, device
from engine.core.parts import BadInput
from engine.learners.learner import StepNoise
from engine.planning import memory_estimate
from engine.planning import memory_estimate as planned_memory
from engine.planning.run_plan import plan_run
from engine.problems.data import draw
from engine.problems.matrices.gaussian import Gaussian
from engine.problems.problem import Problem
from engine.problems.targets import Combination
from engine.protocols.one_pass import Pass as OnePassCourse
from engine.results import measure_series
from engine.runtime import drawn_data
from engine.runtime.run import run
from engine.solvers import Solver
from engine.spec import presets
from engine.updates.gd import GD


@pytest.fixture(autouse=True)
def nothing_is_granted(monkeypatch):
    """Small experiments stand here for large ones: the system is asked whatever they need."""
    monkeypatch.setattr(memory_estimate, "GRANTED", -1)


def test_a_missing_device_is_refused_with_the_available_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    for absent in ("cuda", "cuda:0", "cuda:7"):
        with pytest.raises(BadInput) as caught:
            run(experiment(device=absent, d=4))
        assert caught.value.where == "run.device"
        assert "this machine has cpu" in caught.value.fault


def test_auto_selects_cuda_if_available(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device.resolve("auto") == "cuda:0"
    assert device.resolve("cuda") == "cuda:0"
    assert device.resolve("cuda:1") == "cuda:1"
    assert device.resolve("cpu") == "cpu"
    with pytest.raises(BadInput, match="cpu, cuda:0, cuda:1"):
        device.resolve("cuda:2")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert device.resolve("auto") == "cpu"


def test_a_run_beyond_free_memory_is_refused_before_drawing(monkeypatch):
    def never(*_):
        raise AssertionError("nothing may be allocated")

    monkeypatch.setattr(drawn_data, "draw", never)
    monkeypatch.setattr(Gaussian, "rows", never)
    monkeypatch.setattr(memory_estimate, "available", lambda device: 3 << 30)
    with pytest.raises(BadInput) as caught:
        run(experiment("gaussian", d=65536, replicas=10))
    error = caught.value
    assert error.where == "problem.matrix.d"
    for part in (
        "65536",
        "10 replicas",
        "GiB",
        "cpu has only 3.0 GiB free",
        "take problem.matrix.d = ",
    ):
        assert part in error.fault
    assert "\n" not in str(error)


def test_a_too_large_net_is_refused_before_its_start_is_drawn(monkeypatch):
    def never(*_):
        raise AssertionError("nothing may be allocated")

    net = {"update": "adagrad-full", "architecture": {"kind": "dense", "widths": [1 << 20, 1 << 20]}}
    monkeypatch.setattr(catalogue.members("architectures")["dense"], "start", never)
    monkeypatch.setattr(memory_estimate, "available", lambda device: 3 << 30)
    with pytest.raises(BadInput) as caught:
        run(experiment(d=16, learners={"GD": gd(0.01), "net": net}))
    assert caught.value.where == "learners[1].architecture"
    assert "net on a 16 × 16 matrix needs" in caught.value.fault
    assert "take a smaller learner" in caught.value.fault


@pytest.mark.parametrize(
    ("matrix", "d", "next_one"),
    [
        ("gaussian", 100001, 1),
        ("rademacher", 3 << 15, 1),
        ("hadamard", 65536, None),
        ("hadamard", 61440, None),
    ],
)
def test_the_offered_d_fits_and_the_next_larger_d_does_not(matrix, d, next_one, monkeypatch):
    free = 1 << 30
    monkeypatch.setattr(memory_estimate, "available", lambda device: free)
    with pytest.raises(BadInput) as caught:
        run(experiment(matrix, d=d, path="dense"))
    offered = int(re.search(r"problem\.matrix\.d = (\d+)$", caught.value.fault)[1])
    assert memory_estimate.fits(experiment(matrix, d=offered, path="dense"), free)
    assert not memory_estimate.fits(experiment(matrix, d=offered + (next_one or offered), path="dense"), free)


OFFERS = {
    "orthogonal-128": ["run.replicas=30000", "problem.matrix.d=4096"],
    "minibatch-128": ["run.replicas=100000", "run.dtype='float64'"],
    "logistic-128": ["run.replicas=16000000"],
    "gaussian-1000": ["run.replicas=16000000"],
    "rates-128": ["run.replicas=16000000"],
    "agd-64": ["run.replicas=16000000", "learners[0].update={kind='gd', lr=[0.1, 0.2]}"],
    "hadamard-million": ["run.path='dense'"],
}


@pytest.mark.parametrize(("name", "settings"), OFFERS.items(), ids=OFFERS)
def test_every_setting_offered_by_a_memory_refusal_fits(name, settings, monkeypatch):
    monkeypatch.setattr(memory_estimate, "available", lambda device: 8 << 30)
    settings = [*settings, "claims=[]"]
    with pytest.raises(BadInput) as caught:
        memory_estimate.check(plan_run(presets.load(name, settings)), "cpu")
    offered = re.findall(r"(run\.\w+|problem\.[\w.]+) = (\w+)", caught.value.fault)
    assert offered
    for place, value in offered:
        value = value if value.isdigit() else f"'{value}'"
        memory_estimate.check(plan_run(presets.load(name, [*settings, f"{place}={value}"])), "cpu")
    assert ("run.path", "auto") in offered or "dense" not in settings[0]


def test_a_run_starts_with_exactly_enough_memory_but_not_one_byte_less(monkeypatch):
    described = experiment(d=8, learners={"GD": gd(0.01), "LLS": LLS})
    need = needed(described)
    monkeypatch.setattr(memory_estimate, "available", lambda device: need)
    assert run(described).curves[0].complete
    monkeypatch.setattr(memory_estimate, "available", lambda device: need - 1)
    with pytest.raises(BadInput):
        run(described)


def test_free_memory_is_queried_only_above_the_granted_limit(monkeypatch):
    asked = []
    monkeypatch.setattr(memory_estimate, "available", lambda device: asked.append(device) or (1 << 40))
    described = experiment(d=8)
    for granted, expected in (
        (needed(described), []),
        (needed(described) - 1, ["cpu"]),
    ):
        monkeypatch.setattr(memory_estimate, "GRANTED", granted)
        memory_estimate.check(plan_run(described), "cpu")
        assert asked == expected


def test_available_memory_equals_the_system_value(monkeypatch):
    class Said:
        available = 12345

    monkeypatch.setattr(psutil, "virtual_memory", Said)
    assert memory_estimate.available("cpu") == 12345


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
def test_larger_experiments_need_more_memory(words):
    base = {"d": 64, "dtype": "float32", "learners": {"GD": gd(0.01)}}
    assert needed(experiment(**{**base, **words})) > needed(experiment(**base))


@pytest.mark.parametrize("target", ["feature", "all"])
@pytest.mark.parametrize("family", ["hadamard", "gaussian", "rademacher"])
def test_the_memory_estimate_covers_the_drawn_data(family, target):
    described = experiment(family, target, d=64, replicas=3)
    data = data_of(described)
    held = data.instances.rows.nbytes + data.labels.nbytes
    assert held <= needed(described)


@pytest.mark.parametrize("byte_limit", [1 << 30, 1 << 18])
@pytest.mark.slow
def test_the_memory_estimate_covers_the_values_of_all_replicas(byte_limit, monkeypatch):
    monkeypatch.setattr(measure_series, "MOST_REPLICA_BYTES", byte_limit)

    def held(described):
        (curve,) = run(described).curves
        together = [*curve.clocks.values()]
        for measure in curve.measures:
            together += [curve.values(measure), curve.mean(measure), curve.stderr_of(measure)]
        return sum(values.nbytes for values in together)

    short, long = (
        experiment(
            "gaussian", d=4, replicas=50, train_loss=True, protocol={"kind": "epochs", "epochs": epochs}
        )
        for epochs in (10, 1000)
    )
    assert needed(long) - needed(short) >= held(long) - held(short)


def test_the_memory_estimate_never_falls_with_more_replicas(monkeypatch):
    monkeypatch.setattr(measure_series, "MOST_REPLICA_BYTES", 1 << 18)
    epochs = {"kind": "epochs", "epochs": 10**4}
    needs = [needed(experiment(d=4, replicas=count, protocol=epochs)) for count in range(1, 8)]
    assert needs == sorted(needs)


@pytest.mark.parametrize("lr", ["best", [0.01, 0.02, 0.03]])
def test_every_rate_needs_as_much_memory_as_a_separate_learner(lr):
    count = 17 if lr == "best" else 3

    def need(**learner):
        net = {"kind": "dense", "widths": [512], "activation": "relu"}
        learners = {"net": {"architecture": net, "update": {"kind": "gd", **learner}}}
        return needed(experiment(learners=learners, d=64, target="all"))

    data = needed(experiment(d=64, target="all", learners={"GD": gd(0.01)}))
    single, several = need(lr=0.01), need(lr=lr)
    assert count * (single - data) <= several <= count * single


def test_too_many_rates_are_refused_at_their_field_with_their_count(monkeypatch):
    best = experiment(d=64, replicas=3, learners={"GD": {"update": {"kind": "gd", "lr": "best"}}})
    monkeypatch.setattr(memory_estimate, "available", lambda device: needed(best) - 1)
    with pytest.raises(BadInput) as caught:
        run(best)
    assert caught.value.where == "learners[0].update.lr"
    assert caught.value.fault.startswith("GD with 17 rates on a 64 × 64 matrix in 3 replicas needs")


@pytest.mark.parametrize(
    "words", [{"replicas": 5000}, {"d": 8192}, {"matrix": "gaussian", "replicas": 9, "d": 1536}]
)
def test_the_offered_size_fits_and_the_next_larger_size_does_not(words, monkeypatch):
    words = {"d": 64, **words}
    described = experiment(**words)
    limit = needed(described) * 3 // 5
    monkeypatch.setattr(memory_estimate, "available", lambda device: limit)
    with pytest.raises(BadInput) as caught:
        run(described)
    offered = dict(re.findall(r"([\w.]+) = (\d+)", caught.value.fault))
    assert offered
    for place, value in offered.items():
        name, value = place.rsplit(".", 1)[1], int(value)
        assert needed(experiment(**{**words, name: value})) <= limit
        larger = value + 1 if name == "replicas" else 2 * value
        assert needed(experiment(**{**words, name: larger})) > limit


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (Problem, "bytes_drawn"),
        (catalogue.members("solvers")["lls"], "bytes_held"),
        (catalogue.members("protocols")["one-pass"], "bytes_held"),
        (catalogue.members("measures")["loss"], "bytes_held"),
        (StepNoise, "bytes_held"),
        (type(backends()["dense"]), "bytes_held"),
    ],
)
def test_the_declared_memory_of_a_part_is_counted(part, says, monkeypatch):
    noisy = {"update": {"kind": "gd", "lr": 0.1}, "noise": {"sigma": 0.1}}
    described = experiment({"kind": "gaussian", "n": 8}, learners={"GD": noisy, "LLS": LLS}, d=8)
    before = needed(described)
    monkeypatch.setattr(part, says, lambda *words: 1 << 40)
    assert before < 1 << 40 <= needed(described)


def test_the_declared_state_of_a_rule_is_counted(monkeypatch):
    described = experiment({"kind": "gaussian", "n": 8}, learners={"GD": gd(0.1)}, d=8)
    before, declared = needed(described), GD().structure()
    for holds in ({"matrices": 1 << 40}, {"output_matrices": 1 << 40}):
        monkeypatch.setattr(GD, "structure", lambda rule, holds=holds: declared._replace(**holds))
        assert before < 1 << 40 <= needed(described)


@pytest.mark.parametrize("kind", catalogue.members("solvers"))
def test_declared_solver_sizes_do_not_exceed_the_default_size(kind):
    features = {"features": 8} if "features" in catalogue.members("solvers")[kind].__struct_fields__ else {}
    solver = catalogue.make("solvers", kind, **features)
    for n, d in ((8, 8), (100, 10), (10, 100)):
        assert solver.size(n, d) <= Solver.size(solver, n, d)


ROWS = 1 << 22
LONG = {kind: kind for kind in catalogue.members("protocols")} | {
    "drawn rows": {"kind": "one-pass", "replacement": True},
    "as many records as rows": {"kind": "steps", "steps": ROWS, "records": ROWS},
}


@pytest.mark.parametrize("protocol", LONG.values(), ids=LONG)
def test_memory_estimates_allocate_little_memory(protocol):
    learners = {"GD": gd(0.01), "net": gd(0.01, kind="dense", widths=[4]), "kernel": {"solver": "kernel"}}
    for matrix in ({"kind": "gaussian", "n": ROWS, "d": 4}, {"kind": "hadamard", "d": ROWS}):
        described = experiment(matrix, learners=learners, protocol=protocol, labels="sign")
        tracemalloc.start()
        try:
            needed(described)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < ROWS


def test_kernel_memory_is_estimated_by_the_number_of_examples():
    def need(examples):
        protocol = {"kind": "one-pass", "examples": examples}
        matrix = {"kind": "gaussian", "n": 20_000}
        return needed(experiment(matrix, learners={"rbf": {"solver": "kernel"}}, d=500, protocol=protocol))

    assert need(20) < 700 << 20
    assert need(2000) - need(20) > 8 * 1980 * 20_000


def test_the_flow_memory_estimate_ignores_fixed_tensors():
    flow = {"kind": "flow", "method": "lsoda"}
    net = {"net": gd(1, kind="quadratic", parameters=30)}  # 5580 fixed numbers, whose matrices take 19 GiB
    assert needed(experiment(d=6, learners=net, matrix="orthogonal", protocol=flow)) < 32 << 20


def test_the_memory_estimate_counts_the_erm_models_of_every_k():
    net = {"net": gd(0.01, kind="dense", widths=[1024])}
    few, many = (
        needed(experiment(d=64, learners=net, protocol={"kind": "erm", "every": step})) for step in (64, 1)
    )
    assert many > 10 * few


def test_the_memory_estimate_counts_the_mini_batches_of_erm_models():
    few, many = (
        needed(
            experiment(d=16, learners={"SGD": {"update": {"kind": "sgd", "batch": batch}}}, protocol="erm")
        )
        for batch in (1, 1 << 20)
    )
    models = 5
    assert many - few > models * (1 << 20) * 2 * 8


def test_structured_runs_need_no_matrix_memory_but_dense_runs_and_solvers_do():
    d = 1 << 20
    described = {"d": d, "dtype": "float32", "protocol": {"kind": "one-pass", "examples": 1000}}
    assert needed(experiment(**described)) < 1 << 29
    for forced in ({"path": "dense"}, {"learners": {"LLS": LLS}}):
        assert needed(experiment(**described, **forced)) > 4 * d * d


@pytest.mark.parametrize(("limit", "size"), [("LONG", 16 * 8), ("WIDE", 3 * 16 * 8)])
def test_memory_is_given_back_before_every_chunk_of_large_learners_only(limit, size, monkeypatch):
    returned = []
    monkeypatch.setattr(memory_estimate, "give_back", lambda: returned.append(True))
    described = experiment(d=16, replicas=3, learners={"GD": gd(0.01), "spindly": gd(0.01, kind="spindly")})
    monkeypatch.setattr(planned_memory, limit, size + 1)
    run(described, lambda: 6)
    assert not returned
    monkeypatch.setattr(planned_memory, limit, size)
    run(described, lambda: 6)
    assert len(returned) == 2 * 3  # learners times rounds of 6, 6 and 5 records


def test_give_back_runs_on_this_platform():
    memory_estimate.give_back()


def test_chunks_are_shortened_to_limit_the_buffered_weights(monkeypatch):
    def rounds(waiting):
        monkeypatch.setattr(engine.runtime.run, "WAITING", waiting)
        lengths = []
        notes = []
        run(experiment(d=16), lambda: lengths.append(notes[0].trace.curves[0].length) or 6, notes.append)
        return lengths

    size = 16 * 8
    assert rounds(10 * size) == [0, 6, 12]
    assert rounds(4 * size) == [0, 4, 8, 12, 16]
    assert rounds(1) == list(range(17))


@pytest.mark.parametrize(("matrix", "path"), [("gaussian", "dense"), ("hadamard", "structured")])
def test_a_run_frees_its_data_without_garbage_collection(matrix, path, monkeypatch):
    drawn = []

    def noted(*arguments, **words):
        data = draw(*arguments, **words)
        drawn.append(weakref.ref(data.instances))
        return data

    monkeypatch.setattr(drawn_data, "draw", noted)
    learners = {"GD": gd(0.01), "spindly": gd(0.01, kind="spindly"), "egu": {"update": "egu"}}
    gc.collect()
    gc.disable()
    try:
        trace = run(experiment(matrix, d=16, learners=learners, path=path))
        assert drawn[0]() is None
    finally:
        gc.enable()
    assert trace.curves[0].complete


def out_of_cuda_memory():
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


EXHAUSTED = {
    "CUDA": out_of_cuda_memory,
    "torch": lambda: torch.empty(1 << 55),
    "numpy": lambda: np.empty(1 << 55),
}
exhausted = pytest.mark.parametrize("exhaust", EXHAUSTED.values(), ids=EXHAUSTED)


@exhausted
def test_running_out_of_memory_midway_raises_bad_input_and_keeps_curves(exhaust, monkeypatch):
    rounds = []

    def scarce(self, records, seconds, advance=OnePassCourse.advance):
        rounds.append(records)
        if len(rounds) > 2:
            exhaust()
        return advance(self, records, seconds)

    traces = []
    monkeypatch.setattr(OnePassCourse, "advance", scarce)
    with pytest.raises(BadInput) as caught:
        run(experiment(d=16, path="dense"), lambda: 4, lambda event: traces.append(event.trace))
    assert caught.value.where == "run.device"
    assert caught.value.fault.startswith("cpu ran out of memory after k = 7; take fewer replicas")
    assert traces[0].curves[0].length == 8
    monkeypatch.undo()
    assert run(experiment(d=16, path="dense")).curves[0].complete


@exhausted
@pytest.mark.parametrize("drawing", ["draw", "examples"])
def test_running_out_of_memory_before_the_first_point_is_reported(exhaust, drawing, monkeypatch):
    monkeypatch.setattr(drawn_data, drawing, lambda *arguments, **words: exhaust())
    with pytest.raises(BadInput, match="cpu ran out of memory before the first evaluation point; take"):
        run(experiment(d=16, path="dense" if drawing == "draw" else "numpy"))


def test_other_runtime_errors_are_not_reported_as_lack_of_memory(monkeypatch):
    def broken(*arguments, **words):
        raise RuntimeError("the engine is on fire")

    monkeypatch.setattr(drawn_data, "draw", broken)
    with pytest.raises(RuntimeError, match="on fire"):
        run(experiment(d=16, path="dense"))


def test_summing_target_features_takes_under_six_times_the_label_memory():
    n, r = 10_000, 100
    combination = Combination(np.arange(r)[None, None], np.full((1, 1, r), 0.1))
    tracemalloc.start()
    try:
        labels = combination.labels(lambda places: np.ones((*places.shape, n)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(labels, 10.0)
    assert peak < 6 * labels.nbytes


@pytest.mark.parametrize(("d", "expected"), [(64, 1), (4096, 2)])
def test_a_small_run_uses_one_thread_and_restores_the_thread_count(d, expected):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    seen = []
    try:
        run(experiment(d=d, path="dense"), gate=lambda: seen.append(torch.get_num_threads()) or 0)
        assert seen == [expected]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_the_memory_estimate_covers_the_random_generators_of_replicas():
    program = """
import sys, numpy
from engine.core.streams import Stream
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
numpy.random.default_rng([0, 1])
before, stream = resident(), Stream(range(4000), "matrix")
stream.uniform(1)
print((resident() - before) / 4000)
"""
    bytes_per_replica = float(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    )
    few, many = (needed(experiment(d=4, replicas=replicas)) for replicas in (1, 1 + (1 << 20)))
    assert (many - few) / (1 << 20) > bytes_per_replica


@pytest.mark.slow
def test_freed_memory_is_reused_by_later_tensors():
    program = """
import resource
from engine.core.lazy import load_torch, torch
load_torch(1)
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for turn in range(3):
    before = faults()
    for _ in range(10):
        torch.ones(1 << 20).add_(1)
print(faults() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1024  # the pages of a single tensor of 4 MB
