"""Detection of a file's format by its name or its first bytes."""

from __future__ import annotations

from pathlib import Path

from engine.problems import formats
from engine.problems.formats import Format, NotATable, arrays, parquet, svmlight, text

FORMATS = {
    ".npy": arrays.NPY,
    ".npz": arrays.NPZ,
    ".parquet": parquet.PARQUET,
    **dict.fromkeys((".csv", ".tsv", ".txt", ".data", ".dat"), text.TEXT),
    **dict.fromkeys((".svm", ".libsvm", ".svmlight"), svmlight.SVMLIGHT),
}

MAGIC = {b"\x93NUMPY": arrays.NPY, b"PK": arrays.NPZ, b"PAR1": parquet.PARQUET}
"""Formats by the first bytes of their files. They are used for files without a known suffix."""

BEGINNING = 1 << 12
"""Number of bytes that are read to detect the format of a file without a known suffix."""


def format_of(file: Path) -> Format:
    """Return the format of a file by its suffix, or by its first bytes if the suffix is unknown.

    Raises: NotATable, OSError.
    """
    file_format = FORMATS.get(Path(file.name.removesuffix(".gz")).suffix.lower())
    with file.open("rb") as stream:
        beginning = stream.read(BEGINNING)
    if file_format is None:
        matching = (reader for magic, reader in MAGIC.items() if beginning.startswith(magic))
        file_format = next(matching, text.TEXT)
        is_text = beginning.startswith((*text.MARKS, formats.MAGIC)) or b"\0" not in beginning
        if file_format is text.TEXT and not is_text:
            raise NotATable(f"its format is unknown; the formats that can be read are {', '.join(FORMATS)}")
    elif beginning.startswith(formats.MAGIC) and file_format not in (text.TEXT, svmlight.SVMLIGHT):
        raise NotATable("it is compressed by gzip, which this format does not allow; decompress it first")
    return file_format
