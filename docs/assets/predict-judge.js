// @ts-check
/**
 * Judges a reader's guess: what a typed number means, whether a guess is right, and how far off it is.
 * Pure functions for predict.js, predictions.js and their tests.
 */

/** @typedef {"count" | "number" | "choice" | "order"} Kind */

/**
 * A number; or positions of options, ascending; or positions of items in the order that the reader gave them.
 * @typedef {number | number[]} Guess
 */

/**
 * What the page knows of an exercise.
 * @typedef {object} Exercise
 * @property {string} id
 * @property {Kind} kind
 * @property {string} hash of its text: an answer is kept for this text only
 * @property {string} unit
 * @property {number} within the factor up to which a number is right
 * @property {boolean} several whether more than one option may be right
 * @property {Key} key
 */

/**
 * What decides, from `data-key`.
 * @typedef {object} Key
 * @property {string} measured the answer in words
 * @property {number} [answer] of a count or number
 * @property {number[]} [right] positions of right options, or of the items in their right order
 * @property {string[]} [parts] the texts of options or items
 */

/**
 * @typedef {object} Verdict
 * @property {boolean} right
 * @property {string} off how far off it is, as a sentence; "" where there is nothing to add
 * @property {number} [ratio] guess by answer, of a number
 */

const KINDS = ["count", "number", "choice", "order"];
const ROUNDING = 1e-9;

/**
 * An exercise from its attributes; null for one that has no answer here.
 * @param {DOMStringMap} data
 * @returns {Exercise | null}
 */
export function exerciseOf(data) {
  const key = decodeKey(data.key ?? "");
  if (!key || !KINDS.includes(data.kind ?? "")) return null;
  return {
    id: data.exercise ?? "",
    kind: /** @type {Kind} */ (data.kind),
    hash: data.hash ?? "",
    unit: data.unit ?? "",
    within: Number(data.within ?? 1),
    several: data.several === "true",
    key,
  };
}

/**
 * @param {string} text JSON in Base64
 * @returns {Key | null}
 */
function decodeKey(text) {
  if (!text) return null;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

/**
 * The number that a reader typed: `1,234.5`, `1 234,5`, `12e3`, `37 µs`. null if it is none.
 * @param {string} text
 * @param {string} [unit] may stand behind it
 * @returns {number | null}
 */
export function parseNumber(text, unit = "") {
  let typed = plain(text);
  const end = [plain(unit), unit === "×" ? "x" : ""].find((one) => one && typed.endsWith(one)) ?? "";
  typed = typed.slice(0, typed.length - end.length);
  typed = typed.replace(/[\s_'’]/g, "");
  if (/^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/.test(typed)) typed = typed.replaceAll(",", "");
  else if (/^[+-]?\d{1,3}(\.\d{3})+,\d+$/.test(typed)) typed = typed.replaceAll(".", "").replace(",", ".");
  else typed = typed.replace(/^([+-]?\d+),(\d+)$/, "$1.$2");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed) ? Number(typed) : null;
}

/**
 * As it is compared: both signs for micro are one, and so is the `u` that many type for it.
 * @param {string} text
 */
function plain(text) {
  return text.trim().normalize("NFKC").toLowerCase().replaceAll("μ", "u");
}

/**
 * Why a typed number is no answer to this exercise; "" if it is one.
 * @param {Exercise} exercise
 * @param {number | null} typed
 */
export function problemWith(exercise, typed) {
  if (isGuess(exercise, typed)) return "";
  return exercise.kind === "count" ? "Type a whole number, such as 3." : "Type a number above 0, such as 12.5.";
}

/**
 * Whether this is a guess that the exercise's controls could have given; for what comes from storage or a file.
 * @param {Exercise} exercise
 * @param {unknown} guess
 * @returns {guess is Guess}
 */
export function isGuess(exercise, guess) {
  if (exercise.kind === "count") return Number.isSafeInteger(guess) && Number(guess) >= 0;
  if (exercise.kind === "number") return typeof guess === "number" && Number.isFinite(guess) && guess > 0;
  if (!Array.isArray(guess) || guess.length === 0) return false;
  const size = exercise.key.parts?.length ?? 0;
  const sound = guess.every((position) => Number.isInteger(position) && position >= 0 && position < size);
  if (!sound || new Set(guess).size !== guess.length) return false;
  return exercise.kind === "order" ? guess.length === size : exercise.several || guess.length === 1;
}

/**
 * @param {Exercise} exercise
 * @param {Guess} guess
 * @returns {Verdict}
 */
export function judge(exercise, guess) {
  return JUDGES[exercise.kind](exercise, guess);
}

/** @type {Record<Kind, (exercise: Exercise, guess: any) => Verdict>} */
const JUDGES = {
  count({ key }, guess) {
    const off = guess - (key.answer ?? NaN);
    return { right: off === 0, off: off === 0 ? "" : `That is ${Math.abs(off)} too ${off > 0 ? "many" : "few"}.` };
  },
  number({ key, within }, guess) {
    const ratio = guess / (key.answer ?? NaN);
    const far = howFar(ratio);
    return { right: factor(ratio) <= within * (1 + ROUNDING), off: far && `That is ${far}.`, ratio };
  },
  choice({ key, several }, guess) {
    const right = key.right ?? [];
    const found = guess.filter((/** @type {number} */ position) => right.includes(position)).length;
    const all = found === right.length && found === guess.length;
    const of = `Of the right ones you chose ${found} of ${right.length}, and ${guess.length - found} beside them.`;
    return { right: all, off: several && !all ? of : "" };
  },
  order({ key }, guess) {
    const right = key.right ?? [];
    const placed = right.filter((position, place) => guess[place] === position).length;
    const all = placed === right.length;
    return { right: all, off: all ? "" : `In their place: ${placed} of ${right.length}.` };
  },
};

/**
 * How far off, whether above or below: 1 for an exact guess.
 * @param {number} ratio
 */
export function factor(ratio) {
  return Math.max(ratio, 1 / ratio);
}

/**
 * `3.1 times too low`.
 * @param {number} ratio guess by answer
 */
export function howFar(ratio) {
  const shown = shownNumber(factor(ratio));
  return shown === "1.00" ? "" : `${shown} times too ${ratio > 1 ? "high" : "low"}`;
}

/**
 * A number with three significant digits, as the pages show it.
 * @param {number} value
 */
export function shownNumber(value) {
  if (!Number.isFinite(value) || value === 0) return String(value);
  const exponent = Number(value.toExponential(2).split("e")[1]);
  if (exponent < -4) return value.toExponential(2).replace(/(e[+-])(\d)$/, "$10$2");
  if (exponent < 2) return value.toFixed(2 - exponent);
  const unit = 10 ** (exponent - 2);
  return (Math.round(value / unit) * unit).toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/**
 * A guess as text.
 * @param {Exercise} exercise
 * @param {Guess} guess
 */
export function inWords(exercise, guess) {
  if (!Array.isArray(guess)) {
    // What the reader typed is not rounded.
    const shown = guess.toLocaleString("en-US", { maximumSignificantDigits: 12 });
    return `${shown} ${exercise.unit}`.trimEnd();
  }
  const texts = guess.map((position) => exercise.key.parts?.[position] ?? "");
  return exercise.kind === "order" ? texts.join(" → ") : texts.map((text) => `“${text}”`).join(", ");
}

/**
 * `You predicted 12 µs. Measured: 36.9 µs. That is 3.08 times too low.`
 * @param {Exercise} exercise
 * @param {Guess[]} guesses first tries first; the last one is judged
 */
export function sentences(exercise, guesses) {
  const [first, second] = guesses.map((guess) => inWords(exercise, guess));
  const { right, off } = judge(exercise, guesses[guesses.length - 1]);
  const said = [second === undefined ? `You predicted ${first}.` : `First you predicted ${first}, then ${second}.`];
  // A right choice or order would only be said twice.
  if (exercise.key.answer !== undefined) said.push(`Measured: ${exercise.key.measured}.`);
  else if (!right) said.push(`${exercise.kind === "choice" ? "Right" : "Measured"}: ${exercise.key.measured}.`);
  if (off) said.push(off);
  return said.join(" ");
}

/**
 * What the guesses for numbers say together; null if there are none.
 * @param {number[]} ratios guess by answer, of each first try
 * @returns {{typical: number, low: number, high: number} | null}
 */
export function calibration(ratios) {
  if (ratios.length === 0) return null;
  const factors = ratios.map(factor).sort((a, b) => a - b);
  const middle = factors.length / 2;
  const typical = (factors[Math.ceil(middle) - 1] + factors[Math.floor(middle)]) / 2;
  return {
    typical,
    low: ratios.filter((ratio) => ratio < 1).length,
    high: ratios.filter((ratio) => ratio > 1).length,
  };
}
