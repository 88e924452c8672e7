"""J6: J2 with d = 4096 and J4 on a CUDA device, beside the CPU; without one it says so and measures nothing.

`python benchmarks/on_a_gpu.py [--json]`. The roofline of J2 is memory: a step reads and writes every weight
and its state once, and reads the weights once more for the prediction and once for the loss.
"""

from __future__ import annotations

import argparse
import json

import msgspec
import torch
from contest import machine

from engine.spec.experiment import Experiment
from hadamard_tui.headless import bench

D, EXAMPLES = 4096, 256

NETS = 128, 256
"""Sizes d of the 660 nets of J4: for 4096, they would need 169 GiB, and days."""

TOUCHED = {"GD": 4, "EGU": 4, "EGU±": 8, "spindly": 4, "AdaGrad": 6}
"""Numbers that a step must read or write for each weight."""


def on(experiment: Experiment, device: str) -> bench.Measured:
    run = msgspec.structs.replace(experiment.run, device=device)
    return bench.measure(msgspec.structs.replace(experiment, run=run))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the records as JSON")
    as_json = parser.parse_args().json
    if not torch.cuda.is_available():
        message = "there is no CUDA device: J6 is not measured"
        print(json.dumps({"machine": machine(), "missing": message}) if as_json else message)
        return
    results = {"card": torch.cuda.get_device_name()}
    for learner, touched in TOUCHED.items():
        experiment = bench.all_targets(learner, D, EXAMPLES)
        on(experiment, "cuda")
        card, cpu = on(experiment, "cuda"), on(experiment, "cpu")
        off = abs(card.trace.curves[0].mean("loss") - cpu.trace.curves[0].mean("loss")).max()
        bytes_per_second = 4 * touched * D * D * EXAMPLES / card.wall
        results[f"J2 {learner}"] = {
            "wall": card.wall,
            "GB/s": bytes_per_second / 1e9,
            "off CPU by": float(off),
        }
    for d in NETS:
        nets = bench.learning_curve(20, d)
        on(nets, "cuda")
        results[f"J4, d = {d}"] = {"wall": on(nets, "cuda").wall, "wall of the CPU": on(nets, "cpu").wall}
    print(json.dumps({"machine": machine(), **results}, indent=None if as_json else 2))


if __name__ == "__main__":
    main()
