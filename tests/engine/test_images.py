"""Images from a user's files: IDX as MNIST has them, CIFAR-10 in binary; what is wrong with them is said."""

import gzip
import struct

import numpy as np
import pytest
from building import experiment

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.spec import presets

COUNT = 40
CLASSES = np.arange(COUNT, dtype=np.uint8) % 10
PIXELS = np.random.default_rng(0).integers(0, 256, (COUNT, 4, 3), dtype=np.uint8)
IDX = struct.pack(">4I", 0x803, *PIXELS.shape) + PIXELS.tobytes()
LABELS = struct.pack(">2I", 0x801, COUNT) + CLASSES.tobytes()
COLOURS = np.random.default_rng(1).integers(0, 256, (COUNT, 3072), dtype=np.uint8)
CIFAR = np.concatenate([CLASSES[:, None], COLOURS], 1).tobytes()


def write(folder, **contents):
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: str(folder / name) for name in contents}


def check(matrix, pixels):
    streams = Streams([0, 1])
    rows, numbers = matrix.draw(streams), matrix.class_numbers(streams)
    flat = pixels.reshape(len(pixels), -1).astype(float)
    for seen, classes in zip(rows, numbers, strict=True):
        restored = np.rint(seen * flat.std() + flat.mean())
        places = [int(np.flatnonzero((flat == image).all(1))[0]) for image in restored]
        np.testing.assert_array_equal(CLASSES[places], classes)
    assert not np.array_equal(numbers[0], numbers[1])


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_idx_and_cifar_files_are_read_with_their_classes_and_standardised_by_one_mean(tmp_path, pack):
    files = write(tmp_path, images=pack(IDX), labels=pack(LABELS), colours=pack(CIFAR))
    grey = catalogue.make("matrices", "digits", images=files["images"], labels=files["labels"], n=25)
    assert grey.shape() == (25, 12)
    check(grey, PIXELS)
    colours = catalogue.make("matrices", "digits", images=files["colours"])
    assert colours.shape() == (COUNT, 3072)
    check(colours, COLOURS)


def test_some_classes_of_a_file_are_chosen_in_the_order_given(tmp_path):
    files = write(tmp_path, colours=CIFAR)
    matrix = catalogue.make("matrices", "digits", images=files["colours"], digits=[7, 2], permute=False)
    streams = Streams([0])
    assert matrix.shape() == (8, 3072)
    assert matrix.class_numbers(streams)[0].tolist() == [1, 0] * 4
    np.testing.assert_allclose(matrix.draw(streams)[0].std(), 1)


FAULTS = {
    "no labels": ({"images": IDX}, "give the file of its labels"),
    "labels of cifar": ({"images": CIFAR, "labels": LABELS}, "does not begin as an IDX file of images"),
    "something else": ({"images": b"hello"}, "neither an IDX file of images, which begins with 0x803, nor"),
    "cut cifar": ({"images": CIFAR[:-1]}, "records of 3073 bytes"),
    "label of cifar": ({"images": b"\x0b" + CIFAR[1:]}, "record 0 begins with 11"),
    "cut off": ({"images": IDX[:-1], "labels": LABELS}, "images is cut off: its header says 40 × 4 × 3"),
    "too long": ({"images": IDX + b"x", "labels": LABELS}, "goes on after its end"),
    "header": ({"images": IDX[:9], "labels": LABELS}, "cut off in its header"),
    "nothing": ({"images": struct.pack(">4I", 0x803, 0, 4, 3), "labels": LABELS}, "holds nothing"),
    "images twice": ({"images": IDX, "labels": IDX}, "labels does not begin as an IDX file of labels"),
    "another count": ({"images": IDX, "labels": struct.pack(">2I", 0x801, 3) + b"\0\1\2"}, "3 labels for 40"),
    "label": ({"images": IDX, "labels": LABELS[:-1] + b"\x0a"}, "has the label 10; labels are 0 … 9"),
    "half packed": ({"images": gzip.compress(IDX)[:-20], "labels": LABELS}, "cannot be read as images"),
    "empty": ({"images": b""}, "images is empty; it must be a file with images"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_with_a_file_is_one_line_that_says_what_would_be_right(tmp_path, name):
    contents, said = FAULTS[name]
    with pytest.raises(BadInput) as caught:
        experiment({"kind": "digits", **write(tmp_path, **contents)}, "classes")
    assert caught.value.where.startswith("problem.matrix")
    assert said in caught.value.what
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "where", "said"),
    [
        ({"images": "missing"}, "images", "there is no file"),
        ({"labels": "labels"}, "labels", "none is named"),
        ({"images": "colours", "n": 41}, "n", "41 is more than the 40 images"),
        ({"images": "few", "digits": [1, 5]}, "digits", "few has no image of 5; leave it out"),
    ],
    ids=str,
)
def test_what_a_file_has_not_is_refused(tmp_path, words, where, said):
    write(tmp_path, colours=CIFAR, few=CIFAR[: 3 * 3073], labels=LABELS)
    paths = {name: str(tmp_path / words[name]) for name in ("images", "labels") if name in words}
    with pytest.raises(BadInput) as caught:
        experiment({"kind": "digits", **words, **paths}, "classes")
    assert caught.value.where == f"problem.matrix.{where}"
    assert said in caught.value.what


def test_presets_of_digits_take_files_by_set_and_preset_files_name_them_beside_themselves(tmp_path):
    files = write(tmp_path, images=IDX, labels=LABELS)
    changes = [f"problem.matrix.{name}={path}" for name, path in files.items()]
    loaded = presets.load("digits-agd", [*changes, "protocol.train=30", "protocol.batch=10", "claims=[]"])
    assert loaded.problem.matrix.shape() == (COUNT, 12)
    own = tmp_path / "own.toml"
    own.write_text(
        '[problem]\nmatrix = { kind = "digits", images = "images", labels = "labels" }\ntarget = "classes"\n'
        '[protocol]\nkind = "steps"\n[[learners]]\nname = "GD"\narchitecture = "linear"\nupdate = "gd"\n'
    )
    assert presets.load(str(own)).problem.matrix.images == files["images"]
