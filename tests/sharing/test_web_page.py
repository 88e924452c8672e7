"""The page of a run: one file that needs nothing else, and works in a browser and on a phone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from chromium import Page, blank_page
from rich.console import Console

from engine.core.parts import BadInput
from engine.results.outcomes import judge
from engine.runtime.run_writer import RunWriter
from engine.runtime.sweep_run import run_sweep
from engine.spec import documents, presets
from engine.spec.reading import Raw
from hadamard_tui.cli import main
from hadamard_tui.colours import palette
from hadamard_tui.headless import pages
from hadamard_tui.sharing import web_page
from hadamard_tui.sharing.web_page import IndexEntry, index_page

from .test_heat_map_figure import heat

DOCUMENT: Raw = {
    "title": "Eight <features>",
    "story": "Look at this.",
    "source": "WKA21",
    "axes": [{"name": "rate", "values": [0.05, 0.1]}],
    "problem": {"matrix": {"kind": "hadamard", "d": 8}, "target": "feature"},
    "protocol": "one-pass",
    "learners": [
        {"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": "1/(2d)"}},
        {"name": "EGU", "architecture": "linear", "update": {"kind": "egu", "lr": "rate"}},
    ],
    "run": {"device": "cpu"},
    "pictures": [
        {"title": "Curves", "x": "k", "measure": "loss", "curves": ["learner"], "at": {"rate": 0.1}},
        {"title": "Map", "x": "k", "y": "rate", "measure": "loss"},
    ],
    "claims": [{"kind": "value", "text": "half", "at": 4, "equals": 0.5, "within": 1e-6, "curve": "GD"}],
}

RESOURCES = ("src", "href", "xlink:href", "poster", "data", "action", "srcset")


class Tags(HTMLParser):
    """The tags of a page that are opened and not closed, and all attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page() -> str:
    results = run_sweep(documents.sweep_of(DOCUMENT))
    return web_page.web_page(results, judge(results), "hadamard-128", DOCUMENT).decode()


def test_a_page_loads_no_external_resources(page: str) -> None:
    check_that_it_loads_nothing(page)


def check_that_it_loads_nothing(page: str) -> None:
    """See that all tags are closed, that ids differ, and that the page names no other file."""
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    for name, value in tags.attributes:
        if name in RESOURCES:
            assert value.startswith("#"), "a page names no other file"
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    assert "fetch(" not in page
    ids = [value for name, value in tags.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for name in re.findall(r"url\(#([^)]+)\)", page):
        assert name in ids


def test_a_page_shows_title_source_charts_claims_and_command(page: str) -> None:
    for words in ("Eight &lt;features&gt;", "Look at this.", "Source: WKA21", "rotation-invariant bound"):
        assert words in page
    assert "✓" in page
    assert "holds:" in page
    assert "hadamard-tui --preset hadamard-128" in page
    assert page.count("<figure>") == 3, "a chart, and a map of each learner"


def test_a_heat_map_page_has_a_legend_table_and_names_its_colours() -> None:
    figure = web_page._heat_figure(heat(), "map", "")
    svg, table = figure.split("<table>")
    assert "colour: variance" in svg.split("<svg")[0]
    for words in ("critical line", "chosen", "not computed yet"):
        assert f"<td>{words}</td>" in table
        assert words not in svg


def test_an_oversized_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_page, "LARGEST", 1000)
    results = run_sweep(documents.sweep_of(DOCUMENT))
    with pytest.raises(BadInput, match="1,000 is the limit"):
        web_page.web_page(results, judge(results), "hadamard-128", DOCUMENT)


def test_the_index_lists_each_page_under_its_subject() -> None:
    entries = [
        IndexEntry("a b.html", "First", "It falls.", "Nets", 3, 2),
        IndexEntry("b.html", "Second & last", "It stays.", "Nets", 1, 1),
    ]
    subject = web_page.SUBJECTS[0]
    text = index_page([entry._replace(subject=subject) for entry in entries]).decode()
    assert text.count("<h2>") == 1
    assert 'href="a%20b.html"' in text
    assert "Second &amp; last" in text
    assert "2 of 3 claims hold" in text


def test_a_stored_result_is_shared_and_reported_without_a_new_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        main(["run", "hadamard-128", "--set", "problem.matrix.d=16", "--set", "claims=[]", "--out", "r.json"])
        == 0
    )
    assert presets.document("r.json")["problem"]["matrix"]["d"] == 16
    assert main(["share", "r.json"]) == 0
    assert "at k = " not in Path("r.html").read_text().split("<script>")[0]
    assert main(["report", "pages", "r.json", "nothing.toml"]) == 1
    assert {file.name for file in Path("pages").iterdir()} == {"index.html", "r.html"}
    monkeypatch.setattr(RunWriter, "keep", lambda *_: pytest.fail("the run is computed anew"))
    assert main(["report", "again", "r.json"]) == 0


def test_a_run_is_exported_as_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ("--set", "problem.matrix.d=16", "--set", "claims=[]")
    assert main(["run", "hadamard-128", *settings, "--export", "page.html"]) == 0
    page = Path("page.html").read_text()
    check_that_it_loads_nothing(page)
    assert page.count("<figure>") == 1


def test_a_second_report_reuses_the_pages_of_shipped_presets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    def write(folder: Path, name: str, *_: object) -> IndexEntry:
        runs.append(name)
        (folder / f"{name}.html").write_text(name)
        return IndexEntry(f"{name}.html", name, "It falls.", "Nets", 1, 1)

    monkeypatch.setattr(pages, "_write_page", write)

    def reported(*names: str, fresh: bool = False) -> list[str]:
        runs.clear()
        done = list(pages.report(tmp_path, names, Console(quiet=True), fresh))
        assert all(page.holds for page in done)
        return list(runs)

    assert reported("rank-64", "hadamard-128") == ["rank-64", "hadamard-128"]
    assert reported("rank-64", "hadamard-128") == []
    assert reported("rank-64", fresh=True) == ["rank-64"]
    (tmp_path / "hadamard-128.html").unlink()
    assert reported("rank-64", "hadamard-128") == ["hadamard-128"]
    monkeypatch.setattr(pages, "_code_digest", lambda: "other code")
    assert reported("rank-64") == ["rank-64"]
    (tmp_path / pages.MADE_PAGES).write_text("broken")
    assert reported("rank-64") == ["rank-64"]


PATH = """
title = "Two stops"

[[stops]]
preset = "hadamard-128"
set = ["problem.matrix.d=16", "claims=[]"]
predict = "Who <waits>?"
line = "Rows are orthogonal."
[stops.break]
set = ["learners.GD.update.lr=0.01"]
claim = { kind = "value", curve = "GD", at = 16, above = 0.1, text = "A smaller rate leaves GD behind." }

[[stops]]
preset = "hadamard-128"
set = ["problem.matrix.d=8", "claims=[]"]
"""


def test_a_path_is_shared_as_one_page_with_all_its_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(PATH)
    assert main(["share", "two.toml"]) == 0
    assert "2 of 2: hadamard-128" in capsys.readouterr().err
    page = Path("two.html").read_text()
    check_that_it_loads_nothing(page)
    assert page.count("<figure>") == 2
    for words in ("Who &lt;waits&gt;?", "Rows are orthogonal.", "A smaller rate leaves GD behind."):
        assert page.count(words) == 1
    assert "hadamard-tui run hadamard-128 --set learners.GD.update.lr=0.01" in page
    assert main(["share", "two.toml", "--set", "problem.matrix.d=8"]) == 2
    assert "to share a changed set-up, give a preset, not a path" in capsys.readouterr().err


def test_a_file_without_a_result_is_refused_on_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, content in enumerate(("", "[]", "{}", '{"experiment": {"given": 3}}', "\xff")):
        Path(f"{number}.json").write_bytes(content.encode("latin-1"))
        assert main(["run", f"{number}.json"]) == 2
        error = capsys.readouterr().err
        assert "it is not a result" in error
        assert error.count("\n") == 1


async def values(page: Page) -> list[str]:
    return await page.evaluate("[...document.querySelectorAll('td.value')].map(cell => cell.textContent)")


async def scrubbed(page: Page, place: int) -> list[str]:
    """The values that the page reads out with its scrubber at a place."""
    await page.evaluate(
        f"{{ const slider = document.querySelector('input'); slider.value = {place};"
        " slider.dispatchEvent(new Event('input')); }"
    )
    return await values(page)


@pytest.mark.slow
async def test_a_page_works_in_a_browser(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert main(["share", "hadamard-128", "-o", str(file)]) == 0
    assert file.stat().st_size < web_page.LARGEST
    async with blank_page(tmp_path) as page:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await page.ask(f"{domain}.enable")
        await page.ask(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=0,
            uploadThroughput=0,
        )
        await page.ask("Page.navigate", url=file.as_uri())
        await page.until_true("document.querySelectorAll('td.value').length > 0")
        at_end = await values(page)
        assert "0.01352" in at_end
        middle = await scrubbed(page, 500)
        assert middle[:3] == ["0.5", "0.5", "0.5"]
        assert await page.evaluate("document.querySelector('output').textContent") == "k = 64"
        width = await page.evaluate(
            "Number(document.querySelector('[id$=-grown] rect').getAttribute('width'))"
        )
        assert 300 < width < 450, "curves are cut at the playhead"
        await _points_at_the_start(page)
        for scheme, ground in (("dark", palette.DARK.ground), ("light", palette.CONTRAST.theory)):
            await page.ask(
                "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
            )
            red, green, blue = (int(ground[place : place + 2], 16) for place in (1, 3, 5))
            colour = await page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert colour == f"rgb({red}, {green}, {blue})"
            paper = await page.evaluate("getComputedStyle(document.querySelector('svg.chart > rect')).fill")
            assert paper == colour
        for across in (360, 1200):
            await page.ask(
                "Emulation.setDeviceMetricsOverride",
                width=across,
                height=740,
                deviceScaleFactor=1,
                mobile=across < 400,
            )
            assert await page.evaluate("document.documentElement.scrollWidth") <= across
        bad = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        assert [event for event in page.events if event["method"] in bad] == []
        urls = [
            event["params"]["request"]["url"]
            for event in page.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        assert all(url == file.as_uri() for url in urls)


async def _points_at_the_start(page: Page) -> None:
    box = await page.evaluate(
        "(() => { const box = document.querySelector('svg.chart .up path').getBoundingClientRect();"
        " scrollTo(0, scrollY + box.top - 300); return [box.left, 300]; })()"
    )
    await page.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + 2, y=box[1] - 20)
    assert (await values(page))[:2] == ["1", "1"]
