"""Protocol with one pass over the examples. The loss over all rows is measured after each example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.cost import Clipped
from engine.core.lazy import torch
from engine.core.parts import SELDOM, BadInput, Count, Positive, Values
from engine.core.streams import Streams
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.protocols import BeginOnline, Extent, Floats, Protocol, ProtocolSchedule
from engine.training.descent import TrainingInputs, begin
from engine.training.evaluators import counted_everywhere
from engine.training.recorder import Block, Recorder
from engine.training.training_run import InPieces, learning

if TYPE_CHECKING:
    from engine.core.streams import Streams


AVERAGED = frozenset(("loss", "error"))
"""Measures that are replaced by means over hypotheses if `average` is set."""


class OnePass(Protocol, frozen=True, tag="one-pass"):
    """One update per example. After k = 0 … n examples, the average loss over all n rows is measured.

    The average includes rows seen and unseen. With `batch` > 1, an update follows the mean gradient of a
    complete batch. With `replacement`, examples are drawn independently from the rows. Then some rows may
    occur several times, and some rows never. With `clip` Y, all predictions, including those in updates, are
    clipped to [0, Y]. With `average`, the loss and the error after k examples are means over the k hypotheses
    that predicted these examples. Such a mean is the expected loss or error of one of these k hypotheses,
    chosen at random. With `examples`, the pass ends after this number of examples. Source: WKA21 Fig. 2; AW20
    Thms 6–7; theory/conventions#conventions, theory/conventions#protocols, theory/hadamard#bounds.
    """

    batch: Annotated[Count, Meta(title="mini-batch", description="number of examples per update")] = 1
    replacement: Annotated[
        bool,
        Meta(
            title="replacement",
            description="draw examples independently, so that rows may repeat",
            extra=SELDOM,
        ),
    ] = False
    clip: Annotated[
        Positive | None,
        Meta(title="clip to Y", description="clip predictions to the range 0 … Y", extra=SELDOM),
    ] = None
    examples: Annotated[
        Count | None,
        Meta(title="examples", description="maximum number of examples; none: all rows", extra=SELDOM),
    ] = None
    average: Annotated[
        bool, Meta(title="average", description="report the mean loss of all hypotheses so far", extra=SELDOM)
    ] = False

    def schedule(self) -> ProtocolSchedule:
        return ProtocolSchedule(
            single=self.batch == 1,
            online=self.batch == 1,
            drawn_independently=self.replacement,
            in_data_order=not self.replacement,
            averages_hypotheses=self.average,
            clips_at=self.clip,
            stops_blindly=True,
            takes_all_rows=True,
        )

    def departure_from_k_rows(self, measure: str) -> str | None:
        if self.average and measure in AVERAGED:
            return f"the {measure} is averaged over all hypotheses so far"
        if self.replacement:
            return "examples are drawn independently, so some rows occur twice"
        if self.clip is not None:
            return f"predictions are clipped to [0, {self.clip:g}]"
        return f"each update needs {self.batch} examples" if self.batch > 1 else None

    def check(self, n: int, labels: Values) -> None:
        rows = self._last_example(n)
        if self.batch > rows:
            message = f"an update needs {self.batch} examples, but there are only {rows}; take at most {rows}"
            raise BadInput("protocol.batch", message)
        if self.clip is not None and labels == "signs":
            message = "clipping to 0 … Y needs labels in this range, but they are +1 and −1; leave `clip` out"
            raise BadInput("protocol.clip", message)

    def extent(self, n: int) -> Extent:
        last = self._last_example(n)
        return Extent(last, records=last + 1, rows=n, most_examples=last, examples_given=last)

    def _last_example(self, n: int) -> int:
        return min(n, self.examples or n)

    def order(self, n: int, streams: Streams) -> NDArray[np.int64] | None:
        """Return n random rows for each replica, or None if `replacement` is not set."""
        return streams("draws").integers(n, n) if self.replacement else None

    def training_run(self, inputs: TrainingInputs, begin: Any = None) -> Pass:
        return Pass(self, inputs, begin or partial(InBatches, self.batch))


class InBatches:
    """Learner that collects examples in order, and makes an update when `batch` of them are complete."""

    def __init__(self, batch: int, inputs: TrainingInputs, order: torch.Tensor | None, records: int) -> None:
        self._batch, (self._instances, self._labels) = batch, _examples_in_training_order(inputs.data, order)
        self.hypothesis = begin(inputs)
        self.recorder = Recorder(inputs, self.hypothesis, records, order)

    def learn(self, k: int) -> Iterable[None]:
        if k % self._batch > 0:
            return ()
        new = slice(k - self._batch, k)
        return learning(self.hypothesis, self._instances.at(new), self._labels[:, new])


class Pass(InPieces):
    """Training run in which a learner goes through the examples once."""

    def __init__(self, protocol: OnePass, inputs: TrainingInputs, begin_online: BeginOnline) -> None:
        super().__init__()
        if protocol.clip is not None:
            inputs = replace(inputs, loss=Clipped(inputs.loss, protocol.clip))
        self._average, data = protocol.average, inputs.data
        self._records = protocol.extent(data.instances.n).records
        self._counted_everywhere = counted_everywhere(data, self._records)
        drawn = protocol.order(data.instances.n, inputs.streams)
        order = None if drawn is None else torch.from_numpy(drawn).to(data.labels.device)
        self._learner = begin_online(inputs, order, self._records)
        self.hypothesis, self._recorder = self._learner.hypothesis, self._learner.recorder
        self._sums: dict[str, Floats] = {}

    def pieces(self) -> Iterator[None]:
        for k in range(self._records):
            if k > 0:
                yield from self._learner.learn(k)
            self._recorder.take({"k": k}, k)
            yield

    def block(self) -> Block:
        block = self._recorder.block()
        return self._averaged_block(block) if self._average and len(block.loss) else block

    def _averaged_block(self, block: Block) -> Block:
        """Replace the loss and the error at every k by their means over the hypotheses 0 … k−1.

        At k = 0, loss and error keep their values. If the error is not measured at every evaluation point, it
        has no mean, and is removed.
        """
        measures = dict(block.measures)
        if not self._counted_everywhere:
            measures.pop("error", None)
        for measure in measures.keys() & AVERAGED:
            measures[measure] = self._running_means(measure, block.clocks["k"], measures[measure])
        return block._replace(measures=measures)

    def _running_means(self, measure: str, k: Floats, values: Floats) -> Floats:
        before = self._sums.get(measure, np.zeros_like(values[:1]))
        sums = np.cumsum(np.concatenate([before, values]), 0)
        self._sums[measure] = sums[-1:]
        k = k[:, None, None]
        return np.where(k == 0, values, sums[:-1] / np.maximum(k, 1))


def _examples_in_training_order(data: Data, order: torch.Tensor | None) -> tuple[Instances, torch.Tensor]:
    if order is None:
        return data.instances, data.labels
    labels = data.labels.gather(1, order.repeat_interleave(len(data.labels) // len(order), 0))
    return data.instances.pick(order), labels
