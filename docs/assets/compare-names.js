// @ts-check
/**
 * Decodes the names of kernels as `build_traces/kernel_names` does, by the tables that it gave the page: what tells
 * kernels apart, and what is documented of a name. Names are hostile text: they are cut, never evaluated.
 */

const SHORT_MAX = 60;
const SUMMARY_MAX_PARTS = 14;
/** A longer name is not taken apart. */
export const MAX_NAME = 16_384;
const BRACKET = /[<({[,\]})>]/gu;
/** @type {Record<string, number>} */
const DEPTH = { "<": 1, "(": 1, "{": 1, "[": 1, ",": 0, "]": -1, "}": -1, ")": -1, ">": -1 };
const PATH = /^(?:void )?((?:(?:\(anonymous namespace\)|[A-Za-z_][\p{L}\p{N}_]*)::)*[A-Za-z_][\p{L}\p{N}_]*)/u;
const UNPRINTABLE = /[\p{C}\p{Z}]/u;
const DECIMAL = /^\p{Nd}+$/u;

/** @typedef {{text: string, meaning: string | null}} Part */
/** @typedef {{family: string, maker: string, short: string, summary: string, parts: Part[], kind?: string}} Decoded */
/** @typedef {string | Record<string, string>} Meaning a meaning, or one by what a group holds */
/** @typedef {Record<string, any>} Tables what `build_traces.kernel_names.tables` says */

/**
 * A decoder by these tables; it remembers what it has decoded.
 * @param {Tables} tables
 * @returns {(name: string) => Decoded}
 */
export function decoder(tables) {
  const compiled = compile(tables);
  /** @type {Map<string, Decoded>} */
  const known = new Map();
  return (name) => {
    let found = known.get(name);
    if (!found) {
      found = name.length > MAX_NAME ? unknown(tables, name.slice(0, MAX_NAME)) : decode(tables, compiled, name);
      found.kind = name.length > MAX_NAME ? "kernel" : workKind(tables, name, found.family);
      if (known.size < 5_000) known.set(name, found);
    }
    return found;
  };
}

/**
 * What a kernel is of, as far as its name tells, as in `build_traces/work_kinds.py`: it decides a color.
 * @param {Tables} tables
 * @param {string} name
 * @param {string} family
 * @returns {"gemm" | "pointwise" | "kernel"}
 */
export function workKind(tables, name, family) {
  const isTemplate =
    name.startsWith("triton_tem_") && name.split("_").some((word) => ["mm", "addmm", "bmm"].includes(word));
  if (tables.gemmFamilies.includes(family) || name.toLowerCase().includes("gemm") || isTemplate) return "gemm";
  const isPointwise =
    (family === "aten" && name.includes("elementwise_kernel")) ||
    tables.pointwiseBeginnings.some((/** @type {string} */ begin) => name.startsWith(begin));
  return isPointwise ? "pointwise" : "kernel";
}

/** @param {Tables} tables */
function compile(tables) {
  const whole = (/** @type {string} */ pattern) => new RegExp(`^(?:${pattern})$`, "du");
  return {
    patterns: tables.patterns.map((/** @type {[string, string, any]} */ [family, pattern, meanings]) => ({
      family,
      pattern: whole(pattern),
      meanings,
    })),
    inductor: whole(tables.inductor[0]),
    cutlass: whole(tables.cutlass[0]),
    functor: new RegExp(tables.functor, "gu"),
    ops: new Set(tables.inductorOps),
    wrappers: new Set(tables.atenWrappers),
  };
}

/**
 * @param {Tables} tables
 * @param {ReturnType<typeof compile>} compiled
 * @param {string} name
 * @returns {Decoded}
 */
function decode(tables, compiled, name) {
  return (
    plain(tables, compiled, name) ??
    inductor(tables, compiled, name) ??
    liger(tables, name) ??
    aten(tables, compiled, name) ??
    cutlass(tables, compiled, name) ??
    cublas(tables, name) ??
    unknown(tables, name)
  );
}

/**
 * @param {Tables} tables
 * @param {string} name
 * @returns {Decoded}
 */
function unknown(tables, name) {
  const found = functionIn(name);
  const short = found && found.args.length ? name.slice(0, found.end) : name;
  const bare = short.startsWith("void ") ? short.slice(5) : short;
  return { family: "unknown", maker: tables.makers.unknown, short: shortened(bare), summary: "Not decoded.", parts: [] };
}

/** @type {(tables: Tables, compiled: any, name: string) => Decoded | null} */
function plain(tables, { patterns }, name) {
  for (const { family, pattern, meanings } of patterns) {
    const match = pattern.exec(name);
    if (!match) continue;
    const codes = family === "tensile" ? (match.groups?.codes ?? "") : "";
    const told = codes ? name.slice(0, name.length - codes.length).replace(/_+$/, "") : name;
    return made(tables, family, partsOf(match, meanings), told);
  }
  return null;
}

/** @type {(tables: Tables, compiled: any, name: string) => Decoded | null} */
function inductor(tables, { inductor: pattern, ops }, name) {
  const match = pattern.exec(name);
  if (!match) return null;
  const [op, list, count] = tables.inductorSays;
  const all = match[4] ?? "";
  const cut = all.lastIndexOf("_");
  let [listed, counter] = [all.slice(0, Math.max(0, cut)), all.slice(cut + 1)];
  if (!DECIMAL.test(counter)) [listed, counter] = [all, ""];
  const known = counter ? opsOf(listed, ops, tables.inductorWords) : [];
  const parts = partsOf(match, tables.inductor[1]);
  if (known.length) parts.push(...known.map((text) => part(text, op)));
  else if (listed) parts.push(part(listed, list));
  if (counter) parts.push(part(counter, count));
  return made(tables, "inductor", parts, name);
}

/**
 * The ops of a list, or none where the table does not prove every cut.
 * @param {string} listed
 * @param {Set<string>} ops
 * @param {number} mostWords
 */
function opsOf(listed, ops, mostWords) {
  const words = listed.split("_");
  const found = [];
  let start = 0;
  for (let end = 1; end <= words.length; end += 1) {
    const op = words.slice(start, end).join("_");
    if (ops.has(op)) {
      found.push(op);
      start = end;
    } else if (end - start === mostWords) return [];
  }
  const sorted = found.every((op, at) => at === 0 || found[at - 1] < op);
  return start === words.length && sorted ? found : [];
}

/** @type {(tables: Tables, name: string) => Decoded | null} */
function liger(tables, name) {
  return Object.hasOwn(tables.liger, name) ? made(tables, "liger", [part(name, tables.liger[name])], name) : null;
}

/** @type {(tables: Tables, compiled: any, name: string) => Decoded | null} */
function aten(tables, { functor, wrappers }, name) {
  const found = functionIn(name);
  if (!found?.path.startsWith("at::native::")) return null;
  const kernel = last(found.path);
  if (!Object.hasOwn(tables.atenKernels, kernel))
    return made(tables, "aten", [part(kernel, tables.atenKernel)], kernel);
  const [meaning, numbers] = tables.atenKernels[kernel];
  const parts = [part(kernel, meaning)];
  for (let at = 0; at < Math.min(numbers.length, found.args.length); at += 1)
    if (numbers[at] && DECIMAL.test(found.args[at])) parts.push(part(found.args[at], numbers[at]));
  const shown = [kernel.endsWith("_kernel") ? kernel.slice(0, -"_kernel".length) : kernel];
  for (const match of name.slice(found.start, found.end).matchAll(functor)) {
    const [, applied] = match;
    if (wrappers.has(applied)) continue;
    const outer = Object.hasOwn(tables.atenOuter, applied) ? tables.atenOuter[applied] : null;
    const inner = Object.hasOwn(tables.atenFunctors, applied) ? tables.atenFunctors[applied] : tables.atenFunctor;
    parts.push(part(applied, outer ?? inner));
    shown.push(applied);
    if (!outer) break;
  }
  return made(tables, "aten", parts, shown.join(" "));
}

/** @type {(tables: Tables, compiled: any, name: string) => Decoded | null} */
function cutlass(tables, { cutlass: pattern }, name) {
  const meanings = tables.cutlass[1];
  const found = functionIn(name);
  if (!found || !tables.cutlassWrappers.includes(found.path)) {
    const match = pattern.exec(name);
    return match ? made(tables, "cutlass", partsOf(match, meanings), name) : null;
  }
  const inner = found.args[0] ?? "";
  const match = pattern.exec(inner);
  const rest = match ? partsOf(match, meanings) : inner ? [part(inner, null)] : [];
  return made(tables, "cutlass", [part(found.path, tables.cutlassWrapper), ...rest], inner || found.path);
}

/** @type {(tables: Tables, name: string) => Decoded | null} */
function cublas(tables, name) {
  const found = name.includes("cublas") ? functionIn(name) : null;
  if (!found) return null;
  const kernel = last(found.path);
  const known = Object.hasOwn(tables.cublas, kernel) ? tables.cublas[kernel] : null;
  if (!known && !found.path.startsWith("cublasLt::")) return null;
  return made(tables, "cublas", [part(kernel, known)], found.path);
}

// Pieces

/** @param {string} path */
function last(path) {
  return path.slice(path.lastIndexOf("::") + 1).replace(/^:/, "");
}

/**
 * A piece with its meaning; `{0}`, `{1}` in it are the numbers in the piece, `{text}` is all of it.
 * @param {string} text
 * @param {string | null | undefined} meaning
 * @returns {Part}
 */
function part(text, meaning) {
  if (!meaning) return { text, meaning: null };
  const numbers = text.match(/[0-9]+/g) ?? [];
  const filled = meaning.replace(/\{(text|\d)\}/g, (_, key) => (key === "text" ? text : (numbers[Number(key)] ?? "")));
  return { text, meaning: filled };
}

/**
 * The named groups in the order of the name, the groups `rest…` cut at each underscore.
 * @param {RegExpExecArray} match
 * @param {Record<string, Meaning>} meanings
 */
function partsOf(match, meanings) {
  const places = match.indices?.groups ?? {};
  const found = Object.entries(match.groups ?? {})
    .filter(([, text]) => text)
    .sort(([a], [b]) => (places[a]?.[0] ?? 0) - (places[b]?.[0] ?? 0));
  /** @type {Part[]} */
  const parts = [];
  for (const [key, text] of found) {
    const known = Object.hasOwn(meanings, key) ? meanings[key] : {};
    for (const piece of key.startsWith("rest") ? text.slice(1).split("_") : [text])
      parts.push(part(piece, typeof known === "string" ? known : Object.hasOwn(known, piece) ? known[piece] : null));
  }
  return parts;
}

/**
 * At most 60 printable characters; the middle goes, as both ends tell kernels apart.
 * @param {string} text
 */
export function shortened(text) {
  const characters = Array.from(text);
  const [head, tail] = [Math.floor((SHORT_MAX * 2) / 3), Math.floor(SHORT_MAX / 3) - 1];
  const cut =
    characters.length <= SHORT_MAX ? characters : [...characters.slice(0, head), "…", ...characters.slice(-tail)];
  return cut.map((one) => (one !== " " && UNPRINTABLE.test(one) ? "?" : one)).join("");
}

/**
 * @param {Tables} tables
 * @param {string} family
 * @param {Part[]} parts
 * @param {string} short
 * @returns {Decoded}
 */
function made(tables, family, parts, short) {
  const meanings = parts.flatMap(({ meaning }) => meaning ?? []);
  if (meanings.length === 0) meanings.push("no piece is documented");
  if (meanings.length > SUMMARY_MAX_PARTS) meanings.splice(SUMMARY_MAX_PARTS - 1, meanings.length, "…");
  const [first, ...rest] = meanings;
  const summary = `${[first[0].toUpperCase() + first.slice(1), ...rest].join("; ")}.`;
  return { family, maker: tables.makers[family], short: shortened(short), summary, parts };
}

/**
 * The C++ function that a name starts with; arguments that do not close end with the name.
 * @param {string} name
 */
function functionIn(name) {
  const match = PATH.exec(name);
  if (!match) return null;
  const start = match[0].length;
  const path = match[1];
  if (name[start] !== "<") return { path, args: /** @type {string[]} */ ([]), start, end: start };
  const args = [];
  let [depth, from] = [0, start + 1];
  BRACKET.lastIndex = start;
  for (let bracket = BRACKET.exec(name); bracket; bracket = BRACKET.exec(name)) {
    depth += DEPTH[bracket[0]];
    if (depth <= 0 || (depth === 1 && bracket[0] === ",")) {
      args.push(name.slice(from, bracket.index).trim());
      from = bracket.index + 1;
    }
    if (depth <= 0) return { path, args, start, end: from };
  }
  return { path, args: [...args, name.slice(from).trim()], start, end: name.length };
}
