// @ts-check
/**
 * Draws what a recording or a trace says, as the pages do it: kernel lists and timelines. Names are hostile text: they
 * become text of elements and never HTML, and what a browser would act on in them is replaced.
 */

import { shown } from "./compare-format.js";

/** @typedef {import("./compare-stage.js").Stage} Stage */
/** @typedef {import("./compare-stage.js").Row} Row */
/** @typedef {import("./compare-stage.js").Spread} Spread */
/** @typedef {import("./compare-names.js").Decoded} Decoded */
/** @typedef {import("./compare-lanes.js").Lanes} Lanes */

const SVG = "http://www.w3.org/2000/svg";
const MOST_RUNS = 5;
const MB = 1e6;
const COLUMNS = ["#", "Kernel", "What the name says", "A step", "µs each", "Grid × block"];
// eslint-disable-next-line no-control-regex
const ACTED_ON = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * Text without characters that a browser would act on: control characters get a picture, the others are replaced.
 * @param {string} text
 */
export function clean(text) {
  return text.replace(ACTED_ON, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : "\ufffd";
  });
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, clean(value));
  made.append(...children.map((child) => (typeof child === "string" ? clean(child) : child)));
  return made;
}

/**
 * A long name in `<code>` that may wrap behind `_`, `::`, `<` and `,`.
 * @param {string} name
 */
export function wrapping(name) {
  const [first, ...rest] = clean(name).split(/(?<=[_<,])|(?<=::)/);
  const code = make("code", {}, first ?? "");
  for (const piece of rest) if (piece) code.append(make("wbr"), piece);
  return code;
}

/**
 * A table in a region that scrolls by itself.
 * @param {string} label
 * @param {string[]} columns
 * @param {HTMLTableRowElement[]} rows
 * @param {string} className
 */
export function table(label, columns, rows, className) {
  const head = make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column)));
  const made = make("table", { class: className }, make("thead", {}, head), make("tbody", {}, ...rows));
  return make("div", { class: "trace-scroll", tabindex: "0", role: "region", "aria-label": label }, made);
}

/** @param {(Node | string)[]} cells strings and elements become cells, `<td>` and `<th>` are kept */
export function row(...cells) {
  const isCell = (/** @type {Node | string} */ cell) => cell instanceof HTMLTableCellElement;
  return make("tr", {}, ...cells.map((cell) => (isCell(cell) ? cell : make("td", {}, cell))));
}

/** @param {Spread} spread */
export function extremes({ low, high }, spec = "") {
  const [from, to] = [shown(low, spec), shown(high, spec)];
  return from === to ? "" : `${from}–${to}`;
}

/** @type {Record<string, string>} */
const WORK = { gemm: "GEMM", pointwise: "pointwise", kernel: "other kernel", memset: "memset", memcpy: "memcpy" };

/**
 * The color of a kind of GPU work, and its word, as `build_traces/work_kinds.py` has them.
 * @param {string} kind
 */
function workKey(kind) {
  return make("span", { class: `tl-key tl-key--${kind}` }, WORK[kind] ?? kind);
}

// Kernel lists

/**
 * The content of a kernel list's figure: the table, and the lines beside it.
 * @param {Stage} stage
 * @param {number | null} step
 * @param {(name: string) => Decoded} decode
 */
export function kernels(stage, step, decode) {
  const withHbm = stage.rows.hbm !== null;
  const processes = stage.processes.length;
  const rows = stage.workRows(["kernel"], step).map((one) => kernelRow(one, decode(one.name), processes, withHbm));
  const name = `Kernels of ${stage.name}${step ? `, step ${step} of ${stage.steps.length}` : ""}`;
  const made = [
    table(name, withHbm ? [...COLUMNS, "HBM read / write, MB"] : COLUMNS, rows, "kernels"),
    make("p", { class: "beside" }, beside(stage, step)),
  ];
  if (!withHbm) made.push(make("p", { class: "missing" }, `HBM bytes were not measured: ${stage.hbmMissing}.`));
  return { name, made };
}

/**
 * @param {Row} one
 * @param {Decoded} decoded
 * @param {number} processes
 * @param {boolean} withHbm
 */
function kernelRow(one, decoded, processes, withHbm) {
  const cells = [
    make("td", {}, inRanges(one.numbers)),
    nameCell(one.name, decoded),
    make("td", {}, workKey(decoded.kind ?? "kernel"), " ", decoded.summary),
    make("td", {}, shown(BigInt(one.count))),
    timeCell(one, processes),
    make("td", {}, `(${one.grid.join(" × ")}) × `, make("br"), `(${one.block.join(" × ")})`),
  ];
  if (withHbm && one.hbm) cells.push(make("td", {}, `${shown(one.hbm[0] / MB)} / ${shown(one.hbm[1] / MB)}`));
  return row(...cells);
}

/**
 * @param {Row} one
 * @param {number} processes
 */
function timeCell({ us, draws }, processes) {
  if (!us) return make("td", {}, make("span", { class: "missing", title: "no process ran it in any profiled step" }, "–"));
  const cell = make("td", {}, shown(us.median), make("br"), make("small", {}, extremes(us)));
  if (draws < processes)
    cell.append(make("br"), make("small", { class: "draws" }, `${draws} of ${processes} processes`));
  return cell;
}

/**
 * @param {string} name
 * @param {Decoded} decoded
 */
function nameCell(name, { parts }) {
  const cell = make("td", {}, wrapping(name));
  if (!parts.length) return cell;
  const entries = parts.flatMap(({ text, meaning }) => [
    make("dt", {}, wrapping(text)),
    meaning ? make("dd", {}, meaning) : make("dd", { class: "unknown" }, "not documented"),
  ]);
  cell.append(make("details", {}, make("summary", {}, "its parts"), make("dl", {}, ...entries)));
  return cell;
}

/**
 * `1, 3–5, 9`; of many runs the first four and how many more there are.
 * @param {number[]} numbers that rise
 */
export function inRanges(numbers) {
  /** @type {number[][]} */
  const runs = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run && number === run[run.length - 1] + 1) run.push(number);
    else runs.push([number]);
  }
  const kept = runs.length <= MOST_RUNS ? runs : runs.slice(0, MOST_RUNS - 1);
  const said = kept.map((run) => (run.length > 2 ? `${run[0]}–${run[run.length - 1]}` : run.join(", ")));
  if (runs.length > MOST_RUNS) said.push(`and ${runs.slice(MOST_RUNS - 1).flat().length} more`);
  return said.join(", ");
}

/**
 * `Beside the kernels: 2 memsets, 0.736 µs each.`
 * @param {Stage} stage
 * @param {number | null} step
 */
function beside(stage, step) {
  const said = /** @type {const} */ (["memset", "memcpy"]).flatMap((kind) =>
    stage.workRows([kind], step).map(({ name, count, us }) => {
      const took = us ? `, ${shown(us.median)} µs${count > 1 ? " each" : ""}` : "";
      return `${count} ${kind}${count === 1 ? "" : "s"}${kind === "memset" ? "" : ` (${name})`}${took}`;
    }),
  );
  return `Beside the kernels: ${said.join("; ") || "no memset and no memcpy"}.`;
}

// Timelines

const [WIDTH, LEFT, RIGHT, AXIS, TITLE, GAP, ROW, BAR] = [760, 100, 16, 24, 26, 24, 17, 15];
const [CHARACTER, PADDING, FEWEST, MOST_TICKS] = [6.7, 6, 8, 10];

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 */
function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, clean(String(value)));
  made.append(...children.map((child) => (typeof child === "string" ? clean(child) : child)));
  return made;
}

/** How many pictures were drawn: each has an id of its own. */
let drawn = 0;

/** @param {string} id of slanted lines over pointwise kernels, as in the pages' own pictures */
function hatching(id) {
  const lines = svg("path", { d: "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2", class: "tl-hatch" });
  return svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, lines);
}

/**
 * A step as a picture with a time scale of its own.
 * @param {Lanes} lanes
 * @param {string} title
 */
export function timeline(lanes, title) {
  const endUs = lanes.bars.reduce((last, { start, dur }) => Math.max(last, start + dur), lanes.stepUs) || 1;
  const height = 2 * AXIS + TITLE + lanes.rows * ROW + GAP;
  const perUs = (WIDTH - LEFT - RIGHT) / endUs;
  const hatch = `compare-hatch-${(drawn += 1)}`;
  const x = (/** @type {number} */ us) => (LEFT + us * perUs).toFixed(2);
  const y = (/** @type {number} */ at) => AXIS + TITLE + at * ROW + (at >= lanes.firstGpuRow ? GAP : 0);
  const made = svg(
    "svg",
    {
      ...{ class: "timeline", role: "img", viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, "font-size": 11 },
      "aria-label": `Timeline of ${title}. ${inWords(lanes)}`,
    },
    svg("defs", {}, hatching(hatch)),
    axis(endUs, x, height),
    svg("text", { class: "tl-title", x: 4, y: AXIS + 17 }, cutTo(title, 90)),
    ...lanes.lanes.map(({ name, row: at }) => svg("text", { class: "tl-lane", x: 4, y: y(at) + 12 }, cutTo(name, 15))),
    ...lanes.links.map(([from, to]) => link(lanes.bars[from], lanes.bars[to], x, y)),
    ...lanes.bars.flatMap((bar) => barIn(bar, perUs, x, y, hatch)),
  );
  /** @type {SVGElement} */ (made).style.minWidth = `${WIDTH}px`;
  return make("div", { class: "trace-scroll", tabindex: "0", role: "region", "aria-label": `Timeline of ${title}` }, made);
}

/** @type {Record<string, string>} */
const LEGEND = {
  ...{ op: "ops", annotation: "annotations", call: "calls", gemm: "GEMMs", pointwise: "pointwise kernels" },
  ...{ kernel: "other kernels", memset: "memsets", memcpy: "memcpys" },
};

/**
 * The colors of what is in these pictures.
 * @param {Lanes[]} all
 */
export function legend(all) {
  const kinds = new Set(all.flatMap(({ bars }) => bars.map(({ kind }) => kind)));
  const made = make("p", { class: "tl-legend" });
  for (const [kind, name] of Object.entries(LEGEND))
    if (kinds.has(kind)) made.append(make("span", { class: `tl-key tl-key--${kind}` }, name), " ");
  return made;
}

/** @param {Lanes} lanes */
function inWords({ bars, stepUs, leftOut }) {
  const kernels = ["gemm", "pointwise", "kernel"];
  const counts = ["kernel", "memset", "memcpy"].map((kind) => {
    const count = bars.filter((bar) => bar.kind === kind || (kind === "kernel" && kernels.includes(bar.kind))).length;
    return `${count} ${kind}${count === 1 ? "" : "s"}`;
  });
  return `${counts.join(", ")} in a step of ${shown(stepUs)} µs.${leftOut ? ` ${leftOut} shorter events are not drawn.` : ""}`;
}

/**
 * @param {string} text
 * @param {number} most
 */
function cutTo(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/**
 * @param {number} endUs
 * @param {(us: number) => string} x
 * @param {number} height
 */
function axis(endUs, x, height) {
  const made = svg("g", { class: "tl-axis" });
  const power = 10 ** Math.floor(Math.log10(endUs / MOST_TICKS));
  const step = power * ([1, 2, 5, 10].find((times) => power * times * MOST_TICKS >= endUs) ?? 10);
  for (let n = 0; n <= Math.min(endUs / step, MOST_TICKS); n += 1) {
    const at = x(n * step);
    made.append(svg("line", { x1: at, x2: at, y1: AXIS - 4, y2: height - AXIS + 4 }));
    const text = `${Number((n * step).toPrecision(6))}${n === 0 ? " µs" : ""}`;
    for (const y of [AXIS - 9, height - 8]) made.append(svg("text", { x: at, y, "text-anchor": "middle" }, text));
  }
  return made;
}

/**
 * @param {import("./compare-lanes.js").Bar} bar
 * @param {number} perUs
 * @param {(us: number) => string} x
 * @param {(row: number) => number} y
 * @param {string} hatch
 */
function barIn({ kind, name, label, row: at, start, dur }, perUs, x, y, hatch) {
  const title = svg("title", {}, `${name}\n${shown(dur)} µs, from ${shown(start)} µs`);
  const [top, width] = [y(at), Math.max(0, dur * perUs)];
  const place = { x: x(start), y: top, width: width.toFixed(2), height: BAR };
  const made = [svg("rect", { class: `tl-${kind}`, ...place }, title)];
  if (kind === "pointwise") made.push(svg("rect", { class: "tl-over", fill: `url(#${hatch})`, ...place }));
  const most = Math.floor((width - PADDING) / CHARACTER);
  const text = label.length <= most ? label : most >= FEWEST ? cutTo(label, most) : "";
  const from = (LEFT + start * perUs + PADDING / 2).toFixed(2);
  if (text) made.push(svg("text", { class: "tl-label", x: from, y: top + 11 }, text));
  return made;
}

/**
 * @param {import("./compare-lanes.js").Bar} from
 * @param {import("./compare-lanes.js").Bar} to
 * @param {(us: number) => string} x
 * @param {(row: number) => number} y
 */
function link(from, to, x, y) {
  return svg("line", { class: "tl-link", x1: x(from.start), y1: y(from.row) + BAR, x2: x(to.start), y2: y(to.row) });
}
