"""Upgrade of preset documents that use outdated words, such as names that were changed later."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from engine.core import catalogue
from engine.spec.document_expressions import (
    alternatives,
    entries_of,
    is_struct,
    items_of,
    struct_in,
    types_of,
)
from engine.spec.experiment import Experiment

KINDS = {
    **dict.fromkeys(("loss", "error", "rank", "below", "above"), "value"),
    **dict.fromkeys(("never_below", "never_above", "follows"), "line"),
    "same_as": "same-as",
    "diverges": "diverges",
}
"""Current kind of a first-edition claim, by a key that only claims of this kind had."""

NAMES = {
    "learner": "curve", "k": "at", "loss": "equals", "error": "equals", "rank": "equals", "of": "measure",
    "same_as": "other",
}  # fmt: skip
"""Current names of the keys of claims, by former name."""

ROWS = {"train": {"kind": "loss", "rows": "train"}, "unseen": {"kind": "loss", "rows": "test"}}
LENGTHS = {
    f"{kind}-{length}": {"kind": kind, choice: length}
    for kind, choice in (("norm", "p"), ("margin", "q"))
    for length in ("1", "2", "max")
}
MEASURES = ROWS | LENGTHS
"""Current measures with their options, by the name of the former measure that they replace."""

SWITCHES = {
    "train_loss": tuple(ROWS.values()),
    "spectrum": ({"kind": "spectrum"}, {"kind": "rank"}),
}
"""Measures that former keys of `run` switched on or off, by key."""

Struct = type[msgspec.Struct]

RENAMED: dict[str, dict[str, str]] = {"RunSettings.path": {"by-blocks": "dense"}}
"""New words by former word, for each family, table or field that uses them:

    "updates"                              a family, for the kinds of its members
    "updates.egu", "Picture"               a part, or the class of another table, for its keys
    "updates.egu.start", "Picture.summary" a field of such a table, for the words that it allows
"""

NAMES_OF_LINES = ("Picture.lines", "Picture.relative", "Contour.line")
"""Fields that name kinds of theory lines, besides the fields of claims."""

_words: ContextVar[dict[str, str] | None] = ContextVar("_words", default=None)


def upgraded(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert a preset document to the form and the words of the present version.

    Its claims, pictures and run settings may be written in an older form. Outdated words are recorded by
    `note`. Malformed parts stay unchanged, and later checks refuse them.
    """
    claims, run, pictures = raw.get("claims"), raw.get("run"), raw.get("pictures")
    if isinstance(pictures, list | tuple):
        raw = {**raw, "pictures": [_upgraded_picture(picture) for picture in pictures]}
    if isinstance(claims, list | tuple):
        raw = {**raw, "claims": [_upgraded_claim(claim) for claim in claims]}
    if isinstance(run, Mapping) and any(isinstance(run.get(switch), bool) for switch in SWITCHES):
        raw = {**raw, "run": _upgraded_run(run)}
    new: Mapping[str, Any] = with_new_words(Experiment, raw, _names_of_learners(raw))
    return new


def renamed(key: str, keys: list[str]) -> str | None:
    """Return the present name of a key that claims had in presets of the program's first version.

    Return None if NAMES has no present name for the key, or if `keys` does not contain the present name.
    """
    new = NAMES.get(key)
    return new if new in keys else None


def _names_of_learners(raw: Mapping[str, Any]) -> set[str]:
    learners = raw.get("learners")
    tables = learners if isinstance(learners, list | tuple) else ()
    return {
        learner_name
        for table in tables
        if isinstance(table, Mapping) and isinstance(learner_name := table.get("name"), str)
    }


def _upgraded_picture(picture: Any) -> Any:
    """Return a picture in its present form.

    Formerly, the list `lines` contained theory lines and marks. Marks are moved to the list `marks`.
    """
    if isinstance(picture, Mapping):
        picture = _picture_of_all_gaps(picture)
    lines = picture.get("lines") if isinstance(picture, Mapping) else None
    if not isinstance(lines, list | tuple):
        return picture
    marked = [line for line in lines if isinstance(line, Mapping) and line.get("kind") == "mark"]
    if not marked:
        return picture
    note("a mark in `lines`", "marks")
    marks = [{key: field for key, field in line.items() if key != "kind"} for line in marked]
    named = [line for line in lines if line not in marked]
    rest = {key: field for key, field in picture.items() if key != "lines"}
    return {**rest, "marks": [*picture.get("marks", ()), *marks]} | ({"lines": named} if named else {})


def _picture_of_all_gaps(picture: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert a picture of a single gap, in the former form of `jacobian-gap`, to the measure of all gaps.

    A gap is the ratio of successive singular values. In the former form, the measure's field `after` selected
    one gap, by the index of the singular value before the gap. In the present form, the picture's `at`
    selects the gap.
    """
    measure = picture.get("measure")
    after = measure.get("after") if isinstance(measure, Mapping) else None
    if not isinstance(after, int) or measure != {"kind": "jacobian-gap", "after": after}:
        return picture
    note("after", "j in at")
    gaps = {"kind": "jacobian-gap", "most": after + 1}
    return {**picture, "measure": gaps, "at": {**picture.get("at", {}), "j": after}}


def _upgraded_run(run: Mapping[str, Any]) -> dict[str, Any]:
    switches = {key: setting for key, setting in run.items() if key in SWITCHES and isinstance(setting, bool)}
    converted = {key: setting for key, setting in run.items() if key not in switches}
    measures = converted.get("measures", ())
    if not isinstance(measures, list | tuple):
        return converted
    parts = [{"kind": measure} if isinstance(measure, str) else measure for measure in measures]
    for switch, on in switches.items():
        note(switch, "measures")
        rest = [part for part in parts if part not in SWITCHES[switch]]
        parts = [*rest, *SWITCHES[switch]] if on else rest
    return {**converted, "measures": parts}


def _upgraded_claim(claim: Any) -> Any:
    if not isinstance(claim, Mapping) or "kind" in claim:
        return claim
    fields = {key: value for key, value in claim.items() if value is not None}
    form = next((key for key in KINDS if key in fields), None)
    if form is None:
        return claim
    converted: dict[str, Any] = {"kind": KINDS[form]}
    if form in ("error", "rank"):
        converted["measure"] = form
    for key, value in fields.items():
        name = NAMES.get(key, key)
        if key == "of" and isinstance(value, str) and value in MEASURES:
            note(value, ", ".join(MEASURES[value].values()))
            value = MEASURES[value]
        if key == "of" and value == "loss":
            continue
        if key != "diverges" or value is not True:
            new = key if name in converted else name
            if new != key:
                note(key, new)
            converted[new] = value
    return converted


@contextmanager
def noted() -> Iterator[dict[str, str]]:
    """Collect outdated words, with their new names, while the `with` block runs."""
    words: dict[str, str] = {}
    token = _words.set(words)
    try:
        yield words
    finally:
        _words.reset(token)


def note(former: str, new: str) -> None:
    """Record that a document uses an outdated word. It is recorded only inside a block of `noted`."""
    if (words := _words.get()) is not None:
        words[former] = new


def sentence(preset: str, words: Mapping[str, str]) -> str:
    """Return a line that lists the outdated words of a preset and their new names."""
    return f"{preset}: " + ", ".join(f"{former} is now called {new}" for former, new in words.items())


def with_new_words(kind: Any, raw: Any, learners: Collection[str]) -> Any:
    """Return a raw value of type `kind` with new words in place of outdated ones.

    If a table has both the former and the new key, the former key stays, and is refused later. A word that is
    the name of one of the `learners` does not change.
    """
    former = {word for words in RENAMED.values() for word in words}
    return _with_new_words(alternatives(kind), raw, "", learners) if _has_word(raw, former) else raw


def _has_word(raw: Any, words: Collection[str]) -> bool:
    """Return whether a raw value has one of the words as a key or a text.

    This takes a tenth of the time of finding the type at each place, and few documents have outdated words.
    """
    if isinstance(raw, str):
        return raw in words
    if isinstance(raw, Mapping):
        return any(key in words or _has_word(member, words) for key, member in raw.items())
    return isinstance(raw, list | tuple) and any(_has_word(member, words) for member in raw)


def new_key(struct: Struct, key: str) -> str:
    """Return the present name of a table's key if the key was renamed."""
    return _new_word(_name_of(struct), key)


def new_kind(structs: Collection[Struct], kind: str) -> str:
    """Return the present name of a part's kind if the kind was renamed."""
    return next((_new_word(family, kind) for family in map(_family_of, structs) if family), kind)


def _with_new_words(kinds: tuple[Any, ...], raw: Any, place: str, learners: Collection[str]) -> Any:
    structs = [kind for kind in kinds if is_struct(kind)]
    if isinstance(raw, str) and any(map(_family_of, structs)):
        return new_kind(structs, raw)
    if isinstance(raw, str):
        names_line = _names_theory_line(place) and raw not in learners
        return _new_word("theory" if names_line else place, raw)
    if isinstance(raw, list | tuple):
        return [_with_new_words(alternatives(items_of(kinds)), member, place, learners) for member in raw]
    if not isinstance(raw, Mapping):
        return raw
    if isinstance(kind := raw.get("kind"), str):
        raw = {**raw, "kind": new_kind(structs, kind)}
    if (struct := struct_in(kinds, raw)) is None:
        entries = alternatives(entries_of(kinds))
        return {key: _with_new_words(entries, member, place, learners) for key, member in raw.items()}
    name, types = _name_of(struct), types_of(struct)
    renamed = RENAMED.get(name, {})
    keys = {key: key if renamed.get(key, key) in raw else _new_word(name, key) for key in raw}
    return {
        keys[key]: _with_new_words(
            alternatives(types.get(keys[key])), member, f"{name}.{keys[key]}", learners
        )
        for key, member in raw.items()
    }


def _new_word(place: str, word: str) -> str:
    new = RENAMED.get(place, {}).get(word, word)
    if new != word:
        note(word, new)
    return new


def _names_theory_line(place: str) -> bool:
    table, _, key = place.rpartition(".")
    family, _, kind = table.partition(".")
    of_claim = family == "claims" and key in getattr(catalogue.members("claims")[kind], "line_fields", ())
    return of_claim or place in NAMES_OF_LINES


def _name_of(struct: Struct) -> str:
    """Return the name by which RENAMED lists a table, such as "updates.egu" or "RunSettings"."""
    family = _family_of(struct)
    return f"{family}.{struct.__struct_config__.tag}" if family else struct.__name__


def _family_of(struct: Struct) -> str:
    if struct.__struct_config__.tag_field != "kind":
        return ""
    folders = catalogue.FOLDERS.items()
    families = (family for family, folder in folders if struct.__module__.startswith(f"{folder}."))
    return next(families, struct.__mro__[1].__name__)
