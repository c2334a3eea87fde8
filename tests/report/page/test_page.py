"""The page as a person uses it: in a browser, by pointer and by keyboard, wide and narrow, light and dark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest
from opened import append_events, ready
from playwright.sync_api import Browser, Page, expect

from autocomp.report.page import write_page
from autocomp.search import RunFolder
from autocomp.search.log.journal import read_events

pytestmark = pytest.mark.browser

MANY = 5000


def ids_in_sight(page: Page) -> list[int]:
    return [int(row.get_attribute("data-id") or "") for row in page.locator(".row").all()]


def painted(page: Page, selector: str) -> int:
    """Pixels of a canvas that are not transparent."""
    return int(
        page.evaluate(
            """selector => { const canvas = document.querySelector(selector);
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return data.filter((value, index) => index % 4 === 3 && value > 0).length; }""",
            selector,
        )
    )


def test_the_page_opens_on_the_best_candidate(page: Page, written: str) -> None:
    ready(page, written)
    expect(page.locator("h1")).to_contain_text("tiny_gemm")
    expect(page.locator("#heading")).to_contain_text("best")
    expect(page.locator(".row[aria-selected=true] .dot.best")).to_be_visible()
    for chart in ("#trajectory", "#roofline"):
        assert painted(page, f"{chart} canvas") > 1000


def test_a_click_on_a_row_shows_that_candidate(page: Page, written: str) -> None:
    ready(page, written)
    page.locator(".row[data-id='0']").click()
    expect(page.locator("#heading")).to_contain_text("#0 naive")
    expect(page.locator("#panel")).to_contain_text("starting kernel")
    assert page.url.endswith("#0/plan")


def test_each_tab_has_its_view(page: Page, written: str) -> None:
    ready(page, written)
    for tab, content in {
        "Changes": ".code .add",
        "Source": ".code .cost",
        "Resources": ".bars .bar",
        "Profile": ".critical li",
        "Timeline": "canvas.timeline",
        "Compare": ".beside .add",
        "Exchanges": ".note",
        "Plan": ".stages",
    }.items():
        page.get_by_role("tab", name=tab, exact=True).click()
        expect(page.locator(f"#panel {content}").first).to_be_visible()


def test_a_point_of_a_chart_can_be_picked(page: Page, written: str) -> None:
    ready(page, written)
    page.locator(".row[data-id='0']").click()
    page.locator("#trajectory").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#heading")).not_to_contain_text("#0 ")


def test_the_keyboard_alone_is_enough(page: Page, written: str) -> None:
    ready(page, written)
    page.locator("#candidates").focus()
    page.keyboard.press("Home")
    expect(page.locator("#heading")).to_contain_text("#0 naive")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#heading")).not_to_contain_text("#0 ")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#heading")).to_contain_text("#0 naive")
    page.keyboard.press("c")
    page.keyboard.press("b")
    page.keyboard.press("7")
    expect(page.locator("#panel select")).to_have_value("0")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()


def test_search_and_outcome_narrow_the_list(page: Page, written: str) -> None:
    ready(page, written)
    page.locator("#search").fill("#0")
    expect(page.locator("#count")).to_contain_text("1 of")
    page.locator("#search").fill("")
    page.locator("#order").select_option("id")
    assert ids_in_sight(page)[:2] == [0, 1]


def test_a_timeline_zooms_and_leads_to_the_source(page: Page, written: str) -> None:
    ready(page, written + "#0/timeline")
    canvas = page.locator("canvas.timeline")
    said = page.locator(".timeline-tools .note")
    whole = said.inner_text()
    canvas.focus()
    page.keyboard.press("+")
    expect(said).not_to_have_text(whole)
    page.keyboard.press("0")
    expect(said).to_have_text(whole)
    assert painted(page, "canvas.timeline") > 1000
    box = canvas.bounding_box()
    assert box is not None
    for across in range(10, int(box["width"]), 12):  # wherever the first command lies
        canvas.click(position={"x": across, "y": 44})
        if page.locator(".inspect button").count():
            break
    page.locator(".inspect button").click()
    expect(page.locator(".code .target")).to_be_visible()


def test_of_the_critical_path_what_takes_least_is_folded(page: Page, written: str) -> None:
    ready(page, written + "#0/profile")
    folded = page.locator("#panel details")
    expect(folded.locator("summary")).to_contain_text("more segments take")
    expect(folded.locator("li").first).not_to_be_visible()
    folded.locator("summary").click()
    expect(folded.locator("li").first).to_be_visible()


def test_a_segment_of_the_critical_path_leads_to_its_line(page: Page, written: str) -> None:
    ready(page, written + "#0/profile")
    assert painted(page, ".area canvas") > 1000
    button = page.locator(".critical button").first
    line = button.inner_text().removeprefix("line ")
    button.click()
    expect(page.locator(".code .target")).to_have_attribute("data-line", line)


def test_a_candidate_without_a_timeline_says_how_to_get_one(page: Page, searched: RunFolder, tmp_path: Path) -> None:
    write_page(searched, tmp_path / "report.html", 0)
    ready(page, (tmp_path / "report.html").as_uri() + "#0/timeline")
    expect(page.locator("#panel")).to_contain_text("autocomp report RUN --timeline 0")


def test_a_run_before_its_first_evaluation_says_so(page: Page, run_copy: RunFolder, tmp_path: Path) -> None:
    run_copy.events.unlink()
    write_page(run_copy, tmp_path / "report.html")
    ready(page, (tmp_path / "report.html").as_uri())
    expect(page.locator("#panel")).to_contain_text("no candidate yet")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("view", ["plan", "changes", "source", "resources", "profile", "timeline", "compare/0"])
def test_nothing_is_wider_than_the_window(page: Page, written: str, width: int, view: str) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    ready(page, written)
    page.evaluate("view => { location.hash = location.hash.split('/')[0] + '/' + view }", view)
    tab = page.locator("#tabs [aria-selected=true]")
    expect(tab).to_have_attribute("data-tab", view.split("/")[0])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    place = tab.bounding_box()
    assert place is not None
    assert 0 <= place["x"] <= width - place["width"]


def test_light_and_dark_follow_the_system_and_the_button(browser: Browser, written: str) -> None:
    context = browser.new_context(color_scheme="dark")
    page = ready(context.new_page(), written)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="light and dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", ["plan", "changes", "source", "resources", "profile", "timeline", "compare/0"])
def test_axe_finds_no_barrier(browser: Browser, written: str, theme: Literal["light", "dark"], view: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=theme, viewport={"width": 1440, "height": 900})
    page = ready(context.new_page(), written)
    page.evaluate("view => { location.hash = location.hash.split('/')[0] + '/' + view }", view)
    page.wait_for_selector(f"#tab-{view.split('/')[0]}[aria-selected=true]")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    context.close()


def test_a_kernel_is_copied_and_downloaded(browser: Browser, written: str, searched: RunFolder, tmp_path: Path) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = ready(context.new_page(), written)
    page.get_by_role("tab", name="Source", exact=True).click()
    page.get_by_role("button", name="Copy").click()
    expect(page.locator(".kernel-tools [role=status]")).to_have_text("copied")
    best = searched.best_kernel.read_text()
    assert page.evaluate("navigator.clipboard.readText()") == best
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "kernel.c")
    assert download.value.suggested_filename.endswith(".c")
    assert (tmp_path / "kernel.c").read_text() == best
    context.close()


def test_the_page_says_what_decides_the_result(page: Page, written: str) -> None:
    ready(page, written)
    page.locator("#about summary").click()
    for text in ("operation: gemm", "DIM = 4", "seed = 0", "autocomp = "):
        expect(page.locator("#about")).to_contain_text(text)


def test_legends_are_in_view_without_scrolling(browser: Browser, written: str) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = ready(context.new_page(), written)
    for legend in page.locator(".overview .legend").all():
        place = legend.bounding_box()
        assert place is not None
        assert place["y"] + place["height"] <= 900
    context.close()


def test_a_cause_has_one_colour_in_every_view_and_no_other_cause_has_it(page: Page, written: str) -> None:
    colours: dict[str, set[str]] = {}
    ready(page, written)
    for number in (0, 1):
        page.evaluate("number => { location.hash = `#${number}/resources` }", number)
        page.wait_for_selector(f"#candidate-{number}[aria-selected=true]")
        for entry in page.locator("#panel > div > .legend span").all():
            colours.setdefault(entry.inner_text(), set()).add(entry.evaluate("node => node.style.cssText"))
    tints = [tint for found in colours.values() for tint in found]
    assert len(colours) > 3
    assert len(tints) == len(set(tints)) == len(colours)


def test_paper_shows_the_candidate_and_no_controls(page: Page, written: str) -> None:
    ready(page, written)
    page.emulate_media(media="print")
    expect(page.locator("#panel")).to_be_visible()
    expect(page.locator("#trajectory")).to_be_visible()
    for control in (".list-pane", "#tabs", ".actions"):
        expect(page.locator(control)).to_be_hidden()


def test_nothing_is_fetched(page: Page, written: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    ready(page, written)
    assert [re.sub(r"#.*", "", url) for url in asked if not url.startswith("data:")] == [written]


def test_of_thousands_of_candidates_only_those_in_sight_are_elements(
    page: Page, run_copy: RunFolder, tmp_path: Path
) -> None:
    events, _ = read_events(run_copy.events)
    last = [event for event in events if event["kind"] == "candidate" and event["value"]][-1]
    more = [{**last, "key": f"candidate/{n}", "id": n, "parent": 0} for n in range(100, 100 + MANY)]
    append_events(run_copy, more)
    write_page(run_copy, tmp_path / "report.html", 0)
    ready(page, (tmp_path / "report.html").as_uri())
    page.locator("#candidates").focus()
    page.keyboard.press("End")
    expect(page.locator(".row[aria-selected=true]")).to_be_visible()
    assert page.locator(".row").count() < 100
    expect(page.locator("#count")).to_contain_text("5,0")
