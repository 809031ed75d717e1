// @ts-check
/**
 * A step of a trace as bars in rows, for a picture: what `build_traces/markdown/lanes.py` draws, of any trace. Of a step
 * with more than a picture can show, the longest are kept, and how many were left out is said.
 */

import { NONE } from "./compare-stage.js";
import { OP_KINDS, WORK_KINDS } from "./compare-trace.js";

/** @typedef {{kind: string, name: string, label: string, row: number, start: number, dur: number}} Bar */
/** @typedef {{name: string, row: number, rows: number}} Lane */
/**
 * @typedef {object} Lanes
 * @property {number} stepUs
 * @property {Lane[]} lanes
 * @property {Bar[]} bars
 * @property {[number, number][]} links positions in `bars`: a launch, and what it started
 * @property {number} firstGpuRow
 * @property {number} rows
 * @property {number} leftOut events that are not in the picture
 */

const MOST_BARS = 1_500;
const MOST_LANES = 24;
const MOST_DEPTH = 30;

/**
 * @param {import("./compare-ties.js").Seen} seen
 * @param {number} window
 * @param {(name: string) => {short: string, kind: string}} look what a picture shows of a kernel's name
 * @returns {Lanes}
 */
export function lanesOf(seen, window, look) {
  const { ties } = seen;
  const origin = seen.windows[window].ts;
  const stepUs = seen.windows[window].dur;
  const depths = depthsOf(ties.opParent);
  const [ops, calls, work] = [
    longest(positions(seen.opStep, window), ties.ops),
    longest(positions(seen.callStep, window), ties.calls),
    longest(positions(seen.workStep, window), ties.work),
  ];
  /** @type {Bar[]} */
  const bars = [];
  /** @type {Lane[]} */
  const lanes = [];
  /** @type {Map<number, number>} */
  const barOfCall = new Map();
  const bar = (
    /** @type {string} */ kind,
    /** @type {import("./compare-trace.js").Event} */ { name, ts, dur },
    /** @type {string} */ label,
    /** @type {number} */ row,
  ) => bars.push({ kind, name: name.slice(0, 300), label: label.slice(0, 200), row, start: ts - origin, dur }) - 1;
  let row = 0;
  const threads = grouped(
    [...ops.kept.map((at) => ties.ops[at]), ...calls.kept.map((at) => ties.calls[at])],
    ({ thread }) => thread,
  );
  const names = [...threads.keys()];
  for (const [position, thread] of names.slice(0, MOST_LANES).entries()) {
    const mine = ops.kept.filter((at) => ties.ops[at].thread === thread);
    const made = calls.kept.filter((at) => ties.calls[at].thread === thread);
    const top = mine.reduce((least, at) => Math.min(least, depths[at]), Infinity);
    let callRow = row;
    for (const at of mine) {
      const depth = depths[at] - top;
      if (depth >= MOST_DEPTH) continue;
      callRow = Math.max(callRow, row + depth + 1);
      bar(OP_KINDS[ties.ops[at].cat], ties.ops[at], ties.ops[at].name, row + depth);
    }
    const packed = pack(made.map((at) => ties.calls[at]));
    for (const [n, at] of made.entries())
      barOfCall.set(at, bar("call", ties.calls[at], ties.calls[at].name, callRow + Math.min(packed[n], MOST_DEPTH)));
    const rows = callRow - row + packed.reduce((most, n) => Math.max(most, Math.min(n, MOST_DEPTH)), -1) + 1;
    lanes.push({ name: names.length === 1 ? "CPU" : `CPU thread ${position + 1}`, row, rows });
    row += rows;
  }
  const firstGpuRow = row;
  /** @type {[number, number][]} */
  const links = [];
  const streamOf = (/** @type {import("./compare-trace.js").Event} */ { device, stream, tid }) =>
    JSON.stringify([device, String(stream ?? tid).slice(0, 40)]);
  const streams = [...grouped(work.kept.map((at) => ties.work[at]), streamOf).keys()].sort();
  const devices = new Set(streams.map((key) => JSON.parse(key)[0]));
  for (const key of streams.slice(0, MOST_LANES)) {
    const [device, stream] = JSON.parse(key);
    for (const at of work.kept) {
      const event = ties.work[at];
      if (streamOf(event) !== key) continue;
      const { short, kind } = event.cat === "kernel" ? look(event.name) : { short: WORK_KINDS[event.cat], kind: WORK_KINDS[event.cat] };
      const made = bar(kind, event, short, row);
      const call = barOfCall.get(ties.workCall[at]);
      if (call !== undefined) links.push([call, made]);
    }
    lanes.push({ name: devices.size === 1 ? `GPU stream ${stream}` : `GPU ${device} stream ${stream}`, row, rows: 1 });
    row += 1;
  }
  return { stepUs, lanes, bars, links, firstGpuRow, rows: row, leftOut: ops.of + calls.of + work.of - bars.length };
}

/**
 * @param {Int32Array} steps
 * @param {number} window
 */
function positions(steps, window) {
  const found = [];
  for (let at = 0; at < steps.length; at += 1) if (steps[at] === window) found.push(at);
  return found;
}

/**
 * The longest of many, in their order.
 * @param {number[]} at
 * @param {import("./compare-trace.js").Event[]} events
 */
function longest(at, events) {
  if (at.length <= MOST_BARS) return { kept: at, of: at.length };
  const kept = [...at].sort((a, b) => events[b].dur - events[a].dur || a - b).slice(0, MOST_BARS);
  return { kept: kept.sort((a, b) => a - b), of: at.length };
}

/** @param {Int32Array} parents each before what is inside it */
function depthsOf(parents) {
  const depths = new Int32Array(parents.length);
  for (const [at, parent] of parents.entries()) depths[at] = parent === NONE ? 0 : depths[parent] + 1;
  return depths;
}

/**
 * @template T
 * @param {T[]} list
 * @param {(one: T) => string} keyOf
 */
function grouped(list, keyOf) {
  /** @type {Map<string, T[]>} */
  const groups = new Map();
  for (const one of list) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return groups;
}

/**
 * For each interval, by start, the first row on which it overlaps none before it.
 * @param {{ts: number, dur: number}[]} intervals
 */
function pack(intervals) {
  /** @type {number[]} */
  const ends = [];
  return intervals.map(({ ts, dur }) => {
    let row = ends.findIndex((taken) => taken <= ts);
    if (row < 0) row = Math.min(ends.length, MOST_DEPTH);
    ends[row] = ts + dur;
    return row;
  });
}
