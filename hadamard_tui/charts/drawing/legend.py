"""Legend of a chart: letter, line sample and name of every named series, wrapped to a width.

Names are shortened until the legend fits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from rich.cells import cell_len

from engine.core.expressions import briefer
from hadamard_tui.charts.drawing.coincidence import are_equal
from hadamard_tui.charts.drawing.marks import owned
from hadamard_tui.charts.drawing.raster import elided

if TYPE_CHECKING:
    from hadamard_tui.charts.series import LineStyle, Series


_EQUALS = " = "
_LETTERS = 8, 5, 3, 2  # number of letters that remain of a shortened word, from the first to the last attempt
_WORD = re.compile(r"[^\W\d_]{2,}")
"""Pattern of words that may be shortened: sequences of letters, without numbers and signs."""


def ever_shorter(names: Sequence[str], once: bool = True) -> Iterator[list[str]]:
    """Yield shorter and shorter versions of a list of names.

    First, keys that all names share are left out: a name such as "net, C_w = 1" has the key "C_w". Then words
    are cut to fewer and fewer letters. If `once` is True, the first name keeps its keys.
    """
    yield (brief := without_common_keys(names, once))
    for letters in _LETTERS:
        yield with_cut_words(brief, letters)


def within(names: Sequence[str], width: int) -> list[str]:
    forms = zip(names, *ever_shorter(names, once=False), strict=True)
    return [next((name for name in form if cell_len(name) <= width), form[-1]) for form in forms]


def without_common_keys(names: Sequence[str], once: bool = True) -> list[str]:
    """Return the names without keys that all names share: "net, C_w = 1" becomes "net, 1".

    A key is left out if all names have the same key after the same number of commas. If `once` is True, the
    first name keeps its keys.
    """
    split = [name.split(", ") if name else [] for name in names]
    longest = max(map(len, split), default=0)
    keys = [{_key_of_part(parts, place) for parts in split} - {None} for place in range(longest)]
    named = set() if once else set(range(longest))
    shorter = []
    for parts in split:
        shorter_parts = list(parts)
        for place, part in enumerate(parts):
            if len(keys[place]) == 1 and _EQUALS in part:
                shorter_parts[place] = part.partition(_EQUALS)[2] if place in named else part
                named.add(place)
        shorter.append(", ".join(shorter_parts))
    return shorter


def _key_of_part(parts: Sequence[str], place: int) -> str | None:
    """Return the key in part number `place` of a name, such as "C_w" in the part "C_w = 1".

    Commas separate the parts of a name. A part without a key gives "", and a missing part gives None.
    """
    if place >= len(parts):
        return None
    key, equals, _ = parts[place].partition(_EQUALS)
    return key if equals else ""


def with_cut_words(names: Sequence[str], letters: int) -> list[str]:
    """Cut words to `letters` letters and an ellipsis.

    A word keeps more letters if it would otherwise equal another word.
    """
    words = {word for name in names for word in _WORD.findall(name)}
    cut = {word: _cut_word(word, letters, words) for word in words}
    return [_WORD.sub(lambda match: cut[match[0]], name) for name in names]


def _cut_word(word: str, letters: int, words: set[str]) -> str:
    for end in range(letters, len(word)):
        begin = word[:end]
        if cell_len(begin) + 1 >= cell_len(word):
            return word
        if not any(other_word.startswith(begin) for other_word in words if other_word != word):
            return f"{begin}…"
    return word


SAMPLES: dict[LineStyle, str] = {
    "solid": "───",
    "dashed": "╌╌╌",
    "dotted": "┄┄┄",
    "dash-dot": "─·─",
    "sparse": "· ·",
    "long": "── ",
    "pairs": "·· ",
    "points": " • ",
}
SAME, NEARLY = "≡ ", "≈ "
"""Signs in the legend for a series that equals the first series of its group, and for one that is near it."""

READABLE = 2
"""Number of leading entries of `_LETTERS` for which shortened words remain readable."""

BETWEEN = " · "
"""Separator between the remarks of a chart's note."""

_GAP = 3

_NOTE_MARGIN = 1
"""Number of blank cells between the note and the right edge."""


class Piece(msgspec.Struct, frozen=True):
    """Text in a row of the legend, which begins in column `column`.

    `index` is the index of the series that the text names, or −1 if it names none.
    """

    column: int
    text: str
    index: int


class EntryPart(NamedTuple):
    """Name of one series in a legend entry. `at` is the index of the series in the chart."""

    name: str
    at: int
    formula: str = ""
    mark: str = ""
    sample: str = ""
    relation: str = ""
    """Relation to the first series of the group, such as "≡ "; empty for the first series itself."""

    @property
    def brief(self) -> str:
        return briefer(self.name, self.formula)

    @property
    def text(self) -> str:
        return self.named(self.brief)

    @property
    def full_text(self) -> str:
        return self.named(f"{self.name} {self.formula}".rstrip())

    def named(self, name: str) -> str:
        return self.relation + " ".join(filter(None, (self.mark, self.sample, name)))

    def called(self, name: str) -> str:
        return self.relation + " ".join(filter(None, (self.mark or self.sample, name)))


class LegendEntry(NamedTuple):
    """Legend entry of a group of series that coincide on the screen. Most groups have a single series.

    `elsewhere` says whether the name of the group also appears in the picture.
    """

    parts: tuple[EntryPart, ...]
    elsewhere: bool = False


Row = list[Piece]


def legend(
    series: Sequence[Series],
    width: int,
    lines: int,
    note: str = "",
    most_lines: int | None = None,
    groups: Sequence[tuple[int, ...]] = (),
    named: Collection[int] = (),
    marks: Sequence[str | None] = (),
    left_out: Collection[int] = (),
    y_log: bool = False,
) -> tuple[tuple[Piece, ...], ...]:
    """Return the lines of the legend.

    Series with letters come first. The note is at the right end of the last line. If the entries need more
    than `lines` lines, these steps are taken, one after another, until they fit:

    1. leave out formulas, the longest first, or replace names by shorter formulas;
    2. leave out names that also appear in the picture;
    3. use more lines, at most `most_lines`;
    4. in names of theory lines such as "bound of EGU", replace the name of the curve by its letter;
    5. write common parts of names only once, and give lines that differ only by values of sweep axes one
       common name;
    6. shorten words more and more, until only the letters of curves remain.

    Args:
        groups: indices of series that coincide on the screen; each group has one entry.
        named: indices of the series whose names appear in the picture.
        marks: letters that replace the letters of the series.
        left_out: indices of series that have no entry.
        y_log: whether the y-axis is logarithmic; then series count as equal if their relative differences are
            small.
    """
    entries = legend_entries(series, groups, named, marks, left_out, y_log)
    if lines <= 0 or width <= 0 or not (entries or note):
        return ()
    return wrapped(entries, width, lines, max(lines, most_lines or 0), note)


def legend_entries(
    series: Sequence[Series],
    groups: Sequence[tuple[int, ...]],
    named: Collection[int] = (),
    marks: Sequence[str | None] = (),
    left_out: Collection[int] = (),
    y_log: bool = False,
) -> tuple[LegendEntry, ...]:
    """Return the entries of a legend. Series that have letters come first.

    `legend` describes the arguments.
    """
    marks = marks or [curve.mark for curve in series]
    grouped = {index for group in groups for index in group}
    alone = [
        (at,) for at, curve in enumerate(series) if curve.name and at not in grouped and at not in left_out
    ]
    all_groups = sorted([*groups, *alone], key=lambda group: (not series[group[0]].mark, group[0]))
    return tuple(
        LegendEntry(_entry_parts(series, group, marks, y_log), len(group) == 1 and group[0] in named)
        for group in all_groups
    )


def _relation_to_lead(series: Sequence[Series], lead: int, index: int, y_log: bool) -> str:
    if lead == index:
        return ""
    return SAME if are_equal(series[lead], series[index], y_log) else NEARLY


def _entry_parts(
    series: Sequence[Series], group: Sequence[int], marks: Sequence[str | None], y_log: bool
) -> tuple[EntryPart, ...]:
    """Return the parts of a legend entry for series that coincide on the screen. Each name appears once.

    If a theory line is in an entry with a curve, its name omits words and values that the curve's name
    contains. If the theory line is equal for several learners, its name contains no learner.
    """
    parts: list[EntryPart] = []
    shared = _shared_line_names(series, group, y_log)
    for at in group:
        line, name, mark = series[at], series[at].name, marks[at] or ""
        for curve in (series[number] for number in group if series[number].mark and not line.mark):
            name = _line_name_without_curve(name, curve.name)
        name = shared.get(at, name)
        if mark or all(part.name != name for part in parts):
            relation = _relation_to_lead(series, group[0], at, y_log)
            parts.append(EntryPart(name, at, line.formula, mark, SAMPLES[line.style], relation))
    return tuple(parts)


def _shared_line_names(series: Sequence[Series], group: Sequence[int], y_log: bool) -> dict[int, str]:
    """Return the common names of theory lines that are equal for several curves, by the index of the line.

    If "bound of A" and "bound of B" have equal values, both get the name "bound".
    """
    curves = [curve.name for curve in series if curve.mark]
    positions_by_line: dict[str, list[int]] = {}
    for at, line in enumerate(series):
        if not line.mark and (owned_line := owned(line.name, curves)):
            positions_by_line.setdefault(owned_line.name, []).append(at)
    return {
        position: line_name
        for line_name, positions in positions_by_line.items()
        for position in positions
        if len(positions) > 1
        and {*positions} <= {*group}
        and all(
            are_equal(series[positions[0]], series[other_position], y_log) for other_position in positions[1:]
        )
    }


def _line_name_without_curve(line_name: str, curve: str) -> str:
    """Return the name of a theory line without the curve's name and without values that both names contain.

    For the curve "net, n = 1", the names "limit of net, n = 1" and "limit, n = 1" become "limit".
    """
    first, *parts = line_name.removesuffix(f" of {curve}").removesuffix(f", {curve}").split(", ")
    curve_parts = curve.split(", ")[1:]
    while parts and curve_parts and parts[-1] == curve_parts[-1]:
        parts.pop()
        curve_parts.pop()
    return ", ".join([first, *parts])


@lru_cache(maxsize=64)
def wrapped(
    entries: tuple[LegendEntry, ...], width: int, lines: int, most_lines: int, note: str
) -> tuple[tuple[Piece, ...], ...]:
    """Return the lines of a legend, shortened by the steps of `legend`.

    A note consists of remarks. The last remark is left out if all curves would otherwise lose their names.
    """
    rows = _wrapped_legend(entries, width, lines, most_lines, note)
    if BETWEEN not in note or _are_named(rows, entries):
        return rows
    briefer_rows = _wrapped_legend(entries, width, lines, most_lines, note.rpartition(BETWEEN)[0])
    return briefer_rows if _are_named(briefer_rows, entries) else rows


def _are_named(rows: Sequence[Sequence[Piece]], entries: Sequence[LegendEntry]) -> bool:
    """Return False if the legend has only letters of curves and no name of a curve."""
    parts = _parts_of([legend_entry.parts for legend_entry in entries])
    letters = {part.at: f"{part.relation}{part.mark}" for part in parts if part.mark}
    texts = [(piece.text, letters[piece.index]) for row in rows for piece in row if piece.index in letters]
    return not texts or any(text != letter for text, letter in texts)


def _wrapped_legend(
    entries: Sequence[LegendEntry], width: int, lines: int, most_lines: int, note: str
) -> tuple[tuple[Piece, ...], ...]:
    note_end = width - _NOTE_MARGIN
    note = whole_remarks(note, note_end)
    entry_texts = [[(part.text, part.at) for part in entry.parts] for entry in entries]
    outside_names = [texts for texts, entry in zip(entry_texts, entries, strict=True) if not entry.elsewhere]
    lettered_parts = _parts_with_letters([entry.parts for entry in entries if not entry.elsewhere])
    lettered = [[(part.text, part.at) for part in parts] for parts in lettered_parts]
    shorter = (
        *_shorter_forms(lettered_parts),
        _folded_entries(lettered_parts, ["" for _ in _parts_of(lettered_parts)]),
    )
    with_formulas = ((texts, lines) for texts in _forms_with_formulas(entries, width))
    tried = (
        (entry_texts, lines),
        (outside_names, lines),
        (outside_names, most_lines),
        (lettered, most_lines),
    )
    for texts, count in (*with_formulas, *tried, *((texts, most_lines) for texts in shorter)):
        rows = _legend_rows(texts, width)
        if note and _row_end(rows[-1]) + _GAP * bool(rows[-1]) + cell_len(note) > note_end:
            rows.append([])
        if len(rows) <= count and _are_distinct(rows):
            break
    else:
        rows = _first_rows(rows, note_end if note else width, most_lines, note)
    if note:
        rows[-1].append(Piece(note_end - cell_len(note), note, -1))
    return tuple(tuple(row) for row in rows)


def _parts_with_letters(entries: Sequence[Sequence[EntryPart]]) -> list[list[EntryPart]]:
    """Replace curves' names by their letters in names of theory lines: "bound of EGU" becomes "bound of A".

    If several curves have theory lines that differ only in the curve, the common words are written once:
    "bound of A", "of B".
    """
    letters = {part.name: part.mark for part in _parts_of(entries) if part.mark}
    named_lines: set[str] = set()

    def shortened(part: EntryPart) -> EntryPart:
        line = None if part.mark else owned(part.brief, letters)
        if line is None:
            return part
        brief_name = f"{'' if line.name in named_lines else line.name} of {letters[line.curve]}".strip()
        named_lines.add(line.name)
        return part._replace(name=brief_name, formula="")

    return [[shortened(part) for part in parts] for parts in entries]


def _forms_with_formulas(entries: Sequence[LegendEntry], width: int) -> Iterator[list[list[tuple[str, int]]]]:
    """Yield forms of the legend with fewer and fewer formulas. The longest formulas are left out first.

    A formula is never shown if its entry would then be longer than a line.
    """
    parts = [
        part
        for entry in entries
        for part in entry.parts
        if part.formula and cell_len(part.full_text) <= width
    ]
    lengths = sorted({cell_len(part.formula) for part in parts}, reverse=True)
    for longest_length in lengths:
        short_enough = {part.at for part in parts if cell_len(part.formula) <= longest_length}
        yield [
            [(part.full_text if part.at in short_enough else part.text, part.at) for part in entry.parts]
            for entry in entries
        ]


def _shorter_forms(entries: Sequence[Sequence[EntryPart]]) -> Iterator[list[list[tuple[str, int]]]]:
    """Yield shorter and shorter forms of the legend entries. Letters are never left out.

    First, names that repeat an earlier name are left out. Words are then shortened, as long as they remain
    readable (see READABLE). Next, curves with letters lose their names, so that series without letters keep
    readable names. In the last forms, words are too short to be readable.
    """
    all_parts = _parts_of(entries)
    repeated = {part.at for number, part in enumerate(all_parts) if _is_repeated(part, all_parts[:number])}
    once = [[part for part in parts if part.at not in repeated] for parts in entries]
    abbreviated = _forms_with_names(
        entries, ever_shorter(["" if part.at in repeated else part.brief for part in all_parts])
    )
    names, *cut = ever_shorter([part.brief for part in _parts_of(once)])
    yield next(abbreviated)
    yield from _forms_with_names(once, [names])
    curves = [part.brief if part.mark else "" for part in all_parts]
    yield _folded_entries(entries, curves)
    yield _folded_entries(entries, without_common_keys(curves))
    marks = [part.mark for part in _parts_of(once)]
    bare = [
        ["" if mark else name for mark, name in zip(marks, cut_names, strict=True)]
        for cut_names in (names, *cut)
    ]
    yield from islice(abbreviated, READABLE)
    yield from _forms_with_names(once, cut[:READABLE])
    yield from _forms_by_learner(entries)
    if not all(marks):
        yield from _forms_with_names(once, bare[: READABLE + 1])
        yield _folded_entries(entries, ["" for _ in all_parts])
    yield from abbreviated
    yield from _forms_with_names(once, cut[READABLE:])
    yield from _forms_with_names(once, bare)


def _folded_entries(
    entries: Sequence[Sequence[EntryPart]], names: Sequence[str]
) -> list[list[tuple[str, int]]]:
    """Return the legend entries with `names` in place of the names of curves.

    If theory lines have the same name apart from values of sweep axes, only the first of them has an entry.
    """
    named: set[str] = set()
    folded, remaining_names = [], iter(names)
    for parts in entries:
        entry: list[tuple[str, int]] = []
        for part in parts:
            name, line_name = next(remaining_names), part.brief.partition(", ")[0]
            if part.mark or line_name not in named:
                first = part if entry else part._replace(relation="")
                entry.append((first.called(name) if part.mark else first.named(line_name), part.at))
                named |= set() if part.mark else {line_name}
        folded += [entry] if entry else []
    return folded


def _forms_by_learner(entries: Sequence[Sequence[EntryPart]]) -> Iterator[list[list[tuple[str, int]]]]:
    """Yield forms of the legend that have the name of each learner once, before the letters of its curves.

    The first form also gives the values of the sweep axis, if all learners have the same values. Each theory
    line also appears once. A curve or line keeps its relation to the lead of its group, such as "≡ ", only
    if it follows the lead: if both are curves of one learner, or both are lines. Nothing is yielded if there
    is only one learner, or one curve for each learner.
    """
    parts_by_curve: dict[str, list[EntryPart]] = {}
    lines: dict[str, EntryPart] = {}
    for parts in entries:
        lead = parts[0]
        lead_name = _without_values(lead.brief)
        for part in parts:
            plain_name, alone = _without_values(part.brief), part._replace(relation="")
            if part.mark:
                parts_by_curve.setdefault(plain_name, []).append(part if plain_name == lead_name else alone)
            else:
                lines.setdefault(plain_name, part if lines.get(lead_name) == lead else alone)
    if 1 < len(parts_by_curve) < sum(map(len, parts_by_curve.values())):
        letters = [
            [(part.relation + part.mark, part.at) for part in parts] for parts in parts_by_curve.values()
        ]
        named = [
            [(plain_name, parts[0][1]), *parts]
            for plain_name, parts in zip(parts_by_curve, letters, strict=True)
        ]
        named_lines = _line_entries(lines)
        if axis_values := _values_in_order(
            [[part.brief for part in parts] for parts in parts_by_curve.values()]
        ):
            yield [*named, [(axis_values, -1)], *named_lines]
        yield [*named, *named_lines]


def _line_entries(lines: Mapping[str, EntryPart]) -> list[list[tuple[str, int]]]:
    """Return legend entries of theory lines by name. Lines with a relation are in the entry of their lead.

    Lines with the same sample as their lead need no sample: "╌╌╌ bound of A ≡ of B".
    """
    entries: list[list[tuple[str, int]]] = []
    sample = ""
    for line_name, line in lines.items():
        if not line.relation:
            sample = line.sample
            entries.append([(f"{sample} {line_name}", line.at)])
            continue
        text = line_name if line.sample == sample else f"{line.sample} {line_name}"
        entries[-1].append((f"{line.relation}{text}", line.at))
    return entries


def _values_in_order(names_by_learner: Sequence[Sequence[str]]) -> str:
    """Return the values of a sweep axis such as "in order: d = 32, 64", in the order of the curves.

    The text is empty if the curves of the learners differ in other values, or in several axes.
    """
    tails = {tuple(name.removeprefix(_without_values(name)) for name in names) for names in names_by_learner}
    if len(tails) != 1:
        return ""
    keys, _, numbers = zip(*(tail.removeprefix(", ").partition(_EQUALS) for tail in tails.pop()), strict=True)
    has_single_axis = len({*keys}) == 1 and keys[0] and not any(", " in number for number in numbers)
    return f"in order: {keys[0]}{_EQUALS}{', '.join(numbers)}" if has_single_axis else ""


def _without_values(name: str) -> str:
    """Remove the values of sweep axes at the end of a name: "GD, d = 32" becomes "GD"."""
    parts = name.split(", ")
    while len(parts) > 1 and _EQUALS in parts[-1]:
        parts.pop()
    return ", ".join(parts)


def _parts_of(entries: Sequence[Sequence[EntryPart]]) -> list[EntryPart]:
    return [part for parts in entries for part in parts]


def _forms_with_names(
    entries: Sequence[Sequence[EntryPart]], name_lists: Iterable[Sequence[str]]
) -> Iterator[list[list[tuple[str, int]]]]:
    for name_list in name_lists:
        remaining_names = iter(name_list)
        yield [[(part.called(next(remaining_names)), part.at) for part in parts] for parts in entries]


def _is_repeated(part: EntryPart, before: Sequence[EntryPart]) -> bool:
    """Return whether an earlier entry names this theory line, so that the line sample is enough here."""
    return bool(part.relation) and not part.mark and any(part.name == earlier.name for earlier in before)


def _legend_rows(entries: Sequence[Sequence[tuple[str, int]]], width: int) -> list[Row]:
    """Return the rows of a legend. An entry that is too long for a row is broken between its parts."""
    rows: list[Row] = [[]]
    for texts in entries:
        length = sum(cell_len(text) + 1 for text, _ in texts) - 1
        for place, (text, index) in enumerate(texts):
            text = elided(text, width)
            gap = 0 if not rows[-1] else 1 if place else _GAP
            needed = min(length, width) if place == 0 else cell_len(text)
            if rows[-1] and _row_end(rows[-1]) + gap + needed > width:
                rows.append([])
                gap = 0
            rows[-1].append(Piece(_row_end(rows[-1]) + gap, text, index))
    return rows


def _are_distinct(rows: Sequence[Row]) -> bool:
    """Return whether names that end in an ellipsis still differ from all other names."""
    texts = [piece.text for row in rows for piece in row]
    return all(texts.count(text) == 1 for text in texts if text.endswith("…"))


def _first_rows(rows: list[Row], width: int, most_rows: int, note: str) -> list[Row]:
    """Return the first `most_rows` rows of the legend, with an ellipsis at the end of the last row.

    The ellipsis comes early enough to leave room for the note at the right end of the row.
    """
    shown_rows = rows[:most_rows]
    room = width - (cell_len(note) + _GAP if note else 0)
    while shown_rows[-1] and _row_end(shown_rows[-1]) + 2 > room:
        shown_rows[-1].pop()
    if (column := _row_end(shown_rows[-1]) + bool(shown_rows[-1])) < room:
        shown_rows[-1].append(Piece(column, "…", -1))
    return shown_rows


def _row_end(row: Row) -> int:
    return row[-1].column + cell_len(row[-1].text) if row else 0


def whole_remarks(note: str, width: int) -> str:
    while cell_len(note) > width and BETWEEN in note:
        note = note.rpartition(BETWEEN)[0]
    return elided(note, width)
