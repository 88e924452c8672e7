"""The theory pages: every citation and link resolves, and every preset stands in a section."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

from engine.core.parts import BadInput
from engine.spec import presets, theory_pages
from engine.spec.theory_pages import Section, cited, find, parse, sections
from hadamard_tui.browsing import measured_claims

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FOLDER = DOCS / "theory"

CITING = [
    *(ROOT / "presets").glob("*.toml"),
    *(ROOT / "engine").rglob("*.py"),
    *(ROOT / "hadamard_tui").rglob("*.py"),
    *DOCS.rglob("*.md"),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]

CITATION = re.compile(r"theory/([\w-]+#[\w-]+)")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")
RUN = re.compile(r"<!-- run: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
EXAMPLES = {"PAGE#SLUG", "PAGE#SECTION"}


def all_sections() -> dict[str, Section]:
    theory_pages.pages.cache_clear()
    return sections()


def runs():
    """The script that fills the pages."""
    spec = importlib.util.spec_from_file_location("theory_runs", DOCS / "theory_runs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_citation_names_a_section():
    addresses = all_sections().keys() | EXAMPLES
    for file in CITING:
        for address in CITATION.findall(file.read_text(encoding="utf-8")):
            assert address in addresses, f"{file.relative_to(ROOT)}: theory/{address}"


def test_the_program_uses_no_former_citations():
    resolver = ROOT / "engine" / "spec" / "theory_pages.py"
    for file in CITING:
        text = file.read_text(encoding="utf-8")
        assert file == resolver or {*cited(text)} <= {*CITATION.findall(text)}, file.relative_to(ROOT)


def test_every_relative_link_of_the_pages_resolves():
    addresses = all_sections()
    for file in FOLDER.glob("*.md"):
        for path, slug in LINK.findall(file.read_text(encoding="utf-8")):
            linked = (FOLDER / path).resolve() if path else file
            assert linked.exists(), f"{file.name}: {path}"
            if slug:
                assert f"{linked.stem}#{slug}" in addresses, f"{file.name}: {path}#{slug}"


def test_theory_pages_have_a_question_and_complete_sections():
    for page in theory_pages.pages():
        assert len(page.question.split()) >= 10, page.name
        assert page.sections, page.name
        repeated = {
            slug for slug, count in Counter(section.slug for section in page.sections).items() if count > 1
        }
        assert not repeated, page.name
        for section in page.sections:
            assert "**Statement" in section.text, section.address
            assert re.search(r"\*\*[^*]*\bwhy\b|\*\*Why", section.text), section.address
            assert "**What is only " in section.text, section.address
            sources = section.text.partition("**Sources.**")[2]
            assert "](https://" in sources, section.address
            assert "**Idea" in section.text, section.address
            assert "<!-- run: " in section.text, section.address
        headings = re.findall(r"^## ", (FOLDER / f"{page.name}.md").read_text(encoding="utf-8"), re.MULTILINE)
        assert len(headings) == len(page.sections), page.name


def test_the_list_of_pages_follows_the_order_of_teaching():
    files = {file.stem for file in FOLDER.glob("*.md")} - {"README"}
    assert files == set(theory_pages.PAGES)
    listed = re.findall(r"\]\(([\w-]+)\.md\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert listed == [name for name in theory_pages.PAGES if name in files]


def test_run_blocks_name_presets_without_failed_claims():
    measured = measured_claims.read_file(measured_claims.FILE)
    blocks = [
        (preset, block[0])
        for file in FOLDER.glob("*.md")
        for block in RUN.finditer(file.read_text(encoding="utf-8"))
        if (preset := block[1])
    ]
    assert sorted(preset for preset, _ in blocks) == presets.names(), "each preset stands in one section"
    for preset, text in blocks:
        assert f"(../gallery/{preset}.svg)" in text, preset
        for claim in measured.get(preset, ()):
            assert claim.holds is not False, f"{preset}: {claim.text}"


@pytest.mark.slow
def test_every_run_block_quotes_the_current_claims_of_its_preset():
    module, claims = runs(), measured_claims.read_file(measured_claims.FILE)
    for file in FOLDER.glob("*.md"):
        text = file.read_text(encoding="utf-8")
        assert module.filled(text, claims) == text, f"make update writes {file.name}"


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("WKA21 Thm 3; theory/hadamard#bounds", ["hadamard#bounds"]),
        ("talk, slide 5; theory.md §4", ["conventions#update-rules"]),
        ("theory-nets.md §31", ["curvature#catapult"]),
        ("theory-nets.md §§28, 29", ["curvature#hessian", "curvature#collapse"]),
        (
            "OFLS19; theory-bias.md §§44–46",
            [
                "parities-and-noise#wrong-labels",
                "parities-and-noise#nuisance-space",
                "parities-and-noise#mixtures",
            ],
        ),
        ("theory-open.md §18; WKA21 Thm 12", ["hadamard#two-layers"]),
        ("theory-open.md §18b", ["hadamard#random-signs"]),
        ("theory-symmetry.md §65.1.", ["symmetry#diagnose"]),
        ("theory.md §7, theory-open.md §18b", ["hadamard#bounds", "hadamard#random-signs"]),
        ("theory.md §1, §6", ["conventions#conventions", "conventions#losses"]),
        ("theory-nets.md §0, derived there", ["wide-nets#conventions-of-the-lectures"]),
        ("theory.md §99; Ng 2004", []),
        ("KW97; no citation", []),
    ],
)
def test_present_and_former_citations_are_understood(text, addresses):
    assert list(cited(text)) == addresses


def test_every_former_section_maps_to_a_current_section():
    addresses = {address for numbers in theory_pages.FORMER.values() for address in numbers.values()}
    assert addresses <= all_sections().keys()


def test_a_section_is_found_by_address_slug_and_citations():
    section = find("conventions#losses")
    assert section == find("losses") == find("theory/conventions#losses") == find("theory.md §6")
    assert section.title == "Losses"


@pytest.mark.parametrize("wanted", ["loses", "hadamard#", "theory.md §99", ""])
def test_an_unknown_section_is_refused_on_one_line(wanted):
    with pytest.raises(BadInput, match="there is no section of the theory pages"):
        find(wanted)


def test_a_page_is_divided_at_its_headings():
    page = parse(
        "a-page", "# A page\n\nWhich one?\n\n## First {#first}\n\nText.\n\n## Second {#second}\n\nMore.\n"
    )
    assert (page.title, page.question) == ("A page", "Which one?")
    assert [(section.slug, section.text) for section in page.sections] == [
        ("first", "Text."),
        ("second", "More."),
    ]


def test_a_block_is_filled_with_chart_headline_and_verdicts():
    module = runs()
    claims = {
        "hadamard-128": [
            measured_claims.MeasuredClaim(claim.text, number != 1, "0.5 = 0.5")
            for number, claim in enumerate(presets.load("hadamard-128").claims[:2])
        ]
    }
    text = module.filled("Before.\n<!-- run: hadamard-128 -->\n<!-- end -->\nAfter.", claims)
    assert text == module.filled(text, claims)
    assert "](../gallery/hadamard-128.svg)" in text
    assert text.count("- ✓ ") == text.count("- ✗ ") == 1
    assert text.count("\n- ") == len(presets.load("hadamard-128").claims)
