"""Parts from outside the program: parts in Python files that the user names, and parts in installed packages.

Code is loaded only from files that the user requests or configures, and from packages that the user
installed. A preset cannot load code. The catalogue loads the code when a family of parts is first needed.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from engine.core import files
from engine.core.parts import BadInput, Part, is_member

GROUP = "hadamard_tui.parts"
"""Group of entry points in which installed packages list their modules of parts."""

MOST_BYTES = 1 << 20
"""Largest size in bytes of a file of parts. Modules written by hand are far smaller."""

Origin = dict[str, str]
"""Origin of code from outside the program. For a file, the keys are `file` and `sha256`.

For a package, the keys are `distribution`, `version`, `module` and `sha256`.
"""


class LoadedModule(NamedTuple):
    """Module from outside the program, with the files or packages that contain its code."""

    module: ModuleType
    origins: tuple[Origin, ...]


class Outside:
    """Modules from outside the program. The modules are loaded once, when first needed."""

    def __init__(self) -> None:
        self._files: list[Path] = []
        self._configured: Callable[[], Iterable[Path]] = tuple
        self._requested_only = False
        self._loading = False
        self._loaded: list[LoadedModule] | None = None

    def request(self, paths: Iterable[Path]) -> None:
        """Add Python files to load. Raises: BadInput for a new file if modules are already loaded."""
        for path in dict.fromkeys(map(_absolute_path, paths)):
            if path in self._files:
                continue
            if self._loaded is not None:
                raise BadInput(
                    str(path), "this process has already loaded its parts; restart it to load others"
                )
            self._files.append(path)

    def configure(self, paths: Callable[[], Iterable[Path]]) -> None:
        """Set a function that returns further files to load, to be called when modules are loaded."""
        self._configured = paths

    def only_requested(self) -> None:
        """Load only the requested files: ignore configured files and installed packages."""
        self._requested_only = True

    @property
    def requested(self) -> tuple[Path, ...]:
        return tuple(self._files)

    def modules(self) -> list[ModuleType]:
        """Return the modules from outside the program, and load them at the first call. Raises: BadInput."""
        return [loaded.module for loaded in self._loaded_modules()]

    def origins(self) -> list[Origin]:
        return [origin for loaded in self._loaded_modules() for origin in loaded.origins]

    def digest(self) -> str:
        hashes = sorted(origin["sha256"] for origin in self.origins())
        return hashlib.sha256("".join(hashes).encode()).hexdigest() if hashes else ""

    def refusal(self, error: Exception) -> BadInput | None:
        """Return a BadInput that names the innermost line of `error` in modules from outside the program.

        Return None if no line of the error's traceback is in such a module.
        """
        from engine.core.user_errors import typed

        sources = {str(file) for loaded in self._loaded or () for file in _source_files(loaded.module)}
        frames = traceback.extract_tb(error.__traceback__)
        places = [(frame.filename, frame.lineno) for frame in frames if frame.filename in sources]
        return BadInput("{}:{}".format(*places[-1]), typed(error)) if places else None

    def _loaded_modules(self) -> list[LoadedModule]:
        if self._loading:
            raise RuntimeError("the catalogue is incomplete while parts are loaded; ask for parts later")
        if self._loaded is None:
            self._loading = True
            try:
                configured = () if self._requested_only else map(_absolute_path, self._configured())
                loaded = [_module_from_file(path) for path in dict.fromkeys([*self._files, *configured])]
                self._loaded = loaded + ([] if self._requested_only else list(_modules_from_packages()))
                for module, _ in self._loaded:
                    _register_optimizers(module)
            finally:
                self._loading = False
        return self._loaded


def _absolute_path(path: Path) -> Path:
    return Path(os.path.expanduser(path)).absolute()


def _module_from_file(path: Path) -> LoadedModule:
    """Load a file as a module. Raises: BadInput, also if the file defines no part, panel or optimizer."""
    where = str(path)
    if path.suffix != ".py":
        raise BadInput(where, "parts are loaded from Python files, whose names end in .py")
    try:
        with files.faults(""):
            files.read(path, MOST_BYTES)
    except BadInput as error:
        raise BadInput(where, error.fault) from error
    spec = importlib.util.spec_from_file_location(f"parts from {path}", path)
    assert spec is not None, "the suffix is that of a module"
    assert spec.loader is not None, "it is loaded from a file"
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if str(path.parent) not in sys.path:
        # at the end of the path, so that the folder hides no installed module
        sys.path.append(str(path.parent))
    names = set(sys.modules)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        from engine.core.user_errors import place_of, typed

        raise BadInput(place_of(error, str(path)), typed(error)) from error
    _check_methods(module, where)
    if not _offers_parts(module):
        raise BadInput(where, 'it defines no part; a part is a class with a tag, such as tag="my-rule"')
    imported = (getattr(sys.modules[name], "__file__", None) for name in sorted(set(sys.modules) - names))
    beside = dict.fromkeys(Path(file) for file in imported if file and _is_user_code_beside(Path(file), path))
    return LoadedModule(
        module, tuple({"file": str(file), "sha256": _digest_of_files([file])} for file in [path, *beside])
    )


def _is_user_code_beside(file: Path, path: Path) -> bool:
    """Return whether `file` is in or below the folder of `path`, and not part of an installed package."""
    is_installed = file.is_relative_to(sys.prefix) or "site-packages" in file.parts
    return file.is_relative_to(path.parent) and not is_installed


def _modules_from_packages() -> Iterator[LoadedModule]:
    if not any(map(_offers_entry_points, sys.path)):
        return
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=GROUP)):
        where = point.dist.name if point.dist is not None else point.value
        try:
            module = importlib.import_module(point.module)
        except (Exception, SystemExit) as error:
            from engine.core.user_errors import typed

            fault = f"its entry point {point.name} fails: {typed(error)}"
            raise BadInput(where, f"{fault}; the option --no-parts starts without it") from error
        _check_methods(module, where)
        version = point.dist.version if point.dist is not None else ""
        origin = {"distribution": where, "version": version, "module": point.module}
        yield LoadedModule(module, ({**origin, "sha256": _digest_of_files(_source_files(module))},))


def _offers_entry_points(folder: str) -> bool:
    """Return whether an installed package in a folder of `sys.path` offers parts.

    The search reads files of metadata, because importlib.metadata would take 0.1 s longer.
    """
    for file in Path(folder or ".").glob("*.*-info/entry_points.txt"):
        try:
            if GROUP.encode() in file.read_bytes():
                return True
        except OSError:
            continue
    return False


def _source_files(module: ModuleType) -> list[Path]:
    folders = getattr(module, "__path__", None)
    if folders is not None:
        return sorted(file for folder in folders for file in Path(folder).rglob("*.py"))
    return [Path(module.__file__)] if module.__file__ else []


def _digest_of_files(sources: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def classes_in(module: ModuleType) -> Iterator[type]:
    """Yield the classes among a module's attributes, except classes that other modules define.

    Classes from submodules of a package count as the package's own.
    """
    attributes = vars(module).values()
    for defined in dict.fromkeys(attribute for attribute in attributes if isinstance(attribute, type)):
        if f"{defined.__module__}.".startswith(f"{module.__name__}."):
            yield defined


def _optimizers_in(module: ModuleType) -> dict[str, Any]:
    # If torch.optim is not imported yet, the module cannot have defined an optimizer.
    torch_optimizers = sys.modules.get("torch.optim")
    if torch_optimizers is None:
        return {}
    return {cls.__name__: cls for cls in classes_in(module) if issubclass(cls, torch_optimizers.Optimizer)}


def _register_optimizers(module: ModuleType) -> None:
    if optimizers := _optimizers_in(module):
        from engine.core.optimizers import registered

        registered.update(optimizers)


def _check_methods(module: ModuleType, where: str) -> None:
    for part in classes_in(module):
        if not issubclass(part, Part):
            continue
        for method in sorted(vars(part).keys() & part.former.keys()):
            fault = f"the program no longer calls the method {part.__name__}.{method}"
            raise BadInput(where, f"{fault}; {part.former[method]} instead")


def _offers_parts(module: ModuleType) -> bool:
    parts = (defined for defined in classes_in(module) if issubclass(defined, Part))
    return hasattr(module, "PANEL") or any(map(is_member, parts)) or bool(_optimizers_in(module))


outside = Outside()
"""The only collection of modules from outside the program in this process."""
