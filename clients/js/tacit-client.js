/**
 * One person's side of a survey under local differential privacy, in a browser or in Node.
 *
 * `readForm` takes the public form of a survey and refuses whatever it does not understand. `submission` turns a
 * person's answers into randomised reports, once. `send` posts them. The answers themselves go nowhere.
 *
 * The draws are comparisons of whole numbers (BigInt) with bytes of `crypto.getRandomValues`: no floating-point number
 * decides a report, so the published probabilities hold exactly. Byte for byte they are the draws of the Python
 * client: from the same random bytes both make the same report.
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
  if (new Set(questions.map((question) => question.column)).size !== questions.length) {
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
  exactly("mechanism", plan.mechanism, ["kind"], ["protocol"]);
  if (plan.mechanism.kind !== "local") throw new FormError("Expected the mechanism of the plan to be local.");
  exactly("budget", plan.budget, ["epsilon", "neighbours"]);
  if (plan.budget.neighbours !== "replace-one") throw new FormError("Expected neighbours to be replace-one.");
  const protocol = readProtocol(plain.protocol);
  if ((plan.mechanism.protocol ?? protocol.kind) !== protocol.kind) {
    throw new FormError("Expected the protocol to be the one of the plan.");
  }
  if (!isAtMost(protocol.epsilon, exactRational(plan.budget.epsilon))) {
    throw new FormError("Expected the protocol to keep the budget of the plan.");
  }
  if (!isTable(encoder) || !isTable(plan.schema) || !Object.hasOwn(plan.schema, encoder.column)) {
    throw new FormError("Expected the encoder to name a column of the schema.");
  }
  if (!isShown(encoder.column)) throw new FormError("Expected columns to have names of printable characters.");
  const column = readColumn(plan.schema[encoder.column]);
  const encode = column.levels ? levelCode(encoder, column, protocol) : latticeNumber(encoder, column, protocol);
  return Object.freeze({
    name: plain.name,
    column: encoder.column,
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
  const forms = levels.map(formOf);
  return (answer) => {
    const code = ["number", "boolean", "string"].includes(typeof answer) ? forms.indexOf(formOf(answer)) : -1;
    return BigInt(code < 0 ? levels.indexOf(missing) : code);
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
    const number = numberOf(answer);
    const clamped = Math.min(Math.max(Number.isNaN(number) ? missing : number, low), high);
    const mapped = roundHalfEven(first + ((clamped - low) / (high - low)) * (last - first));
    return BigInt(Math.min(Math.max(mapped, first), last));
  };
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
