"""Page of all sentences that the program can show, by file, to be compared with the table of words.

Files of experimental parts and panels are left out.

Usage: .venv/bin/python docs/messages.py    prints the page; `make docs` has it among the others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("engine", "hadamard_tui")

HEAD = """# Messages

Every sentence of the code that a person can meet: errors, findings, notices, titles and descriptions of
fields, help, panels, and what parts say of themselves. `make docs` writes this page from the code; what
stands in {braces} is filled in.
"""

ARGUMENTS = {
    "Action": (2, 3),
    "BadInput": (1,),
    "Finding": (1,),
    "Lack": (0,),
    "Panel": (0, 1),
    "Remedy": (2,),
    "nothing": (0,),
    "notify": (0,),
}
"""Positional arguments of calls that users see, however short they are."""

KEYWORDS = {"about", "description", "help", "label", "placeholder", "title"}
"""Keyword arguments that users see, in any call."""

FOR_PROGRAMS = {
    "cast",
    "compile",
    "filterwarnings",
    "fullmatch",
    "match",
    "query",
    "query_one",
    "search",
    "sub",
}
"""Calls whose texts are types, selectors and patterns."""

SENTENCE = 3
"""Least number of words of a sentence."""

LONGEST_NAME = 24
"""Most letters of the name of a filled-in value; longer names become “…”."""

OWN_ERRORS = {"BadInput"}
"""Exceptions that users see; those of Python are for programmers."""


class Messages(ast.NodeVisitor):
    """Collects the messages of a file in their order."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Add the docstring of a part, which users see."""
        tags = [keyword.value for keyword in node.keywords if keyword.arg == "tag"]
        if tags and (text := ast.get_docstring(node)):
            self._add(f"{ast.literal_eval(tags[0])}: {text}")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Add the docstring of a command, which users see."""
        calls = [decorator.func for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
        is_command = any(isinstance(call, ast.Attribute) and call.attr == "command" for call in calls)
        if is_command and (text := ast.get_docstring(node)):
            self._add(text)
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skip assertions, which users do not see."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skip exceptions for programmers."""
        raised = node.exc.func if isinstance(node.exc, ast.Call) else None
        if not isinstance(raised, ast.Name) or raised.id in OWN_ERRORS or not raised.id.endswith("Error"):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        """Skip style sheets and lists of fonts."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not any(
            isinstance(target, ast.Name) and target.id.endswith(("CSS", "FONT")) for target in targets
        ):
            self.generic_visit(node)

    visit_AnnAssign = visit_Assign  # noqa: N815

    def visit_Expr(self, node: ast.Expr) -> None:
        """Skip texts that stand alone, which are documentation."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Add the arguments of a call that users see."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in FOR_PROGRAMS:
            return
        shown = [node.args[place] for place in ARGUMENTS.get(name, ()) if place < len(node.args)]
        shown += [keyword.value for keyword in node.keywords if keyword.arg in KEYWORDS]
        for argument in shown:
            if isinstance(argument, ast.Constant | ast.JoinedStr) and (text := _text(argument)):
                self._add(text)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Add a sentence, wherever it stands."""
        if _is_sentence(text := _text(node)):
            self._add(text)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Add a sentence with filled-in values, and sentences in these values."""
        if _is_sentence(text := _text(node)):
            self._add(text)
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self.visit(value.value)

    def _add(self, text: str) -> None:
        text = " ".join(text.split())
        if text not in self.texts and re.search(r"[^\W\d_]", text):
            self.texts.append(text)


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    """Text of a literal, with names in braces for filled-in values."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(
        _text(part) if isinstance(part, ast.Constant) else f"{{{_name(part)}}}" for part in node.values
    )


def _name(filled: ast.expr) -> str:
    assert isinstance(filled, ast.FormattedValue), "a text is made of words and of what is filled in"
    name = ast.unparse(filled.value)
    return name if len(name) <= LONGEST_NAME and "'" not in name else "…"


def _is_sentence(text: str) -> bool:
    words = re.findall(r"(?<![\w{\\])[^\W\d_]{2,}(?![\w}])", text)
    return len(words) >= SENTENCE and " " in text.strip() and "\x1b" not in text


def messages(source: str) -> list[str]:
    """Messages of a Python source."""
    visitor = Messages()
    visitor.visit(ast.parse(source))
    return visitor.texts


def is_experimental(source: str) -> bool:
    """Whether a source declares a part or panel as experimental."""
    if "experimental" not in source:  # few files have the word, and walking all of them takes long
        return False
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="experimental")], value=ast.Constant(value=True))
                | ast.AnnAssign(target=ast.Name(id="experimental"), value=ast.Constant(value=True))
                | ast.keyword(arg="experimental", value=ast.Constant(value=True))
            ):
                return True
    return False


def page() -> str:
    """Page for the present code."""
    return "\n".join([HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            source = file.read_text(encoding="utf-8")
            if not is_experimental(source) and (texts := messages(source)):
                yield f"## {as_written(file.relative_to(ROOT).as_posix())}\n"
                yield "".join(f"- {as_written(text)}\n" for text in texts)


def as_written(text: str) -> str:
    """A text in Markdown, where formulas keep their signs, and words in backticks are code."""
    code_spans = re.split(r"(`[^`\n]+`)", text)
    return "".join(
        span if place % 2 else re.sub(r"[*_{}\[\]\\`#]", r"\\\g<0>", escape(span, quote=False))
        for place, span in enumerate(code_spans)
    )


if __name__ == "__main__":
    print(page())
