"""Handwritten digits of scikit-learn, or the user's own images."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import SELDOM, BadField, BadInput, Count
from engine.core.streams import Streams
from engine.core.texts import listed
from engine.problems.bundled_tables import read_bundled
from engine.problems.data_files import DataReport, FilePath, LeftOut, Version, make_absolute, version_of
from engine.problems.formats.images import Images, read, standardised
from engine.problems.matrices import Matrix, MatrixStructure, PermuteRows, RowNumbers, Rows

COUNTS = (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)
"""Number of images of each digit 0 … 9. The total is 1797."""

PIXELS = 64

PLACE = "problem.matrix"

Digit = Annotated[int, Meta(ge=0, le=9)]


class Digits(Matrix, frozen=True, tag="digits"):
    """Handwritten digits: the 1797 images of 8 × 8 pixels that come with scikit-learn.

    Pixels are standardised, (x − mean)/std, by the mean and standard deviation of all pixels of the selected
    images. With `normalised`, the mean of the selected images is subtracted instead, and each image is scaled
    to length 1. `digits` selects images by their digit, and `n` limits their number. Images are in random
    order or, without `permute`, in the order of the collection. With `in_turns`, the first image of every
    digit comes first, then the second image of every digit, and so on. Digits without further images are
    skipped. The target `classes` uses the digits as classes, in the order of `digits`.

    You can use your own images of ten classes instead. For IDX files (the format of MNIST), set `images` to
    the file of images, and `labels` to the file of their labels. Otherwise, set only `images`, to a binary
    batch of CIFAR-10 or to mnist.npz. From mnist.npz, x_train and y_train are used. IDX and CIFAR-10 files
    may be compressed by gzip. Paths are relative to the preset file. Source: Alpaydin, Kaynak 1998; LeCun et
    al. 1998; Krizhevsky 2009; theory/automatic-descent#variants-and-recipes,
    theory/parities-and-noise#nuisance-space.
    """

    file_fields: ClassVar[tuple[str, ...]] = "images", "labels"

    digits: Annotated[
        Annotated[tuple[Digit, ...], Meta(min_length=2, max_length=10)] | None,
        Meta(title="digits", description="digits whose images are used, at least two; none: all ten"),
    ] = None
    n: Annotated[Count | None, Meta(title="rows n", description="number of images; none: all")] = None
    permute: PermuteRows = True
    normalised: Annotated[
        bool,
        Meta(
            title="normalised",
            description="subtract the mean image, then scale each image to length 1",
            extra=SELDOM,
        ),
    ] = False
    in_turns: Annotated[
        bool,
        Meta(
            title="in turns",
            description="show the first image of every digit, then the second image of every digit, …",
            extra=SELDOM,
        ),
    ] = False
    images: Annotated[
        FilePath | None,
        Meta(
            title="images",
            description="IDX or CIFAR-10 file of images, or mnist.npz; none: scikit-learn's digits",
            extra=SELDOM,
        ),
    ] = None
    labels: Annotated[
        FilePath | None,
        Meta(
            title="labels", description="IDX file of labels, if the images are in an IDX file", extra=SELDOM
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        make_absolute(self)
        if self.labels is not None and self.images is None:
            raise BadField(
                "labels",
                "labels need a file of images; set `images`, or leave `labels` out",
            )
        if len(set(self._selected_digits)) < len(self._selected_digits):
            raise BadField("digits", "a digit occurs twice; list every digit once")
        if self.images is None and self.n is not None and self.n > sum(self._digit_counts):
            raise BadField(
                "n",
                f"there are only {sum(self._digit_counts)} images; take at most {sum(self._digit_counts)}",
            )

    @property
    def _selected_digits(self) -> tuple[int, ...]:
        return tuple(range(10)) if self.digits is None else self.digits

    @property
    def _digit_counts(self) -> tuple[int, ...]:
        """Number of images of each selected digit. Raises: BadInput for an unusable file."""
        if self.images is None:
            return tuple(COUNTS[digit] for digit in self._selected_digits)
        counts = np.bincount(self._collection().classes, minlength=len(COUNTS))
        digit_counts = tuple(int(counts[digit]) for digit in self._selected_digits)
        name = Path(self.images).name
        if not all(digit_counts):
            missing = next(
                digit for digit, count in zip(self._selected_digits, digit_counts, strict=True) if not count
            )
            raise BadInput(
                f"{PLACE}.digits", f"{name} has no image of the digit {missing}; leave this digit out"
            )
        if self.n is not None and self.n > sum(digit_counts):
            raise BadInput(
                f"{PLACE}.n",
                f"there are only {sum(digit_counts)} images; take at most {sum(digit_counts)}",
            )
        return digit_counts

    def structure(self) -> MatrixStructure:
        return super().structure()._replace(random_order=self.permute, class_count=len(self._selected_digits))

    def size(self) -> tuple[int, int]:
        count = sum(self._digit_counts)
        return self.n or count, PIXELS if self.images is None else self._collection().pixels.shape[1]

    def data_report(self) -> DataReport | None:
        if self.images is None:
            return None
        collection = self._collection()
        left_out = (
            [LeftOut(listed(collection.left_out), "not used for training")] if collection.left_out else []
        )
        return DataReport(PLACE, self.images, *self.size(), left_out=tuple(left_out), notes=collection.notes)

    def row_numbers(self, streams: Streams) -> RowNumbers:
        return RowNumbers(classes=self._selected_classes()[self._drawn_order(streams)])

    def rows(self, streams: Streams) -> Rows:
        pixels, classes, *_ = self._collection()
        chosen = (
            pixels
            if len(self._selected_digits) == len(COUNTS)
            else pixels[np.isin(classes, self._selected_digits)]
        )
        order = self._drawn_order(streams)
        if not self.normalised:
            return standardised(chosen[order], chosen)
        scaled: Rows = chosen - chosen.mean(0)
        lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
        scaled /= np.where(lengths > 0, lengths, 1.0)
        return scaled[order]

    def _drawn_order(self, streams: Streams) -> NDArray[np.int64]:
        """Return the images that each replica sees, in their order: positions [R, n] in the selection."""
        n, _ = self.size()
        if self.permute:
            orders = streams("order").permutation(sum(self._digit_counts))
        else:
            orders = np.tile(np.arange(sum(self._digit_counts)), (len(streams.seeds), 1))
        if self.in_turns:
            orders = np.stack([order[self._alternating_order(order)] for order in orders])
        return orders[:, :n]

    def _alternating_order(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sort the positions in `order` so that the digits take turns.

        The first sort key of an image is the number of earlier images of the same digit.
        """
        numbers = self._selected_classes()[order]
        before = np.empty(len(order), np.int64)
        for digit in range(len(self._selected_digits)):
            before[numbers == digit] = np.arange((numbers == digit).sum())
        return np.lexsort((numbers, before))

    def _selected_classes(self) -> NDArray[np.int64]:
        """Return the class of each selected image, in the order of the collection."""
        classes = self._collection().classes
        numbers = np.full(len(COUNTS), -1)
        numbers[list(self._selected_digits)] = np.arange(len(self._selected_digits))
        return np.asarray(numbers[classes[np.isin(classes, self._selected_digits)]])

    def _collection(self) -> Images:
        if self.images is None:
            return _bundled_images()
        images = version_of(self.images, f"{PLACE}.images", "images")
        labels = None if self.labels is None else version_of(self.labels, f"{PLACE}.labels", "labels")
        return _read_images(images, labels)


@lru_cache(maxsize=2)
def _read_images(file: Version, labels: Version | None) -> Images:
    try:
        return read(file.file, None if labels is None else labels.file)
    except BadField as error:
        raise BadInput(f"{PLACE}.{error.field}", error.fault) from error


@cache
def _bundled_images() -> Images:
    """Return the images [1797, 64] that come with scikit-learn, without importing scikit-learn."""
    features, labels = read_bundled("digits")
    assert labels.classes is not None, "the digits are classes"
    return Images(features.astype(np.uint8), labels.classes.numbers)
