"""The report page in a real browser: headless Chromium, from the disk."""

from __future__ import annotations

import json

import pytest

import tacit
from browser import chromium, needs_chromium

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a simulated release, with its truth and everything else on it. Seed 3."""
    plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(0.1))
    simulation = tacit.simulate(plan, n=500, seed=3)
    folder = tmp_path_factory.mktemp("page")
    posterior = tacit.infer(simulation.release)
    return tacit.write_report(posterior, folder / "page.html", simulation=simulation)


@pytest.fixture(scope="module")
def driver():
    with chromium() as started:
        yield started


def open_page(driver, page, *, width=1100, dark=False, script=True):
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    driver.get_log("performance")
    driver.get_log("browser")
    driver.get(page.as_uri())


def requests(driver):
    """The address of everything that the page asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_it_loads_without_a_word_and_asks_for_nothing(driver, page, width, dark):
    open_page(driver, page, width=width, dark=dark)
    assert driver.get_log("browser") == []
    assert {url for url in requests(driver) if not url.startswith("data:")} == {page.as_uri()}
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    ground, ink = driver.execute_script(
        "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    )
    assert (ground == "rgb(18, 24, 31)") is dark
    assert ground != ink


def test_a_request_would_be_seen_and_refused(driver, page, tmp_path):
    """The planted fault: a page with a picture from elsewhere. The policy of the page stops it, the console says so."""
    other = tmp_path / "other.html"
    other.write_text(page.read_text().replace("<main", '<img src="http://127.0.0.1:9/x.png"><main', 1))
    open_page(driver, other)
    assert any("Content Security Policy" in entry["message"] for entry in driver.get_log("browser"))


MARKS = """
return [...document.querySelectorAll("svg[role=img]")].map((svg) => {
  const box = svg.getBoundingClientRect();
  const marks = [...svg.querySelectorAll("polyline, polygon, rect, line:not(.cursor)")].filter((mark) => {
    const size = mark.getBoundingClientRect();
    return size.width + size.height > 1 && getComputedStyle(mark).visibility === "visible";
  });
  return [svg.getAttribute("aria-label"), box.width, box.height, marks.length];
});
"""


@pytest.mark.parametrize("width", [360, 1100])
def test_every_plot_has_marks(driver, page, width):
    open_page(driver, page, width=width)
    found = driver.execute_script(MARKS)
    assert len(found) == 6  # the answer, its share, one check, its density, that of the count (folded), the promise
    folded = "Posterior of count"
    assert sum(label.startswith(folded) for label, *_ in found) == 1
    found = [one for one in found if not one[0].startswith(folded)]
    for label, across, down, marks in found:
        assert label
        assert across > 60, label
        assert down > 10, label
        assert marks >= 1, label


def test_plots_do_not_need_the_script(driver, page):
    open_page(driver, page, script=False)
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    found = driver.execute_script(MARKS)
    assert len(found) == 6
    assert all(marks >= 1 for label, *_, marks in found if not label.startswith("Posterior of count"))


def test_plots_read_out_by_pointer_and_by_keys(driver, page):
    from selenium.webdriver import ActionChains, Keys

    open_page(driver, page)
    (plot, read) = driver.execute_script(
        "const p = document.querySelector('#promise ~ .pair svg[data-read]');"
        "return [p, p.parentElement.querySelector('.read')]"
    )
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    before = read.text
    ActionChains(driver).move_to_element(plot).perform()
    assert "false alarms: at least" in read.text
    driver.execute_script("arguments[0].focus()", plot)
    ActionChains(driver).send_keys(Keys.ARROW_RIGHT).perform()
    first = read.text
    ActionChains(driver).send_keys(Keys.ARROW_RIGHT).perform()
    assert read.text != first
    driver.execute_script("arguments[0].blur()", plot)
    assert read.text == before


def test_everything_can_be_reached_by_keys(driver, page):
    """Links, plots, wide tables and folded parts take the focus; each has a name."""
    open_page(driver, page)
    found = driver.execute_script(
        "return [...document.querySelectorAll('a, summary, [tabindex]')].map((e) => [e.tagName, e.tabIndex,"
        " e.getAttribute('aria-label') || e.textContent.trim()])"
    )
    assert {tag.lower() for tag, *_ in found} == {"a", "summary", "svg", "div", "pre"}
    assert all(index == 0 and name for _, index, name in found)


def test_it_prints_in_the_colours_of_paper(driver, page):
    open_page(driver, page, dark=True)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(printed) > 10_000


FIRST = """
const inside = (e) => { const b = e.getBoundingClientRect(); return [b.top, b.bottom, b.left, b.right]; };
return {
  title: inside(document.querySelector('h1')), sentence: inside(document.querySelector('.answer p')),
  promise: inside([...document.querySelectorAll('.box')].find((b) => b.textContent.includes('The promise'))),
  strip: inside(document.querySelector('.answer .strip svg')),
  warning: inside([...document.querySelectorAll('.box.warn')][0]), cut: document.documentElement.scrollWidth,
};
"""


@pytest.mark.parametrize("width", [400, 1100, 1400])
def test_the_first_screen_holds_the_answer_and_the_promise(driver, page, width):
    """Title, sentence, its picture, promise and warnings, in that order, above 900 pixels, and nothing cut."""
    open_page(driver, page, width=width)
    found = driver.execute_script(FIRST)
    assert found.pop("cut") <= width
    order = ["title", "sentence", "promise", "warning"]
    tops = [found[name][0] for name in order]
    assert tops == sorted(tops)
    for top, bottom, left, right in found.values():
        assert 0 <= top < bottom <= 900
        assert 0 <= left < right <= width
    beside = abs(found["strip"][0] - found["sentence"][0]) < 60 and found["strip"][2] >= found["sentence"][3]
    assert beside is (width > 736), "the strip stands beside its sentence, or beneath it on a phone"


@pytest.mark.parametrize("width", [400, 1100, 1400])
def test_a_share_stands_on_a_scale_from_0_to_100_percent(driver, page, width):
    """The natural picture of a share: its ticks are percentages, and none of them sticks out of the page."""
    open_page(driver, page, width=width)
    ticks = driver.execute_script(
        "return [...document.querySelectorAll('.answer .ticks span')].map((one) => "
        "[one.textContent, one.getBoundingClientRect().left, one.getBoundingClientRect().right])"
    )
    assert [text for text, _, _ in ticks] == ["0%", "50%", "100%"]
    assert all(0 <= left < right <= width for _, left, right in ticks)


def test_it_prints_with_a_last_page_for_the_officer(driver, page):
    """Hidden on a screen. On paper it begins a page: one page less without it, which is the planted fault."""
    import base64
    import re

    open_page(driver, page)
    shown = "return getComputedStyle(document.querySelector('.officer')).display"
    assert driver.execute_script(shown) == "none"

    def pages():
        printed = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
        assert re.search(rb"/MediaBox \[0 0 59[45]\S* 84[12]", printed), "A4"
        return len(re.findall(rb"/Type /Page\b", printed))

    whole = pages()
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert driver.execute_script(shown) == "block"
    text = driver.execute_script("return document.querySelector('.officer').innerText")
    for said in (
        "Promise",
        "Price",
        "Assumptions",
        "Ledger receipt",
        "Data-protection officer",
        "Date",
        "epsilon = 0.1",
    ):
        assert said in text, said
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    driver.execute_script("document.querySelector('.officer').remove()")
    assert pages() == whole - 1
