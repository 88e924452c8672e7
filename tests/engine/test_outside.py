"""Parts from outside: files that the user requests, and installed packages."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from pathlib import Path

import pytest
import torch

from engine.core import catalogue, optimizers
from engine.core.outside import Outside
from engine.core.parts import BadField, BadInput
from engine.symmetry.rules import symmetries
from engine.updates import UpdateStructure
from engine.updates.torch_optimizer import Torch

RULE = '''
"""A rule."""

from engine.updates.gd import GD


class Half(GD, frozen=True, tag="half"):
    """Half of the step. Source: none."""
'''


@pytest.fixture(autouse=True)
def same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search path before the test, which loading extends."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Outside:
    """The modules from outside of a new process; the catalogue of this one remains as it is."""
    for family in catalogue.FOLDERS:
        catalogue.members(family)
    fresh = Outside()
    monkeypatch.setattr(catalogue, "outside", fresh)
    return fresh


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


def members(family: str) -> dict[str, type]:
    """The members of a family, found anew."""
    return catalogue.members.__wrapped__(family)


def test_a_part_from_a_file_joins_only_its_family(outside: Outside, tmp_path: Path):
    outside.request([written(tmp_path, "half.py", RULE)])
    assert members("updates").keys() - catalogue.members("updates").keys() == {"half"}
    assert members("solvers") == catalogue.members("solvers")


def test_a_file_is_loaded_once_on_the_first_family_lookup(outside: Outside, tmp_path: Path):
    (tmp_path / "log").touch()
    text = f"{RULE}\nwith open({str(tmp_path / 'log')!r}, 'a') as log:\n    log.write('x')\n"
    file = written(tmp_path, "half.py", text)
    outside.request([file])
    outside.request([file])
    assert (tmp_path / "log").read_text() == ""
    members("updates")
    members("theory")
    assert (tmp_path / "log").read_text() == "x"


def test_a_file_imports_its_neighbours_and_origins_list_their_hashes(outside: Outside, tmp_path: Path):
    neighbour = written(tmp_path, "neighbour_of_half.py", "TAG = 'half'\n")
    text = RULE.replace('tag="half"', "tag=TAG").replace(
        "\nclass", "from neighbour_of_half import TAG\n\nclass"
    )
    file = written(tmp_path, "half.py", text)
    outside.request([file])
    assert "half" in members("updates")
    hashes = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in (file, neighbour)}
    assert {origin["file"]: origin["sha256"] for origin in outside.origins()} == hashes


def test_origins_omit_modules_installed_beside_a_file(
    outside: Outside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    installed = tmp_path / ".venv" / "lib" / "site-packages"
    installed.mkdir(parents=True)
    written(installed, "installed_beside_half.py", "TAG = 'half'\n")
    monkeypatch.syspath_prepend(installed)
    file = written(tmp_path, "half.py", RULE.replace("\nclass", "import installed_beside_half\n\nclass"))
    outside.request([file])
    assert [origin["file"] for origin in outside.origins()] == [str(file)]


def test_the_digest_changes_with_the_code_and_is_empty_without_files(tmp_path: Path):
    digests = [Outside().digest()]
    for text in (RULE, f"{RULE}\n# a comment\n"):
        outside = Outside()
        outside.request([written(tmp_path, "half.py", text)])
        digests.append(outside.digest())
    assert digests[0] == ""
    assert len({*digests}) == 3


def test_an_optimizer_of_torch_is_known_by_its_name(
    outside: Outside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(optimizers, "registered", {})
    text = "import torch\n\n\nclass HalfSGD(torch.optim.SGD):\n    pass\n"
    outside.request([written(tmp_path, "half_sgd.py", text)])
    (module,) = outside.modules()
    assert optimizers.optimizer_class("HalfSGD") is module.HalfSGD


FAULTS = [
    ("x = \n", ":1: SyntaxError: invalid syntax"),
    ("x = 1\n\ny = x / 0\n", ":3: ZeroDivisionError: division by zero"),
    (
        "import no_such_module_anywhere\n",
        ":1: ModuleNotFoundError: No module named 'no_such_module_anywhere'",
    ),
    ("raise SystemExit(0)\n", ":1: SystemExit: 0"),
    ("x = 1\n", ": it defines no part"),
    ("from engine.updates.gd import GD\n", ": it defines no part"),
    (
        "from engine.core import catalogue\ncatalogue.members.__wrapped__('updates')\n",
        ":2: RuntimeError: the catalogue is inc",
    ),
]


@pytest.mark.parametrize(("text", "fault"), FAULTS)
def test_a_file_that_cannot_be_loaded_is_refused_with_file_line_and_error(
    outside: Outside, tmp_path: Path, text: str, fault: str
):
    file = written(tmp_path, "half.py", text)
    outside.request([file])
    for _ in range(2):  # nothing remains of the first attempt
        with pytest.raises(BadInput) as refused:
            members("updates")
        assert str(refused.value).startswith(f"{file}{fault}")
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("method", ["exponentiated_rate", "invariant_counterpart", "refuses_loss"])
def test_a_rule_with_a_removed_method_is_refused_with_its_replacement(
    outside: Outside, tmp_path: Path, method: str
):
    file = written(tmp_path, "half.py", f"{RULE}\n    def {method}(self, *arguments):\n        return None\n")
    outside.request([file])
    with pytest.raises(BadInput) as refused:
        members("updates")
    fault = str(refused.value)
    assert fault.startswith(f"{file}: the program no longer calls the method Half.{method}; set the field `")
    fields = set(re.findall("`([a-z_]+)`", fault)) - {"structure"}
    assert fields <= {*UpdateStructure._fields}


@pytest.mark.parametrize("name", ["missing.py", "folder.py", "rule.txt"])
def test_only_a_python_file_is_loaded(outside: Outside, tmp_path: Path, name: str):
    (tmp_path / "folder.py").mkdir()
    written(tmp_path, "rule.txt", RULE)
    outside.request([tmp_path / name])
    with pytest.raises(BadInput) as refused:
        outside.modules()
    assert refused.value.where == str(tmp_path / name)


def test_a_part_with_an_existing_kind_is_refused(outside: Outside, tmp_path: Path):
    file = written(tmp_path, "half.py", RULE.replace('tag="half"', 'tag="adam"'))
    outside.request([file])
    with pytest.raises(
        BadInput, match="class Half has the tag 'adam', which another class of updates already has"
    ) as refused:
        members("updates")
    assert refused.value.where == str(file)


def test_a_file_requested_after_loading_is_refused(outside: Outside, tmp_path: Path):
    file = written(tmp_path, "half.py", RULE)
    outside.request([file])
    outside.modules()
    outside.request([file])
    with pytest.raises(BadInput, match="restart it to load others"):
        outside.request([written(tmp_path, "other.py", RULE)])


def package(folder: Path, code: str) -> None:
    """An installed package `rules_of_others` that offers a module of parts."""
    (folder / "rules_of_others").mkdir()
    written(folder / "rules_of_others", "__init__.py", "from rules_of_others.half import Half\n")
    written(folder / "rules_of_others", "half.py", code)
    information = folder / "rules_of_others-1.5.dist-info"
    information.mkdir()
    written(information, "METADATA", "Metadata-Version: 2.1\nName: rules-of-others\nVersion: 1.5\n")
    written(information, "entry_points.txt", "[hadamard_tui.parts]\nrules = rules_of_others\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("rules_of_others")]:
        del sys.modules[name]


def test_an_installed_package_offers_parts_by_its_entry_point(outside: Outside, installed: Path):
    package(installed, RULE)
    assert "half" in members("updates")
    (origin,) = outside.origins()
    assert origin["distribution"] == "rules-of-others"
    assert origin["version"] == "1.5"
    assert origin["module"] == "rules_of_others"
    code = b"".join(
        (installed / "rules_of_others" / name).read_bytes() for name in ("__init__.py", "half.py")
    )
    assert origin["sha256"] == hashlib.sha256(code).hexdigest()


def test_the_error_of_a_broken_package_names_it_and_a_workaround(outside: Outside, installed: Path):
    package(installed, "1 / 0")
    with pytest.raises(BadInput, match=r"entry point rules fails: ZeroDivisionError.*--no-parts") as refused:
        members("updates")
    assert refused.value.where == "rules-of-others"


def test_only_requested_loads_neither_packages_nor_configured_files(
    outside: Outside, installed: Path, tmp_path: Path
):
    package(installed, "1 / 0")
    outside.configure(lambda: [tmp_path / "missing.py"])
    outside.only_requested()
    outside.request([written(tmp_path, "half.py", RULE)])
    assert "half" in members("updates")
    assert len(outside.origins()) == 1


def test_configured_files_are_loaded_with_the_requested_ones(outside: Outside, tmp_path: Path):
    outside.configure(lambda: [written(tmp_path, "half.py", RULE)])
    assert "half" in members("updates")


def test_only_errors_raised_in_loaded_parts_become_refusals_with_a_place(outside: Outside, tmp_path: Path):
    file = written(tmp_path, "half.py", f"{RULE}\n    def fail(self):\n        raise KeyError('w')\n")
    outside.request([file])
    (module,) = outside.modules()
    with pytest.raises(KeyError) as raised:
        module.Half().fail()
    refusal = outside.refusal(raised.value)
    assert refusal is not None
    assert str(refusal) == f"{file}:{len(file.read_text().splitlines())}: KeyError: 'w'"
    assert outside.refusal(KeyError("w")) is None


class Failing(torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure=None):
        raise ArithmeticError("no step")


def test_an_optimizer_error_reports_type_message_file_and_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(optimizers.registered, "Failing", Failing)
    line = inspect.getsourcelines(Failing)[1] + 3
    with pytest.raises(BadInput) as raised:
        list(symmetries(Torch(name="Failing"), ["rotations"]))
    fault = f"its step fails: ArithmeticError: no step, at {__file__}:{line}"
    assert raised.value.fault == fault


class Unmade(torch.optim.SGD):
    def __init__(self, params, lr=0.1):
        raise ArithmeticError("no object")


def test_a_constructor_error_reports_type_message_file_and_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(optimizers.registered, "Unmade", Unmade)
    line = inspect.getsourcelines(Unmade)[1] + 2
    with pytest.raises(BadField) as raised:
        Torch(name="Unmade")
    fault = f"Unmade cannot be constructed: ArithmeticError: no object, at {__file__}:{line}"
    assert raised.value.fault == fault
