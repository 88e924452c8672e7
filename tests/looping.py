"""Cases that take less time than pytest takes to begin, end and report them: one test goes through them all.

Every case runs, whether others fail or not, and what fails says with which. `make test-all` tests each alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from typing import Any

import crossing
import pytest

Test = Callable[..., None]


def looped(
    names: str | Sequence[str], cases: Iterable[Any], ids: Iterable[str] | Callable[[Any], str] | None = None
) -> Callable[[Test], Test]:
    """In place of `pytest.mark.parametrize`, for cases that leave nothing behind and are no coroutines."""
    cases = list(cases)
    if crossing.whole:
        return pytest.mark.parametrize(names, cases, ids=ids)

    def loop(test: Test) -> Test:
        @wraps(test)
        def every(**fixtures: Any) -> None:
            failed: list[Exception] = []
            for case in cases:
                given = _given(names, case)
                try:
                    test(**fixtures, **given)
                except Exception as error:
                    error.add_note(f"with {given}")
                    failed.append(error)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)

        taken = signature(test)
        others = [parameter for name, parameter in taken.parameters.items() if name not in _listed(names)]
        every.__signature__ = taken.replace(parameters=others)  # type: ignore[attr-defined]
        return every

    return loop


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _given(names: str | Sequence[str], case: Any) -> dict[str, Any]:
    """What a case gives to a test: one value if one name is said alone, or as many as there are names."""
    if isinstance(names, str):
        return {names: case}
    return dict(zip(names, getattr(case, "values", case), strict=True))
