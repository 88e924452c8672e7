"""Tables of many formats are read as intended, or refused with the setting that decides."""

from __future__ import annotations

import gzip
import io
import math
import pickle
import zipfile
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from engine.core.parts import BadInput
from engine.problems.data_files import TableSettings
from engine.problems.table import Request, Table, read

REALS = np.array(
    [[2.041, -2.556, 0.418], [-0.865, 3.323, 0.226], [0.482, -0.239, 0.958], [-0.183, 0.541, 1.5]]
)
"""Four rows, three features, no whole numbers."""

COUNTS = np.array([[5, 3, 2], [7, 1, 4], [6, 6, 8], [9, 2, 2]], float)
SIGNS = np.array([[1, -1, -1], [-1, -1, 1], [1, 1, 1], [-1, 1, -1]], float)
WORDS = ["spam", "ham", "spam", "ham"]
FRAME = pd.DataFrame(REALS, columns=["x0", "x1", "x2"])


def csv(table: Any, separator: str = ",", header: str = "", end: str = "\n") -> str:
    """Rows as text, below a header if one is given."""
    rows = [separator.join(f"{cell:g}" for cell in row) for row in np.asarray(table).tolist()]
    return end.join([*([header] if header else []), *rows, ""])


def with_words(table: Any, words: list[str] = WORDS, header: str = "") -> str:
    """Rows as text, with a word at the end of each."""
    rows = [f"{line},{word}" for line, word in zip(csv(table).split(), words, strict=True)]
    return "\n".join([*([header] if header else []), *rows, ""])


def npy(array: Any, **more: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **more)
    return stream.getvalue()


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def zipped(name: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, "<xml/>")
    return stream.getvalue()


def of_arrow(**columns: Any) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()


def of_pandas(frame: pd.DataFrame, **more: Any) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream, **more)
    return stream.getvalue()


READ: dict[str, tuple[str, str | bytes, Any, str]] = {
    # separators and decimal signs
    "plain": ("X.csv", csv(REALS), REALS, "no header"),
    "spaces behind commas": ("X.csv", csv(REALS, " , "), REALS, "no header"),
    "semicolons": ("X.csv", csv(REALS, ";"), REALS, "separated by semicolons"),
    "decimal commas": ("X.csv", csv(REALS, ";").replace(".", ","), REALS, "decimal commas"),
    "tabs": ("X.tsv", csv(REALS, "\t"), REALS, "no header"),
    "tabs in a .csv": ("X.csv", csv(REALS, "\t"), REALS, "separated by tabs"),
    "tabs and decimal commas": ("X.tsv", csv(REALS, "\t").replace(".", ","), REALS, "decimal commas"),
    "commas in a .tsv": ("X.tsv", csv(REALS), REALS, "separated by commas"),
    "bars": ("X.csv", csv(REALS, "|"), REALS, "separated by bars"),
    "spaces": ("X.txt", csv(REALS, " "), REALS, "separated by spaces"),
    "aligned by spaces": ("X.dat", "  1.5   2.5 \n 10.5  -3.5\n", [[1.5, 2.5], [10.5, -3.5]], "by spaces"),
    "quoted numbers": (
        "X.csv",
        csv(REALS, '","').replace("\n", '"\n"')[:-1].join('""')[:-1],
        REALS,
        "quotes",
    ),
    "quoted decimal commas": (
        "X.csv",
        '"0,5","2,5"\n"1,5","3,5"\n',
        [[0.5, 2.5], [1.5, 3.5]],
        "decimal commas",
    ),
    "a separator that the first line says": ("X.csv", "sep=;\na;b\n1;2.5\n", [[1, 2.5]], "by semicolons"),
    # headers
    "names": ("X.csv", csv(REALS, header="a,b,c"), REALS, "header a … c"),
    "names in quotes": ("X.csv", csv(REALS, header='"a","b, or b","c"'), REALS, "header a … c"),
    "names with spaces": ("X.csv", csv(REALS, header="first one, second , third"), REALS, "header first one"),
    "one name": ("y.csv", "y\n0.5\n1.5\n", [[0.5], [1.5]], "header y"),
    "0, 1, 2 as pandas names columns": ("X.csv", csv(REALS, header="0,1,2"), REALS, "header 0 … 2"),
    "0, 1, 2 over signs": ("X.csv", csv(SIGNS, header="0,1,2"), SIGNS, "header 0 … 2"),
    "1, 2, 3 over numbers with decimals": ("X.csv", csv(REALS, header="1,2,3"), REALS, "header 1 … 3"),
    "0 over signs": ("y.csv", "0\n1\n1\n-1\n-1\n", [[1], [1], [-1], [-1]], "header 0"),
    "0, 1 and a name": ("X.csv", with_words(REALS, header="0,1,2,kind"), None, "header 0 … 2"),
    "names behind numbers": ("X.csv", "1,2\n3,4\n", [[1, 2], [3, 4]], "no header"),
    "whole numbers that are no range": ("X.csv", csv(COUNTS), COUNTS, "no header"),
    "1, 2, 3 over whole numbers": ("X.csv", "1,2,3\n4,5,6\n7,8,9\n", [[1, 2, 3], [4, 5, 6], [7, 8, 9]], "no"),
    "names in a comment": ("X.csv", csv(REALS, header="# a,b,c"), REALS, "names of the columns"),
    "comments": ("X.csv", "# by hand\n\n" + csv(REALS), REALS, "1 line of comment before the table"),
    "a percent sign": ("X.txt", csv(REALS, " ", header="% made 2020"), REALS, "1 line of comment"),
    "names twice": ("X.csv", csv(REALS, header="a,a,c"), REALS, "header a … c"),
    "truth values": (
        "X.csv",
        "a,b\nTrue,0.5\nFalse,1.5\n",
        [[1, 0.5], [0, 1.5]],
        "False becomes 0, True becomes 1",
    ),
    # index
    "an index as pandas writes it": ("X.csv", FRAME.to_csv(), REALS, "left out: column 0 (counts the rows"),
    "an index below 0, 1, 2": (
        "X.csv",
        pd.DataFrame(REALS).to_csv(),
        REALS,
        "header 0 … 2, left out: column 0",
    ),
    "an index below counts": (
        "X.csv",
        pd.DataFrame(COUNTS.astype(int)).to_csv(),
        COUNTS,
        "left out: column 0",
    ),
    "a shuffled index": ("X.csv", FRAME.iloc[[2, 0, 3, 1]].to_csv(), REALS[[2, 0, 3, 1]], "names the rows"),
    "an index of words": ("X.csv", FRAME.set_axis(list("pqrs")).to_csv(), REALS, "column 0 (names the rows)"),
    "an index that was written twice": (
        "X.csv",
        pd.read_csv(io.StringIO(FRAME.to_csv())).to_csv(),
        REALS,
        "left out: column 'Unnamed: 0'",
    ),
    "an index called id": ("X.csv", FRAME.rename_axis("id").to_csv(), REALS, "left out: column 'id'"),
    "an index with decimals": (
        "X.csv",
        FRAME.set_axis([0.0, 1.0, 2.0, 3.0]).to_csv(),
        REALS,
        "left out: column 0 (counts the rows: 0, 1, 2 …)",
    ),
    "an index with decimal commas": (
        "X.csv",
        FRAME.set_axis([0.0, 1.0, 2.0, 3.0]).to_csv(sep=";", decimal=","),
        REALS,
        "left out: column 0 (counts the rows: 0, 1, 2 …)",
    ),
    "whole rows of consecutive numbers": (
        "X.csv",
        "4,5,6\n7,8,9\n10,11,12\n",
        [[4, 5, 6], [7, 8, 9], [10, 11, 12]],
        "no header",
    ),
    "an index called Id from 1": (
        "X.csv",
        FRAME.set_axis([1, 2, 3, 4]).rename_axis("Id").to_csv(),
        REALS,
        "counts the rows: 1, 2, 3",
    ),
    "names of rows as R writes them": (
        "X.txt",
        '"a" "b"\n"p" 1.5 2.5\n"q" 3.5 4.5\n',
        [[1.5, 2.5], [3.5, 4.5]],
        "left out: column 0 (names",
    ),
    "numbers of rows as R writes them": (
        "X.csv",
        '"","a"\n"1",1.5\n"2",2.5\n"3",4.5\n',
        [[1.5], [2.5], [4.5]],
        "counts the rows: 1, 2, 3 …",
    ),
    "a named feature that counts": (
        "X.csv",
        "t,x\n0,1.5\n1,2.5\n2,3.5\n",
        [[0, 1.5], [1, 2.5], [2, 3.5]],
        "t",
    ),
    # shapes
    "one row": ("X.csv", "1.5,2.5\n", [[1.5, 2.5]], "1 row × 2 columns"),
    "one column": ("y.csv", "1.5\n2.5\n", [[1.5], [2.5]], "2 rows × 1 column"),
    "one number": ("y.csv", "1.5", [[1.5]], "1 row × 1 column"),
    "lines that end in a separator": ("X.csv", "1,2,\n3,4,\n", [[1, 2], [3, 4]], "left out: column 2 (empty"),
    "such lines below names": (
        "X.csv",
        "a,b\n1,2,\n3,4,\n",
        [[1, 2], [3, 4]],
        "header a … b, left out: column 2",
    ),
    "a name line that ends in a separator": ("X.csv", "a,b,\n1,2\n3,4\n", [[1, 2], [3, 4]], "header a … b"),
    "empty lines": ("X.csv", "\n1,2\n\n \n3,4\n\n", [[1, 2], [3, 4]], "no header"),
    "no end of the last line": ("X.csv", "1,2\n3,4", [[1, 2], [3, 4]], "no header"),
    "a line break in a name": ("X.csv", '"a\nb",c\n1,2\n3,4\n', [[1, 2], [3, 4]], "header"),
    # encodings and packing
    "Windows": ("X.csv", csv(REALS, header="a,b,c", end="\r\n"), REALS, "header a … c"),
    "old Macintosh": ("X.csv", csv(REALS, end="\r"), REALS, "no header"),
    "a byte order mark": ("X.csv", "\ufeff" + csv(REALS), REALS, "no header"),
    "a mark before quotes": ("X.csv", '\ufeff"a","b"\n1,2\n3,4\n', [[1, 2], [3, 4]], "header a … b"),
    "UTF-16": ("X.csv", csv(REALS, "\t", header="a\tb\tc").encode("utf-16"), REALS, "header a … c"),
    "names in UTF-8": ("X.csv", csv(REALS, header="größe,宽度,x"), REALS, "header größe … x"),
    "gzip": ("X.csv.gz", gzip.compress(csv(REALS).encode()), REALS, "no header"),
    "gzip without saying so": ("X.csv", gzip.compress(csv(REALS).encode()), REALS, "no header"),
    "no suffix": ("heights", csv(REALS), REALS, "no header"),
    "another suffix": ("X.values", csv(REALS, " "), REALS, "separated by spaces"),
    # numbers
    "exponents and signs": ("X.csv", "+1e3,-2.5E-2\n.5,4.\n", [[1000, -0.025], [0.5, 4]], "no header"),
    "huge whole numbers": ("X.csv", f"{10**30},1.5\n-1,2.5\n", [[1e30, 1.5], [-1, 2.5]], "no header"),
    "whole numbers of 64 bits": ("X.csv", f"{2**64 - 1},1\n-1,2\n", [[2.0**64, 1], [-1, 2]], "no header"),
    "seventeen digits": (
        "X.csv",
        "0.1234567890123456789,1\n-0.30000000000000004,2\n",
        [[0.1234567890123456789, 1], [-0.30000000000000004, 2]],
        "no header",
    ),
    # arrays
    "an array": ("X.npy", npy(REALS), REALS, "4 rows × 3 columns"),
    "an array of one dimension": ("y.npy", npy(REALS[0]), REALS[0][:, None], "3 rows × 1 column"),
    "an array in the order of Fortran": ("X.npy", npy(np.asfortranarray(REALS)), REALS, "4 rows × 3"),
    "an array of truth values": ("X.npy", npy(REALS > 0), REALS > 0, "False becomes 0, True becomes 1"),
    "an array of big-endian numbers": ("X.npy", npy(COUNTS.astype(">i2")), COUNTS, "4 rows × 3"),
    "an array without a suffix": ("X", npy(REALS), REALS, "4 rows × 3"),
    "an archive of one array": ("X.npz", npz(data=REALS), REALS, "4 rows × 3"),
    # parquet
    "parquet": ("X.parquet", of_pandas(FRAME), REALS, "columns x0 … x2"),
    "parquet without an index": ("X.parquet", of_pandas(FRAME, index=False), REALS, "columns x0 … x2"),
    "parquet with a shuffled index": (
        "X.parquet",
        of_pandas(FRAME.iloc[[2, 0, 1, 3]]),
        REALS[[2, 0, 1, 3]],
        "left out: column '__index_level_0__'",
    ),
    "parquet with a named index": (
        "X.parquet",
        of_pandas(FRAME.rename_axis("row"), index=True),
        REALS,
        "left out: column 'row' (the index",
    ),
    "parquet of other writers with an index of pandas": (
        "X.parquet",
        of_arrow(x=[1.5, 2.5], __index_level_0__=[0, 1]),
        [[1.5], [2.5]],
        "left out",
    ),
    "parquet with an index that became a column": (
        "X.parquet",
        of_pandas(FRAME.reset_index(), index=False),
        REALS,
        "left out: column 'index' (counts the rows: 0, 1, 2 …)",
    ),
    "parquet of truth values": (
        "X.parquet",
        of_arrow(x=[True, False], y=[1, 2]),
        [[1, 1], [0, 2]],
        "False becomes 0, True becomes 1",
    ),
    "parquet of decimals": (
        "X.parquet",
        of_arrow(x=pyarrow.array([1.5, 2.25]).cast(pyarrow.decimal128(5, 2))),
        [[1.5], [2.25]],
        "x",
    ),
    "parquet of categories that are numbers": (
        "X.parquet",
        of_arrow(x=pyarrow.array([3, 5, 3]).dictionary_encode()),
        [[3], [5], [3]],
        "x",
    ),
    # SVMlight
    "SVMlight": ("X.svm", "+1 1:0.5 3:1.5\n-1 2:2.5\n", [[0.5, 0, 1.5], [0, 2.5, 0]], "indices from 1"),
    "SVMlight from 0": ("X.libsvm", "1 0:0.5 1:1\n-1 1:2.5\n", [[0.5, 1], [0, 2.5]], "indices from 0"),
    "SVMlight without a suffix": ("heart_scale", "+1 1:0.5\n-1 1:2.5 # why\n", [[0.5], [2.5]], "SVMlight"),
    "SVMlight with queries": ("X.svm", "1 qid:1 1:0.5\n2 qid:2 1:2\n", [[0.5], [2]], "query ids are ignored"),
    "SVMlight with a row of zeros": ("X.txt", "1 1:0.5\n-1\n", [[0.5], [0]], "SVMlight"),
    "packed SVMlight": ("X.svm.gz", gzip.compress(b"1 1:0.5\n-1 1:2\n"), [[0.5], [2]], "SVMlight"),
}
"""File, content, the features, and a part of the sentence that says how it was read."""

DECIDED: dict[str, tuple[str, str | bytes, str, dict[Any, Any]]] = {
    "0, 1, 2 over whole numbers": (
        "X.csv",
        csv(COUNTS, header="0,1,2"),
        "header",
        {True: COUNTS, False: [[0, 1, 2], *COUNTS]},
    ),
    "0, 1 over bits": (
        "X.csv",
        "0,1\n1,0\n0,0\n1,1\n",
        "header",
        {True: [[1, 0], [0, 0], [1, 1]], False: [[0, 1], [1, 0], [0, 0], [1, 1]]},
    ),
    "0 over bits": ("y.csv", "0\n1\n0\n1\n", "header", {True: [[1], [0], [1]], False: [[0], [1], [0], [1]]}),
    "0 over numbers with decimals": ("y.csv", "0\n0.5\n1.5\n", "header", {True: [[0.5], [1.5]]}),
    "years over numbers with decimals": (
        "X.csv",
        csv(REALS, header="2001,2002,2003"),
        "header",
        {True: REALS, False: [[2001, 2002, 2003], *REALS]},
    ),
    "1, 2, 3 over other whole numbers": (
        "X.csv",
        csv(COUNTS, header="1,2,3"),
        "header",
        {True: COUNTS, False: [[1, 2, 3], *COUNTS]},
    ),
    "years over whole numbers": (
        "X.csv",
        csv(COUNTS, header="2001,2002,2003"),
        "header",
        {True: COUNTS, False: [[2001, 2002, 2003], *COUNTS]},
    ),
    "numbers with decimals over whole numbers": (
        "X.csv",
        csv(COUNTS, header="0.1,0.2,0.5"),
        "header",
        {True: COUNTS, False: [[0.1, 0.2, 0.5], *COUNTS]},
    ),
    "names beside numbers": ("X.csv", "x,2\n3,4\n5,6\n", "header", {True: [[3, 4], [5, 6]]}),
    "a first cell that is no number": ("X.csv", "?,2\n3,4\n5,6\n", "header", {True: [[3, 4], [5, 6]]}),
    "a column without a name that counts": (
        "X.csv",
        "0,1.5\n1,2.5\n2,3.5\n",
        "index",
        {True: [[1.5], [2.5], [3.5]], False: [[0, 1.5], [1, 2.5], [2, 3.5]]},
    ),
    "numbers from 1 without a name": (
        "X.csv",
        "1,1.5\n2,2.5\n3,3.5\n",
        "index",
        {True: [[1.5], [2.5], [3.5]]},
    ),
    "a column without a name that counts in decimals": (
        "X.csv",
        "0.0,1.5\n1.0,2.5\n2.0,3.5\n",
        "index",
        {True: [[1.5], [2.5], [3.5]], False: [[0, 1.5], [1, 2.5], [2, 3.5]]},
    ),
    "a column without a name that counts as numpy.savetxt writes it": (
        "X.txt",
        "".join(f"{number:.18e} {1.5:.18e}\n" for number in (1, 2, 3)),
        "index",
        {True: [[1.5], [1.5], [1.5]], False: [[1, 1.5], [2, 1.5], [3, 1.5]]},
    ),
    "a first column without a name": (
        "X.csv",
        ",b\n0.5,1.5\n2.5,3.5\n",
        "index",
        {True: [[1.5], [3.5]], False: [[0.5, 1.5], [2.5, 3.5]]},
    ),
    "ids that do not count": (
        "X.csv",
        "id,b\n842,1.5\n917,3.5\n",
        "index",
        {True: [[1.5], [3.5]], False: [[842, 1.5], [917, 3.5]]},
    ),
    "a title above the table": (
        "X.csv",
        "heights\n4;2\n3;4\n",
        "index",
        {True: [[2], [4]], False: [[4, 2], [3, 4]]},
    ),
    "a comma in some lines": ("y.csv", "1,5\n3\n2,5\n", "decimal", {",": [[1.5], [3], [2.5]]}),
    "a comma between thousands": (
        "X.csv",
        "1,500;2,300\n3,400;1,250\n",
        "decimal",
        {",": [[1.5, 2.3], [3.4, 1.25]]},
    ),
    "commas between one number or two": ("y.csv", "y\n1,5\n2,5\n", "decimal", {",": [[1.5], [2.5]]}),
    "decimal commas without another separator": ("y.csv", "0,5\n-0,25\n", "decimal", {",": [[0.5], [-0.25]]}),
    "digits behind a comma": (
        "y.csv",
        "3,14159265\n2,71828182\n",
        "decimal",
        {",": [[3.14159265], [2.71828182]]},
    ),
    "words at the end": ("X.csv", with_words(REALS), "label", {3: REALS, -1: REALS}),
    "words with a name": (
        "X.csv",
        with_words(REALS, header="a,b,c,kind"),
        "label",
        {"kind": REALS, 3: REALS},
    ),
    "words in the first column": (
        "X.csv",
        "kind,a\nspam,1\nham,2\nspam,3\n",
        "label",
        {"kind": [[1], [2], [3]]},
    ),
    "parquet with words": (
        "X.parquet",
        of_arrow(x=[1.5, 2.5], kind=["a", "b"]),
        "label",
        {"kind": [[1.5], [2.5]]},
    ),
    "parquet with ids that do not count": (
        "X.parquet",
        of_arrow(id=[842, 917], b=[1.5, 3.5]),
        "index",
        {True: [[1.5], [3.5]], False: [[842, 1.5], [917, 3.5]]},
    ),
    "parquet with categories": (
        "X.parquet",
        of_arrow(x=[1.5, 2.5], kind=pyarrow.array(["a", "b"]).dictionary_encode()),
        "label",
        {"kind": [[1.5], [2.5]]},
    ),
    "parquet with dates": (
        "X.parquet",
        of_pandas(FRAME.assign(day=pd.date_range("2020", periods=4)), index=False),
        "label",
        {},
    ),
    "dates": ("X.csv", "day,a\n2020-01-01,1.5\n2020-01-02,2.5\n", "label", {}),
    "an archive of several arrays": ("X.npz", npz(X=REALS, y=SIGNS), "array", {"X": REALS, "y": SIGNS}),
}
"""File, content, the setting in the refusal, and the values read with it."""

REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    "nothing": ("X.csv", "", "is empty"),
    "empty lines alone": ("X.csv", "\n\n", "only comments and empty lines"),
    "a header alone": ("X.csv", "a,b,c\n", "it has a header but no rows"),
    "an empty cell": ("X.csv", "a,b\n1,2\n3,\n", "line 3, column 1 ('b'), has no value"),
    "an empty cell in the first row": ("X.csv", "1,\n3,4\n", "line 1, column 1, has no value"),
    "NA": ("X.csv", "a,b\n1,NA\n3,4\n", "line 2, column 1 ('b'), has no value"),
    "nan": ("X.csv", "1,2\n\n3,nan\n", "line 3, column 1, has no value"),
    "infinity": ("X.csv", "1,2\n3,-inf\n", "line 2, column 1, holds -inf"),
    "a number beyond float64": ("X.csv", "1,2\n3,1e400\n", "line 2, column 1, holds inf"),
    "a question mark": (
        "X.csv",
        "a,b\n1,2\n?,4\n5,6\n",
        "line 3, column 0 ('a'), holds '?', which is not a number",
    ),
    "a word in the middle": ("X.csv", "a,b\n1,2\n3,four\n5,6\n", "line 3, column 1 ('b'), holds 'four'"),
    "a word far below": ("X.csv", csv(np.ones((5000, 2)) / 2) + "1,x\n", "line 5001, column 1, holds 'x'"),
    "a second line of names": (
        "X.csv",
        "a,b\nmean,mean\n1,2\n3,4\n5,6\n",
        "line 2, column 0 ('a'), holds 'mean'",
    ),
    "a total at the end": (
        "X.csv",
        "a,b\n1,2\n3,4\n5,6\ntotal,12\n",
        "line 5, column 0 ('a'), holds 'total'",
    ),
    "percent": ("X.csv", "a,b\n1,2\n3,4\n5%,6\n", "holds '5%'"),
    "underscores": ("X.csv", "1,2\n3,1_000\n5,6\n", "line 2, column 1, holds '1_000'"),
    "digits of other scripts": ("X.csv", "1,2\n3,\u0661\n5,6\n", "line 2, column 1, holds"),
    "marks that turn the direction": ("X.csv", "1,2\n3,\u202e4\n5,6\n", r"holds '\u202e4'"),
    "letters without end": ("X.csv", "1,2\n3," + 10_000 * "x" + "\n5,6\n", "…"),
    "an archive without arrays": ("X.npz", npz(), "it is an archive that holds no numpy array"),
    "a truth value among numbers": ("X.csv", "1,2\n3,True\n5,6\n", "line 2, column 1, holds 'True'"),
    "a row that is too short": ("X.csv", "1,2,3\n3,4\n5,6,7\n", "line 2 has 2 cells, but all rows need 3"),
    "a row that is too long": ("X.csv", "1,2\n3,4,5\n5,6\n", "line 2 has 3 cells, but all rows need 2"),
    "a long row far below": ("X.csv", csv(np.ones((5000, 2)) / 2) + "1,2,3\n", "line 5001 has 3 cells"),
    "more names than cells": ("X.csv", "a,b,c\n1,2\n3,4\n", "line 1 has 3 names, but rows have 2 cells"),
    "dots between thousands": (
        "X.csv",
        "a;b\n1.234,56;2,5\n3.456,78;3,5\n",
        "rows have 3 cells separated by commas; set `separator` if another character separates the cells",
    ),
    "a gap in a column": (
        "y.csv",
        "x\n1\n\n3\n",
        "line 3 is empty, but a file with a single column needs a value in every line",
    ),
    "a value in an empty column": (
        "X.csv",
        csv(np.ones((5000, 2)) / 2, end=",\n") + "1,2,3\n",
        "line 5001, column 2",
    ),
    "numbers behind a #": ("X.csv", "#1,2\n3,4\n", "line 1 is a comment with a row of numbers; delete its #"),
    "a # in the middle": ("X.csv", "1,2\n#3,4\n5,6\n", "line 2, column 0, holds '#3'"),
    "a quote without an end": ("X.csv", 'a,b\n1,2\n3,"4\n5,6\n', "a quotation mark is not closed"),
    "Latin-1": ("X.csv", "größe,b\n1,2\n".encode("latin-1"), "not text in UTF-8"),
    "Latin-1 far below": ("X.csv", csv(np.ones((5000, 2))).encode() + b"3,\xe9\n", "not text in UTF-8"),
    "bytes": ("X.csv", b"\0\0\0", "not text in UTF-8"),
    "bytes of no format": ("X.bin", b"\x01\x00\x02", "its format is unknown; the formats that can be read"),
    "a workbook": ("X.xlsx", zipped("xl/workbook.xml"), "it is an archive that holds no numpy array"),
    "a page": ("X.html", "<html><body>1, 2</body></html>", "cannot be read as a table of numbers"),
    "gzip that holds no table": ("X.csv.gz", gzip.compress(b"\0\1\2"), "not text in UTF-8"),
    "gzip that is cut off": (
        "X.csv.gz",
        gzip.compress(csv(REALS).encode())[:-9],
        "cannot be read as a table",
    ),
    "no gzip in spite of its name": (
        "X.npy.gz",
        gzip.compress(npy(REALS)),
        "it is compressed by gzip, which this format does not allow; decompress it first",
    ),
    "a pickle": ("X.npy", npy(np.array([{}, "a"], object), allow_pickle=True), "it holds objects"),
    "a pickle without a suffix": ("X", pickle.dumps([1.0]), "cannot be read as a table of numbers"),
    "an array of words": ("X.npy", npy([["a", "b"]]), "it holds texts"),
    "an array of complex numbers": ("X.npy", npy(REALS * 1j), "it holds complex numbers"),
    "an array of dates": ("X.npy", npy(np.array(["2020-01-01"], "M8[D]")), "it holds dates"),
    "an array of three dimensions": ("X.npy", npy(np.ones((2, 2, 2))), "it has shape (2, 2, 2)"),
    "a number": ("X.npy", npy(np.array(3.0)), "it has shape ()"),
    "an array without rows": ("X.npy", npy(np.empty((0, 3))), "it has shape (0, 3)"),
    "an array with a missing number": (
        "X.npy",
        npy([[1.0, math.nan]]),
        "row 0, column 1, both counted from 0",
    ),
    "an array that is cut off": ("X.npy", npy(REALS)[:-8], "the file ends before its last number"),
    "parquet with a missing number": (
        "X.parquet",
        of_arrow(x=[1.0, None]),
        "row 2, column 'x', has no value",
    ),
    "parquet with a whole number missing": (
        "X.parquet",
        of_arrow(x=[1, None, 2]),
        "row 2, column 'x', has no value",
    ),
    "parquet without rows": ("X.parquet", of_pandas(FRAME[:0]), "it has shape (0, 3)"),
    "no parquet": ("X.parquet", b"no table at all", "cannot be read as a table of numbers"),
    "SVMlight with several labels": (
        "X.svm",
        "1 1:0.5\n1,2 1:0.5\n",
        "line 2 begins with '1,2'; in SVMlight format, a line begins with a label, which is a single number",
    ),
    "SVMlight with words as labels": (
        "X.svm",
        "# mail\nspam 1:0.5\nham 1:1\n",
        "line 2 begins with 'spam'; in SVMlight format, a line begins with a label, which is a single number",
    ),
    "SVMlight in disorder": ("X.svm", "1 2:0.5 1:3\n", "cannot be read as a table of numbers"),
    "SVMlight with a missing number": ("X.svm", "1 1:nan\n2 1:1\n", "row 1, feature 0, has no value"),
}
"""File, content and a part of the message; no setting would help."""


def table_of(folder: Any, name: str, content: str | bytes, label: Any = None, **chosen: Any) -> Table:
    """The table of a file with this content."""
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return read(Request(str(folder / name), TableSettings(**chosen), label), "problem.matrix")


def refusal(folder: Any, name: str, content: str | bytes, **chosen: Any) -> BadInput:
    """The refusal of a file with this content: one line that names the file and no library."""
    with pytest.raises(BadInput) as caught:
        table_of(folder, name, content, **chosen)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
    assert not any(word in str(caught.value) for word in ("pandas.", "usecols", "dtype", "pickle", "Error"))
    return caught.value


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", READ)
def test_a_file_is_read_and_its_report_names_the_interpretation(case: str, tmp_path: Any) -> None:
    name, content, features, phrase = READ[case]
    label = 3 if features is None else None
    table = table_of(tmp_path, name, content, label)
    np.testing.assert_array_equal(table.numbers, REALS if features is None else features)
    assert table.numbers.dtype == np.float64
    assert table.report.sentence.startswith(f"{name}: ")
    assert phrase in table.report.sentence
    assert table.report.sentence.isprintable()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", DECIDED)
def test_an_ambiguous_file_is_refused_with_the_setting_that_decides(case: str, tmp_path: Any) -> None:
    name, content, setting, decisions = DECIDED[case]
    refused = refusal(tmp_path, name, content)
    assert refused.where == f"problem.matrix.{setting}"
    for value, features in decisions.items():
        chosen = {setting: value} if setting != "label" else {}
        table = table_of(tmp_path, name, content, value if setting == "label" else None, **chosen)
        np.testing.assert_array_equal(table.numbers, features)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", REFUSED)
def test_a_file_without_a_table_is_refused_with_path_row_and_column(case: str, tmp_path: Any) -> None:
    name, content, phrase = REFUSED[case]
    refused = refusal(tmp_path, name, content)
    assert refused.where == "problem.matrix.path"
    assert name in refused.fault
    assert phrase in refused.fault


@pytest.mark.parametrize(
    ("file_name", "content", "chosen"),
    [("y.npy", npy(WORDS), {}), ("y.npz", npz(X=REALS, y=np.array(WORDS)[:, None]), {"array": "y"})],
    ids=["array", "archive"],
)
def test_an_array_of_words_gives_classes(
    file_name: str, content: bytes, chosen: dict[str, Any], tmp_path: Any
) -> None:
    (tmp_path / file_name).write_bytes(content)
    table = read(
        Request(str(tmp_path / file_name), TableSettings(**chosen), is_target=True), "problem.target"
    )
    assert table.labels is not None
    np.testing.assert_array_equal(table.labels.numbers, [[1], [-1], [1], [-1]])
    assert "4 rows × 1 column" in table.report.sentence
    assert "ham = −1, spam = +1" in table.report.sentence


def test_an_array_of_words_with_a_missing_word_is_refused(tmp_path: Any) -> None:
    (tmp_path / "y.npy").write_bytes(npy(["a", "", "b"]))
    with pytest.raises(BadInput, match="row 1, column 0, both counted from 0, has no value"):
        read(Request(str(tmp_path / "y.npy"), is_target=True), "problem.target")


def test_an_ambiguous_first_label_is_refused_with_the_setting_header(tmp_path: Any) -> None:
    (tmp_path / "y.csv").write_text("0\n1\n1\n-1\n")
    with pytest.raises(BadInput) as caught:
        read(Request(str(tmp_path / "y.csv"), is_target=True, rows_wanted=4), "problem.target")
    assert caught.value.where == "problem.target.header"


def test_a_column_of_words_is_refused_with_the_setting_columns(tmp_path: Any) -> None:
    with pytest.raises(BadInput) as caught:
        table_of(tmp_path, "X.csv", "kind,a,y\nspam,1,2\nham,2,3\nspam,3,5\n", "y")
    assert caught.value.where == "problem.matrix.columns"
    assert caught.value.fault == "column 'kind' holds words such as 'spam'; list only columns of numbers"


@pytest.mark.parametrize("name", ["X.svm", "X.txt"])
@pytest.mark.parametrize(("setting", "value"), [("header", True), ("index", True), ("separator", ";")])
def test_a_setting_without_effect_in_svmlight_format_is_refused(
    name: str, setting: str, value: Any, tmp_path: Any
) -> None:
    refused = refusal(tmp_path, name, "+1 1:0.5\n-1 1:2.5\n", **{setting: value})
    assert refused.where == f"problem.matrix.{setting}"
    assert refused.fault == f"this setting does not apply to the file format of {name}; leave the setting out"


def test_the_report_names_the_chosen_array_among_all_arrays(tmp_path: Any) -> None:
    table = table_of(tmp_path, "X.npz", npz(X=REALS, y=SIGNS), array="X")
    assert table.report.sentence == "X.npz: 4 rows × 3 columns, array X of X, y"


@pytest.mark.parametrize(
    ("label", "chosen", "where", "phrase"),
    [
        (1, {"columns": (0, 1)}, "columns", "column 'b' is the label"),
        (None, {"columns": (0, "a")}, "columns", "column 'a' is listed twice"),
        (None, {"columns": (0, 1), "index": True}, "columns", "column 'a' is the index"),
        (None, {"columns": (0, -1), "index": "c"}, "columns", "column 'c' is the index"),
        ("a", {"index": True}, "index", "column 'a' is set both as `index` and as `label`"),
        (2, {"index": -1}, "index", "column 'c' is set both as `index` and as `label`"),
    ],
    ids=str,
)
def test_a_column_with_two_uses_is_refused(
    label: Any, chosen: dict[str, Any], where: str, phrase: str, tmp_path: Any
) -> None:
    with pytest.raises(BadInput) as caught:
        table_of(tmp_path, "X.csv", csv(REALS, header="a,b,c"), label, **chosen)
    assert caught.value.where == f"problem.matrix.{where}"
    assert caught.value.fault.startswith(phrase)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers beyond float64
@settings(max_examples=150, deadline=None)
@given(
    case=st.sampled_from(sorted(READ)),
    place=st.floats(0, 1),
    length=st.integers(0, 3),
    spoilt=st.one_of(st.binary(max_size=3), st.text("0,;\t\n\"'#:.- \rx", max_size=4).map(str.encode)),
    is_target=st.booleans(),
)
@pytest.mark.slow
def test_a_corrupted_file_is_read_or_refused_in_one_line(
    case: str, place: float, length: int, spoilt: bytes, is_target: bool, tmp_path_factory: Any
) -> None:
    name, content, _, _ = READ[case]
    whole_content = content.encode() if isinstance(content, str) else content
    start = round(place * len(whole_content))
    file = tmp_path_factory.mktemp("data") / name
    file.write_bytes(whole_content[:start] + spoilt + whole_content[start + length :])
    with suppress(BadInput):
        table = read(Request(str(file), is_target=is_target), "problem.target")
        assert np.isfinite(table.numbers).all()
        assert table.report.sentence.isprintable()


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(["reals", "counts", "bits", "signs"]),
    shape=st.tuples(st.integers(3, 8), st.integers(1, 5)),
    header=st.sampled_from(["names", "numbers", "none"]),
    index=st.booleans(),
    signs=st.sampled_from([",.", ";.", ";,", "\t.", "\t,", "|.", " ."]),
    seed=st.integers(0, 2**32),
)
@pytest.mark.slow
def test_tables_of_pandas_are_read_back_or_refused_with_a_setting(
    kind: str, shape: tuple[int, int], header: str, index: bool, signs: str, seed: int, tmp_path_factory: Any
) -> None:
    generator = np.random.default_rng(seed)
    tables = {
        "reals": lambda: generator.normal(size=shape),
        "counts": lambda: generator.integers(0, 20, shape),
        "bits": lambda: generator.integers(0, 2, shape),
        "signs": lambda: generator.choice([-1, 1], shape),
    }
    table = tables[kind]()
    columns = [f"x{number}" for number in range(shape[1])] if header == "names" else None
    frame, separator, decimal = pd.DataFrame(table, columns=columns), signs[0], signs[1]
    text = frame.to_csv(index=index, header=header != "none", sep=separator, decimal=decimal)
    numbers, refused = None, ""
    try:
        numbers = table_of(tmp_path_factory.mktemp("data"), "X.csv", text).numbers
    except BadInput as error:
        refused = error.where.removeprefix("problem.matrix.")
    assert refused in ("", "header", "index", "decimal")
    if numbers is not None:
        np.testing.assert_array_equal(numbers, table)
