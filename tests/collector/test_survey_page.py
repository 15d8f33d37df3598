"""The survey's page in a real browser: a person's way through it, and that nothing but the report leaves it."""

from __future__ import annotations

import json
import math
import re
import shutil
import time

import numpy as np
import pytest

from browser import PLANS, SURVEY, chromium, collecting, needs_chromium
from tacit.collector.form import Form
from tacit.device import parsed_cell

pytestmark = needs_chromium

FORM = Form.load("survey", PLANS)
ANSWERS = {"drove": "yes", "drugs": "once or twice", "weight": "87.53"}
# Keeps every random byte that the page draws, in order.
RECORDER = """
window.drawn = [];
const real = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) => { real(array); window.drawn.push(...array); return array; };
"""


class Recorded:
    """The bytes that the page drew, for the Python client."""

    def __init__(self, drawn):
        self.drawn, self.at = bytes(drawn), 0

    def bytes(self, count):
        self.at += count
        return self.drawn[self.at - count : self.at]


def before_page(browser, script):
    return browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})


def screen(browser, width, height=800):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def wait_for(browser, selector, seconds=60):
    """Until it is there and to be seen."""
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        if any(element.is_displayed() for element in find(browser, selector)):
            return find(browser, selector)[0]
        time.sleep(0.02)
    raise AssertionError(f"{selector} did not appear: {browser.get_log('browser')}")


def answer(browser, answers=ANSWERS):
    """By keyboard, as a person without a mouse does."""
    for name, value in answers.items():
        if name == "weight":
            find(browser, '[data-question="weight"] input')[0].send_keys(value)
        else:
            labels = find(browser, f'[data-question="{name}"] label')
            (label,) = [label for label in labels if label.text == value]
            label.find_element("css selector", "input").send_keys(" ")


def traffic(browser):
    """Every request that the page made: method, address, headers and body, from the browser's own log."""
    found = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            request = message["params"]["request"]
            found.append(
                (request["method"], request["url"], json.dumps(request["headers"]), request.get("postData", ""))
            )
    return found


def stored_in_browser(browser):
    return browser.execute_async_script("""
        const done = arguments[0];
        (async () => JSON.stringify([
          { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, window.name,
          await indexedDB.databases(), await caches.keys(),
        ]))().then(done);
    """)


def check_that_only_the_report_left(browser, url, answers):
    """The log of the network, the storages and the console; returns the body that was posted."""
    requests, kept = traffic(browser), stored_in_browser(browser)
    console = browser.get_log("browser")
    assert console == []
    files = ["", "survey.css", "survey.js", "tacit-client.js", "picture.js", "form.json", "icon.svg"]
    loaded = [address for method, address, *_ in requests if method == "GET"]
    assert sorted(set(loaded)) == sorted(url + name for name in files)
    posted = [(address, body) for method, address, _, body in requests if method != "GET"]
    assert [address for address, _ in posted] == [url + "reports"]
    code = FORM["weight"].local_randomizer.encoder.encode({"weight": np.array([float(answers["weight"])])})[0, 0]
    for secret in (answers["drugs"], answers["weight"], str(code)):
        for request in requests:
            assert not any(secret in part for part in request), "an answer left the page"
        assert secret not in kept, "an answer is kept in the browser"
    return posted[0][1]


def made_in_python(drawn, answers):
    """What the Python client makes of the same answers and the same random bytes, the id included."""
    entropy, reports = Recorded(drawn), {}
    for question in FORM.questions:
        cell = parsed_cell({question.name: answers[question.name]}, question.name, question.plan.schema)
        reports[question.name] = question.local_randomizer.reports({question.name: cell}, entropy)[0].tolist()
    return {"id": entropy.bytes(16).hex(), "reports": reports}


@pytest.mark.parametrize("width", [360, 1100])
def test_from_question_to_stored_report(width, tmp_path):
    """A person's way. What is posted is, byte for byte, what the Python client makes of these random bytes: so there is
    nothing in it but the reports and 16 random bytes. No probability is involved.
    """
    journal = tmp_path / "journal"
    with collecting(journal) as running, chromium() as browser:
        screen(browser, width)
        before_page(browser, RECORDER)
        browser.get(running.url)
        wait_for(browser, "#survey")
        assert browser.execute_script("return window.drawn.length") == 0
        answer(browser)
        assert len([figure for figure in find(browser, "figure") if figure.is_displayed()]) == 3
        for button in find(browser, "button.try"):
            button.click()
        assert all(line.text.startswith("The dice said: ") for line in find(browser, ".rolls"))
        before = browser.execute_script("return window.drawn.length")
        assert before > 100
        find(browser, "#survey button.send")[0].send_keys("\n")
        wait_for(browser, "#sent")
        body = check_that_only_the_report_left(browser, running.url, ANSWERS)
        drawn = browser.execute_script("return window.drawn.slice(arguments[0])", before)
        made = made_in_python(drawn, ANSWERS)
        assert json.loads(body) == made
        assert body == json.dumps(made, separators=(",", ":"))
        (line,) = journal.read_text().splitlines()[1:]
        assert json.loads(line) == made
        inputs = find(browser, "fieldset input")
        assert not any(field.is_selected() for field in inputs)
        assert not any(field.get_attribute("value") for field in inputs if field.get_attribute("type") == "number")
        words = find(browser, "#sent-reports")[0].text
        assert FORM["drugs"].plan.schema.category("drugs").levels[made["reports"]["drugs"][0]] in words
        kept = json.loads(stored_in_browser(browser))[0]
        assert sorted(kept) == ["tacit:allowance", "tacit:answered"]
        assert json.loads(kept["tacit:allowance"]) == {"spent": "3/1", "ceiling": "4/1"}
        (record,) = json.loads(kept["tacit:answered"])
        assert sorted(record) == ["columns", "sent"]

        browser.refresh()
        assert "answered already" in wait_for(browser, "#sent").text
        assert not find(browser, "#survey")[0].is_displayed()


LEAKS = {
    "none": "",
    "storage": 'localStorage.setItem("draft", JSON.stringify(answers));',
    "console": "console.log(answers);",
    "request": "navigator.sendBeacon(`/?${JSON.stringify(answers)}`);",
    "address": "history.replaceState(null, '', `#${answers.weight}`);",
    "report": "return { ...made, id: made.id.slice(5) + answers.weight };",
}


def test_a_page_that_leaks_is_caught(tmp_path):
    """The planted faults: the same checks on a page that lets an answer out, and once on one that does not."""
    page = tmp_path / "page"
    shutil.copytree(SURVEY, page)
    script = (page / "survey.js").read_text()
    line = "const made = submission(form, answers, allowance); // once"
    assert line in script
    leaky = "let made = submission(form, answers, allowance); made = window.leak(answers, made) ?? made;"
    (page / "survey.js").write_text(script.replace(line, leaky))
    with collecting(tmp_path / "journal", page=page) as running, chromium() as browser:
        for name, leak in LEAKS.items():
            added = before_page(browser, f"window.leak = (answers, made) => {{ {leak} }};")
            browser.get(running.url)
            wait_for(browser, "#survey")
            answer(browser)
            find(browser, "#survey button.send")[0].click()
            wait_for(browser, "#pending" if name == "report" else "#sent")
            if name == "none":
                check_that_only_the_report_left(browser, running.url, ANSWERS)
            else:
                with pytest.raises(AssertionError):
                    check_that_only_the_report_left(browser, running.url, ANSWERS)
            browser.execute_script("localStorage.clear()")
            browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
            browser.get("about:blank")
            browser.get_log("performance")
            browser.get_log("browser")


def test_a_report_that_did_not_get_through_is_sent_again_as_it_was(tmp_path):
    """The collector is killed, the page reloaded, the collector started again: one report, rolled once."""
    journal = tmp_path / "journal"
    with chromium() as browser:
        with collecting(journal) as running:
            browser.get(running.url)
            wait_for(browser, "#survey")
            answer(browser)
            running.kill()
            find(browser, "#survey button.send")[0].click()
            wait_for(browser, "#pending")
            kept = json.loads(json.loads(stored_in_browser(browser))[0]["tacit:answered"])[0]["made"]
            find(browser, "#retry")[0].click()
            wait_for(browser, "#pending")
        with collecting(journal, port=running.port) as running:
            browser.refresh()
            wait_for(browser, "#pending")
            find(browser, "#retry")[0].click()
            wait_for(browser, "#sent")
        (line,) = journal.read_text().splitlines()[1:]
        assert json.loads(line) == kept


def test_a_collector_that_refuses_gets_no_second_roll(tmp_path):
    with collecting(tmp_path / "journal") as running, chromium() as browser:
        before_page(
            browser,
            """
            window.posted = [];
            const real = window.fetch;
            window.fetch = async (url, more) => {
              if (more?.method !== "POST") return real(url, more);
              window.posted.push(more.body);
              return new Response("{}", { status: 400 + window.posted.length });
            };
            """,
        )
        browser.get(running.url)
        wait_for(browser, "#survey")
        answer(browser)
        find(browser, "#survey button.send")[0].click()
        wait_for(browser, "#pending")
        for _ in range(3):
            find(browser, "#retry")[0].click()
            wait_for(browser, "#pending")
        browser.execute_script("sessionStorage.posted = JSON.stringify(window.posted)")
        browser.refresh()
        wait_for(browser, "#pending").find_element("css selector", "#retry").click()
        wait_for(browser, "#pending")
        posted = browser.execute_script("return [...JSON.parse(sessionStorage.posted), ...window.posted]")
        assert len(posted) == 5
        assert len(set(posted)) == 1


def test_questions_may_be_skipped_and_another_person_may_follow(tmp_path):
    journal = tmp_path / "journal"
    with collecting(journal) as running, chromium() as browser:
        browser.get(running.url)
        wait_for(browser, "#survey")
        find(browser, "#survey button.send")[0].click()
        assert "at least one" in wait_for(browser, "#notice").text
        answer(browser, {"drove": "no", "weight": "300"})
        find(browser, '[data-question="drugs"] input')[-1].click()
        find(browser, "#survey button.send")[0].click()
        wait_for(browser, "#sent")
        assert "Nothing" in find(browser, "#sent-reports")[0].text
        find(browser, "#another")[0].click()
        wait_for(browser, "#survey")
        answer(browser, {"drugs": "daily"})
        find(browser, "#survey button.send")[0].click()
        wait_for(browser, "#sent")
    lines = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert [list(line["reports"]) for line in lines] == [["drove", "weight"], ["drugs"]]
    assert lines[0]["id"] != lines[1]["id"]


def renamed(tmp_path, columns=("drove", "drugs", "weight"), epsilon="1.0"):
    """The same questions of another survey; a column may have another name, which a dishonest collector may give it."""
    plans = []
    for plan, column in zip(PLANS, columns, strict=True):
        text = re.sub(r"epsilon = [0-9.]+", f"epsilon = {epsilon}", plan.read_text())
        plans.append(tmp_path / plan.name)
        plans[-1].write_text(
            text.replace(f'column = "{plan.stem}"', f'column = "{column}"').replace(
                f"\n{plan.stem} = ", f"\n{column} = "
            )
        )
    return plans


def test_a_collector_that_renames_its_survey_gets_no_second_report(tmp_path):
    """The same address throughout. The old page kept its mark under the name of the data set, and asked again."""
    with chromium() as browser:
        with collecting(tmp_path / "first") as running:
            browser.get(running.url)
            wait_for(browser, "#survey")
            answer(browser)
            find(browser, "#survey button.send")[0].click()
            wait_for(browser, "#sent")
        with collecting(tmp_path / "second", port=running.port, dataset="another name"):
            browser.get(running.url)
            assert "answered already" in wait_for(browser, "#sent").text
        assert len((tmp_path / "second").read_text().splitlines()) == 1


def test_a_device_gives_one_site_no_more_than_its_ceiling(tmp_path):
    """A collector that renames survey and columns gets more only up to the ceiling, and the person sees how much."""
    said = []
    with chromium() as browser:
        port = 0
        for turn in range(3):
            (tmp_path / str(turn)).mkdir()
            plans = renamed(tmp_path / str(turn), tuple(f"{plan.stem}{turn}" for plan in PLANS))
            with collecting(tmp_path / f"journal{turn}", plans=plans, port=port, dataset=f"s{turn}") as running:
                port = running.port
                browser.get(running.url)
                if turn == 2:
                    assert "told this site enough" in wait_for(browser, "#sent").text
                    find(browser, "#another")[0].click()  # somebody else has an allowance of their own
                    assert "so far: epsilon = 0." in given_numbers(browser)
                    continue
                wait_for(browser, "#survey")
                said.append(given_numbers(browser))
                answer(browser)
                find(browser, "#survey button.send")[0].click()
                if turn == 1:
                    assert "more than this device still gives" in wait_for(browser, "#notice").text
                    browser.refresh()
                    wait_for(browser, "#survey")
                    answer(browser, {"drove": "yes"})
                    find(browser, "#survey button.send")[0].click()
                wait_for(browser, "#sent")
    assert ["so far: epsilon = 0." in said[0], "so far: epsilon = 3." in said[1]] == [True, True]
    assert all("Never more in all than 4." in words for words in said)
    assert [len((tmp_path / f"journal{turn}").read_text().splitlines()) for turn in range(3)] == [2, 2, 1]


def given_numbers(browser):
    details = wait_for(browser, "#survey details")
    if details.get_attribute("open") is None:
        details.find_element("css selector", "summary").click()
    return wait_for(browser, "#given-numbers").text


def test_a_person_may_lower_the_ceiling_and_answer_less(tmp_path):
    journal = tmp_path / "journal"
    with collecting(journal) as running, chromium() as browser:
        browser.get(running.url)
        words = wait_for(browser, "#given").text
        assert shares(words) == [math.ceil(100 * math.e**4 / (1 + math.e**4)) / 100]
        for unknown in ("other devices", "other browsers", "private windows", "other addresses", "cleared"):
            assert unknown in words
        given_numbers(browser)
        ceiling = find(browser, "#ceiling")[0]
        for typed, kept in (("50", "4"), ("2", "2")):
            ceiling.send_keys("\ue009a\ue000", typed, "\t")  # Ctrl-A, then over it
            assert ceiling.get_attribute("value") == kept
        answer(browser)
        find(browser, "#survey button.send")[0].click()
        assert "more than this device still gives" in wait_for(browser, "#notice").text
        assert len(journal.read_text().splitlines()) == 1
        browser.refresh()
        wait_for(browser, "#survey")
        answer(browser, {"drove": "yes", "drugs": "daily"})
        find(browser, "#survey button.send")[0].click()
        wait_for(browser, "#sent")
    (line,) = journal.read_text().splitlines()[1:]
    assert list(json.loads(line)["reports"]) == ["drove", "drugs"]


def test_a_form_that_asks_for_far_too_much_is_refused(tmp_path):
    """The collector of tacit refuses to start with it, so the form is changed on its way to the page."""
    with collecting(tmp_path / "journal") as running, chromium() as browser:
        before_page(
            browser,
            """
            const real = window.fetch;
            window.fetch = async (url, more) => {
              const answer = await real(url, more);
              if (!String(url).endsWith("form.json")) return answer;
              const form = await answer.json();
              form.questions[0].plan.budget.epsilon = 1e6;
              form.questions[0].protocol.epsilon = "1000000/1";
              return new Response(JSON.stringify(form));
            };
            """,
        )
        browser.get(running.url)
        assert "can not be shown" in wait_for(browser, "#notice").text
        assert not find(browser, "#survey")[0].is_displayed()


def test_a_form_that_the_page_was_not_made_for_is_refused(tmp_path):
    with collecting(tmp_path / "journal", plans=PLANS[:2]) as running, chromium() as browser:
        browser.get(running.url)
        assert "can not be shown" in wait_for(browser, "#notice").text
        assert not find(browser, "#survey")[0].is_displayed()


def shares(text):
    return [float(share) / 100 for share in re.findall(r"([0-9.]+)%", text)]


def test_the_page_is_usable_and_says_true_numbers(tmp_path):
    """At phone widths nothing is cut off; every control has a name and room for a finger; the numbers are the
    distributions'.

    The question with five answers is asked by unary encoding here, so that its picture is seen as well.
    """
    plans = [tmp_path / plan.name for plan in PLANS]
    for plan, copy in zip(PLANS, plans, strict=True):
        copy.write_text(plan.read_text())
    plans[1].write_text(PLANS[1].read_text() + 'protocol = "unary-encoding"\n')
    with collecting(tmp_path / "journal", plans=plans) as running, chromium() as browser:
        for width in (320, 360, 1100):
            screen(browser, width)
            browser.get(running.url)
            wait_for(browser, "#survey")
            answer(browser)
            for button in find(browser, "button.try"):
                button.click()
            for summary in find(browser, "#survey summary"):
                summary.click()
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            for target in find(browser, "label, button, input[type=number]"):
                assert not target.is_displayed() or target.size["height"] >= 44, target.text
        named = {"radio", "spinbutton", "button", "group", "image", "img", "form", "region"}
        nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        seen = [
            (node["role"]["value"], node["name"]["value"]) for node in nodes if not node["ignored"] and "name" in node
        ]
        assert {"radio", "spinbutton", "button", "group"} <= {role for role, _ in seen}
        assert [role for role, name in seen if role in named and not name.strip()] == []
        assert find(browser, "html")[0].get_attribute("lang") == "en"
        e = math.e
        captions = [caption.text for caption in find(browser, "figcaption")]
        assert shares(captions[0]) == [round(e / (1 + e), 2), round(1 / (1 + e), 2)]
        assert shares(captions[1]) == [0.5, round(1 / (1 + e), 2)]
        assert f"more than {120 * math.log(2):.3g} kg" in captions[2]
        assert f"at most {e:.3g} times" in captions[2]
        sure = [math.ceil(100 * share) / 100 for share in (e / (1 + e), e**3 / (1 + e**3))]
        assert shares(find(browser, "#promise")[0].text) == sure
        numbers = find(browser, "#promise-numbers")[0].text
        assert "in all epsilon = 3." in numbers
        assert f"more than {e**3:.3g} times" in numbers
        bars = [bar.size["width"] for bar in find(browser, '[data-question="drove"] .bar')]
        assert bars[1] / bars[0] == pytest.approx(e, rel=0.05)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_in_light_and_dark():
    """WCAG 2.2, 1.4.3: a contrast of 4.5 for text; 1.4.11: of 3 for the bars against their track."""
    themes = re.findall(r":root \{(.*?)\}", (SURVEY / "survey.css").read_text(), re.S)
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", theme))
        for text in ("ink", "quiet", "accent"):
            for ground in ("paper", "card"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
        assert contrast(colours["own"], colours["range"]) >= 3
