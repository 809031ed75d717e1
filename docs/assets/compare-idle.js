// @ts-check
/**
 * Where a GPU runs nothing within a step and what it waits for; ops that launch nothing, memcpys that block, and work
 * without a launch. The definitions are those of `build_traces/inspection/idle.py` and `ops.py`.
 */

import { percent, summed, toNs } from "./compare-sums.js";
import { NONE } from "./compare-stage.js";
import { end } from "./compare-ties.js";
import { WORK_KINDS } from "./compare-trace.js";

/** @typedef {import("./compare-ties.js").Seen} Seen */
/** @typedef {import("./compare-sums.js").Sum} Sum */
/** @typedef {import("./compare-sums.js").Piece} Piece */

const BIGGEST_GAPS = 20;

/** @type {(a: string, b: string) => number} */
function byText(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Where nothing runs on this GPU, step by step.
 * @param {Seen} seen
 * @param {number} device
 * @returns {Piece[]}
 */
export function idlePieces(seen, device) {
  const [starts, ends, before, after] = [[-Infinity], [], [NONE], []].map((list) => /** @type {number[]} */ (list));
  let reached = -Infinity;
  for (const at of seen.workOf.get(device) ?? []) {
    const { ts } = seen.ties.work[at];
    const until = end(seen.ties.work[at]);
    if (ts > reached) {
      ends.push(ts);
      after.push(at);
      starts.push(until);
      before.push(at);
      reached = until;
    } else if (until > reached) {
      starts[starts.length - 1] = reached = until;
      before[before.length - 1] = at;
    }
  }
  ends.push(Infinity);
  after.push(NONE);
  const pieces = [];
  for (const [window, step] of seen.windows.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] > step.ts) high = middle;
      else low = middle + 1;
    }
    const until = end(step);
    for (let gap = low; gap < starts.length && starts[gap] < until; gap += 1) {
      const start = Math.max(starts[gap], step.ts);
      const us = Math.min(ends[gap], until) - start;
      const ended = ends[gap] <= until ? after[gap] : NONE;
      pieces.push({ us, start: start - step.ts, window, device, before: before[gap], after: ended });
    }
  }
  return pieces;
}

/**
 * @param {Seen} seen
 * @param {Piece} piece
 */
function why(seen, piece) {
  if (piece.after === NONE) return "end";
  const call = seen.ties.workCall[piece.after];
  if (call === NONE) return "unknown";
  return end(seen.ties.calls[call]) > seen.windows[piece.window].ts + piece.start ? "late" : "queued";
}

/**
 * By what ended it, the longest first.
 * @param {Seen} seen
 * @param {Piece[]} pieces
 */
export function idle(seen, pieces) {
  /** @type {Map<string, {op: string, call: string, why: string, gaps: number, us: number}>} */
  const sums = new Map();
  for (const piece of pieces) {
    const [op, launch] = piece.after === NONE ? ["", ""] : seen.launcher(piece.after);
    const row = { op, call: op ? "" : launch, why: why(seen, piece), gaps: 0, us: 0 };
    const key = JSON.stringify([row.op, row.call, row.why]);
    const sum = sums.get(key) ?? row;
    sums.set(key, sum);
    sum.gaps += 1;
    sum.us += piece.us;
  }
  const whole = [...sums.values()].reduce((all, { us }) => all + us, 0);
  return [...sums.values()]
    .map((row) => ({ ...row, us: toNs(row.us), percent: percent(row.us, whole) }))
    .sort((a, b) => b.us - a.us || byText(a.op, b.op) || byText(a.call, b.call) || byText(a.why, b.why));
}

/**
 * The biggest, the longest first.
 * @param {Seen} seen
 * @param {Piece[]} pieces
 */
export function gaps(seen, pieces) {
  const { work } = seen.ties;
  return [...pieces]
    .sort((a, b) => b.us - a.us || a.window - b.window || a.start - b.start)
    .slice(0, BIGGEST_GAPS)
    .map((piece) => {
      const [op, call] = piece.after === NONE ? ["", ""] : seen.launcher(piece.after);
      return {
        ...{ step: seen.number(piece.window), device: piece.device, start_us: toNs(piece.start), us: toNs(piece.us) },
        before: piece.before === NONE ? "" : work[piece.before].name,
        after: piece.after === NONE ? "" : work[piece.after].name,
        ...{ op, call, why: why(seen, piece) },
      };
    });
}

// Ops, memcpys, and work without a launch

/** @param {Seen} seen */
export function silentOps(seen) {
  const { ops, opParent } = seen.ties;
  /** @type {Map<string, {count: number, us: number}>} */
  const found = new Map();
  /** @type {Map<string, number>} */
  const launching = new Map();
  const silent = new Uint8Array(ops.length);
  for (const [at, event] of ops.entries()) {
    const parent = opParent[at];
    if (parent !== NONE && silent[parent]) /** @type {{us: number}} */ (found.get(ops[parent].name)).us -= event.dur;
    if (seen.opStep[at] === NONE || event.cat !== "cpu_op") continue;
    if (seen.launched[at]) launching.set(event.name, (launching.get(event.name) ?? 0) + 1);
    else {
      silent[at] = 1;
      const mine = found.get(event.name) ?? { count: 0, us: 0 };
      found.set(event.name, mine);
      mine.count += 1;
      mine.us += event.dur;
    }
  }
  return [...found]
    .map(([name, { count, us }]) => ({
      ...{ name, count, of: count + (launching.get(name) ?? 0) },
      us: toNs(Math.max(0, us)),
    }))
    .sort((a, b) => b.us - a.us || byText(a.name, b.name));
}

/** @param {Seen} seen */
export function blockingMemcpys(seen) {
  const { work, workCall, calls, callOp } = seen.ties;
  /** @type {Map<number, number>} */
  const copyOf = new Map();
  for (const [at, event] of work.entries()) if (event.cat === "gpu_memcpy") copyOf.set(workCall[at], at);
  copyOf.delete(NONE);
  /** @type {Map<string, any>} */
  const sums = new Map();
  /** @type {Map<string, number>} */
  const pending = new Map();
  for (const [at, call] of copyOf.size ? calls.entries() : []) {
    const started = seen.started[at] > 0;
    if (!started && (!pending.size || !call.name.includes("ynchronize"))) continue;
    const launch = started ? at : (pending.get(call.thread) ?? NONE);
    pending.delete(call.thread);
    const copy = copyOf.get(launch);
    if (copy === undefined || seen.callStep[launch] === NONE || callOp[launch] !== callOp[at]) continue;
    if (end(call) >= end(work[copy])) {
      const [op, by] = seen.launcher(copy);
      const row = { name: work[copy].name, op, call: by, waits_in: call.name, count: 0, bytes: 0, us: 0 };
      const key = JSON.stringify([row.name, op, by, call.name]);
      const sum = sums.get(key) ?? row;
      sums.set(key, sum);
      sum.count += 1;
      sum.bytes += work[copy].bytes;
      sum.us += end(call) - calls[launch].ts;
    } else if (started) pending.set(call.thread, launch);
  }
  return [...sums.values()]
    .map((row) => ({ ...row, us: toNs(row.us) }))
    .sort(
      (a, b) =>
        b.us - a.us || byText(a.name, b.name) || byText(a.op, b.op) || byText(a.call, b.call) || byText(a.waits_in, b.waits_in),
    );
}

/**
 * In the order of the first of each.
 * @param {Seen} seen
 * @param {(category: string, name: string) => {short: string}} named
 */
export function unlaunched(seen, named) {
  const { work, workCall } = seen.ties;
  /** @type {Map<string, Sum>} */
  const found = new Map();
  for (const [at, { cat, name, dur }] of work.entries())
    if (workCall[at] === NONE) summed(found, `${cat}\u0000${name}`, at).us += dur;
  return [...found.values()].map(({ first, count, us }) => {
    const { cat, name, ts } = work[first];
    const { short } = named(cat, name);
    return { kind: WORK_KINDS[cat], name, short, count, us: toNs(us), first_us: toNs(ts - seen.origin) };
  });
}

/** @param {Seen} seen */
export function outside(seen) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const [at, { cat }] of seen.ties.work.entries())
    if (seen.workStep[at] === NONE && seen.ties.workCall[at] !== NONE)
      counts[WORK_KINDS[cat]] = (counts[WORK_KINDS[cat]] ?? 0) + 1;
  return counts;
}
