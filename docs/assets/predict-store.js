// @ts-check
/**
 * Keeps what a reader predicted, in the browser's own storage and nowhere else: one key an exercise,
 *
 *     guide-predict:mlp-kernels = {"v":1,"hash":"1c6db786e8e7","tries":[{"guess":7,"right":false,"at":"2026…"}]}
 *
 * Other sites of the same host, old versions of this one and readers may have written there too: what does not look
 * like this is as if it were not there. Pure functions over a given storage.
 */

/** @typedef {import("./predict-judge.js").Guess} Guess */
/** @typedef {import("./predict-judge.js").Exercise} Exercise */

/**
 * @typedef {object} Try
 * @property {Guess} guess
 * @property {boolean} right what it was judged then; pages judge anew, because a recording may change
 * @property {string} at when, in ISO 8601
 */

/**
 * @typedef {object} Kept
 * @property {number} v
 * @property {string} hash
 * @property {Try[]} tries
 */

import { isGuess } from "./predict-judge.js";

export const PREFIX = "guide-predict:";
export const VERSION = 1;
export const MOST_TRIES = 2;
const FILE_FORMAT = "guide-predictions";
const LONGEST = 20_000;

/**
 * The browser's storage; null where it is off.
 * @returns {Storage | null}
 */
export function openStorage() {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

/**
 * What was kept of an exercise: nothing if it is damaged, foreign, or of another text.
 * @param {Storage | null} storage
 * @param {Exercise} exercise
 * @returns {Try[]}
 */
export function read(storage, exercise) {
  try {
    return triesOf(exercise, decode(storage?.getItem(PREFIX + exercise.id) ?? ""));
  } catch {
    return [];
  }
}

/**
 * @param {string} text
 * @returns {unknown}
 */
function decode(text) {
  if (!text || text.length > LONGEST) return null;
  return JSON.parse(text);
}

/**
 * The tries in a value of unknown origin, rebuilt from what is known to be sound in it.
 * @param {Exercise} exercise
 * @param {unknown} value
 * @returns {Try[]}
 */
function triesOf(exercise, value) {
  if (!isRecord(value) || value.v !== VERSION || value.hash !== exercise.hash || !Array.isArray(value.tries)) return [];
  const tries = value.tries.slice(0, MOST_TRIES);
  if (!tries.every((one) => isRecord(one) && isGuess(exercise, one.guess) && isTime(one.at))) return [];
  return tries.map(({ guess, right, at }) => ({ guess, right: right === true, at }));
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, any>}
 */
function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value */
function isTime(value) {
  return typeof value === "string" && value.length < 40 && !Number.isNaN(Date.parse(value));
}

/**
 * Whether it could be kept: storage may be off or full.
 * @param {Storage | null} storage
 * @param {Exercise} exercise
 * @param {Try[]} tries
 */
export function write(storage, exercise, tries) {
  if (!storage) return false;
  try {
    storage.setItem(PREFIX + exercise.id, JSON.stringify({ v: VERSION, hash: exercise.hash, tries }));
    return true;
  } catch {
    return false;
  }
}

/**
 * The keys of everything that was kept, of exercises that are no longer there too.
 * @param {Storage | null} storage
 * @returns {string[]}
 */
function keys(storage) {
  try {
    return Object.keys(storage ?? {}).filter((key) => key.startsWith(PREFIX));
  } catch {
    return [];
  }
}

/**
 * Forget everything. Whether it is gone.
 * @param {Storage | null} storage
 */
export function wipe(storage) {
  try {
    for (const key of keys(storage)) storage?.removeItem(key);
  } catch {
    return false;
  }
  return keys(storage).length === 0;
}

/**
 * The text of a file with what was kept of these exercises.
 * @param {Storage | null} storage
 * @param {Exercise[]} exercises
 * @param {Date} now
 */
export function exported(storage, exercises, now) {
  /** @type {Record<string, Kept>} */
  const answers = {};
  for (const exercise of exercises) {
    const tries = read(storage, exercise);
    if (tries.length) answers[exercise.id] = { v: VERSION, hash: exercise.hash, tries };
  }
  return JSON.stringify({ format: FILE_FORMAT, v: VERSION, saved: now.toISOString(), answers }, null, 1) + "\n";
}

/**
 * What came of reading a file: how many answers are new here, were kept as they were here, belong to no question of
 * this site or to one that has changed, or could not be stored.
 * @typedef {{added: number, kept: number, foreign: number, lost: number}} Imported
 */

/**
 * Add the answers of a file to those that are here; what is here stays. null if it is no such file.
 * @param {Storage | null} storage
 * @param {Exercise[]} exercises
 * @param {string} text
 * @returns {Imported | null}
 */
export function imported(storage, exercises, text) {
  const answers = answersIn(text);
  if (!answers) return null;
  const known = new Map(exercises.map((exercise) => [exercise.id, exercise]));
  const result = { added: 0, kept: 0, foreign: 0, lost: 0 };
  for (const [id, value] of Object.entries(answers)) {
    const exercise = known.get(id);
    const tries = exercise ? triesOf(exercise, value) : [];
    if (!exercise || tries.length === 0) result.foreign += 1;
    else if (read(storage, exercise).length) result.kept += 1;
    else if (write(storage, exercise, tries)) result.added += 1;
    else result.lost += 1;
  }
  return result;
}

/**
 * @param {string} text
 * @returns {Record<string, unknown> | null}
 */
function answersIn(text) {
  try {
    const file = JSON.parse(text);
    const sound = isRecord(file) && file.format === FILE_FORMAT && file.v === VERSION && isRecord(file.answers);
    return sound ? file.answers : null;
  } catch {
    return null;
  }
}
