import pytest
from rich.cells import cell_len

from hadamard_tui.charts.legend import legend

from .pictures import curve

SERIES = [
    curve([0], name="GD", mark="A"),
    curve([0], name="lower bound", style="dashed"),
    curve([0], name=""),
    curve([0], name="EGU±", style="dotted"),
]


def lines(series, width, most, note=""):
    return [
        "".join(f"{piece.column}:{piece.text};" for piece in row) for row in legend(series, width, most, note)
    ]


def test_entries_show_mark_sample_and_name_of_named_series():
    assert lines(SERIES, 80, 2) == ["0:A ─── GD;11:╌╌╌ lower bound;29:┄┄┄ EGU±;"]


def test_entries_wrap_and_the_rest_is_counted():
    assert lines(SERIES, 30, 2) == ["0:A ─── GD;11:╌╌╌ lower bound;", "0:┄┄┄ EGU±;"]
    assert lines(SERIES, 30, 1) == ["0:A ─── GD;11:+2 more;"]


def test_the_note_ends_the_last_line():
    assert lines(SERIES, 80, 2, "3 points hidden")[0].endswith("65:3 points hidden;")
    assert lines(SERIES[:1], 20, 2, "3 points hidden") == ["0:A ─── GD;", "5:3 points hidden;"]


@pytest.mark.parametrize("width", range(1, 60, 3))
@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_nothing_leaves_the_width_or_overlaps(width, most):
    rows = legend([curve([0], name=f"curve 数 {n}", mark="A") for n in range(30)], width, most, "paused")
    assert len(rows) <= most
    for row in rows:
        ends = [piece.column + cell_len(piece.text) for piece in row]
        assert all(end <= piece.column for end, piece in zip(ends, row[1:], strict=False))
        assert not ends or max(ends) <= width
