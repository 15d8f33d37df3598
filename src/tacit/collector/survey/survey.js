/**
 * The page: build the questions from the form, show what would be sent, randomise once, send only that.
 *
 * The browser's storage, one for each origin, holds the randomised report until it is stored by the collector, so that
 * a reload sends the same one again, and from then on the mark that these questions were answered, whatever the survey
 * is called. It also holds how much this device has given to this origin in all, of which there is a most. It never
 * holds an answer.
 */

import { asNumber, costOf, openAllowance, readForm, send, submission } from "./tacit-client.js";
import { drawLevels, drawNumber, element, levelWords, numberWords, rounded, roundedUp, surest } from "./picture.js";

const ROLLS = 20;
const MOST = 4; // epsilon that a device gives to one site in all: e^4 is 55
const ANSWERED = "tacit:answered";
const $ = (id) => document.getElementById(id);
let kept = []; // what `remember` was told, where the browser has no storage

const allowance = openAllowance(storage(), MOST);
const form = await loadForm();
const fields = form ? form.questions.map(buildField) : [];
if (form) begin();

async function loadForm() {
  try {
    const response = await fetch("form.json", { cache: "no-store", credentials: "omit" });
    const found = readForm(await response.json());
    const asked = [...document.querySelectorAll("[data-question]")].map((place) => place.dataset.question);
    if (
      found.questions
        .map(({ name }) => name)
        .sort()
        .join() !== asked.sort().join()
    )
      throw new Error();
    return found;
  } catch {
    show("notice");
    $("notice").textContent =
      "This survey can not be shown: what the collector asks is not what this page was made for.";
    return null;
  }
}

// --------------------------------------------------------------------------------------------------------------------
// Questions

function buildField(question) {
  const place = document.querySelector(`[data-question="${question.name}"]`);
  const figure = element("figure");
  const [title, picture, caption] = [element("h3"), element("div"), element("figcaption")];
  const tries = element("button", "try", `Roll the dice ${ROLLS} times to see (nothing is sent)`);
  const rolls = element("p", "rolls small");
  tries.type = "button";
  caption.setAttribute("aria-live", "polite");
  rolls.setAttribute("aria-live", "polite");
  figure.append(title, picture, caption, tries, rolls);
  figure.hidden = true;
  const unit = place.dataset.unit ?? "";
  const field = question.levels ? levelInputs(question, place) : numberInput(question, place, unit);
  place.append(figure);

  const update = (examples = []) => {
    const answer = field.answer();
    figure.hidden = answer === undefined;
    rolls.textContent = "";
    if (answer === undefined) return;
    title.textContent = "What could be sent for your answer, and how often";
    if (question.levels) {
      const own = question.levels.indexOf(answer);
      drawLevels(picture, question, own);
      caption.textContent = levelWords(question, own);
    } else {
      drawNumber(picture, question, Math.min(Math.max(answer, question.low), question.high), unit, examples);
      caption.textContent = numberWords(question, unit);
    }
  };
  place.addEventListener("input", () => update());
  tries.addEventListener("click", () => {
    // Independent of what will be sent: these draws are thrown away.
    const drawn = Array.from({ length: ROLLS }, () => question.randomize(field.answer()));
    update(question.levels ? [] : drawn.map((report) => question.decode(report)));
    rolls.textContent = `The dice said: ${drawn.map((report) => inWords(question, report, unit)).join(", ")}.`;
  });
  return { question, unit, clear: () => (field.clear(), update()), answer: field.answer };
}

function levelInputs(question, place) {
  const box = element("div", "answers");
  const inputs = [...question.levels, undefined].map((level) => {
    const label = element("label", level === undefined ? "choice skip" : "choice");
    const input = element("input");
    input.type = "radio";
    input.name = question.name;
    input.autocomplete = "off";
    label.append(input, element("span", "", level === undefined ? "I would rather not say (nothing is sent)" : level));
    box.append(label);
    return input;
  });
  place.append(box);
  return {
    answer: () => question.levels[inputs.findIndex((input) => input.checked)],
    clear: () => inputs.forEach((input) => (input.checked = false)),
  };
}

function numberInput(question, place, unit) {
  const box = element("div", "number");
  const input = element("input");
  const hint = element(
    "span",
    "small",
    `${unit}, from ${rounded(question.low)} to ${rounded(question.high)}; what is outside counts as the nearer end. ` +
      "Leave it empty if you would rather not say; then nothing is sent.",
  );
  Object.assign(input, { type: "number", inputMode: "decimal", step: "any", autocomplete: "off" });
  input.setAttribute("aria-label", `${place.querySelector("legend").textContent.trim()} In ${unit}.`);
  hint.id = `${question.name}-hint`;
  input.setAttribute("aria-describedby", hint.id);
  box.append(input, hint);
  place.append(box);
  return {
    answer: () => (Number.isFinite(input.valueAsNumber) ? input.valueAsNumber : undefined),
    clear: () => (input.value = ""),
  };
}

/** What a report says, for people. */
function inWords(question, report, unit) {
  if (!question.levels) return `${rounded(question.decode(report))} ${unit}`.trim();
  if (question.protocol.kind !== "unary-encoding") return question.levels[report[0]];
  const ticked = question.levels.filter((_, i) => report[i] === 1);
  return ticked.length ? ticked.join(" + ") : "no box";
}

// --------------------------------------------------------------------------------------------------------------------
// Sending

function begin() {
  const sure = form.questions.map((question) => surest(question.epsilon));
  const each = new Set(sure).size === 1 ? sure[0] : `${sure.slice(0, -1).join(", ")} or ${sure.at(-1)}`;
  $("promise").textContent =
    "Suppose somebody sees what this page sends and, until then, thought two answers of yours equally likely. " +
    `Afterwards they can be at most ${each} sure of one of them` +
    (sure.length > 1
      ? `, from one question. All ${sure.length} together can make nobody more than ${surest(form.epsilon)} ` +
        "sure which of two people with entirely different answers you are."
      : ".") +
    " That holds for us, too, and whatever else they know.";
  $("promise-numbers").textContent =
    "Local differential privacy with " +
    form.questions.map(({ name, epsilon }) => `epsilon = ${roundedUp(asNumber(epsilon))} (${name})`).join(", ") +
    `; in all epsilon = ${roundedUp(asNumber(form.epsilon))}. Nothing that is sent is more than ` +
    `${roundedUp(Math.exp(asNumber(form.epsilon)))} times as likely from one person as from any other. That you ` +
    "answered, and which questions, is not hidden. Answering again would spend as much again.";
  $("survey").addEventListener("submit", (event) => {
    event.preventDefault();
    answered();
  });
  $("retry").addEventListener("click", () => deliver(remembered().made));
  $("another").addEventListener("click", () => {
    remember(null);
    allowance.startAnew();
    given();
    stage("survey");
  });
  $("ceiling").max = MOST;
  $("ceiling").value = asNumber(allowance.ceiling);
  $("ceiling").addEventListener("change", () => {
    if (Number.isFinite($("ceiling").valueAsNumber)) allowance.lower($("ceiling").valueAsNumber);
    $("ceiling").value = asNumber(allowance.ceiling);
    given();
  });
  $("ceiling-hint").textContent =
    `is the most that this device gives to this site, in all. You can lower it; it is never more than ${MOST}.`;
  given();
  if (!resumed() && !exhausted()) stage("survey");
}

/** What this site has got from this device and may still get, in plain words and in numbers. */
function given() {
  const [spent, ceiling] = [asNumber(allowance.spent), asNumber(allowance.ceiling)];
  const before = spent > 0 ? `You have answered here before, which counts. ` : "";
  const forgets = allowance.remembers ? "" : "This browser keeps nothing for this page, so it cannot count. ";
  $("given").textContent =
    `${before}${forgets}However many surveys this site shows you, this device never sends it more than would make somebody ` +
    `${surest(allowance.ceiling)} sure. It does not know what you sent from other devices, other browsers or private ` +
    "windows, to other addresses of the same people, or before this browser's memory of the site was cleared.";
  $("given-numbers").textContent =
    `Sent to this site so far: epsilon = ${spent > 0 ? roundedUp(spent) : 0}. This survey: at most ` +
    `${roundedUp(asNumber(form.epsilon))}. Never more in all than ${rounded(ceiling)}.`;
}

/** Whether not even the cheapest question may be asked any more. */
function exhausted() {
  if (form.questions.some(({ epsilon }) => allowance.affords(epsilon))) return false;
  $("sent-title").textContent = "This device has told this site enough.";
  $("sent-words").textContent =
    "What it has sent to this site so far, over all its surveys, is as much as it gives. So this survey is not asked.";
  stage("sent");
  return true;
}

/** Whether this device has rolled before, also in another tab; then its report is shown as sent or as waiting. */
function resumed() {
  const before = remembered();
  if (before?.sent) {
    $("sent-title").textContent = "This device has answered already.";
    $("sent-words").textContent = "Answering again would tell more about you, so this page does not ask twice.";
    stage("sent");
  } else if (before?.made) stage("pending");
  return Boolean(before);
}

function answered() {
  if (resumed()) return;
  const answers = {};
  for (const { question, answer } of fields) if (answer() !== undefined) answers[question.name] = answer();
  if (Object.keys(answers).length === 0) {
    show("notice");
    $("notice").textContent = "Please answer at least one question, or just close the page.";
    return;
  }
  if (!allowance.affords(costOf(form, Object.keys(answers)))) {
    show("notice");
    $("notice").textContent =
      "That is more than this device still gives to this site. Leave some questions out, or just close the page.";
    return;
  }
  $("notice").hidden = true;
  const made = submission(form, answers, allowance); // once
  remember({ made });
  for (const field of fields) field.clear();
  deliver(made);
}

async function deliver(made) {
  for (const button of document.querySelectorAll("button.send")) button.disabled = true;
  try {
    await send("reports", made);
    remember({ sent: true });
    given();
    shown(made);
  } catch (error) {
    // Also a refused report is kept: a collector that refuses in order to get a second roll must not get one.
    $("pending-words").textContent = error.retry
      ? "The dice are rolled, but the report did not get through."
      : "The dice are rolled, but the collector did not take the report.";
    stage("pending");
  } finally {
    for (const button of document.querySelectorAll("button.send")) button.disabled = false;
  }
}

function shown(made) {
  $("sent-title").textContent = "Sent. Thank you.";
  $("sent-words").textContent = "This is what the dice made of your answers, and all that was sent:";
  $("sent-reports").replaceChildren(
    ...fields.flatMap(({ question, unit }) => {
      const legend = document.querySelector(`[data-question="${question.name}"] legend`).textContent.trim();
      const report = made.reports[question.name];
      const words = report ? `The dice said: ${inWords(question, report, unit)}` : "Nothing";
      return [element("dt", "", legend), element("dd", "", words)];
    }),
  );
  $("sent-raw").hidden = false;
  $("sent-raw").querySelector("pre").textContent = JSON.stringify(made, null, 1);
  stage("sent");
}

function stage(name) {
  for (const id of ["survey", "sent", "pending"]) $(id).hidden = id !== name;
  if (name !== "survey") $(name).focus();
}

function show(id) {
  $(id).hidden = false;
}

// The memory of this device; where a browser has none, the page does without. What was answered is known by its
// columns: a survey under another name that asks for one of them again is no new one.

function storage() {
  try {
    return localStorage;
  } catch {
    const none = () => {
      throw new Error("no storage");
    };
    return { getItem: none, setItem: none };
  }
}

function records() {
  try {
    const found = JSON.parse(storage().getItem(ANSWERED));
    return Array.isArray(found) ? found.filter((one) => Array.isArray(one?.columns)) : kept;
  } catch {
    return kept;
  }
}

function remember(state) {
  const others = records().filter((record) => !overlaps(record));
  kept = state === null ? others : [...others, { columns: form.questions.map(({ column }) => column), ...state }];
  try {
    storage().setItem(ANSWERED, JSON.stringify(kept));
  } catch {} // no storage, or none left
}

function remembered() {
  return records().find(overlaps);
}

function overlaps({ columns }) {
  return form.questions.some(({ column }) => columns.includes(column));
}
