// @ts-check
/** Two pictures of guesses beside what was measured, as SVG: one guess on a scale, and all of them in a square. */

import { factor, howFar } from "./predict-judge.js";

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Element | string)[]} children
 */
function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/**
 * Decades that a scale needs on each side to show this ratio.
 * @param {number} ratio
 */
export function decades(ratio) {
  return Math.max(1, Math.ceil(Math.log10(factor(ratio)) - 1e-9));
}

/**
 * One guess on a logarithmic scale with what was measured in its middle, and the band in which it is right.
 * As wide as there is room; its text keeps its size.
 * @param {number} ratio guess by measured
 * @param {number} within
 * @param {string} guess
 * @param {string} measured
 */
export function scale(ratio, within, guess, measured) {
  const span = Math.max(decades(ratio), decades(within));
  /** @param {number} at */
  const x = (at) => 50 + (45 * Math.log10(at)) / span;
  /** @param {number} at */
  const percent = (at) => `${x(at).toFixed(2)}%`;
  /** @param {number} at */
  const anchor = (at) => (x(at) < 20 ? "start" : x(at) > 80 ? "end" : "middle");
  /** @type {[number, string][]} */
  const ends = [
    [10 ** -span, `÷ ${(10 ** span).toLocaleString("en-US")}`],
    [10 ** span, `× ${(10 ** span).toLocaleString("en-US")}`],
  ];
  const ticks = Array.from({ length: 2 * span + 1 }, (_, n) => 10 ** (n - span));
  return svg(
    "svg",
    {
      class: "predict-scale",
      role: "img",
      width: "100%",
      height: 84,
      "aria-label": `On a scale of ratios: ${guess} is ${howFar(ratio) || "the same as measured"}.`,
    },
    svg("rect", {
      class: "ps-band",
      x: percent(1 / within),
      width: `${(x(within) - x(1 / within)).toFixed(2)}%`,
      y: 34,
      height: 18,
    }),
    svg("line", { class: "ps-axis", x1: "5%", x2: "95%", y1: 43, y2: 43 }),
    ...ticks.map((at) => svg("line", { class: "ps-axis", x1: percent(at), x2: percent(at), y1: 39, y2: 47 })),
    svg("line", { class: "ps-measured", x1: "50%", x2: "50%", y1: 31, y2: 55 }),
    ...ends.map(([at, text]) => svg("text", { x: percent(at), y: 72, "text-anchor": anchor(at) }, text)),
    svg("text", { x: "50%", y: 72, "text-anchor": "middle", class: "ps-strong" }, measured),
    svg("circle", { class: "ps-guess", cx: percent(ratio), cy: 43, r: 6 }),
    svg("text", { x: percent(ratio), y: 22, "text-anchor": anchor(ratio), class: "ps-strong" }, `you: ${guess}`),
  );
}

/** @typedef {{guess: number, measured: number, right: boolean, label: string}} Point */

const WIDTH = 320;
const LEFT = 70;
const BOTTOM = 48;
const TOP = 12;
const RIGHT = 22;
const SIDE = WIDTH - LEFT - RIGHT;
const HEIGHT = TOP + SIDE + BOTTOM;
const NEAR = 2;
const MOST_LABELS = 6;

/**
 * All guesses for numbers: measured to the right, guessed upwards, both logarithmic; on the line a guess is exact.
 * @param {Point[]} points
 */
export function scatter(points) {
  const logs = points.flatMap(({ guess, measured }) => [Math.log10(guess), Math.log10(measured)]);
  const low = Math.floor(Math.min(...logs));
  const high = Math.max(low + 1, Math.ceil(Math.max(...logs)));
  /** @param {number} log */
  const x = (log) => LEFT + (SIDE * (log - low)) / (high - low);
  /** @param {number} log */
  const y = (log) => TOP + SIDE - (SIDE * (log - low)) / (high - low);
  const every = Math.ceil((high - low + 1) / MOST_LABELS);
  const ticks = Array.from({ length: high - low + 1 }, (_, n) => low + n);
  const near = Math.log10(NEAR);
  const band = [
    [low, low + near],
    [high - near, high],
    [high, high],
    [high, high - near],
    [low + near, low],
    [low, low],
  ];
  const wrong = points.filter((point) => !point.right).length;
  return svg(
    "svg",
    {
      class: "predict-scatter",
      role: "img",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: WIDTH,
      height: HEIGHT,
      "aria-label":
        `Guesses against what was measured, on two logarithmic scales: ${points.length - wrong} near enough, ` +
        `${wrong} not. The list below has them as text.`,
    },
    svg("polygon", { class: "ps-band", points: band.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }),
    ...ticks.flatMap((log, n) => [
      svg("line", { class: "ps-grid", x1: x(log), x2: x(log), y1: y(low), y2: y(high) }),
      svg("line", { class: "ps-grid", x1: x(low), x2: x(high), y1: y(log), y2: y(log) }),
      ...(n % every ? [] : labels(log, x(log), y(log))),
    ]),
    svg("line", { class: "ps-measured", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }),
    svg("text", { x: LEFT + SIDE / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "ps-strong" }, "measured"),
    svg(
      "text",
      {
        x: 14,
        y: TOP + SIDE / 2,
        "text-anchor": "middle",
        class: "ps-strong",
        transform: `rotate(-90 14 ${TOP + SIDE / 2})`,
      },
      "your guess",
    ),
    ...points.map((point) => mark(point, x(Math.log10(point.measured)), y(Math.log10(point.guess)))),
  );
}

/**
 * @param {number} log
 * @param {number} x
 * @param {number} y
 */
function labels(log, x, y) {
  const text = log >= -2 && log <= 4 ? (10 ** log).toLocaleString("en-US") : `1e${log}`;
  return [
    svg("text", { x, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, text),
    svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, text),
  ];
}

/**
 * A dot for a guess that was right, a cross for one that was not.
 * @param {Point} point
 * @param {number} x
 * @param {number} y
 */
function mark({ right, label }, x, y) {
  const title = svg("title", {}, label);
  if (right) return svg("circle", { class: "ps-right", cx: x, cy: y, r: 5 }, title);
  const d = `M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}`;
  return svg("path", { class: "ps-wrong", d }, title);
}
