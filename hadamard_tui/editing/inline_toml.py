"""Values as TOML on one line."""

from __future__ import annotations

import json
import re
from typing import Any


def inline(value: Any) -> str:
    """Return a value as TOML on one line, without None. Its strings are JSON strings, which TOML reads."""
    if isinstance(value, dict):
        pairs = ((key, item) for key, item in value.items() if item is not None)
        return "{" + ", ".join(f"{_key(key)} = {inline(item)}" for key, item in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(inline, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else inline(key)
