"""Columns of words, dates and missing cells, which skrub turns into numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.texts import counted, cut, listed

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

WORDS = 40
"""Least number of distinct words with which a column is encoded as strings, not as one column per word."""

MOST_ALIKE = 5
"""Largest number of columns with the same encoding that are described one by one."""

LONGEST_NAME = 40
TREATMENT = {
    "numeric": "as it is",
    "low_cardinality": "one column per word",
    "high_cardinality": "30 columns that encode the strings",
    "datetime": "year, month, day and time",
}
"""Encoding of a column, by skrub's name for the kind of column."""


class Treatment(NamedTuple):
    """How a column of the file becomes features."""

    column: str
    description: str
    outputs: int = 0
    """Number of features that skrub makes of the column; 0 for a column of numbers."""

    missing: int = 0


class MixedColumns:
    """Columns of words, dates and numbers, encoded anew for each set of training rows.

    skrub encodes words and dates. Columns of numbers stay as they are, and skrub does not get them, to save
    time.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        """Determine the kind of each column of a pandas frame from all rows.

        Raises: ImportError if a column needs skrub and skrub is not installed.
        """
        from pandas.api import types

        self._columns: list[str] = [*frame.columns]
        self._missing = {name: int(count) for name, count in frame.isna().sum().items()}
        self._empty = {name for name, count in self._missing.items() if count == len(frame)}
        self._numeric = [
            column
            for column in frame.columns
            if column not in self._empty
            and types.is_numeric_dtype(frame[column])
            and not types.is_bool_dtype(frame[column])
        ]
        self._numbers = np.empty((len(frame), len(self._numeric)))
        for place, name in enumerate(self._numeric):
            self._numbers[:, place] = frame[name].to_numpy(np.float64, na_value=np.nan)
        worded = frame.drop(columns=[*self._numeric, *self._empty])
        self._kinds: dict[str, str] = {}
        self._outputs: dict[str, list[str]] = {}
        self._frame = worded
        if worded.shape[1]:
            self._find_kinds()
        self._strings = [name for name, kind in self._kinds.items() if kind == "high_cardinality"]
        self._others = [name for name in self._kinds if name not in self._strings]
        outputs = {column: self._outputs.get(column, []) for column in worded.columns}
        of_column = {**outputs, **{name: [name] for name in self._numeric}}
        self.names = tuple(
            f"{output} of {column}" if output != column and output in self._numeric else output
            for column in frame.columns
            for output in of_column.get(column, [])
        )
        """Names of the features. The year of `sold` is `sold_year of sold` if `sold_year` holds numbers."""

        places: dict[str, list[int]] = {}
        for name in frame.columns:
            first = sum(map(len, places.values()))
            places[name] = [*range(first, first + len(of_column.get(name, [])))]
        self._numeric_places = [places[name][0] for name in self._numeric]
        self._string_names = [output for name in self._strings for output in outputs[name]]
        self._string_places = [place for name in self._strings for place in places[name]]
        other_names = [output for name in self._others for output in outputs[name]]
        self._other_places = [place for name in self._others for place in places[name]]
        words = {name for name, kind in self._kinds.items() if kind == "low_cardinality"}
        self._are_words = np.array([name in words for name in self._others for _ in outputs[name]], bool)
        """Whether each feature of `_others` says that a row has a certain word."""

        self._other_features = np.empty((len(frame), 0))
        if self._others:
            encoded = _new_vectorizer(sys.maxsize).fit_transform(self._frame[self._others])
            self._other_features = encoded.reindex(columns=other_names).to_numpy(np.float64)

    def _find_kinds(self) -> None:
        """Let skrub find the kinds of the columns that do not hold numbers, and parse their dates.

        Dates are parsed in all rows together, because a few rows may not show which number is the day.
        """
        vectorizer = _new_vectorizer()
        from skrub import to_datetime  # type: ignore[import-not-found, import-untyped, unused-ignore]

        vectorizer.fit(self._frame)
        kinds = vectorizer.column_to_kind_
        self._kinds = {column: str(kinds[column]) for column in self._frame.columns if column in kinds}
        self._outputs = {name: [*map(str, names)] for name, names in vectorizer.input_to_outputs_.items()}
        dates = [name for name, kind in self._kinds.items() if kind == "datetime"]
        self._frame = self._frame.assign(**{name: to_datetime(self._frame[name]) for name in dates})

    def treatments(self) -> Iterator[Treatment]:
        numeric = set(self._numeric)
        for column in self._columns:
            missing = self._missing[column]
            outputs = len(self._outputs.get(column, ()))
            kind = "numeric" if column in numeric else self._kinds.get(column, "")
            if column in self._empty or not (outputs or column in numeric):
                yield Treatment(column, "left out, because it is empty or constant")
                continue
            treatment = f"{kind}, {TREATMENT.get(kind, kind)}"
            if missing and column in numeric:
                treatment = f"{treatment}; missing cells get the median of the training rows"
            yield Treatment(column, treatment, outputs, missing)

    def encode(self, train: Indices, tested: Indices) -> tuple[Floats, Floats]:
        """Return the features [n, d] of the training rows and of the test rows.

        Training rows alone determine the encoding. The feature of a word that occurs in no training row is 0.
        Missing numbers become the median of the training rows.
        """
        sides = tuple(np.full((len(rows), len(self.names)), np.nan) for rows in (train, tested))
        for side, rows in zip(sides, (train, tested), strict=True):
            side[:, self._numeric_places] = self._numbers[rows]
            side[:, self._other_places] = self._other_features[rows]
        fitted, asked = sides
        if self._strings:
            fitted[:, self._string_places], asked[:, self._string_places] = self._encoded_strings(
                train, tested
            )
        unseen = self._are_words & ~(self._other_features[train] == 1).any(0)
        asked[:, np.array(self._other_places, int)[unseen]] = 0
        for place in np.flatnonzero(np.isnan(fitted).any(0) | np.isnan(asked).any(0)).tolist():
            present = fitted[~np.isnan(fitted[:, place]), place]
            median = float(np.median(present)) if len(present) else 0.0
            for side in sides:
                side[np.isnan(side[:, place]), place] = median
        return fitted, asked

    def _encoded_strings(self, train: Indices, tested: Indices) -> tuple[Floats, Floats]:
        vectorizer, chosen = _new_vectorizer(0), self._frame[self._strings]
        fitted = vectorizer.fit_transform(chosen.iloc[train])
        asked = vectorizer.transform(chosen.iloc[tested])
        # skrub numbers the columns of encoded strings with as many digits as the largest number has. A fit to
        # few rows may have fewer columns, and so other names than the fit to all rows.
        renamed = {
            output: name
            for column in self._strings
            for output, name in zip(
                vectorizer.input_to_outputs_.get(column, ()), self._outputs[column], strict=False
            )
        }
        first, second = (
            part.rename(columns=renamed).reindex(columns=self._string_names).to_numpy(np.float64)
            for part in (fitted, asked)
        )
        return first, second


def _new_vectorizer(threshold: int = WORDS) -> Any:
    from skrub import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        StringEncoder,
        TableVectorizer,
    )

    return TableVectorizer(cardinality_threshold=threshold, high_cardinality=StringEncoder(random_state=0))


def in_groups(treatments: Iterable[Treatment]) -> Iterator[str]:
    """Yield a phrase for each column, or one phrase for more than MOST_ALIKE columns treated alike."""
    groups: dict[str, list[Treatment]] = {}
    for treatment in treatments:
        groups.setdefault(treatment.description, []).append(treatment)
    for description, group in groups.items():
        if len(group) > MOST_ALIKE:
            names = listed(cut(treatment.column, LONGEST_NAME) for treatment in group)
            outputs, missing = (sum(numbers) for numbers in zip(*(part[2:] for part in group), strict=True))
            yield f"{len(group)} columns, {names}: {description}{_counts_in_words(outputs, missing)}"
            continue
        for treatment in group:
            column = repr(cut(treatment.column, LONGEST_NAME))
            yield f"column {column}: {description}{_counts_in_words(treatment.outputs, treatment.missing)}"


def _counts_in_words(outputs: int, missing: int) -> str:
    pairs = ((outputs, "feature"), (missing, "missing cell"))
    counts = [counted(number, noun) for number, noun in pairs if number]
    return f" ({', '.join(counts)})" if counts else ""
