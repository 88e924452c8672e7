"""What the page of a viewer sends: JSON arrays that begin with their kind, by textual-serve's script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

LARGEST = 1000, 400
"""Columns and rows that an app is drawn for at most: about what the largest screens show."""


class Size(Struct):
    """The size of a terminal in cells."""

    width: Annotated[int, Meta(ge=1)] = 80
    height: Annotated[int, Meta(ge=1)] = 24

    def bounded(self) -> Size:
        """This size, or the largest there is."""
        return Size(min(self.width, LARGEST[0]), min(self.height, LARGEST[1]))


class Stdin(Struct, array_like=True, tag="stdin"):
    """Keys, clicks and pasted text, as a terminal encodes them."""

    text: Annotated[str, Meta(min_length=1)]  # Textual takes no letters for the end of its input


class Resize(Struct, array_like=True, tag="resize"):
    """The terminal has another size."""

    size: Size


class Focus(Struct, array_like=True, tag="focus"):
    """The terminal has got the focus."""


class Blur(Struct, array_like=True, tag="blur"):
    """The terminal has lost the focus."""


Message = Stdin | Resize | Focus | Blur

_decoder = msgspec.json.Decoder(Message)


def parse(text: str) -> Message | None:
    """A message, or None if the text is none that an app needs."""
    try:
        message: Message = _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return message


def size_of(query: Mapping[str, str]) -> Size:
    """The size that the address of a websocket names, or the usual one."""
    try:
        return msgspec.convert(dict(query), Size, strict=False).bounded()
    except msgspec.ValidationError:
        return Size()
