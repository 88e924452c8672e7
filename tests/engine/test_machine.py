"""The machine is sampled while a run works, at most once a second, and never at rest."""

import subprocess
import sys
import time
import types

import psutil
import pytest

from engine.core import journal
from engine.core import machine as machines
from engine.core.machine import GpuSample, MachineSample, Sampler, in_words
from engine.runtime import sweep_run
from engine.runtime.run_reader import RunReader
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import Sampled, run_sweep
from engine.runtime.worker import Changed, Worker
from engine.spec import presets

SMALL = ["problem.matrix.d=16", "claims=[]", "run.device=cpu"]


class NvmlError(Exception):
    """Error of NVIDIA's library."""


def nvml(gpus):
    """A module like pynvml, with GPUs of (load, used, total); a load of None is refused."""
    fake = types.ModuleType("pynvml")
    fake.NVMLError = NvmlError
    fake.begun = 0

    def init():
        fake.begun += 1
        if gpus is None:
            raise NvmlError("Driver Not Loaded")

    def rates(number):
        if gpus[number][0] is None:
            raise NvmlError("Not Supported")
        return types.SimpleNamespace(gpu=gpus[number][0])

    fake.nvmlInit = init
    fake.nvmlDeviceGetCount = lambda: len(gpus)
    fake.nvmlDeviceGetHandleByIndex = int
    fake.nvmlDeviceGetUtilizationRates = rates
    fake.nvmlDeviceGetMemoryInfo = lambda number: types.SimpleNamespace(
        used=gpus[number][1], total=gpus[number][2]
    )
    return fake


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    clock = types.SimpleNamespace(now=100.0)
    fake = types.SimpleNamespace(monotonic=lambda: clock.now)
    monkeypatch.setattr(machines, "time", fake)
    return clock


def sampled(clock, seconds=1.0):
    sampler = Sampler()
    clock.now += seconds
    assert sampler.sample() is None, "the first look is the start of the first load"
    clock.now += seconds
    return sampler, sampler.sample()


def test_gpu_samples_report_load_and_memory_of_nvml(clock, monkeypatch):
    fake = nvml([(64, 4 << 30, 80 << 30), (None, 1 << 30, 10 << 30)])
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    sampler, sample = sampled(clock)
    assert sample.gpus == (GpuSample(0.64, 4 << 30, 80 << 30), GpuSample(None, 1 << 30, 10 << 30))
    clock.now += 1
    assert sampler.sample().gpus == sample.gpus
    assert fake.begun == 1
    assert in_words(sample).endswith("GPU 0 64 %, 4 of 80 GiB · GPU 1 1 of 10 GiB")


def test_samples_without_a_driver_report_processor_and_memory(clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", nvml(None))
    monkeypatch.setattr(psutil, "cpu_percent", lambda: 87.0)
    memory = types.SimpleNamespace(total=16 << 30, available=12 << 30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    _, sample = sampled(clock)
    assert (sample.load, sample.used, sample.total, sample.gpus) == (0.87, 4 << 30, 16 << 30, ())
    assert in_words(sample) == "processor 87 % · memory 4 of 16 GiB"


def test_the_sampler_takes_at_most_one_sample_per_second(clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", nvml([]))
    sampler, _ = sampled(clock)
    samples = []
    for _ in range(80):
        clock.now += 0.0625  # sums of it are exact
        samples.append(sampler.sample())
    assert sum(sample is not None for sample in samples) == 5


def test_the_sampler_ignores_the_time_of_a_pause(clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", nvml([]))
    sampler, _ = sampled(clock)
    clock.now += 1000
    sampler.rest()
    clock.now += 1
    assert sampler.sample() is None
    clock.now += 1
    assert sampler.sample() is not None


def sample_of(number):
    return MachineSample(number / 100, number, 100, (GpuSample(0.5, 1, 2),))


@pytest.fixture
def eager(monkeypatch):
    """A sampler that has a sample whenever it is asked."""
    asked = []

    class Eager:
        def sample(self):
            asked.append(time.monotonic())
            return sample_of(len(asked))

        def rest(self):
            pass

    monkeypatch.setattr(sweep_run, "Sampler", Eager)
    return asked


def test_the_writer_stores_samples_and_the_reader_returns_the_last(tmp_path, eager):
    document = presets.document("hadamard-128", SMALL)
    writer, heard = RunWriter(Store(tmp_path), document, "hadamard-128"), []

    def gate():
        (path,) = tmp_path.glob("*.run")
        reader = RunReader(path)
        reader.all()
        heard.append((reader.machine, len(eager), reader.unknown))
        return 1

    events = []
    run_sweep(presets.sweep_of("hadamard-128", document), gate, events.append, writer=writer)
    assert len(heard) > 3
    for sample, count, unknown in heard:
        assert sample == sample_of(count)
        assert not unknown
    samples = [event.sample for event in events if isinstance(event, Sampled)]
    assert samples == [sample_of(number + 1) for number in range(len(eager))]
    (path,) = tmp_path.glob("*.run")
    assert "mach" not in {frame.kind for frame in journal.frames(path)}, "the end of a run is compact"


@pytest.mark.slow
def test_a_paused_run_takes_no_sample(eager):
    states, reached = [], []

    def notify(event):
        if isinstance(event, Changed):
            states.append(event.state)
        elif isinstance(event, Sampled):
            reached.append(event)

    worker = Worker(presets.sweep_of("hadamard-128", presets.document("hadamard-128", SMALL)), notify)
    worker.start(paused=True)
    end = time.monotonic() + 60
    while "paused" not in states:
        assert time.monotonic() < end
        time.sleep(0.01)
    before = len(reached)
    time.sleep(2.5)
    assert len(reached) == before
    worker.resume()
    assert worker.join(60)
    assert len(reached) > before


def test_a_short_run_loads_neither_psutil_nor_pynvml_for_samples():
    program = """
import sys
from engine.core.machine import Sampler
from engine.runtime.run_writer import RunWriter
Sampler().sample()
print(*(name for name in ("psutil", "pynvml") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.stderr) == ([], "")
