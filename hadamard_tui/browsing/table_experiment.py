"""Experiments on the user's table, made from a few choices, and completion of typed paths to tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.core.parts import BadInput
from engine.diagnosis.labelled_frame import FEW_CLASSES
from engine.problems import table
from engine.problems.data_files import TableSettings
from engine.problems.encoded_table import EncodedTable, read_encoded

if TYPE_CHECKING:
    from engine.problems.first_rows import FirstRows
    from engine.problems.table import Table
    from engine.spec.reading import Raw

Kind = Literal["classes", "numbers"]

LABEL_NAMES = ("label", "labels", "target", "class", "y", "outcome", "response")
"""Column names, in lower case, that suggest that a column contains the labels."""

DATA = "data"
"""Name of the table in error messages."""


@dataclass(frozen=True)
class TableChoices:
    """The user's choices about a table: how to read it, and how to learn from it."""

    path: str
    settings: TableSettings = field(default_factory=TableSettings)
    label: int | str | None = None
    """Column of the labels; None for file formats that store labels separately."""

    kind: Kind | None = None
    """Whether the labels are classes or numbers.

    None leaves the decision to `kind_of`. It decides for classes if the labels are words, or whole numbers
    with 2 to FEW_CLASSES different values.
    """

    test_share: float = 0.3
    rotate: bool = False

    def read(self) -> Table | EncodedTable:
        """Read the table. If it has a column of labels, also encode words, dates and missing cells.

        Raises: BadInput that names the wrong setting, such as data.header. If the table needs the package
            skrub, which is not installed, the setting is data.encode.
        """
        request = table.Request(self.path, self.settings, self.label)
        return table.read(request, DATA) if self.label is None else read_encoded(request, DATA)


def probable_label(first: FirstRows) -> int | None:
    """Guess the column of labels.

    It is the first column with a name in LABEL_NAMES, or else the only column of words, or else the last
    column. Return None if no column is usable, or if the file format stores labels separately.
    """
    columns = [column for column in first.columns if column not in first.aside]
    if first.has_labels or not columns:
        return None
    named = [column for column in columns if first.names[column].casefold() in LABEL_NAMES]
    words = [column for column in columns if column in first.words]
    if not named and len(words) == 1:
        return words[0]
    return named[0] if named else columns[-1]


def features_of(
    first: FirstRows,
    label: int | None,
    omitted: Sequence[int],
    settings: TableSettings,
    keeps_words: bool = True,
) -> tuple[int | str, ...] | None:
    """Return the feature columns, without `omitted` columns.

    If no column must be left out, return None. `TableChoices.read` then chooses the features.

    Args:
        keeps_words: whether columns of words are features. Such features need skrub.
    """
    words = () if keeps_words else first.words
    unused = {column for column in (*words, *omitted) if column != label}
    return first.columns_without(unused, label, settings) if unused else None


def kind_of(rows: Table | EncodedTable, choice: Kind | None) -> Kind:
    """Return whether the labels of a table are classes or numbers.

    Raises: BadInput if there are no labels, or if the user's `choice` does not fit them.
    """
    labels = rows.labels
    if labels is None:
        raise BadInput("label", "choose the column of labels")
    if choice == "numbers" and labels.are_words:
        raise BadInput("label", "the labels are words, so they can only be classes")
    if choice == "classes" and labels.classes is None:
        raise BadInput("label", "the labels are not whole numbers or words, so they cannot be classes")
    if choice is not None:
        return choice
    few = labels.classes is not None and 1 < len(labels.classes.names) <= FEW_CLASSES
    return "classes" if labels.are_words or few else "numbers"


STEPS, BATCH, RECORDS = 400, 32, 100
MOST_REPLICAS, CELLS = 4, 4_000_000
"""Maximum number of replicas (random splits), and maximum number of table cells over all replicas."""

LINEAR = {"kind": "linear"}
NET = {"kind": "dense", "widths": [32], "activation": "relu", "cw": 2, "outputs": "m"}


def document(choices: TableChoices, rows: Table | EncodedTable) -> Raw:
    """Return an experiment in which several learners train on a table and are tested on held-out rows.

    The features are standardised, so their covariance matrix Σ has the trace d. The learning rate of GD is
    derived from an upper bound on the curvature. The bound is 2 tr Σ for square loss, and tr Σ / 4 for
    logistic loss.

    Raises: BadInput if the labels are not of the chosen kind.
    """
    kind, name = kind_of(rows, choices.kind), Path(choices.path).name
    count = 0 if kind == "numbers" else _class_count(rows)
    n, d = rows.shape
    training = max(1, n - round(choices.test_share * n))
    matrix: dict[str, Any] = {
        "kind": "file",
        "path": choices.path,
        "label": choices.label,
        "encode": True if isinstance(rows, EncodedTable) else None,
        "permute": True,
        "standardise": True,
        "bias": True,
        "test_share": choices.test_share,
        "rotate": choices.rotate,
        **asdict(choices.settings),
    }
    protocol: dict[str, Any] = {"kind": "steps", "steps": STEPS, "train": "training", "records": RECORDS}
    protocol["loss"] = {0: "square", 2: "logistic"}.get(count, "cross-entropy")
    if training > 2 * BATCH:
        protocol["batch"] = BATCH
    target = {"kind": "classes"} if count else {"kind": "file", "standardise": True}
    label = f"{choices.label}" if choices.label is not None else "the labels"
    return {
        "title": f"{label} of {name}",
        "story": (
            "The learners train on a part of the rows. Loss and error are measured on the other rows, which "
            "are held out. Each repetition (replica) holds out different rows. Predicting the mean label has "
            "square loss 1. The panel “why?” says which bounds apply to the selected learner."
        ),
        "problem": {
            "matrix": {key: setting for key, setting in matrix.items() if setting is not None},
            "target": target,
        },
        "protocol": protocol,
        "run": {"replicas": max(1, min(MOST_REPLICAS, CELLS // (n * d)))},
        "learners": list(_learner_tables(count)),
        "pictures": list(_picture_tables(count, choices.test_share > 0)),
    }


def _class_count(rows: Table | EncodedTable) -> int:
    classes = None if rows.labels is None else rows.labels.classes
    assert classes is not None, "kind_of has checked the labels"
    if (count := len(classes.names)) < 2:
        raise BadInput("label", "all labels are equal, so nothing can be learned")
    return count


def _learner_tables(classes: int) -> Iterator[dict[str, Any]]:
    rate = "2/d" if classes else "1/(2d)"
    yield {"name": "GD", "architecture": LINEAR, "update": {"kind": "gd", "lr": rate}}
    yield {"name": "EGU±", "architecture": LINEAR, "update": {"kind": "egu-pm", "lr": 0.05}}
    yield {"name": "Adam", "architecture": LINEAR, "update": {"kind": "adam", "lr": 0.01}}
    yield {"name": "net", "architecture": NET, "update": {"kind": "adam", "lr": 0.01}}
    if classes == 0:
        yield {"name": "ridge", "solver": {"kind": "ridge"}}
        yield {"name": "lasso", "solver": {"kind": "lasso"}}
    elif classes == 2:
        yield {"name": "L2 logistic", "solver": {"kind": "l2-logistic"}}
        yield {"name": "L1 logistic", "solver": {"kind": "l1-logistic"}}


def _picture_tables(classes: int, has_test_rows: bool) -> Iterator[dict[str, Any]]:
    rows, words = ("test", "on the held-out rows") if has_test_rows else ("all", "on all rows")
    if classes:
        yield {
            "name": "error",
            "title": f"Error {words}",
            "x": "step",
            "measure": {"kind": "error", "rows": rows},
        }
    yield {
        "name": "loss",
        "title": f"Loss {words}",
        "x": "step",
        "measure": {"kind": "loss", "rows": rows},
        "y_log": True,
    }


MOST_ENTRIES, MOST_COMPLETIONS = 10_000, 200
"""Maximum number of folder entries that are read, and maximum number of completions that are returned."""


def is_file(typed: str) -> bool:
    try:
        return Path(typed).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):  # an unknown ~user, or a null character in the path
        return False


def completions(typed: str) -> list[str]:
    """Return the tables and folders whose paths start with `typed`; tables come first.

    Folders end in a slash. If `typed` is empty or ends in a slash, the last completion is the parent folder.
    """
    from engine.problems.formats.of_file import FORMATS

    folder, slash, beginning = typed.rpartition("/")
    try:
        with os.scandir(Path(folder + slash or ".").expanduser()) as contents:
            names = [(file.is_dir(), file.name) for file in islice(contents, MOST_ENTRIES)]
    except (OSError, RuntimeError, ValueError):  # an unknown folder or ~user, or a null character in the path
        return []
    matching = [
        (is_folder, name)
        for is_folder, name in names
        if name.casefold().startswith(beginning.casefold())
        and (not name.startswith(".") or beginning.startswith("."))
        and (is_folder or Path(name.removesuffix(".gz")).suffix.lower() in FORMATS)
    ]
    above = [] if beginning else [f"{folder}{slash}../"]
    lines = [f"{folder}{slash}{name}{'/' if is_folder else ''}" for is_folder, name in sorted(matching)]
    return [*lines[:MOST_COMPLETIONS], *above]
