"""One test for many short cases, because pytest needs more time to set up and report a case than it takes.

Every case runs, even after a failure, and a failure names its case. `make test-all` tests each case alone.
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
    """Replace `pytest.mark.parametrize` for cases that have no side effects and are not coroutines."""
    cases = list(cases)
    if crossing.all_combinations:
        return pytest.mark.parametrize(names, cases, ids=ids)

    def loop(test: Test) -> Test:
        @wraps(test)
        def run_all_cases(**fixtures: Any) -> None:
            failed: list[Exception] = []
            for case in cases:
                parameters_of_case = _given(names, case)
                try:
                    test(**fixtures, **parameters_of_case)
                except Exception as error:
                    error.add_note(f"with {parameters_of_case}")
                    failed.append(error)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)

        test_signature = signature(test)
        fixtures_of_test = [
            parameter for name, parameter in test_signature.parameters.items() if name not in _listed(names)
        ]
        run_all_cases.__signature__ = test_signature.replace(parameters=fixtures_of_test)  # type: ignore[attr-defined]
        return run_all_cases

    return loop


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _given(names: str | Sequence[str], case: Any) -> dict[str, Any]:
    """Arguments of a case: one value for a single name, or one value for each name."""
    if isinstance(names, str):
        return {names: case}
    return dict(zip(names, getattr(case, "values", case), strict=True))
