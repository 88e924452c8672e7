import re

import pytest
from rich.cells import cell_len

from hadamard_tui.charts.drawing.heat_sheet import compose
from hadamard_tui.colours.palette import colour_map
from hadamard_tui.headless.pictures import printed_heat_map

from .heat_maps import criticality, lines

COLOURS = colour_map(dark_is_more=False)
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("colours", [COLOURS, None])
def test_a_printed_heat_map_has_the_size_and_text_of_its_sheet(colours):
    for size in ((80, 24), (120, 40), (30, 10), (5, 2)):
        text = printed_heat_map(criticality(), *size, colours).split("\n")
        assert len(text) == size[1]
        assert max(map(cell_len, map(ESCAPE.sub, [""] * size[1], text))) <= size[0]
        sheet = lines(compose(criticality(), *size, colours).cells)
        assert [ESCAPE.sub("", line) for line in text] == [line.rstrip() for line in sheet]


def test_a_printed_heat_map_has_colour_codes_only_with_colours():
    assert "\x1b" not in printed_heat_map(criticality(), 80, 24, None)
    coloured = printed_heat_map(criticality(), 80, 24, COLOURS)
    lowest = ";".join(map(str, COLOURS.colours[0].tolist()))
    assert f"\x1b[38;2;{lowest};48;2;{lowest}m▀" in coloured
    assert all(line.count("\x1b[0m") * 2 == line.count("\x1b[") for line in coloured.split("\n"))
