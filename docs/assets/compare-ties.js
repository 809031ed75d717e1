// @ts-check
/**
 * What belongs to what in a trace, by step: an op to the op around it, a call to its op and its step, GPU work to its
 * launch. The definitions are those of `build_traces/trace/ties.py` and `build_traces/inspection/seen.py`.
 */

import { Refused } from "./compare-import.js";
import { NONE } from "./compare-stage.js";
import { OP_KINDS, quoted } from "./compare-trace.js";

/** @typedef {import("./compare-trace.js").Event} Event */
/** @typedef {import("./compare-trace.js").Events} Events */
/** @typedef {{number: number, ts: number, dur: number}} Step */

const MAX_US = 1e18;
const STEP_NAME = /^ProfilerStep#(\d{1,18})$/;

/** @type {(event: {ts: number, dur: number}) => number} */
export const end = ({ ts, dur }) => ts + dur;

/**
 * Events in the order of their start, and beside each list the positions of what its events belong to.
 * @typedef {object} Ties
 * @property {Step[]} steps
 * @property {Event[]} ops
 * @property {Int32Array} opParent
 * @property {Int32Array} opStep
 * @property {Event[]} calls
 * @property {Int32Array} callOp
 * @property {Int32Array} callStep
 * @property {Event[]} work
 * @property {Int32Array} workCall
 * @property {number} threads
 * @property {number} negative how many events ended before they began
 */

/**
 * @param {Events} events
 * @returns {Ties}
 */
export function tie(events) {
  checkTimes(events);
  const byStart = (/** @type {Event} */ a, /** @type {Event} */ b) => a.ts - b.ts;
  const isStep = (/** @type {Event} */ event) => event.cat === "user_annotation" && STEP_NAME.test(event.name);
  const steps = events.ops
    .filter(isStep)
    .sort(byStart)
    .map(({ name, ts, dur }) => ({ number: Number(STEP_NAME.exec(name)?.[1]), ts, dur }));
  // An op that is called like a step is none either.
  const marks = new Set(events.ops.filter(({ name }) => STEP_NAME.test(name)).map(({ name }) => name));
  const onCpu = [...events.ops.filter(({ name }) => !marks.has(name)), ...events.calls];
  const isCall = (/** @type {Event} */ event) => Number(!Object.hasOwn(OP_KINDS, event.cat));
  onCpu.sort((a, b) => a.ts - b.ts || isCall(a) - isCall(b) || b.dur - a.dur);
  const nested = nest(onCpu, stepsOf(onCpu, steps));
  const work = [...events.work].sort(byStart);
  /** @type {Map<number | string, number>} */
  const launchOf = new Map();
  for (const [at, call] of nested.calls.entries()) launchOf.set(call.correlation, at);
  launchOf.set(-1, NONE);
  const workCall = Int32Array.from(work, ({ correlation }) => launchOf.get(correlation) ?? NONE);
  let negative = 0;
  for (const event of [nested.ops, nested.calls, work].flat())
    if (event.dur < 0) {
      negative += 1;
      event.dur = 0;
    }
  return { steps, ...nested, work, workCall, negative };
}

/** @param {Events} events */
function checkTimes(events) {
  for (const list of [events.ops, events.calls, events.work])
    for (const { name, ts, dur } of list)
      if (Math.abs(ts) >= MAX_US || Math.abs(dur) >= MAX_US)
        throw new Refused(`not a profiler trace: ts or dur of event ${quoted(name)} is beyond all clocks`);
}

/**
 * For each event, in order, the step that it starts in, of two the later one.
 * @param {Event[]} events
 * @param {Step[]} steps
 */
function stepsOf(events, steps) {
  const found = new Int32Array(events.length).fill(NONE);
  const first = (/** @type {(ts: number) => boolean} */ isBehind, low = 0) => {
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBehind(events[middle].ts)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  for (const [at, step] of steps.entries()) {
    const from = first((ts) => ts >= step.ts);
    let to = first((ts) => ts > end(step), from);
    if (at + 1 < steps.length) to = Math.min(to, first((ts) => ts >= steps[at + 1].ts, from));
    if (to > from) found.fill(at, from, to);
  }
  return found;
}

/**
 * Walk over the events in their order, with the open ops of each thread on a stack.
 * @param {Event[]} onCpu
 * @param {Int32Array} steps
 */
function nest(onCpu, steps) {
  /** @type {Map<string, [number, number, number][]>} end, start and position of each open op */
  const threads = new Map();
  /** @type {Event[]} */
  const ops = [];
  /** @type {Event[]} */
  const calls = [];
  const [opParent, opStep, callOp, callStep] = [[], [], [], []].map(() => /** @type {number[]} */ ([]));
  for (const [at, event] of onCpu.entries()) {
    let open = threads.get(event.thread);
    if (!open) threads.set(event.thread, (open = [[Infinity, -Infinity, NONE]]));
    while (event.ts >= open[open.length - 1][0] && event.ts > open[open.length - 1][1]) open.pop();
    const around = open[open.length - 1][2];
    if (Object.hasOwn(OP_KINDS, event.cat)) {
      open.push([end(event), event.ts, ops.length]);
      ops.push(event);
      opParent.push(around);
      opStep.push(steps[at]);
    } else {
      calls.push(event);
      callOp.push(around);
      callStep.push(steps[at]);
    }
  }
  const typed = (/** @type {number[]} */ list) => Int32Array.from(list);
  return {
    ...{ ops, opParent: typed(opParent), opStep: typed(opStep), calls, callOp: typed(callOp) },
    ...{ callStep: typed(callStep), threads: threads.size },
  };
}

// By step

/** The ties by step, or with the whole file as one where there is none. */
export class Seen {
  /** @param {Ties} ties */
  constructor(ties) {
    this.ties = ties;
    this.wholeFile = ties.steps.length === 0;
    this.windows = this.wholeFile ? [whole(ties)] : windows(ties.steps);
    const zero = (/** @type {Int32Array} */ list) => (this.wholeFile ? new Int32Array(list.length) : list);
    this.opStep = zero(ties.opStep);
    this.callStep = zero(ties.callStep);
    this.workStep = this.wholeFile
      ? new Int32Array(ties.work.length)
      : ties.workCall.map((call) => (call === NONE ? NONE : ties.callStep[call]));
    this.started = new Int32Array(ties.calls.length);
    for (const call of ties.workCall) if (call !== NONE) this.started[call] += 1;
    this.launched = new Uint8Array(ties.ops.length);
    for (const [at, started] of this.started.entries())
      if (started)
        for (let op = ties.callOp[at]; op !== NONE && !this.launched[op]; op = ties.opParent[op]) this.launched[op] = 1;
    /** @type {Map<number, number[]>} */
    const byDevice = new Map();
    for (const [at, { device }] of ties.work.entries()) {
      const mine = byDevice.get(device);
      if (mine) mine.push(at);
      else byDevice.set(device, [at]);
    }
    this.workOf = new Map([...byDevice].sort(([a], [b]) => a - b));
    this.opAround = new Int32Array(ties.ops.length).fill(-2);
  }

  get origin() {
    return this.windows[0].ts;
  }

  /** @param {number} window */
  number(window) {
    return this.wholeFile ? null : this.windows[window].number;
  }

  /**
   * The innermost op around the launch of this work and the call that launched it, "" where there is none.
   * @param {number} work
   * @returns {[string, string]}
   */
  launcher(work) {
    const call = this.ties.workCall[work];
    return call === NONE ? ["", ""] : [this.opAt(this.ties.callOp[call]), this.ties.calls[call].name];
  }

  /**
   * The name of this op, or of the innermost op around it if it is an annotation.
   * @param {number} position
   */
  opAt(position) {
    const { ops, opParent } = this.ties;
    const passed = [];
    while (position !== NONE && ops[position].cat !== "cpu_op") {
      if (this.opAround[position] !== -2) {
        position = this.opAround[position];
        break;
      }
      passed.push(position);
      position = opParent[position];
    }
    for (const one of passed) this.opAround[one] = position;
    return position === NONE ? "" : ops[position].name;
  }
}

/** @param {Step[]} steps */
function windows(steps) {
  return steps.map((step, at) => {
    const following = at + 1 < steps.length ? steps[at + 1].ts : Infinity;
    if (step.dur >= 0 && end(step) <= following) return step;
    return { ...step, dur: Math.max(0, Math.min(end(step), following) - step.ts) };
  });
}

/** @param {Ties} ties */
function whole(ties) {
  let [start, last] = [Infinity, -Infinity];
  for (const list of [ties.ops, ties.calls, ties.work])
    for (const event of list) {
      start = Math.min(start, event.ts);
      last = Math.max(last, end(event));
    }
  return start <= last ? { number: NONE, ts: start, dur: last - start } : { number: NONE, ts: 0, dur: 0 };
}
