/**
 * One person's side of a survey under local differential privacy, in a browser or in Node.
 *
 * `readForm` takes the public form of a survey and refuses whatever it does not understand. `submission` turns a
 * person's answers into randomised reports, once. `send` posts them. The answers themselves go nowhere.
 *
 * The draws are comparisons of whole numbers (BigInt) with bytes of `crypto.getRandomValues`: no floating-point number
 * decides a report, so the published probabilities hold exactly. Byte for byte they are the draws of the Python
 * client: from the same random bytes both make the same report. (Of several entries with noise, Python draws some
 * together and this client one after the other.)
 *
 * No message of this file ever quotes an answer.
 */

const FORMAT = 1;
const LARGEST_EPSILON = 1_000_000n;
const MOST_ASKED = Object.freeze({ numerator: 10n, denominator: 1n }); // of one form: e^10 is 22,026
const LARGEST_SCALE = 1n << 120n;
const LARGEST_INPUT = 1n << 62n;
// What is not shown as itself: ends of lines, changes of direction, letters of no width, all spaces but the plain one.
const UNSHOWN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\u{1d159}\u{e0100}-\u{e01ef}]/u;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const ALLOWANCE = "tacit:allowance";
const ZERO = Object.freeze({ numerator: 0n, denominator: 1n });
const SPACES_AROUND = /^[ \t\n\r\v\f]+|[ \t\n\r\v\f]+$/g;
const NUMBER = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** What was read is not a form that this client understands. */
export class FormError extends Error {
  name = "FormError";
}

/** A submission would go past what this device gives to this origin. */
export class CeilingError extends Error {
  name = "CeilingError";
}

/** A submission was not stored; `retry` says whether the very same one should be sent again. */
export class SendError extends Error {
  name = "SendError";
  constructor(message, retry) {
    super(message);
    this.retry = retry;
  }
}

// --------------------------------------------------------------------------------------------------------------------
// Random whole numbers

function randomBytes(count) {
  return globalThis.crypto.getRandomValues(new Uint8Array(count));
}

function fair() {
  return randomBytes(1)[0] >= 128;
}

/** A uniform whole number of at least `bits` random low bits. */
function randomWord(bits) {
  const width = [8, 16, 32, 64].find((size) => bits <= size);
  const bytes = randomBytes(width === undefined ? 8 * Math.ceil(bits / 64) : width / 8);
  let value = 0n;
  for (let start = 0; start < bytes.length; start += 8) {
    let word = 0n;
    for (let i = Math.min(start + 8, bytes.length) - 1; i >= start; i--) word = (word << 8n) | BigInt(bytes[i]);
    value = (value << 64n) | word;
  }
  return value;
}

function bitLength(value) {
  return value === 0n ? 0 : value.toString(2).length;
}

/** Uniform on 0, ..., bound - 1: masked bits, drawn again while they are too large. */
function uniformBelow(bound) {
  const bits = bitLength(bound - 1n);
  const mask = (1n << BigInt(bits)) - 1n;
  for (;;) {
    const value = randomWord(bits) & mask;
    if (value < bound) return value;
  }
}

function oneIn(count) {
  if (count === 1) return true;
  return count === 2 ? fair() : uniformBelow(BigInt(count)) === 0n;
}

/**
 * Heads with probability exp(-g), from a coin of probability g in [0, 1].
 *
 * Flip coins of probability g/1, g/2, g/3, ... until the first tails, at the K-th; heads if K is odd. As P(K > k) is
 * g^k / k!, P(K odd) = 1 - g + g^2/2! - g^3/3! + ... = exp(-g) (Canonne, Kamath and Steinke 2020, Algorithm 1).
 */
function expMinus(coin) {
  let k = 1;
  while (oneIn(k) && coin()) k += 1;
  return k % 2 === 1;
}

function expMinusOne() {
  return expMinus(() => true);
}

/**
 * A whole number k with probability proportional to exp(-|k| / scale) (the same paper, Algorithm 2).
 *
 * j is uniform below the scale and kept with probability exp(-j / scale); v is geometric with ratio exp(-1); so
 * v * scale + j = k has weight exp(-k / scale). A fair sign, with the negative zero dropped, gives both sides.
 */
function discreteLaplace(scale) {
  for (;;) {
    const rest = uniformBelow(scale);
    if (!expMinus(() => uniformBelow(scale) < rest)) continue;
    let steps = 0n;
    while (expMinusOne()) steps += 1n;
    const negative = fair();
    const size = steps * scale + rest;
    if (!(negative && size === 0n)) return negative ? -size : size;
  }
}

/** Whole numbers [low, high] with low <= 2^precision e^(numerator / denominator) <= high. */
function exponential({ numerator, denominator }, precision) {
  const halvings = bitLength(numerator / denominator + 1n) + 4;
  const divisor = denominator << BigInt(halvings);
  let [term, low, terms] = [1n << precision, 0n, 0n];
  while (term > 0n) {
    low += term;
    terms += 1n;
    term = (term * numerator) / (divisor * terms);
  }
  // Each computed term is at most 2 too small, and those left out add up to at most 4.
  let high = low + 2n * terms + 2n;
  for (let i = 0; i < halvings; i++) {
    low = (low * low) >> precision;
    high = -(-(high * high) >> precision);
  }
  return [low, high];
}

/** floor(2^bits p) for p = 1 / (1 + others e^-epsilon), which is irrational: two bounds that agree have its digits. */
function leadingBits(others, epsilon, bits) {
  if (epsilon.numerator >= epsilon.denominator * BigInt(bits + bitLength(others))) return (1n << BigInt(bits)) - 1n;
  for (let precision = BigInt(bits + 64); ; precision *= 2n) {
    const [below, above] = exponential(epsilon, precision).map(
      (bound) => (bound << BigInt(bits)) / (bound + (others << precision)),
    );
    if (below === above) return below;
  }
}

/**
 * A function that flips `size` exact coins of probability 1 / (1 + others e^-epsilon).
 *
 * A uniform point of [0, 1) is compared with the probability, 32 bits after 32 bits, until they differ.
 */
function logisticCoin(others, epsilon) {
  const digits = [];
  return (size) => {
    const heads = Array(size);
    let tied = [...heads.keys()];
    for (let place = 0; tied.length > 0; place++) {
      digits[place] ??= leadingBits(others, epsilon, 32 * (place + 1)) & 0xffffffffn;
      const drawn = tied.map(() => randomWord(32));
      tied.forEach((coin, i) => (heads[coin] = drawn[i] < digits[place]));
      tied = tied.filter((_, i) => drawn[i] === digits[place]);
    }
    return heads;
  };
}

// --------------------------------------------------------------------------------------------------------------------
// Protocols: a code or a lattice number in (BigInt), a report out (an array of BigInt)

const PROTOCOLS = {
  "randomized-response": (plain) => {
    exactly("protocol", plain, ["kind", "levels", "epsilon"]);
    const levels = whole("levels", plain.levels, 2n, 1n << 31n);
    const epsilon = positive("epsilon", plain.epsilon);
    const coin = logisticCoin(levels - 1n, epsilon);
    return {
      levels,
      epsilon,
      chance: chance(levels - 1n, epsilon),
      randomize(code) {
        const [truth] = coin(1);
        const lie = uniformBelow(levels - 1n); // drawn in any case: the work done does not tell
        return [truth ? code : lie + (lie >= code ? 1n : 0n)];
      },
    };
  },

  "unary-encoding": (plain) => {
    exactly("protocol", plain, ["kind", "levels", "epsilon"]);
    const levels = whole("levels", plain.levels, 2n, 1n << 16n);
    const epsilon = positive("epsilon", plain.epsilon);
    const staysZero = logisticCoin(1n, epsilon);
    return {
      levels,
      epsilon,
      chance: chance(1n, epsilon),
      randomize(code) {
        const bits = staysZero(Number(levels)).map((zero) => (zero ? 0n : 1n));
        bits[Number(code)] = fair() ? 1n : 0n;
        return bits;
      },
    };
  },

  "noisy-number": (plain) => {
    exactly("protocol", plain, ["kind", "low", "high", "scale"]);
    const low = whole("low", plain.low, -LARGEST_INPUT, LARGEST_INPUT);
    const high = whole("high", plain.high, low + 1n, LARGEST_INPUT);
    const scale = whole("scale", plain.scale, 1n, LARGEST_SCALE);
    return {
      low,
      high,
      scale,
      // |log ratio| <= |x - x'| / scale <= (high - low) / scale for any two numbers x, x'.
      epsilon: Object.freeze({ numerator: high - low, denominator: scale }),
      randomize: (number) => [number + discreteLaplace(scale)],
    };
  },

  "noisy-statistic": (plain) => {
    exactly("protocol", plain, ["kind", "unit", "l1", "l2_squared", "relative_scales", "law", "scales"], ["largest"]);
    const unit = whole("unit", plain.unit, 1n, LARGEST_INPUT);
    const largest = whole("largest", plain.largest ?? plain.unit, 1n, LARGEST_INPUT);
    const [l1] = [plain.l1, plain.l2_squared].map((text) => readRational(text));
    const entries = Array.isArray(plain.scales) && Array.isArray(plain.relative_scales) ? plain.scales.length : 0;
    if (plain.law !== "discrete-laplace" || entries === 0 || plain.relative_scales.length !== entries) {
      throw new FormError("Expected the noise to be discrete-laplace, with a scale and a relative one an entry.");
    }
    const scales = plain.scales.map((scale) => whole("scale", scale, 1n, LARGEST_SCALE));
    const weights = plain.relative_scales.map((weight) => positive("relative_scales", weight));
    // |log ratio| <= sum |D_i| / scale_i <= l1 max w_i / scale_i for the difference D of any two inputs.
    const costs = weights.map((weight, i) => ({
      numerator: l1.numerator * weight.numerator,
      denominator: l1.denominator * weight.denominator * scales[i],
    }));
    const epsilon = Object.freeze(costs.reduce((a, b) => (isAtMost(a, b) ? b : a)));
    return {
      unit,
      largest,
      l1,
      weights,
      scales,
      epsilon,
      randomize: (vector) => vector.map((value, i) => value + discreteLaplace(scales[i])),
    };
  },
};

/** The probability of the coin, to the precision of a number; for words and pictures alone. */
function chance(others, epsilon) {
  return Number(leadingBits(others, epsilon, 53)) / 2 ** 53;
}

/** Make a protocol from its public table: `{kind, ...}`. It has `epsilon` and `randomize(input)`. */
export function readProtocol(plain) {
  if (!isTable(plain) || !Object.hasOwn(PROTOCOLS, plain.kind)) {
    throw new FormError(`Expected the protocol to be one of ${Object.keys(PROTOCOLS).join(", ")}.`);
  }
  return Object.freeze({ kind: plain.kind, ...PROTOCOLS[plain.kind](plain) });
}

// --------------------------------------------------------------------------------------------------------------------
// The form: every question with its public plan

/** Read the public form of a survey, parsed JSON; refuse what is unknown, incomplete or promises less than it says. */
export function readForm(plain) {
  exactly("form", plain, ["format", "dataset", "questions"]);
  if (plain.format !== FORMAT) throw new FormError(`Expected the format of the form to be ${FORMAT}.`);
  if (!isShown(plain.dataset)) throw new FormError("Expected dataset to be a name of printable characters.");
  if (!Array.isArray(plain.questions) || plain.questions.length === 0) {
    throw new FormError("Expected the form to have questions.");
  }
  const questions = plain.questions.map(readQuestion);
  if (new Set(questions.map((question) => question.name)).size !== questions.length) {
    throw new FormError("Expected every question to have a name of its own.");
  }
  const columns = questions.flatMap((question) => question.columns);
  if (new Set(columns).size !== columns.length) {
    throw new FormError("Expected every question to be about a column of its own.");
  }
  const epsilon = sum(questions.map((question) => question.epsilon)); // pure guarantees add up
  if (!isAtMost(epsilon, MOST_ASKED)) {
    throw new FormError(`Expected the questions to ask for epsilon = ${MOST_ASKED.numerator} together at most.`);
  }
  return Object.freeze({ dataset: plain.dataset, questions: Object.freeze(questions), epsilon });
}

function readQuestion(plain) {
  exactly("question", plain, ["name", "plan", "protocol", "encoder"]);
  if (typeof plain.name !== "string" || !NAME.test(plain.name)) {
    throw new FormError("Expected the name of a question to be letters, digits or _.- characters.");
  }
  const { plan, encoder } = plain;
  exactly("plan", plan, ["model", "schema", "budget", "mechanism"]);
  if (!isTable(plan.model) || typeof plan.model.family !== "string") {
    throw new FormError("Expected the model of the plan to say its family.");
  }
  const scored = isTable(plan.mechanism) && plan.mechanism.protocol === "scores";
  exactly("mechanism", plan.mechanism, ["kind"], scored ? ["protocol", "point", "matrix"] : ["protocol"]);
  if (plan.mechanism.kind !== "local") throw new FormError("Expected the mechanism of the plan to be local.");
  exactly("budget", plan.budget, ["epsilon", "neighbours"]);
  if (plan.budget.neighbours !== "replace-one") throw new FormError("Expected neighbours to be replace-one.");
  const protocol = readProtocol(plain.protocol);
  const named = scored ? "noisy-statistic" : (plan.mechanism.protocol ?? protocol.kind);
  if (named !== protocol.kind || scored !== (protocol.kind === "noisy-statistic")) {
    throw new FormError("Expected the protocol to be the one of the plan.");
  }
  if (!isAtMost(protocol.epsilon, exactRational(plan.budget.epsilon))) {
    throw new FormError("Expected the protocol to keep the budget of the plan.");
  }
  if (scored) return scoreQuestion(plain, protocol);
  if (!isTable(encoder) || !isTable(plan.schema) || !Object.hasOwn(plan.schema, encoder.column)) {
    throw new FormError("Expected the encoder to name a column of the schema.");
  }
  if (!isShown(encoder.column)) throw new FormError("Expected columns to have names of printable characters.");
  const column = readColumn(plan.schema[encoder.column]);
  const encode = column.levels ? levelCode(encoder, column, protocol) : latticeNumber(encoder, column, protocol);
  return Object.freeze({
    name: plain.name,
    column: encoder.column,
    columns: Object.freeze([encoder.column]),
    ...column,
    protocol,
    epsilon: protocol.epsilon,
    /** One report. Every call draws anew and costs epsilon again: make one, and send that one. */
    randomize: (answer) => Object.freeze(protocol.randomize(encode(answer)).map(writtenWhole)),
    /** The number in the units of the question that a reported number stands for; noise may carry it far outside. */
    ...(column.levels ? {} : { decode: (report) => decoded(encoder, report) }),
  });
}

function readColumn(plain) {
  if (Array.isArray(plain)) {
    return plain.length === 2 && plain.every(Number.isFinite)
      ? readColumn({ bounds: plain })
      : readColumn({ levels: plain });
  }
  exactly("column", plain, [isTable(plain) && "levels" in plain ? "levels" : "bounds"], ["missing"]);
  if (plain.levels) {
    const { levels } = plain;
    const kinds = new Set(Array.isArray(levels) ? levels.map((level) => typeof level) : []);
    if (!["string", "number", "boolean"].some((kind) => kinds.has(kind)) || kinds.size !== 1 || levels.length < 2) {
      throw new FormError("Expected the levels to be two or more strings, numbers or booleans.");
    }
    if (kinds.has("string") && !levels.every(isShown)) {
      throw new FormError("Expected the levels to be of printable characters.");
    }
    if (new Set(levels).size !== levels.length) throw new FormError("Expected the levels to differ.");
    const missing = plain.missing ?? levels[0];
    if (!levels.includes(missing)) throw new FormError("Expected missing to be one of the levels.");
    return { levels: Object.freeze([...levels]), missing };
  }
  const [low, high] = Array.isArray(plain.bounds) && plain.bounds.length === 2 ? plain.bounds : [];
  if (!Number.isFinite(low) || !Number.isFinite(high) || !(low < high) || !Number.isFinite(high - low)) {
    throw new FormError("Expected the bounds to be two numbers, the smaller one first.");
  }
  const missing = plain.missing ?? low + (high - low) / 2;
  if (!(low <= missing && missing <= high)) throw new FormError("Expected missing to lie in the bounds.");
  return { low, high, missing };
}

/** An answer that is no declared level counts as the stand-in: a total function, as nothing may depend on an error. */
function levelCode(encoder, { levels, missing }, protocol) {
  exactly("encoder", encoder, ["kind", "column"]);
  if (encoder.kind !== "level" || protocol.levels !== BigInt(levels.length)) {
    throw new FormError("Expected the encoder and the protocol to be about the levels of the column.");
  }
  const code = codeIn({ levels, missing });
  return (answer) => BigInt(code(answer));
}

function codeIn({ levels, missing }) {
  const forms = levels.map(formOf);
  return (answer) => {
    const code = ["number", "boolean", "string"].includes(typeof answer) ? forms.indexOf(formOf(answer)) : -1;
    return code < 0 ? levels.indexOf(missing) : code;
  };
}

/** How answers and levels are compared: as numbers, true and false too, where they are some, and else as text. */
function formOf(answer) {
  const number = numberOf(answer);
  const exact = Number.isFinite(number) && (Number.isSafeInteger(number) || !Number.isInteger(number));
  return exact ? number : stripped(answer);
}

/** A number, clamped to its bounds, mapped to the whole numbers from first to last and rounded, ties to even. */
function latticeNumber(encoder, { low, high, missing }, protocol) {
  exactly("encoder", encoder, ["kind", "column", "low", "high", "first", "last"]);
  const { first, last } = encoder;
  const fits = encoder.kind === "number" && encoder.low === low && encoder.high === high;
  const safe = Number.isSafeInteger(first) && Number.isSafeInteger(last) && Number.isSafeInteger(last - first);
  if (!fits || !safe || protocol.low !== BigInt(first) || protocol.high !== BigInt(last)) {
    throw new FormError("Expected the encoder and the protocol to be about the bounds of the column.");
  }
  return (answer) => {
    const clamped = clampedTo({ low, high, missing }, answer);
    const mapped = roundHalfEven(first + ((clamped - low) / (high - low)) * (last - first));
    return BigInt(Math.min(Math.max(mapped, first), last));
  };
}

function clampedTo({ low, high, missing }, answer) {
  const number = numberOf(answer);
  return Math.min(Math.max(Number.isNaN(number) ? missing : number, low), high);
}

function decoded({ low, high, first, last }, [report]) {
  return low + ((Number(report) - first) / (last - first)) * (high - low);
}

function numberOf(answer) {
  if (typeof answer === "boolean") return Number(answer);
  const text = typeof answer === "string" ? stripped(answer) : "";
  if (/^(true|false)$/i.test(text)) return Number(text.toLowerCase() === "true");
  const number = typeof answer === "number" ? answer : NUMBER.test(text) ? Number(text) : NaN;
  return Number.isFinite(number) ? number : NaN;
}

function stripped(answer) {
  return String(answer).replace(SPACES_AROUND, "");
}

function roundHalfEven(value) {
  const below = Math.floor(value);
  const up = value - below > 0.5 || (value - below === 0.5 && below % 2 !== 0);
  return up ? below + 1 : below;
}

// --------------------------------------------------------------------------------------------------------------------
// Scores: what a person's own row adds to the score of a logistic regression at the public point of a cohort
//
// A row has whole numbers q, one for each column of the design, eta = <q, point> and a response; from a table that is
// computed here it has a score rho and a weight omega, and it reports rho q and, with a matrix, omega q q' (the upper
// triangle), each with noise. The noise has to suit how far two rows can be apart *at this point*. This client computes
// that itself, from the point and the design by which it encodes, and refuses a form that claims less. So whoever
// changes the point, or the design, changes what is measured, and never what a report tells about its sender.

const FINE = 2 ** 20; // steps of eta
const STEPS = 2 ** 12; // of a covariate from 0 to 1
const POINT_UNIT = 2 ** 20; // steps of a coefficient
const LARGEST_POINT = 2 ** 8 * POINT_UNIT;
const SCORE_UNIT = 2 ** 32;
const WEIGHT_UNIT = 2 ** 20;
const MOST_DESIGN = 64;
const MARGIN = 1e-10; // times the size of all terms: far more than rounding in what follows may be off by

/** Scores and weights at knots of eta, as `tacit.statistics.score_tables` has them for two levels. */
let table = null;
function scoreTable() {
  if (table !== null) return table;
  const [precision, knots] = [160n, []];
  for (let knot = -24 * FINE; knot < 24 * FINE; ) {
    knots.push(knot);
    const next = knot + (FINE / 128) * Math.max(1, Math.floor(Math.abs(knot) / (4 * FINE)));
    knot = knot < 0 && next > 0 ? 0 : next;
  }
  knots.push(24 * FINE);
  const one = 1n << precision;
  const rounded = (numerator, denominator) => Number((2n * numerator + denominator) / (2n * denominator));
  const found = { knots, start: [], top: [], weight: [] };
  for (const knot of knots) {
    const [power] = exponential({ numerator: BigInt(Math.abs(knot)), denominator: BigInt(FINE) }, precision);
    const [up, down] = [power, one].map((part) => rounded(BigInt(SCORE_UNIT) * part, power + one));
    found.start.push(knot < 0 ? down : up);
    found.top.push(knot < 0 ? up : down);
    found.weight.push(rounded(BigInt(WEIGHT_UNIT) * power * one, (power + one) ** 2n));
  }
  return (table = Object.freeze(found));
}

/** The score and the weight of a row, whole numbers, interpolated and rounded down. */
function scoreAt(eta, yes) {
  const { knots, start, top, weight } = scoreTable();
  const place = Math.min(Math.max(eta, knots[0]), knots.at(-1));
  let [left, right] = [0, knots.length - 1];
  while (right - left > 1) {
    const middle = (left + right) >> 1;
    if (knots[middle] <= place) left = middle;
    else right = middle;
  }
  const [along, width] = [BigInt(place - knots[left]), BigInt(knots[left + 1] - knots[left])];
  const at = (values) => {
    const product = BigInt(values[left + 1] - values[left]) * along;
    const quotient = product / width - (product < 0n && product % width !== 0n ? 1n : 0n);
    return values[left] + Number(quotient);
  };
  return [yes ? at(top) : -at(start), at(weight)];
}

/** A question whose answer is an object by column: the covariates and the response. */
function scoreQuestion(plain, protocol) {
  const { plan, encoder } = plain;
  exactly("encoder", encoder, ["kind", "columns", "response", "design", "point", "matrix"]);
  const { columns, response, design, matrix } = encoder;
  const listed = Array.isArray(columns) && columns.length > 0 && new Set(columns).size === columns.length;
  if (encoder.kind !== "score" || !listed || !columns.includes(response) || typeof matrix !== "boolean") {
    throw new FormError("Expected the encoder to be about scores, and to name its columns and the response.");
  }
  if (!isTable(plan.schema) || !columns.every((name) => isShown(name) && Object.hasOwn(plan.schema, name))) {
    throw new FormError("Expected the encoder to name columns of the schema, with names of printable characters.");
  }
  const cells = Object.fromEntries(columns.map((name) => [name, readColumn(plan.schema[name])]));
  if (plan.model.family !== "logistic" || cells[response].levels?.length !== 2) {
    throw new FormError("Expected scores to be those of a logistic regression, with a response of two levels.");
  }
  if (!Array.isArray(design) || design.length === 0 || design.length > MOST_DESIGN) {
    throw new FormError(`Expected the design to have 1 to ${MOST_DESIGN} columns.`);
  }
  const terms = design.map((column) => readTerm(column, cells, response));
  const point = readPoint(encoder.point, plan.mechanism.point, terms.length);
  const entries = terms.length + (matrix ? (terms.length * (terms.length + 1)) / 2 : 0);
  if (protocol.scales.length !== entries || protocol.unit !== BigInt(SCORE_UNIT) * BigInt(STEPS)) {
    throw new FormError("Expected the protocol to be about the entries of the score, in its unit.");
  }
  const ratio = readRatio(protocol.weights, terms.length, matrix);
  const claimed = asNumber(protocol.l1) / Number(protocol.unit);
  if (!(claimed >= furthest(terms, point, matrix, ratio))) {
    throw new FormError("Expected the protocol to know how far two rows can be apart at the point.");
  }
  const read = Object.fromEntries(
    columns.map((name) => [name, cells[name].levels ? codeIn(cells[name]) : (answer) => clampedTo(cells[name], answer)]),
  );
  const encode = (answer) => {
    const row = Object.fromEntries(columns.map((name) => [name, read[name](isTable(answer) ? answer[name] : null)]));
    const q = terms.map((term) => term.value(row));
    const eta = Math.floor(q.reduce((total, value, j) => total + value * point[j], 0) / 2 ** 12);
    const [rho, omega] = scoreAt(eta, row[response] === 1);
    const scores = q.map((value) => BigInt(rho * value));
    return matrix ? [...scores, ...q.flatMap((a, j) => q.slice(j).map((b) => BigInt(omega * a * b)))] : scores;
  };
  return Object.freeze({
    name: plain.name,
    columns: Object.freeze([...columns]),
    cells: Object.freeze(cells),
    response,
    protocol,
    epsilon: protocol.epsilon,
    /** One report of an answer by column. Every call draws anew and costs epsilon again. */
    randomize: (answer) => Object.freeze(protocol.randomize(encode(answer)).map(writtenWhole)),
  });
}

/** A column of the design: a product of numbers, mapped to [-1, 1], where levels hold; without numbers 0 or 1. */
function readTerm(plain, cells, response) {
  exactly("design", plain, ["levels", "numbers"], ["offset", "scale", "low", "high"]);
  const levels = isTable(plain.levels) ? Object.entries(plain.levels) : [];
  const { numbers, offset = 0, scale = 1, low = 1, high = 1 } = plain;
  const known = (name) => name !== response && Object.hasOwn(cells, name);
  const fits =
    isTable(plain.levels) &&
    levels.every(([name, code]) => known(name) && Number.isSafeInteger(code) && cells[name].levels?.[code] !== undefined) &&
    Array.isArray(numbers) &&
    numbers.every((name) => known(name) && cells[name].low !== undefined) &&
    [offset, scale, low, high].every(Number.isFinite) &&
    scale > 0 &&
    -1 <= low &&
    low <= high &&
    high <= 1;
  if (!fits) throw new FormError("Expected the design to be about levels and numbers of the columns, in [-1, 1].");
  const [least, most] = numbers.length ? [roundHalfEven(low * STEPS), roundHalfEven(high * STEPS)] : [STEPS, STEPS];
  const factor = STEPS / scale;
  const usual = 2 ** -1000 < factor && factor < 2 ** 1000;
  return {
    levels,
    numbers,
    least,
    most,
    group: JSON.stringify([levels.map(([name]) => name), numbers.length ? numbers : null]),
    value(row) {
      if (!levels.every(([name, code]) => row[name] === code)) return 0;
      if (!numbers.length) return STEPS;
      const raw = numbers.map((name) => row[name]).reduce((a, b) => a * b);
      const centred = offset === 0 ? raw : raw - offset;
      const mapped = roundHalfEven(usual ? centred * factor : (centred / scale) * STEPS);
      if (Number.isNaN(mapped)) return least; // infinity times 0: whatever a row holds, q stays between the two
      return Math.min(Math.max(mapped, least), most) || 0;
    },
  };
}

/** The point in whole steps: the plan's, on its lattice and in its range. */
function readPoint(steps, stated, count) {
  const fits = (point) =>
    Array.isArray(point) && point.length === count && point.every((t) => Number.isSafeInteger(t) && Math.abs(t) <= LARGEST_POINT);
  const real = stated === undefined ? Array(count).fill(0) : stated;
  const said = Array.isArray(real) ? real.map((t) => (typeof t === "number" ? t * POINT_UNIT : NaN)) : [];
  if (!fits(steps) || !fits(said) || !steps.every((t, j) => t === said[j])) {
    throw new FormError("Expected the point to be the plan's, multiples of 1/1048576 and at most 256 in size.");
  }
  return steps;
}

/** The relative scale of the information: scores have 1, all its entries the same. */
function readRatio(weights, count, matrix) {
  const numbers = weights.map(asNumber);
  const ratio = matrix ? numbers[count] : 1;
  if (!numbers.every((weight, i) => weight === (i < count ? 1 : ratio)) || !(ratio >= 2 ** -10 && ratio <= 2 ** 10)) {
    throw new FormError("Expected the relative scales to be 1 for scores and one number for the information.");
  }
  return ratio;
}

/**
 * How far two rows can be apart at a point, in L1 with the information over `ratio`, in real units; or a bound on it.
 *
 * The smaller of two bounds, each of which `tacit.statistics.score_sensitivity` proves: one in L1, and the root of
 * (entries) times that in squared L2. Rows are told apart by intervals of eta; at each the score and the weight lie in a
 * box around those of the table, widened by what rounding can do.
 */
function furthest(terms, point, matrix, ratio) {
  const region = readRegion(terms, point);
  const cells = etaIntervals(region.low, region.high).map(([low, high]) => ({ low, high, ...vertices(low, high) }));
  const b = matrix ? 1 / ratio : 0;
  const entries = terms.length + (matrix ? (terms.length * (terms.length + 1)) / 2 : 0);
  let [l1, squared, rhos, omegas] = [0, 0, 0, 0];
  for (let i = 0; i < cells.length; i++) {
    for (const [r, w] of cells[i].corners) [rhos, omegas] = [Math.max(rhos, Math.abs(r)), Math.max(omegas, w)];
    for (let j = i; j < cells.length; j++) {
      const couple = coupled(cells[i], cells[j], region);
      let [joint, other] = [0, 0];
      for (const [r, w] of cells[i].corners) {
        for (const [s, v] of cells[j].corners) {
          const rest = farL1(r, w, s, v, 0, b, region);
          const nearer = r * s < 0 ? Math.min(Math.abs(r), Math.abs(s)) * couple.apart : 0;
          joint = Math.max(joint, farL1(r, w, s, v, 1, b, region));
          other = Math.max(other, rest + region.nonzero * (Math.abs(r) + Math.abs(s)) - nearer);
          squared = Math.max(squared, farSquared(r, w, s, v, b, couple, region.square));
        }
      }
      l1 = Math.max(l1, Math.min(joint, other));
    }
  }
  l1 += MARGIN * (region.nonzero * rhos + b * region.nonzero ** 2 * omegas);
  squared += MARGIN * (region.square * rhos ** 2 + b * b * region.square ** 2 * omegas ** 2);
  return Math.min(l1, Math.sqrt(entries * squared));
}

/** What the design lets a row's vector be; see `tacit.statistics.score_region`. Columns of a group exclude each other. */
function readRegion(terms, point) {
  const groups = Object.values(Object.groupBy ? Object.groupBy(terms, (t) => t.group) : grouped(terms));
  const place = new Map(terms.map((term, j) => [term, j]));
  const region = { nonzero: 0, shared: 0, numbers: 0, constant: 0, square: 0, inner: 0, low: 0, high: 0 };
  for (const group of groups) {
    const [first] = group;
    if (new Set(group.map((term) => JSON.stringify(term.levels))).size !== group.length) {
      throw new FormError("Expected no column of the design to stand there twice.");
    }
    region.nonzero += 1;
    region.shared += first.levels.length ? 0 : 1;
    region.square += Math.max(...group.map((t) => Math.max(t.least ** 2, t.most ** 2))) / STEPS ** 2;
    if (first.numbers.length) {
      region.numbers += 1;
      region.inner += Math.min(...group.map((t) => Math.min(0, t.least * t.most))) / STEPS ** 2;
    } else if (!first.levels.length) {
      region.constant = 1;
      region.inner += 1;
    }
    const ends = group.flatMap((t) => [t.least * point[place.get(t)], t.most * point[place.get(t)]]);
    if (first.levels.length) ends.push(0);
    region.low += Math.min(...ends);
    region.high += Math.max(...ends);
  }
  if (!region.constant) throw new FormError("Expected the design to have an intercept.");
  [region.low, region.high] = [region.low, region.high].map((eta) => Math.floor(eta / 2 ** 12));
  const own = terms.flatMap((term, j) => (term.numbers.length || term.levels.length ? [point[j] / POINT_UNIT] : []));
  const length = (some) => Math.sqrt(some.reduce((total, t) => total + t * t, 0));
  region.short = length(own);
  region.whole = length(point.map((t) => t / POINT_UNIT));
  region.steepest = Math.max(0, ...own.map(Math.abs));
  return region;
}

function grouped(terms) {
  const found = {};
  for (const term of terms) (found[term.group] ??= []).push(term);
  return found;
}

function etaIntervals(low, high) {
  const step = Math.max(1, Math.min(FINE / 16, Math.floor((high - low) / 64)));
  const cuts = new Set([low, high]);
  for (const [start, sign] of [[Math.max(low, 0), 1], [Math.min(high, 0), -1]]) {
    for (let at = start; low <= at && at <= high; at += sign * Math.max(step, Math.floor(Math.abs(at) / 16))) cuts.add(at);
  }
  const ordered = [...cuts].sort((a, b) => a - b);
  return ordered.length > 1 ? ordered.slice(1).map((end, i) => [ordered[i], end]) : [[low, high]];
}

/** The corners (score, weight) of boxes around those of all rows with such an eta, in real units. */
function vertices(low, high) {
  const { knots } = scoreTable();
  const [first, last] = [low, high].map((eta) => Math.min(Math.max(eta, knots[0]), knots.at(-1)));
  const places = [first, ...knots.filter((knot) => first < knot && knot < last), last];
  const corners = [];
  for (const yes of [false, true]) {
    const found = places.map((eta) => scoreAt(eta, yes));
    const [rho, omega] = [0, 1].map((k) => found.map((pair) => pair[k]));
    for (const score of [Math.min(...rho) - 2, Math.max(...rho) + 2]) {
      for (const weight of [Math.max(0, Math.min(...omega) - 1), Math.max(...omega) + 1]) {
        corners.push([score / SCORE_UNIT, weight / WEIGHT_UNIT]);
      }
    }
  }
  return { corners };
}

/** How near to each other, and how far apart, the vectors of rows with such etas can be. */
function coupled(one, other, region) {
  const step = 1 / FINE;
  const [a, b, c, d] = [one.low, one.high, other.low, other.high].map((eta) => eta / FINE);
  const gap = Math.max(0, Math.max(a - d, c - b) - step);
  const total = Math.max(0, Math.max(a + c, -(b + d)) - 2 * step);
  const most = region.square - ((gap / Math.max(region.short, 1e-300)) ** 2 / 2) * (1 - 1e-9);
  const least = Math.max(region.inner, ((total / Math.max(region.whole, 1e-300)) ** 2 / 2) * (1 - 1e-9) - region.square);
  const free = 2 * (region.nonzero - region.shared);
  const apart = Math.max(0, (gap / Math.max(region.steepest, 1e-300)) * (1 - 1e-9) - free);
  return { least, most: Math.max(most, least), apart: Math.min(apart, 2 * region.nonzero) };
}

function farSquared(r, w, s, v, b, { least, most }, square) {
  const [bend, tilt] = [2 * b * b * w * v, r * s];
  const end = tilt > 0 ? least : most;
  const inside = bend > 0 ? Math.min(Math.max(-tilt / bend, least), most) : end;
  const c = Number.isFinite(inside) ? inside : end;
  return square * (r * r + s * s) + b * b * square ** 2 * (w * w + v * v) - 2 * tilt * c - bend * c * c;
}

function farL1(r, w, s, v, a, b, { nonzero, shared, numbers, constant }) {
  const [apart, sums, sizes] = [Math.abs(r - s), Math.abs(r + s), Math.abs(r) + Math.abs(s)];
  const [changes, weights, larger] = [Math.abs(w - v), w + v, Math.max(w, v)];
  const pairs = (count) => (count * (count - 1)) / 2;
  let found = 0;
  for (let o = shared; o <= nonzero; o++) {
    const rest = nonzero - o;
    let total = a * (o * apart + rest * sizes);
    total += b * ((o - constant) * larger + constant * changes + rest * weights);
    total += b * (pairs(o) * changes + (pairs(nonzero) - pairs(o)) * weights);
    const [most, linear, bend] = [Math.min(o - constant, numbers), a * (sums - apart), b * (weights - changes)];
    const best = bend > 0 ? o / 2 + linear / (2 * bend) : linear > 0 ? most : 0;
    const low = Math.min(Math.max(Math.floor(best), 0), most);
    for (const m of [low, Math.min(low + 1, most)]) found = Math.max(found, total + m * linear + m * (o - m) * bend);
  }
  return found;
}

// --------------------------------------------------------------------------------------------------------------------
// What is sent

/**
 * Randomise a person's answers, an object by the names of questions; a question that is left out is skipped.
 *
 * The result holds a random id and one report for each answered question, and nothing else. It is made once: if sending
 * fails, send the very same again. A second one for the same person would cost that person's epsilon a second time.
 * With an `allowance` what the answered questions cost is taken from it first, before any dice are rolled; where it does
 * not suffice, that is a `CeilingError`, and nothing was rolled.
 */
export function submission(form, answers, allowance = null) {
  const asked = new Map(form.questions.map((question) => [question.name, question]));
  const names = Object.keys(answers);
  if (names.length === 0 || !names.every((name) => asked.has(name))) {
    throw new TypeError("Expected answers to one or more questions of the form, and to no others.");
  }
  allowance?.spend(costOf(form, names));
  const reports = Object.fromEntries(
    form.questions.filter(({ name }) => names.includes(name)).map((q) => [q.name, q.randomize(answers[q.name])]),
  );
  const id = Array.from(randomBytes(16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return Object.freeze({ id, reports: Object.freeze(reports) });
}

/** What answers to these questions cost together, exactly. */
export function costOf(form, names) {
  return sum(form.questions.filter(({ name }) => names.includes(name)).map(({ epsilon }) => epsilon));
}

/**
 * What this device gives to the origin of the page in all: pure guarantees add up, over surveys and over time.
 *
 * `storage` keeps the sum, exactly; a browser's `localStorage` is one for each origin. `most` is the ceiling, which the
 * person may lower and no page can raise. Where nothing can be stored, or somebody has changed what was, `remembers` is
 * false: then the sum is kept for as long as the page is open, or all counts as spent. What other browsers, other
 * devices and other origins were given, and what was given before the storage was cleared, is not in it.
 */
export function openAllowance(storage, most) {
  const limit = exactRational(most);
  const own = { spent: ZERO, ceiling: limit };
  let remembers = true;
  const load = () => {
    try {
      const text = storage.getItem(ALLOWANCE);
      if (text === null) return;
      const plain = JSON.parse(text);
      exactly("allowance", plain, ["spent", "ceiling"]);
      const [spent, ceiling] = [plain.spent, plain.ceiling].map(readRational);
      own.spent = isAtMost(own.spent, spent) ? spent : own.spent; // another tab may have spent
      own.ceiling = isAtMost(ceiling, limit) ? ceiling : limit;
    } catch (error) {
      remembers = false;
      if (error instanceof FormError || error instanceof SyntaxError) own.spent = own.ceiling;
    }
  };
  const save = () => {
    try {
      storage.setItem(ALLOWANCE, JSON.stringify({ spent: written(own.spent), ceiling: written(own.ceiling) }));
    } catch {
      remembers = false; // no storage, or none left
    }
  };
  const affords = (epsilon) => (load(), isAtMost(sum([own.spent, epsilon]), own.ceiling));
  load();
  return Object.freeze({
    get spent() {
      return load(), own.spent;
    },
    get ceiling() {
      return load(), own.ceiling;
    },
    get remembers() {
      return remembers;
    },
    affords,
    spend(epsilon) {
      if (!affords(epsilon)) throw new CeilingError("Expected the answers to cost no more than this device has left.");
      own.spent = sum([own.spent, epsilon]);
      save();
    },
    /** Set the ceiling, from 0 to `most`. */
    lower(number) {
      load();
      const asked = number > 0 ? exactRational(number) : ZERO;
      own.ceiling = isAtMost(asked, limit) ? asked : limit;
      save();
    },
    /** Another person sits down at this device: the sum starts at 0 for them. */
    startAnew() {
      own.spent = ZERO;
      save();
    },
  });
}

/** Post a submission. Resolves to `{again}`, true if it had been stored before; rejects with a `SendError`. */
export async function send(url, made) {
  let response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ id: made.id, reports: made.reports }),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
  } catch {
    throw new SendError("The collector could not be reached.", true);
  }
  if (response.status === 201 || response.status === 200) return { again: response.status === 200 };
  throw new SendError("The collector did not store the report.", response.status >= 500 || response.status === 429);
}

// --------------------------------------------------------------------------------------------------------------------
// Exact numbers in JSON: a rational is "a/b", a whole number from 2^53 on is a string of its digits

/** The number nearest to a rational, for words and pictures. */
export function asNumber({ numerator, denominator }) {
  return Number(numerator / denominator) + Number(((numerator % denominator) << 64n) / denominator) / 2 ** 64;
}

function sum(rationals) {
  const total = rationals.reduce((a, b) => ({
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: a.denominator * b.denominator,
  }));
  let [divisor, rest] = [total.numerator, total.denominator];
  while (rest > 0n) [divisor, rest] = [rest, divisor % rest];
  return Object.freeze({ numerator: total.numerator / divisor, denominator: total.denominator / divisor });
}

/** A rational of at least 0, as `written` wrote it. */
function readRational(text) {
  const match = typeof text === "string" ? /^([0-9]{1,5000})\/([0-9]{1,5000})$/.exec(text) : null;
  if (!match || BigInt(match[2]) === 0n) throw new FormError("Expected a rational.");
  return Object.freeze({ numerator: BigInt(match[1]), denominator: BigInt(match[2]) });
}

function written({ numerator, denominator }) {
  return `${numerator}/${denominator}`;
}

function isShown(text) {
  return typeof text === "string" && text !== "" && !UNSHOWN.test(text);
}

function isAtMost(a, b) {
  return a.numerator * b.denominator <= b.numerator * a.denominator;
}

/** The rational that a positive floating-point number is, exactly. */
function exactRational(value) {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) {
    throw new FormError("Expected epsilon to be a positive number.");
  }
  let [numerator, denominator] = [value, 1n];
  while (!Number.isInteger(numerator)) [numerator, denominator] = [numerator * 2, denominator * 2n];
  return { numerator: BigInt(numerator), denominator };
}

function positive(name, value) {
  const match = typeof value === "string" ? /^([0-9]{1,400})\/([0-9]{1,400})$/.exec(value) : null;
  const [numerator, denominator] = match ? [BigInt(match[1]), BigInt(match[2])] : [0n, 0n];
  if (numerator <= 0n || denominator <= 0n || numerator > LARGEST_EPSILON * denominator) {
    throw new FormError(`Expected ${name} to be a string "a/b", positive and at most ${LARGEST_EPSILON}.`);
  }
  return Object.freeze({ numerator, denominator });
}

function whole(name, value, least, most) {
  const digits = typeof value === "string" && /^-?[1-9][0-9]{15,99}$/.test(value);
  const number = digits || Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (number === undefined || number < least || number > most) {
    throw new FormError(`Expected ${name} to be a whole number from ${least} to ${most}.`);
  }
  return number;
}

function writtenWhole(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function exactly(name, table, needed, optional = []) {
  const known = [...needed, ...optional];
  const fits = isTable(table) && needed.every((key) => Object.hasOwn(table, key));
  if (!fits || !Object.keys(table).every((key) => known.includes(key))) {
    throw new FormError(`Expected the ${name} to have the entries ${needed.join(", ")} and no unknown ones.`);
  }
}
