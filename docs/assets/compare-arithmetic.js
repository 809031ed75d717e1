// @ts-check
/** Python's arithmetic, comparison and functions, for expressions: a whole number is a BigInt, a float a number. */

import { nearest, NoValue, rounded } from "./compare-format.js";

/** @typedef {import("./compare-format.js").Scalar} Scalar */

const MOST_POWER = 4_000_000n;

/**
 * @param {Scalar | Scalar[]} value
 * @returns {Scalar}
 */
export function single(value) {
  if (Array.isArray(value)) throw new NoValue("a list in a list is no value");
  return value;
}

/** @param {Scalar | Scalar[]} value */
export function truth(value) {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/**
 * @param {Scalar | Scalar[]} value
 * @returns {bigint | number}
 */
export function number(value) {
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value === "bigint" || typeof value === "number") return value;
  throw new NoValue("text is no number");
}

/**
 * @param {string} sign
 * @param {Scalar | Scalar[]} left
 * @param {Scalar | Scalar[]} right
 * @returns {boolean}
 */
export function compare(sign, left, right) {
  if (sign === "in" || sign === "not in") return isIn(left, right) === (sign === "in");
  if (Array.isArray(left) || Array.isArray(right)) throw new NoValue("a list is compared with nothing");
  if ((typeof left === "string") !== (typeof right === "string"))
    throw new NoValue(`${left} and ${right} are never equal`);
  const [a, b] = typeof left === "string" ? [left, /** @type {string} */ (right)] : [number(left), number(right)];
  switch (sign) {
    case "==":
      return a == b; // a whole number and a float may be equal
    case "!=":
      return a != b;
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    default:
      return a >= b;
  }
}

/**
 * @param {Scalar | Scalar[]} left
 * @param {Scalar | Scalar[]} right
 */
function isIn(left, right) {
  if (typeof right === "string" && typeof left === "string") return right.includes(left);
  if (!Array.isArray(right)) throw new NoValue("nothing is in that");
  const one = single(left);
  const plain = (/** @type {Scalar} */ value) => (typeof value === "boolean" ? Number(value) : value);
  return right.some((other) => (typeof other === "string") === (typeof one === "string") && plain(other) == plain(one));
}

/** @type {Record<string, (a: bigint | number, b: bigint | number) => bigint | number>} */
export const ARITHMETIC = {
  "+": (a, b) => (both(a, b) ? a + b : Number(a) + Number(b)),
  "-": (a, b) => (both(a, b) ? a - b : Number(a) - Number(b)),
  "*": (a, b) => (both(a, b) ? a * b : Number(a) * Number(b)),
  "/"(a, b) {
    if (b == 0) throw new NoValue("it divides by zero");
    return Number(a) / Number(b);
  },
  "//"(a, b) {
    if (b == 0) throw new NoValue("it divides by zero");
    const rest = ARITHMETIC["%"](a, b);
    if (both(a, b)) return (a - /** @type {bigint} */ (rest)) / b;
    return Math.round((Number(a) - Number(rest)) / Number(b));
  },
  "%"(a, b) {
    if (b == 0) throw new NoValue("it divides by zero");
    if (both(a, b)) return ((a % b) + b) % b;
    const rest = Number(a) % Number(b);
    return rest && rest < 0 !== Number(b) < 0 ? rest + Number(b) : rest;
  },
  "**"(a, b) {
    const size = (/** @type {bigint | number} */ x) => (x < 0 ? -x : x);
    if (size(a) > MOST_POWER || size(b) > MOST_POWER) throw new NoValue("the power is too large");
    if (a == 0 && b < 0) throw new NoValue("it divides by zero");
    if (!both(a, b) || b < 0n) return Number(a) ** Number(b);
    if (b * BigInt(a.toString(2).length) > 100_000n) throw new NoValue("the power is too large");
    return a ** b;
  },
};

/**
 * @param {bigint | number} a
 * @param {bigint | number} b
 * @returns {b is bigint}
 */
function both(a, b) {
  return typeof a === "bigint" && typeof b === "bigint";
}

/**
 * @param {string} name
 * @param {(Scalar | Scalar[])[]} args
 * @returns {Scalar}
 */
export function call(name, args) {
  if (name === "abs" && args.length === 1) {
    const value = number(args[0]);
    return value < 0 ? -value : value;
  }
  if (name === "round" && (args.length === 1 || args.length === 2)) {
    const value = number(args[0]);
    if (args.length === 1) return typeof value === "bigint" ? value : nearest(value);
    const decimals = Number(number(args[1]));
    if (typeof value === "number") return rounded(value, decimals);
    if (decimals >= 0) return value;
    return (value < 0n ? -1n : 1n) * BigInt(rounded(Math.abs(Number(value)), decimals));
  }
  const values = args.length === 1 && Array.isArray(args[0]) ? args[0] : args.map(single);
  if ((name !== "min" && name !== "max") || values.length === 0) throw new NoValue(`${name} is called wrongly`);
  return values.reduce((best, one) => (compare(name === "min" ? "<" : ">", one, best) ? one : best));
}
