"""Dialect of a text file: separator, decimal sign, header and index, detected from the file's first lines.

If these lines are ambiguous, the file is refused. The error names the setting that resolves the ambiguity.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.core.parts import BadField
from engine.problems.data_files import TableSettings
from engine.problems.formats import BLANKS, IndexFinding, NotATable, is_number, quoted_cell

SEPARATORS = {",": ",", "tab": "\t", ";": ";", "|": "|", "space": " "}
"""Separators by their names in presets, in the order in which they are tried."""

SEPARATORS_IN_WORDS = {"\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces", ",": "commas"}

DECIMALS = (".", ",")

MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "nan", "NaN", "-nan", "NULL", "null", "None"]
)
"""Texts of cells that count as missing values, as in pandas by default."""

COMMENTS = ("#", "%")
"""Characters that mark a line before the table as a comment."""

INDEX_NAMES = re.compile(r"(unnamed: \d+(\.\d+)*|__index_level_\d+__|level_\d+|index|id|)", re.IGNORECASE)
"""Names that a column of row numbers or row names may have, from pandas or from users."""

FEW = 3
"""Smallest number of cells from which patterns, such as consecutive numbers, are taken as evidence."""

PRECISE = 6
"""Smallest number of digits after a comma that makes them look like decimals."""

WHOLE = re.compile(r"[+-]?\d+", re.ASCII)

Row = Sequence[str]


@dataclass(frozen=True)
class Dialect:
    """Form of a table in a text file: separator, decimal sign, header, comments and index."""

    separator: str
    decimal: str
    names: tuple[str, ...] | None
    """Names of the columns, or None if the file has none. An unnamed column has the empty name."""

    has_header: bool
    """Whether the first line of the table holds the names. If not, a comment may hold them."""

    lines: int
    """Number of lines of the file before the first row of numbers."""

    comments: int
    """Number of comment lines before the first row."""

    rows: tuple[Row, ...]
    """Cells of the first rows of the table."""

    index: IndexFinding
    empty: tuple[int, ...]
    """Positions of columns at the end of the table that have neither a name nor values."""

    @property
    def width(self) -> int:
        return len(self.rows[0])

    def name(self, column: int) -> str:
        position = f"column {column}"
        named = self.names is not None and self.names[column]
        return f"{position} ({quoted_cell(self.names[column])})" if self.names and named else position


class _Records(NamedTuple):
    """Records of a text file (its header and rows), divided into cells."""

    cells: tuple[Row, ...]
    ends: tuple[int, ...]
    """Number of the last line of each record, counted from 1."""


def dialect_of(
    lines: Sequence[str], settings: TableSettings, suffix: str, has_extra_record: Callable[[], bool | None]
) -> Dialect:
    """Return the dialect of a file that begins with these lines.

    Args:
        lines: the first lines of the file.
        settings: settings of the user, which override what the lines suggest.
        suffix: suffix of the file's name.
        has_extra_record: function that compares the number of records in the file with the number of rows
            that the preset needs. True: the file has one record more, so the first record is a header. False:
            the numbers are equal. None: the numbers differ otherwise, or the preset needs no particular
            number.

    Raises: NotATable, BadField.
    """
    comments, separator = _comments_and_separator(lines)
    records, separator, decimal = _best_records(lines[comments:], settings, separator, suffix)
    first, rows = records.cells[0], records.cells[1:]
    has_header = settings.header
    if has_header is None:
        has_header = _is_header(first, rows, decimal, has_extra_record)
    rows = rows if has_header else records.cells
    if not rows:
        raise NotATable("it has a header but no rows")
    width = Counter(map(len, rows)).most_common(1)[0][0]
    full = tuple(row for row in rows if len(row) == width)
    names = _fitting_names(first, full, comments + records.ends[0], separator) if has_header else None
    if names is None:
        names = _names_in_comment(lines[:comments], separator, width)
    empty = _empty_columns(names, full)
    before = comments + (records.ends[0] if has_header else 0)
    if names is None:
        counted = _counting_in_words([row[0] for row in full], decimal) if width - len(empty) > 1 else ""
        index = IndexFinding(doubt=f"column 0 has no name and counts the rows ({counted})" if counted else "")
    else:
        index = index_of(
            names[: width - len(empty)],
            lambda column: [row[column] for row in full],
            decimal,
            has_header and len(first) < width,
        )
    marked = sum(bool(line.strip(BLANKS)) for line in lines[:comments])
    return Dialect(separator, decimal, names, has_header, before, marked, full, index, empty)


def words_in(dialect: Dialect) -> Iterator[tuple[int, str]]:
    """Yield each column in which most cells are words: its position and its first word.

    Missing cells, numbers and truth values are not words.
    """
    for column in range(dialect.width):
        cells = [row[column] for row in dialect.rows]
        words = [cell for cell in cells if cell not in MISSING and not is_number(cell, dialect.decimal)]
        if 2 * len(words) > len(cells) and not _are_truth_values(words):
            yield column, words[0]


def truth_values_in(dialect: Dialect) -> Iterator[int]:
    """Yield the positions of columns whose cells are truth values, such as true and false."""
    for column in range(dialect.width):
        if _are_truth_values([row[column] for row in dialect.rows]):
            yield column


def records_of(lines: Iterable[str], separator: str) -> Iterator[tuple[int, Row]]:
    """Yield the nonempty records, each with the number of its last line, counted from 1.

    Raises: NotATable.
    """
    if separator == " ":
        lines = (re.sub(r"[ \t]+", " ", line.strip(BLANKS)) + "\n" for line in lines)
    # Separators and line breaks inside quotes are text, which csv.reader takes into account.
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        for record in reader:
            cells = tuple(cell.strip(BLANKS) for cell in record)
            if len(cells) > 1 or any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise NotATable(f"line {reader.line_num} cannot be split into cells: {error}") from error


def _comments_and_separator(lines: Sequence[str]) -> tuple[int, str]:
    """Return the number of lines before the table, and the separator that a line such as `sep=;` declares.

    These lines are comments, empty lines and declarations. Without a declaration, the separator is "".
    """
    separator, count = "", 0
    for line in lines:
        text = line.strip(BLANKS)
        declared = re.fullmatch(r"sep=([,;|\t])", text)  # spreadsheet programs read and write this line
        if text and not text.startswith(COMMENTS) and declared is None:
            break
        separator = declared[1] if declared else separator
        count += 1
    if count == len(lines):
        raise NotATable("it holds only comments and empty lines")
    return count, separator


def _best_records(
    lines: Sequence[str], settings: TableSettings, declared: str, suffix: str
) -> tuple[_Records, str, str]:
    """Return the records in the lines, and the separator and decimal sign that fit the lines best.

    Raises: NotATable; BadField if the meaning of a comma is not clear.
    """
    if settings.separator is not None:
        separators = [SEPARATORS[settings.separator]]
    elif declared:
        separators = [declared]
    else:
        separators = sorted(SEPARATORS.values(), key=lambda sign: sign != {".tsv": "\t"}.get(suffix, ","))
    decimals = DECIMALS if settings.decimal is None else (settings.decimal,)
    best, best_score = None, -1.0
    pairs = [(decimal, separator) for decimal in decimals for separator in separators]
    for decimal, separator in sorted(pairs, key=lambda pair: pair == (",", ",")):  # last, as it needs quotes
        try:
            numbered = list(records_of(lines, separator))
        except NotATable:
            continue
        if not numbered:
            continue
        records = _Records(tuple(row for _, row in numbered), tuple(number for number, _ in numbered))
        if decimal == "," and _are_words_with_commas(records.cells):
            continue
        if (score := _score(records.cells, decimal)) > best_score:
            best, best_score = (records, separator, decimal), score
    if best is None:
        raise NotATable("its first lines cannot be split into cells")
    records, separator, decimal = best
    if settings.decimal is None and decimal != ".":
        _check_no_thousands(records.cells)
    is_one_cell = decimal != "." and all(len(record) == 1 for record in records.cells)
    may_be_one_cell = separator == "," and _have_decimal_commas(records.cells)
    if settings.separator is None and settings.decimal is None and (is_one_cell or may_be_one_cell):
        raise _ambiguous_comma_error(records.cells[-1], separator)
    return best


def _are_words_with_commas(records: Sequence[Row]) -> bool:
    """Return whether all records are single cells, and their commas cannot all be decimal commas."""
    if any(len(record) > 1 for record in records):
        return False
    (first,), *rows = records
    is_name_or_number = "," not in first or is_number(first, ",")
    return not (is_name_or_number and all(is_number(cell, ",") for (cell,) in rows))


def _score(records: Sequence[Row], decimal: str) -> float:
    """Return a score from 0 to 1: how well a separator and a decimal sign fit the records.

    The score is the share of cells that are numbers or missing, times the share of rows with the most
    frequent length. The first record may be a header, so only its length counts: another length lowers the
    score.
    """
    rows = records[1:] or records
    width, count = Counter(map(len, rows)).most_common(1)[0]
    cells = [cell for row in rows for cell in row]
    numbers = sum(cell in MISSING or is_number(cell, decimal) for cell in cells)
    fits = 1.0 if len(records[0]) == width else 0.9
    return fits * count / len(rows) * numbers / len(cells)


def _check_no_thousands(records: Sequence[Row]) -> None:
    cells = [cell for record in records for cell in record if "," in cell and is_number(cell, ",")]
    if cells and all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", cell) for cell in cells):
        value = float(cells[0].replace(",", "."))
        raise BadField(
            "decimal",
            f'{cells[0]!r} may mean {value:g} or {1000 * value:g}; set decimal = "," if it means {value:g}, '
            "or write numbers without thousands separators",
        )


def _have_decimal_commas(records: Sequence[Row]) -> bool:
    """Return whether all rows are pairs of integers that look like one decimal, as -0,5 and 3,14159265 do."""
    pairs = records[1:] or records
    if not all(len(pair) == 2 and all(map(WHOLE.fullmatch, pair)) and pair[1].isdigit() for pair in pairs):
        return False
    has_sign_of_zero = any(digits in ("-0", "+0") for digits, _ in pairs)
    has_zero_first = any(digits[0] == "0" and len(digits) > 1 for _, digits in pairs)
    is_precise = max(len(digits) for _, digits in pairs) >= PRECISE > max(len(digits) for digits, _ in pairs)
    return has_sign_of_zero or has_zero_first or is_precise


def _ambiguous_comma_error(row: Row, separator: str) -> BadField:
    cells = quoted_cell(separator.join(row))
    remedy = 'set decimal = "," for one number, or separator = "," for two cells'
    return BadField("decimal", f"{cells} may be one number with a decimal comma, or two cells; {remedy}")


def _is_header(
    first: Row, rows: Sequence[Row], decimal: str, has_extra_record: Callable[[], bool | None]
) -> bool:
    """Return whether the first record is a header. Raises: BadField if this is not clear."""
    columns = [[row[column] for row in rows if column < len(row)] for column in range(len(first))]
    are_numbers = [is_number(cell, decimal) for cell in first]
    number_columns = [column for column, is_numeric in enumerate(are_numbers) if is_numeric]
    word_columns = [
        column for column, cell in enumerate(first) if cell not in MISSING and not are_numbers[column]
    ]
    if not rows:
        return len(word_columns) == len(first)
    if any(first[column] in columns[column] for column in word_columns):
        return False  # the word also occurs below, so it is a value
    over_numbers = [column for column in word_columns if _are_numbers(columns[column], decimal)]
    if not number_columns:
        if (
            not word_columns
            or over_numbers
            or all(_may_be_class_names(columns[column]) for column in word_columns)
        ):
            return bool(word_columns)
        return _is_header_by_count(
            has_extra_record, f"{quoted_cell(first[word_columns[0]])} may be the name of a column or a value"
        )
    values = [first[column] for column in number_columns]
    counted_from = next(
        (start for start in (0, 1) if values == _consecutive_numbers(start, len(values))), None
    )
    if over_numbers and counted_from is None:
        name = quoted_cell(first[over_numbers[0]])
        return _is_header_by_count(
            has_extra_record,
            f"{name} may be the name of a column, but {quoted_cell(values[0])} may be a value",
        )
    if over_numbers or (
        counted_from == 0 and (word_columns or (not first[0] and _counting_in_words(columns[0], decimal)))
    ):
        return True
    unlike = [
        column for column in number_columns if _is_unlike_column(first[column], columns[column], len(first))
    ]
    if counted_from == 1 and len(values) >= FEW and len(unlike) == len(values):
        return True
    if counted_from != 0:
        doubt = _doubt_about_header(first, rows, columns) if len(values) == len(first) > 1 else ""
        return _is_header_by_count(has_extra_record, doubt) if doubt else False
    by_count = has_extra_record()
    if unlike and by_count is not False:
        return True
    if not unlike and by_count is not None:
        return by_count
    last = f" … {values[-1]}" if len(values) > 1 else ""
    raise _unclear_header_error(f"0{last} may be column names that pandas wrote, or a row of numbers")


def _is_header_by_count(has_extra_record: Callable[[], bool | None], doubt: str) -> bool:
    if (by_count := has_extra_record()) is None:
        raise _unclear_header_error(doubt)
    return by_count


def _consecutive_numbers(start: int, count: int) -> list[str]:
    return [str(number) for number in range(start, start + count)]


def _unclear_header_error(doubt: str) -> BadField:
    return BadField(
        "header",
        f"it is not clear whether the first line is a header: {doubt}; set header = true or header = false",
    )


def _is_unlike_column(cell: str, column: Sequence[str], width: int) -> bool:
    """Return whether an integer in the first record is unlike the numbers in the column below it.

    If there are several columns, an integer is unlike a column without integers. An integer is
    also unlike a column of two other numbers with at least FEW cells, if these are −1 and 1, or 0 and 1.
    """
    if cell in column:
        return False
    if width > 1 and not any(map(WHOLE.fullmatch, column)):
        return True
    values = set(column)
    return len(column) >= FEW and (values == {"-1", "1"} or (values <= {"0", "1"} and cell not in ("0", "1")))


def _doubt_about_header(first: Row, rows: Sequence[Row], columns: Sequence[Sequence[str]]) -> str:
    """Return a reason why the numbers in the first record may be column names, or "" without a reason."""
    if len(first) >= FEW and _steps_by_one(first) and not all(map(_steps_by_one, rows)):
        return "unlike the rows below, it has consecutive whole numbers"
    if len(set(first)) < len(first) or any(len(column) < FEW for column in columns):
        return ""
    above, below = (
        {WHOLE.fullmatch(cell) is not None for cell in cells} for cells in (first, itertools.chain(*columns))
    )
    if above == {True} and below == {False}:
        return "it has whole numbers, but the rows below have decimals"
    if above == {False} and below == {True}:
        return "it has numbers with decimals, but the rows below have whole numbers"
    return ""


def _steps_by_one(row: Row) -> bool:
    return all(map(WHOLE.fullmatch, row)) and all(
        float(after) - float(before) == 1 for before, after in itertools.pairwise(row)
    )


def _are_numbers(column: Sequence[str], decimal: str) -> bool:
    cells = [cell for cell in column if cell not in MISSING]
    return 2 * sum(is_number(cell, decimal) for cell in cells) > len(cells) or _are_truth_values(cells)


def _are_truth_values(cells: Sequence[str]) -> bool:
    return bool(cells) and all(cell.lower() in ("true", "false") for cell in cells)


def _may_be_class_names(column: Sequence[str]) -> bool:
    """Return whether a column may hold names of classes: each name occurs at least twice on average."""
    return 2 * len(set(column)) <= len(column)


def _fitting_names(first: Row, rows: Sequence[Row], line: int, separator: str) -> tuple[str, ...]:
    """Return a name for each column of `rows`, from the cells of the header.

    Empty names after the last column are dropped. If one name is missing, "" is the name of the last column
    if this column is empty, and of the first column otherwise. Raises: NotATable if more names are missing,
    or if there are too many.
    """
    names, width = list(first), len(rows[0])
    while len(names) > width and not names[-1]:
        names.pop()
    if len(names) == width - 1:  # R's row names, or rows that end in a separator
        names.insert(0 if any(row[-1] for row in rows) else width, "")
    if len(names) != width:
        counted = "1 name" if len(names) == 1 else f"{len(names)} names"
        cells = f"{width} cells separated by {SEPARATORS_IN_WORDS[separator]}"
        remedy = "set `separator` if another character separates the cells"
        raise NotATable(f"line {line} has {counted}, but rows have {cells}; {remedy}")
    return tuple(names)


def _names_in_comment(comments: Sequence[str], separator: str, width: int) -> tuple[str, ...] | None:
    """Return the column names in the last comment before the table, or None if the comment is not a header.

    `numpy.savetxt` writes such comments. Raises: NotATable if the comment is a row of numbers.
    """
    marked = [(number, comment) for number, comment in enumerate(comments, 1) if comment.strip(BLANKS)]
    if not marked:
        return None
    number, line = marked[-1]
    _, cells = next(records_of([line.strip().lstrip("".join(COMMENTS)) + "\n"], separator), (0, ()))
    if len(cells) != width:
        return None
    if all(is_number(cell) for cell in cells):
        raise NotATable(
            f"line {number} is a comment with a row of numbers; delete its {line.strip()[0]}, or the line"
        )
    return tuple(cells) if not any(is_number(cell) for cell in cells) and width > 1 else None


def _empty_columns(names: Sequence[str] | None, rows: Sequence[Row]) -> tuple[int, ...]:
    """Return the positions of columns at the end of a table that have neither a name nor values.

    Such columns arise if all lines end with separators.
    """
    columns: list[int] = []
    for column in reversed(range(1, len(rows[0]))):
        if (names is not None and names[column]) or any(row[column] for row in rows):
            break
        columns.insert(0, column)
    return tuple(columns)


def index_of(
    names: Sequence[str],
    cells_of: Callable[[int], Sequence[str]],
    decimal: str = ".",
    is_short: bool = False,
) -> IndexFinding:
    """Find the index columns: columns at the beginning that only count or name the rows.

    Args:
        names: names of the columns.
        cells_of: function that returns the first cells of a column.
        decimal: decimal sign of the file.
        is_short: whether the header has one name fewer than there are columns.
    """
    columns: dict[int, str] = {}
    for column, name in enumerate(names[:-1]):
        if INDEX_NAMES.fullmatch(name) is None:
            break
        cells = cells_of(column)
        if counted := _counting_in_words(cells, decimal):
            columns[column] = f"counts the rows: {counted}"
            continue
        differ = len(set(cells)) == len(cells) and not any(_has_decimals(cell, decimal) for cell in cells)
        is_plain_id = name.lower() in ("index", "id")
        is_number_id = is_short and all(is_number(cell, decimal) for cell in cells)
        if differ and not is_plain_id and not is_number_id:
            columns[column] = "names the rows"
            continue
        if differ or not is_plain_id:
            called = f"is called {quoted_cell(name)}" if name else "has no name"
            return IndexFinding(columns, f"column {column} {called}, but its entries do not number the rows")
        break
    return IndexFinding(columns)


def _counting_in_words(cells: Sequence[str], decimal: str) -> str:
    """Return "0, 1, 2 …" or "1, 2, 3 …" if the cells are these numbers, and "" otherwise.

    For fewer than FEW cells, return "".
    """
    if len(cells) < FEW or not all(is_number(cell, decimal) for cell in cells):
        return ""
    numbers = [float(cell.replace(decimal, ".")) for cell in cells]
    for start in (0, 1):
        if numbers == [*range(start, start + len(numbers))]:
            return f"{start}, {start + 1}, {start + 2} …"
    return ""


def _has_decimals(cell: str, decimal: str) -> bool:
    return is_number(cell, decimal) and WHOLE.fullmatch(cell) is None
