// @ts-check
/**
 * What an exercise is judged by on the reader's own recording: the same key that the page has of ours, made from the
 * expressions in it. The rules are those of `build_traces/exercises.py`. Pure, so that it can be tested alone.
 */

import { parse } from "./compare-expressions.js";
import { NoValue, shown } from "./compare-format.js";

/** @typedef {import("./compare-format.js").Scalar} Scalar */

/** @param {Scalar} value */
function isNumber(value) {
  return typeof value === "bigint" || typeof value === "number";
}

/**
 * A `data-key` for these facts. Throws NoValue where they hold no answer.
 * @param {DOMStringMap} data of the exercise
 * @param {{get: (path: string) => {value: Scalar}}} facts
 */
export function keyOf({ key = "", kind = "", unit = "", several = "" }, facts) {
  const ours = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(key), (one) => one.charCodeAt(0))));
  if (!Array.isArray(ours.decides)) throw new NoValue("The page does not say what decides.");
  const values = ours.decides.map((/** @type {string} */ written) => parse(written).compute((path) => facts.get(path).value));
  const found = { ...ours, ...ANSWERS[kind](values, ours.parts ?? [], unit, several === "true") };
  const bytes = new TextEncoder().encode(JSON.stringify(found));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** @type {Record<string, (values: Scalar[], parts: string[], unit: string, several: boolean) => object>} */
const ANSWERS = {
  count([value], _, unit) {
    const number = Number(value);
    if (typeof value === "string" || !Number.isInteger(number) || number < 0) throw new NoValue("It is no count there.");
    return { answer: number, measured: `${shown(typeof value === "boolean" ? BigInt(number) : value)} ${unit}`.trimEnd() };
  },
  number([value], _, unit) {
    if (!isNumber(value) || !(Number(value) > 0)) throw new NoValue("It is no number above 0 there.");
    return { answer: Number(value), measured: `${shown(value)} ${unit}`.trimEnd() };
  },
  choice(values, parts, _, several) {
    const right = values.flatMap((value, at) => (value === true ? [at] : []));
    if (values.some((value) => typeof value !== "boolean")) throw new NoValue("An option is neither true nor false there.");
    if (several ? right.length === 0 || right.length === values.length : right.length !== 1)
      throw new NoValue(`${right.length || "None"} of the options ${right.length === 1 ? "holds" : "hold"} there.`);
    return { right, measured: right.map((at) => `“${parts[at]}”`).join(", ") };
  },
  order(values, parts) {
    if (!values.every(isNumber)) throw new NoValue("An item has no place there.");
    const right = values.map((_, at) => at).sort((a, b) => Number(values[a]) - Number(values[b]));
    if (right.some((at, n) => n > 0 && values[at] == values[right[n - 1]])) throw new NoValue("Two items are equal there.");
    return { right, measured: right.map((at) => parts[at]).join(" → ") };
  },
};
