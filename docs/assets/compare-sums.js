// @ts-check
/** Sums and rounding that the parts of an inspection share. */

import { rounded } from "./compare-format.js";
import { spread as spreadOf } from "./compare-stage.js";

/** @typedef {{first: number, count: number, us: number, started: number}} Sum */
/** @typedef {{us: number, start: number, window: number, device: number, before: number, after: number}} Piece */

/**
 * @param {Map<string, Sum>} sums
 * @param {string} key
 * @param {number} at
 */
export function summed(sums, key, at) {
  let sum = sums.get(key);
  if (!sum) sums.set(key, (sum = { first: at, count: 0, us: 0, started: 0 }));
  sum.count += 1;
  return sum;
}

/** @type {(us: number) => number} */
export const toNs = (us) => rounded(us, 3);
/** @type {(part: number, whole: number) => number} */
export const percent = (part, whole) => (whole ? rounded((100 * part) / whole, 3) : 0);

/** @param {number[]} values */
export function spread(values) {
  const { median, low, high } = spreadOf(values);
  return { median: toNs(median), low: toNs(low), high: toNs(high) };
}
