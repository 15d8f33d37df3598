/**
 * Pictures and words of what will be sent for an answer, and how deniable it is.
 *
 * Everything here is for show. The reports themselves are drawn by tacit-client.js, in whole numbers.
 */

import { asNumber } from "./tacit-client.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 200;
const FLOOR = 165;

/** A share in percent, with one decimal where it is small. */
export function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
}

/** A number for people: at most three digits that count. */
export function rounded(value) {
  return String(Number(value.toPrecision(3)));
}

/** The same, never below the number itself: a promise is not rounded down. */
export function roundedUp(value) {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return rounded(Math.ceil(value / unit - 1e-9) * unit);
}

/** How sure somebody who saw two answers as equally likely can become of one of them, in percent, rounded up. */
export function surest(epsilon) {
  return `${Math.ceil(100 / (1 + Math.exp(-asNumber(epsilon))))}%`;
}

/** The chances of what is sent, by level: one level (randomized response) or one tick a level (unary encoding). */
export function levelChances({ protocol, levels }, own) {
  const ticks = protocol.kind === "unary-encoding";
  const other = ticks ? 1 - protocol.chance : (1 - protocol.chance) / (levels.length - 1);
  return levels.map((_, i) => (i === own ? (ticks ? 0.5 : protocol.chance) : other));
}

/** Draw the chances of a question with levels into `place`; `own` is the position of the answer. */
export function drawLevels(place, question, own) {
  const chances = levelChances(question, own);
  const bars = element("div", "bars");
  bars.setAttribute("role", "img");
  bars.setAttribute("aria-label", question.levels.map((level, i) => `${level}: ${percent(chances[i])}`).join(", "));
  question.levels.forEach((level, i) => {
    const mark = i === own ? " own" : "";
    const track = element("div", "track");
    const bar = element("div", `bar${mark}`);
    bar.style.width = `${100 * chances[i]}%`;
    track.append(bar);
    bars.append(element("span", `label${mark}`, level), track, element("span", `share${mark}`, percent(chances[i])));
  });
  place.replaceChildren(bars);
}

/** How deniable an answer with levels is, in words. */
export function levelWords(question, own) {
  const chances = levelChances(question, own);
  const [mine, theirs] = [percent(chances[own]), percent(chances[own === 0 ? 1 : 0])];
  const level = `“${question.levels[own]}”`;
  if (question.protocol.kind === "unary-encoding") {
    return (
      `A list of ${question.levels.length} boxes is sent. The box ${level} is ticked with a chance of ${mine}, and ` +
      `every other box, too, may be ticked, with a chance of ${theirs}. So a tick proves nothing, and neither does an ` +
      "empty box."
    );
  }
  return (
    `Of those who answer ${level}, ${mine} send ${level}. But ${theirs} of those with any other answer send it as ` +
    "well, by chance. Whatever is sent, you can say that it was the dice."
  );
}

/** Draw the law of a noisy number into `place`; `rolls` are examples of what could be sent. */
export function drawNumber(place, question, own, unit, rolls = []) {
  const { low, high } = question;
  const scale = (high - low) / asNumber(question.epsilon);
  const [from, to] = [low - 2 * scale, high + 2 * scale];
  const width = place.clientWidth || 320; // so that text has its own size on every screen
  const x = (value) => ((value - from) / (to - from)) * width;
  const path = (centre, closed) => {
    const points = [];
    for (let i = 0; i <= 320; i++) points.push(from + ((to - from) * i) / 320);
    points.push(centre);
    points.sort((a, b) => a - b);
    const y = (point) => FLOOR - 130 * Math.exp(-Math.abs(point - centre) / scale);
    const line = points.map((point) => `${x(point).toFixed(1)} ${y(point).toFixed(1)}`);
    return closed ? `M0 ${FLOOR} L${line.join(" L")} L${width} ${FLOOR} Z` : `M${line.join(" L")}`;
  };
  const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "curve", role: "img" });
  svg.setAttribute(
    "aria-label",
    `What could be sent lies between about ${rounded(own - 3 * scale)} and ${rounded(own + 3 * scale)} ${unit}, ` +
      `most often near ${rounded(own)} ${unit}; the curves of all other answers overlap with it.`,
  );
  svg.append(
    shape("rect", { class: "range", x: x(low), y: 20, width: x(high) - x(low), height: FLOOR - 20 }),
    shape("path", { class: "own", d: path(own, true) }),
    shape("path", { class: "end", d: path(low, false) }),
    shape("path", { class: "end", d: path(high, false) }),
    shape("line", { class: "axis", x1: 0, x2: width, y1: FLOOR, y2: FLOOR }),
  );
  for (const roll of rolls) {
    svg.append(shape("line", { class: "roll", x1: x(roll), x2: x(roll), y1: FLOOR - 9, y2: FLOOR + 9 }));
  }
  for (const [value, anchor] of [
    [low - 1.5 * scale, "middle"],
    [low, "end"],
    [high, "start"],
    [high + 1.5 * scale, "middle"],
  ]) {
    svg.append(shape("text", { x: x(value), y: FLOOR + 26, "text-anchor": anchor }, `${rounded(value)} ${unit}`));
  }
  svg.append(shape("text", { x: x((low + high) / 2), y: 14, "text-anchor": "middle" }, "possible answers"));
  place.replaceChildren(svg);
}

/** How deniable a number is, in words. */
export function numberWords(question, unit) {
  const epsilon = asNumber(question.epsilon);
  const scale = (question.high - question.low) / epsilon;
  return (
    "Your number is blurred before it is sent: half of all reports are more than " +
    `${rounded(scale * Math.LN2)} ${unit} away from the answer. The dashed lines show what somebody at ${rounded(question.low)} and at ` +
    `${rounded(question.high)} ${unit} could send: the same numbers, at most ${roundedUp(Math.exp(epsilon))} ` +
    "times as often as you."
  );
}

export function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

function shape(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}
