/** An exact positive rational. */
export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** What a person may be asked for. Anything that cannot be read counts as the question's public stand-in. */
export type Answer = string | number | boolean | null | undefined;

/** Whole numbers; one that a JSON number cannot hold exactly is a string of its digits. */
export type Report = readonly (number | string)[];

/** The public parameters of what a device does; `randomize` takes an encoded answer. */
export interface Protocol {
  readonly kind: "randomized-response" | "unary-encoding" | "noisy-number" | "noisy-statistic";
  /** The guarantee of one report, computed from the parameters. */
  readonly epsilon: Rational;
  /** Of levels: how many. */
  readonly levels?: bigint;
  /** Of levels: the chance that the truth is told, or that the bit of another level stays 0. For show. */
  readonly chance?: number;
  /** Of numbers: the lattice and the scale of the discrete Laplace noise. */
  readonly low?: bigint;
  readonly high?: bigint;
  readonly scale?: bigint;
  /** Of scores: how far two inputs can be apart in L1, by relative scales, and the scale of the noise of each entry. */
  readonly unit?: bigint;
  readonly largest?: bigint;
  readonly l1?: Rational;
  readonly weights?: readonly Rational[];
  readonly scales?: readonly bigint[];
  randomize(input: bigint | readonly bigint[]): bigint[];
}

interface AnyQuestion {
  readonly name: string;
  /** The columns that are asked for; the only one, where it is one. */
  readonly columns: readonly string[];
  readonly column?: string;
  readonly protocol: Protocol;
  readonly epsilon: Rational;
  /** One report. Every call draws anew and costs epsilon again. */
  randomize(answer: Answer | AnswerByColumn): Report;
}

/** What a question about a regression is answered with: the covariates and the response. */
export type AnswerByColumn = Readonly<Record<string, Answer>>;

/** A question about a person's own score in a logistic regression, at the public point of a cohort. */
export interface ScoreQuestion extends AnyQuestion {
  readonly levels?: undefined;
  readonly response: string;
  /** The levels or the bounds of each column. */
  readonly cells: Readonly<
    Record<string, Pick<LevelQuestion, "levels" | "missing"> | Pick<NumberQuestion, "low" | "high" | "missing">>
  >;
}

/** A question with levels. */
export interface LevelQuestion extends AnyQuestion {
  readonly levels: readonly (string | number | boolean)[];
  readonly missing: string | number | boolean;
}

/** A question about a bounded number. */
export interface NumberQuestion extends AnyQuestion {
  readonly levels?: undefined;
  readonly low: number;
  readonly high: number;
  readonly missing: number;
  /** The number, in the units of the question, that a report stands for. */
  decode(report: Report): number;
}

export type Question = LevelQuestion | NumberQuestion | ScoreQuestion;

/** A survey: what is asked, and the guarantee for a person who answers everything. */
export interface Form {
  readonly dataset: string;
  readonly questions: readonly Question[];
  readonly epsilon: Rational;
}

/** What leaves the device, and all of it. */
export interface Submission {
  readonly id: string;
  readonly reports: Readonly<Record<string, Report>>;
}

/** What was read is not a form that this client understands. */
export class FormError extends Error {}

/** A submission would go past what this device gives to this origin. */
export class CeilingError extends Error {}

/** A submission was not stored; `retry` says whether the very same one should be sent again. */
export class SendError extends Error {
  constructor(message: string, retry: boolean);
  readonly retry: boolean;
}

/** Read the public form of a survey, parsed JSON; throws a `FormError`. */
export function readForm(plain: unknown): Form;

/** Make a protocol from its public table; throws a `FormError`. */
export function readProtocol(plain: unknown): Protocol;

/** Randomise a person's answers, once; a question that is left out is skipped. Throws a `CeilingError`. */
export function submission(
  form: Form,
  answers: Readonly<Record<string, Answer>>,
  allowance?: Allowance | null,
): Submission;

/** What answers to these questions cost together, exactly. */
export function costOf(form: Form, names: readonly string[]): Rational;

/** What this device has given to one origin, and the most that it gives. */
export interface Allowance {
  readonly spent: Rational;
  readonly ceiling: Rational;
  /** Whether the sum outlives the page. */
  readonly remembers: boolean;
  affords(epsilon: Rational): boolean;
  spend(epsilon: Rational): void;
  /** Set the ceiling, from 0 to the most that `openAllowance` was told. */
  lower(ceiling: number): void;
  /** Another person sits down at this device. */
  startAnew(): void;
}

/** The allowance that `storage` keeps, as `localStorage` does for each origin; `most` is its highest ceiling. */
export function openAllowance(storage: Pick<Storage, "getItem" | "setItem">, most: number): Allowance;

/** Post a submission; rejects with a `SendError`. */
export function send(url: string, made: Submission): Promise<{ again: boolean }>;

/** The number nearest to a rational, for words and pictures. */
export function asNumber(value: Rational): number;
