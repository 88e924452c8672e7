"""Images from files in the formats of MNIST and CIFAR-10; faults are named."""

import gzip
import io
import struct

import numpy as np
import pytest
from building import experiment

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.problems.matrices import drawn_rows
from engine.spec import presets

COUNT = 40
CLASSES = np.arange(COUNT, dtype=np.uint8) % 10
PIXELS = np.random.default_rng(0).integers(0, 256, (COUNT, 4, 3), dtype=np.uint8)
IDX = struct.pack(">4I", 0x803, *PIXELS.shape) + PIXELS.tobytes()
LABELS = struct.pack(">2I", 0x801, COUNT) + CLASSES.tobytes()
COLOURS = np.random.default_rng(1).integers(0, 256, (COUNT, 3072), dtype=np.uint8)
CIFAR = np.concatenate([CLASSES[:, None], COLOURS], 1).tobytes()


def write(folder, **contents):
    for file_name, content in contents.items():
        (folder / file_name).write_bytes(content)
    return {name: str(folder / name) for name in contents}


def check(matrix, pixels):
    streams = Streams([0, 1])
    rows, numbers = drawn_rows(matrix, streams), matrix.row_numbers(streams).classes
    flat = pixels.reshape(len(pixels), -1).astype(float)
    for seen, classes in zip(rows, numbers, strict=True):
        restored = np.rint(seen * flat.std() + flat.mean())
        places = [int(np.flatnonzero((flat == image).all(1))[0]) for image in restored]
        np.testing.assert_array_equal(CLASSES[places], classes)
    assert not np.array_equal(numbers[0], numbers[1])


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_idx_and_cifar_files_give_classes_and_pixels_standardised_by_one_mean(tmp_path, pack):
    files = write(tmp_path, images=pack(IDX), labels=pack(LABELS), colours=pack(CIFAR))
    grey = catalogue.make("matrices", "digits", images=files["images"], labels=files["labels"], n=25)
    assert grey.shape() == (25, 12)
    check(grey, PIXELS)
    colours = catalogue.make("matrices", "digits", images=files["colours"])
    assert colours.shape() == (COUNT, 3072)
    check(colours, COLOURS)


def test_digits_selects_classes_of_a_file_in_the_given_order(tmp_path):
    files = write(tmp_path, colours=CIFAR)
    matrix = catalogue.make("matrices", "digits", images=files["colours"], digits=[7, 2], permute=False)
    streams = Streams([0])
    assert matrix.shape() == (8, 3072)
    assert matrix.row_numbers(streams).classes[0].tolist() == [1, 0] * 4
    np.testing.assert_allclose(drawn_rows(matrix, streams)[0].std(), 1)


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


MNIST = {"x_train": PIXELS, "y_train": CLASSES, "x_test": PIXELS[:5], "y_test": CLASSES[:5]}
COARSE = np.concatenate([CLASSES[:, None], CLASSES[:, None], COLOURS], 1).tobytes()
"""Records as CIFAR-100 has them, with two labels each."""


def test_mnist_npz_is_read_with_its_own_labels(tmp_path):
    files = write(tmp_path, **{"mnist.npz": npz(**MNIST)})
    matrix = catalogue.make("matrices", "digits", images=files["mnist.npz"])
    assert matrix.shape() == (COUNT, 12)
    check(matrix, PIXELS)


FAULTS = {
    "no labels": ({"images": IDX}, "labels", "missing: images is an IDX file of images"),
    "labels of cifar": (
        {"images": CIFAR, "labels": LABELS},
        "images",
        "images does not begin with 0x803, as IDX files of images do",
    ),
    "swapped": (
        {"images": LABELS, "labels": IDX},
        "images",
        "images begins with 0x801, as IDX files of labels do",
    ),
    "labels as images": ({"images": LABELS}, "images", "images begins with 0x801, as IDX files of labels do"),
    "images twice": ({"images": IDX, "labels": IDX}, "labels", "labels begins with 0x803, as images do"),
    "something else": ({"images": b"hello"}, "images", "images is neither an IDX file of images"),
    "another magic": (
        {"images": IDX, "labels": b"\0\0\x0d\1" + LABELS[4:]},
        "labels",
        "labels begins with 0xd01",
    ),
    "cut cifar": ({"images": CIFAR[:-1]}, "images", "records of 3073 bytes"),
    "label of cifar": (
        {"images": b"\x0b" + CIFAR[1:]},
        "images",
        "images has the label 11 in record 0",
    ),
    "cifar-100": ({"images": COARSE}, "images", "images has records of 3074 bytes, as CIFAR-100 does"),
    "tar": ({"images": 257 * b"x" + b"ustar" + 2000 * b"x"}, "images", "images is a .tar archive; unpack it"),
    "cut off": (
        {"images": IDX[:-1], "labels": LABELS},
        "images",
        "images is too short: its header states 40 × 4 × 3",
    ),
    "cut labels": (
        {"images": IDX, "labels": LABELS[:-1]},
        "labels",
        "labels is too short: its header states 40",
    ),
    "too long": ({"images": IDX + b"x", "labels": LABELS}, "images", "images is too long"),
    "header": ({"images": IDX[:9], "labels": LABELS}, "images", "images ends before the end of its header"),
    "header of labels": (
        {"images": IDX, "labels": LABELS[:6]},
        "labels",
        "labels ends before the end of its header",
    ),
    "nothing": (
        {"images": struct.pack(">4I", 0x803, 0, 4, 3), "labels": LABELS},
        "images",
        "images holds no data",
    ),
    "another count": (
        {"images": IDX, "labels": struct.pack(">2I", 0x801, 3) + b"\0\1\2"},
        "labels",
        "labels has 3 labels for the 40 images of images",
    ),
    "label": (
        {"images": IDX, "labels": LABELS[:-1] + b"\x0a"},
        "labels",
        "labels has the label 10; labels must be 0 … 9",
    ),
    "half packed": (
        {"images": gzip.compress(IDX)[:-20], "labels": LABELS},
        "images",
        "images cannot be read as images",
    ),
    "half packed labels": (
        {"images": IDX, "labels": gzip.compress(LABELS)[:-9]},
        "labels",
        "labels cannot be read as labels",
    ),
    "empty": ({"images": b""}, "images", "images is empty; it must be a file with images"),
    "empty labels": (
        {"images": IDX, "labels": b""},
        "labels",
        "labels is empty; it must be a file with labels",
    ),
    "no array": (
        {"images": npz(x_test=PIXELS)},
        "images",
        "images has no array x_train; its arrays are x_test",
    ),
    "no classes": (
        {"images": npz(x_train=PIXELS)},
        "images",
        "images has no array y_train; its arrays are x_train",
    ),
    "reals": (
        {"images": npz(x_train=PIXELS / 255, y_train=CLASSES)},
        "images",
        "images has an array x_train of dtype float64",
    ),
    "other classes": (
        {"images": npz(x_train=PIXELS, y_train=CLASSES + 1)},
        "images",
        "images has the label 10",
    ),
    "objects": (
        {"images": npz(x_train=np.array([{}], object), y_train=CLASSES)},
        "images",
        "cannot be read as images",
    ),
    "broken archive": ({"images": npz(**MNIST)[:300]}, "images", "images cannot be read as images"),
    "labels of an archive": (
        {"images": npz(**MNIST), "labels": LABELS},
        "images",
        "images does not begin with 0x803",
    ),
}


@pytest.mark.parametrize("file_name", FAULTS)
def test_an_invalid_image_file_is_refused_with_its_field(tmp_path, file_name):
    contents, field, reason = FAULTS[file_name]
    with pytest.raises(BadInput) as caught:
        experiment({"kind": "digits", **write(tmp_path, **contents)}, "classes")
    assert caught.value.where == f"problem.matrix.{field}"
    assert reason in caught.value.fault
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_a_missing_label_file_is_refused_with_its_field(tmp_path):
    files = write(tmp_path, images=IDX)
    with pytest.raises(BadInput) as caught:
        experiment({"kind": "digits", **files, "labels": str(tmp_path / "gone")}, "classes")
    assert caught.value.where == "problem.matrix.labels"
    assert caught.value.fault == f"there is no file {tmp_path / 'gone'}"


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        ({"images": IDX, "labels": LABELS}, "images: 25 rows × 12 columns, labels in labels"),
        ({"images": CIFAR}, "images: 25 rows × 3072 columns, each record begins with its label"),
        (
            {"images": npz(**MNIST)},
            "images: 25 rows × 12 columns, images in x_train, labels in y_train, "
            "left out: x_test, y_test (not used for training)",
        ),
        (
            {"images": npz(x_train=PIXELS, y_train=CLASSES)},
            "images: 25 rows × 12 columns, images in x_train, labels in y_train",
        ),
    ],
    ids=["idx", "cifar", "mnist", "training"],
)
def test_the_data_report_of_images_states_count_labels_and_omissions(tmp_path, contents, sentence):
    files = write(tmp_path, **contents)
    (report,) = experiment({"kind": "digits", **files, "n": 25}, "classes").problem.data_reports
    assert report.sentence == sentence


@pytest.mark.parametrize(
    ("words", "where", "reason"),
    [
        ({"images": "missing"}, "images", "there is no file"),
        ({"labels": "labels"}, "labels", "labels need a file of images"),
        ({"images": "colours", "n": 41}, "n", "there are only 40 images; take at most 40"),
        (
            {"images": "few", "digits": [1, 5]},
            "digits",
            "few has no image of the digit 5; leave this digit out",
        ),
    ],
    ids=str,
)
def test_settings_that_the_image_files_cannot_satisfy_are_refused(tmp_path, words, where, reason):
    write(tmp_path, colours=CIFAR, few=CIFAR[: 3 * 3073], labels=LABELS)
    paths = {name: str(tmp_path / words[name]) for name in ("images", "labels") if name in words}
    with pytest.raises(BadInput) as caught:
        experiment({"kind": "digits", **words, **paths}, "classes")
    assert caught.value.where == f"problem.matrix.{where}"
    assert reason in caught.value.fault


def test_digit_presets_accept_image_files_by_override_and_by_relative_path(tmp_path):
    files = write(tmp_path, images=IDX, labels=LABELS)
    changes = [f"problem.matrix.{name}={path}" for name, path in files.items()]
    loaded = presets.load("digits-agd", [*changes, "protocol.train=30", "protocol.batch=10", "claims=[]"])
    assert loaded.problem.matrix.shape() == (COUNT, 12)
    preset = tmp_path / "own.toml"
    preset.write_text(
        '[problem]\nmatrix = { kind = "digits", images = "images", labels = "labels" }\ntarget = "classes"\n'
        '[protocol]\nkind = "steps"\n[[learners]]\nname = "GD"\narchitecture = "linear"\nupdate = "gd"\n'
    )
    assert presets.load(str(preset)).problem.matrix.images == files["images"]
