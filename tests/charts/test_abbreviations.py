from looping import looped

from hadamard_tui.charts.drawing.legend import with_cut_words, within, without_common_keys


def test_a_key_shared_by_all_names_is_written_once():
    names = ["tanh net, C_w = 0.9", "ReLU net, C_w = 2", "recursion of tanh net"]
    assert without_common_keys(names) == ["tanh net, C_w = 0.9", "ReLU net, 2", "recursion of tanh net"]
    assert without_common_keys(names, once=False) == ["tanh net, 0.9", "ReLU net, 2", names[2]]
    assert without_common_keys(["GD, r = 1, side = 64", "GD, r = 2, side = 16"]) == [
        "GD, r = 1, side = 64",
        "GD, 2, 16",
    ]


def test_a_key_missing_from_some_names_is_kept():
    for names in (
        ["net, a = 1", "net, b = 1"],
        ["net, a = 1", "net, a = 2", "net, 2"],
        ["η = 1, x", "x, η = 1"],
    ):
        assert without_common_keys(names) == names


def test_words_are_shortened_to_distinct_prefixes_and_numbers_are_kept():
    names = ["elimination, side = 4096", "elementary, side = 12", "GD"]
    assert with_cut_words(names, 3) == ["eli…, side = 4096", "ele…, side = 12", "GD"]
    assert with_cut_words(["percolation", "recursion-finite of percolation"], 3) == [
        "per…",
        "rec…-fin… of per…",
    ]


@looped("letters", range(1, 6))
def test_shortened_names_stay_distinct(letters: int):
    names = [
        "layer",
        "layers",
        "lay",
        "layer recursion",
        "layer, n = 1",
        "layer, n = 11",
        "layer recur",
        "η=0.1",
    ]
    assert len(set(with_cut_words(names, letters))) == len(names)
    assert len(set(with_cut_words(without_common_keys(names), letters))) == len(names)


def test_names_are_shortened_only_as_far_as_the_width_requires():
    names = [
        "least squares, matrix = gaussian",
        "EGU, matrix = gaussian",
        "least squares, matrix = rademacher",
    ]
    assert within(names, 40) == names
    assert within(names, 25) == ["least squares, gaussian", names[1], "least squares, rademacher"]
    assert within([], 5) == []


@looped("width", range(5, 40))
def test_names_shortened_to_any_width_stay_distinct(width: int):
    names = [f"{kind} net, size = {size}" for kind in ("linear", "linearised", "line") for size in (1, 10)]
    names += ["linear net", "lines, net", "line, size = 10, η = 1"]
    assert len(set(within(names, width))) == len(names)
