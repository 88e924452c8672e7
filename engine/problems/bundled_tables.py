"""Tables that come with scikit-learn, read from its files without importing scikit-learn."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.problems.table import RowLabels, labels_of

TableName = Literal["breast-cancer", "diabetes", "digits", "iris", "wine"]

SIZES: dict[TableName, tuple[int, int]] = {
    "breast-cancer": (569, 30),
    "diabetes": (442, 10),
    "digits": (1797, 64),
    "iris": (150, 4),
    "wine": (178, 13),
}
"""Numbers of rows and of features, by table."""

FILES: dict[TableName, str] = {
    "breast-cancer": "breast_cancer.csv",
    "diabetes": "diabetes_data_raw.csv.gz",
    "digits": "digits.csv.gz",
    "iris": "iris.csv",
    "wine": "wine_data.csv",
}

NUMERIC_LABELS = "diabetes_target.csv.gz"
"""File of the labels of `diabetes`. In all other tables, the last column is the class."""

FIXED_NAMES = 2
"""Number of cells before the names of the classes in a first line: the counts of rows and features."""


class BundledTable(NamedTuple):
    """Features [n, d] of all rows, in their original units, and their labels."""

    features: NDArray[np.float64]
    labels: RowLabels


@cache
def read_bundled(name: TableName) -> BundledTable:
    """Return a table that comes with scikit-learn, with scikit-learn's names of classes."""
    lines = _lines(FILES[name])
    if name == "diabetes":
        numbers = np.array(_lines(NUMERIC_LABELS), np.float64)
        return _read_only(np.loadtxt(lines), RowLabels(numbers[:, None]))
    first, rest = (None, lines) if name == "digits" else (lines[0], lines[1:])
    table = np.loadtxt(rest, delimiter=",")
    classes = table[:, -1].astype(int).tolist()
    names = [str(digit) for digit in range(10)] if first is None else first.split(",")[FIXED_NAMES:]
    return _read_only(table[:, :-1].copy(), labels_of([names[number] for number in classes], "table"))


def _read_only(features: NDArray[np.float64], labels: RowLabels) -> BundledTable:
    features.setflags(write=False)
    return BundledTable(features, labels)


def _lines(file: str) -> list[str]:
    package = find_spec("sklearn")
    assert package is not None, "it is installed with this program"
    assert package.origin is not None, "a package has a file"
    path = Path(package.origin).parent / "datasets" / "data" / file
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return text.decode().splitlines()
