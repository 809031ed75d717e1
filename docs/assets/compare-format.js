// @ts-check
/**
 * Writes values as Python writes them on the pages: its format specifications, and three significant digits where
 * there is none. A whole number is a BigInt and a float a number, so that `5` and `5.0` stay apart; tests/vectors holds
 * what comes out, for both languages.
 */

/** @typedef {bigint | number | string | boolean} Scalar */

/** A value that cannot be written so, or an expression that cannot be computed; the message is for the reader. */
export class NoValue extends Error {}

const SPEC =
  /^(?:(?<fill>[^])?(?<align>[<>=^]))?(?<sign>[-+ ])?(?<z>z)?(?<alt>#)?(?<zero>0)?(?<width>\d+)?(?<group>[,_])?(?:\.(?<prec>\d+))?(?<type>[bcdeEfFgGnosxX%])?$/u;
const DIGITS = 3;
const MOST_WIDTH = 1_000;

/**
 * A value as readers see it.
 * @param {Scalar} value
 * @param {string} spec
 */
export function shown(value, spec = "") {
  if (spec) return format(value, spec);
  if (typeof value === "number") return significant(value);
  return typeof value === "bigint" ? grouped(String(value)) : text(value);
}

/**
 * As Python's `str`.
 * @param {Scalar} value
 * @returns {string}
 */
export function text(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "number" ? general(value, 17, false, true) : String(value);
}

/**
 * As Python's `format`. Throws NoValue for a format that does not fit.
 * @param {Scalar} value
 * @param {string} spec
 */
export function format(value, spec) {
  const parts = SPEC.exec(spec)?.groups;
  if (!parts) throw new NoValue(`${spec} is no format`);
  if (typeof value === "boolean") value = value ? 1n : 0n;
  const [width, prec] = [Number(parts.width ?? 0), parts.prec === undefined ? undefined : Number(parts.prec)];
  if (width > MOST_WIDTH || (prec ?? 0) > MOST_WIDTH) throw new NoValue(`${spec} asks for too much`);
  if (typeof value === "string") {
    if ((parts.type ?? "s") !== "s" || parts.sign || parts.alt || parts.group || parts.align === "=")
      throw new NoValue(`${spec} is no format of text`);
    const cut = prec === undefined ? value : Array.from(value).slice(0, prec).join("");
    return padded("", cut, width, parts.fill ?? (parts.zero ? "0" : " "), parts.align ?? "<");
  }
  const whole = typeof value === "bigint" && (parts.type === undefined || "bcdnoxX".includes(parts.type));
  const written = whole ? ofInt(value, parts, prec) : ofFloat(Number(value), parts, prec);
  const negative = written.startsWith("-");
  const sign = negative ? "-" : parts.sign === "+" || parts.sign === " " ? parts.sign : "";
  let digits = negative ? written.slice(1) : written;
  const align = parts.align ?? (parts.zero ? "=" : ">");
  const fill = parts.fill ?? (parts.zero ? "0" : " ");
  if (parts.group) {
    const room = fill === "0" && align === "=" ? width - sign.length : 0;
    digits = groupedIn(digits, parts.group, room);
  }
  return padded(sign, digits, width, fill, align);
}

/**
 * @param {string} sign
 * @param {string} body
 * @param {number} width
 * @param {string} fill
 * @param {string} align
 */
function padded(sign, body, width, fill, align) {
  const room = Math.max(0, width - Array.from(sign + body).length);
  if (align === "=") return sign + fill.repeat(room) + body;
  const before = align === "<" ? 0 : align === "^" ? Math.floor(room / 2) : room;
  return fill.repeat(before) + sign + body + fill.repeat(room - before);
}

/**
 * @param {bigint} value
 * @param {Record<string, string | undefined>} parts
 * @param {number | undefined} prec
 */
function ofInt(value, parts, prec) {
  if (prec !== undefined) throw new NoValue("a whole number has no precision");
  const type = parts.type ?? "d";
  if (type === "c") throw new NoValue("a number is no character here");
  const base = { b: 2, o: 8, x: 16, X: 16 }[type];
  const magnitude = value < 0n ? -value : value;
  const digits = magnitude.toString(base ?? 10);
  const prefix = base && parts.alt ? `0${type}` : "";
  return (value < 0n ? "-" : "") + prefix + (type === "X" ? digits.toUpperCase() : digits);
}

/**
 * @param {number} value
 * @param {Record<string, string | undefined>} parts
 * @param {number | undefined} prec
 */
function ofFloat(value, parts, prec) {
  const type = parts.type;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  let written;
  if (type === "f" || type === "F") written = fixed(value, prec ?? 6);
  else if (type === "%") written = `${fixed(value * 100, prec ?? 6)}%`;
  else if (type === "e" || type === "E") written = exponential(value, prec ?? 6);
  else if (type === undefined && prec === undefined) written = general(value, 17, false, true);
  else written = general(value, prec ?? 6, Boolean(parts.alt), type === undefined);
  if (parts.alt && !written.includes(".")) written = written.replace(/^-?\d+/, "$&.");
  if (parts.z && /^-[0.%]*(e.*)?$/.test(written)) written = written.slice(1);
  return type === "E" || type === "G" ? written.toUpperCase() : written;
}

/** @param {string} digits */
export function grouped(digits) {
  return groupedIn(digits, ",", 0);
}

/**
 * Separators between thousands of the part before the point, filled with zeros to at least this width.
 * @param {string} written
 * @param {string} separator
 * @param {number} width
 */
function groupedIn(written, separator, width) {
  const [, sign, whole, rest] = /** @type {RegExpExecArray} */ (/^(-?)(\d*)(.*)$/s.exec(written));
  const separate = (/** @type {string} */ digits) => digits.replace(/\B(?=(\d{3})+$)/g, separator);
  let digits = whole;
  while (separate(digits).length + rest.length + sign.length < width) digits = `0${digits}`;
  return sign + separate(digits) + rest;
}

/**
 * `56.6`, `1,230`, `0.00450`, `1.20e-07`.
 * @param {number} value
 */
function significant(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const exponent = exponentOf(value, DIGITS - 1);
  const decimals = DIGITS - 1 - exponent;
  if (decimals <= 0) return grouped(fixed(rounded(value, decimals), 0));
  return exponent >= -4 ? fixed(value, decimals) : exponential(value, DIGITS - 1);
}

// Digits, exactly: a double is a whole number times a power of two, and halves go to the even digit.

/**
 * A double's magnitude as a fraction.
 * @param {number} value finite
 * @returns {[bigint, bigint]}
 */
function fraction(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(value));
  const bits = view.getBigUint64(0);
  const exponent = Number(bits >> 52n);
  const mantissa = (bits & ((1n << 52n) - 1n)) + (exponent ? 1n << 52n : 0n);
  const shift = (exponent || 1) - 1075;
  return shift >= 0 ? [mantissa << BigInt(shift), 1n] : [mantissa, 1n << BigInt(-shift)];
}

/**
 * The magnitude times 10^decimals, rounded.
 * @param {number} value
 * @param {number} decimals may be negative
 */
function scaled(value, decimals) {
  let [top, bottom] = fraction(value);
  if (decimals >= 0) top *= 10n ** BigInt(decimals);
  else bottom *= 10n ** BigInt(-decimals);
  const [down, rest] = [top / bottom, (top % bottom) * 2n];
  return down + (rest > bottom || (rest === bottom && down % 2n === 1n) ? 1n : 0n);
}

/** @param {number} value */
function isNegative(value) {
  return value < 0 || Object.is(value, -0);
}

/**
 * As `format(value, f".{decimals}f")`.
 * @param {number} value
 * @param {number} decimals
 */
export function fixed(value, decimals) {
  const digits = scaled(value, decimals).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  return (isNegative(value) ? "-" : "") + whole + (decimals ? `.${digits.slice(-decimals)}` : "");
}

/**
 * The exponent of ten that a value has when it is written with this many decimals behind the first digit.
 * @param {number} value
 * @param {number} decimals
 */
function exponentOf(value, decimals) {
  if (value === 0) return 0;
  const [top, bottom] = fraction(value);
  let exponent = Math.floor(Math.log10(Math.abs(value)));
  const power = (/** @type {number} */ n) => 10n ** BigInt(n);
  const below = (/** @type {number} */ n) => (n >= 0 ? top < power(n) * bottom : top * power(-n) < bottom);
  while (below(exponent)) exponent -= 1;
  while (!below(exponent + 1)) exponent += 1;
  return scaled(value, decimals - exponent).toString().length > decimals + 1 ? exponent + 1 : exponent;
}

/**
 * As `format(value, f".{decimals}e")`.
 * @param {number} value
 * @param {number} decimals
 */
function exponential(value, decimals) {
  const exponent = exponentOf(value, decimals);
  const digits = scaled(value, decimals - exponent).toString().padEnd(decimals + 1, "0").slice(0, decimals + 1);
  const mantissa = decimals ? `${digits[0]}.${digits.slice(1)}` : digits;
  return `${isNegative(value) ? "-" : ""}${mantissa}e${written(exponent)}`;
}

/** @param {number} exponent */
function written(exponent) {
  return `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/**
 * As Python's `g`, or its `repr` for 17 digits.
 * @param {number} value
 * @param {number} precision
 * @param {boolean} keepZeros
 * @param {boolean} asFloat with a digit behind the point at least
 */
function general(value, precision, keepZeros, asFloat) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  if (precision === 17 && asFloat) return shortest(value);
  const digits = precision || 1;
  const exponent = exponentOf(value, digits - 1);
  const most = asFloat ? digits - 1 : digits;
  let made = exponent < -4 || exponent >= most ? exponential(value, digits - 1) : fixed(value, digits - 1 - exponent);
  if (!keepZeros) made = made.replace(/\.?0*(e.*)?$/, (end, e) => (made.includes(".") ? (e ?? "") : end));
  return asFloat && /^-?\d+$/.test(made) ? `${made}.0` : made;
}

/** @param {number} value */
function shortest(value) {
  if (value === 0) return isNegative(value) ? "-0.0" : "0.0";
  const [mantissa, power] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) return `${mantissa}e${written(exponent)}`;
  const digits = mantissa.replace(/[-.]/g, "");
  return value.toFixed(Math.max(1, digits.length - 1 - exponent));
}

/**
 * As `round(value, decimals)` of a float.
 * @param {number} value
 * @param {number} decimals
 */
export function rounded(value, decimals) {
  if (!Number.isFinite(value) || decimals > 300) return value;
  if (decimals < -310) return isNegative(value) ? -0 : 0;
  const digits = scaled(value, decimals);
  return (isNegative(value) ? -1 : 1) * Number(`${digits}e${-decimals}`);
}

/**
 * As `round(value)`: to the nearest whole number, of two to the even one.
 * @param {number} value
 */
export function nearest(value) {
  if (!Number.isFinite(value)) throw new NoValue("it is no number");
  return (value < 0 ? -1n : 1n) * scaled(value, 0);
}
