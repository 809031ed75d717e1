// @ts-check
/**
 * One stage of a recording seen whole, read from an export: what `build_traces/stage_view.py` derives. Structure comes
 * from the published trace, times from every process; a count that differs between the steps is refused.
 */

import { NoValue } from "./compare-format.js";

/** @typedef {{median: number, low: number, high: number}} Spread */
/** @typedef {"kernel" | "memset" | "memcpy"} Kind */

/**
 * GPU work as it was launched.
 * @typedef {object} Launch
 * @property {Kind} kind
 * @property {string} name
 * @property {number[]} grid
 * @property {number[]} block
 * @property {number} device
 * @property {string} stream
 * @property {number | null} registers
 * @property {number | null} sharedBytes
 * @property {number | null} blocksPerSm
 * @property {number | null} occupancy
 */

/** @typedef {{launch: Launch, us: (number | null)[]}} Work a piece of a step's GPU work in one process, by step */
/** @typedef {{index: number, kind: "op" | "annotation", name: string, parent: number, depth: number, thread: number, step: number, start: number, dur: number}} Op */
/** @typedef {{index: number, name: string, op: number, thread: number, step: number, start: number, dur: number, starts: number[]}} Call */
/** @typedef {{index: number, launch: Launch, call: number, op: number, step: number, start: number, dur: number}} Activity */
/** @typedef {{number: number, start: number, dur: number}} Step */
/** @typedef {{kind: Kind, name: string, grid: number[], block: number[], numbers: number[], count: number, us: Spread | null, draws: number, hbm: [number, number] | null}} Row */
/** @typedef {{name: string, start: number, dur: number}} Timed */

export const NONE = -1;
/** @type {Kind[]} */
export const KINDS = ["kernel", "memset", "memcpy"];

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * @param {number[]} values at least one
 * @returns {Spread}
 */
export function spread(values) {
  return { median: median(values), low: least(values), high: most(values) };
}

/** @param {number[]} values */
function least(values) {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

/** @param {number[]} values */
function most(values) {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}

/**
 * From the 5th to the 95th percentile, between neighbors in proportion.
 * @param {number[]} values
 */
export function middleNineTenths(values) {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 1) return 0;
  const cut = (/** @type {number} */ part) => {
    const at = part * (sorted.length - 1);
    const [low, rest] = [Math.floor(at / 20), at % 20];
    return (sorted[low] * (20 - rest) + (sorted[low + 1] ?? 0) * rest) / 20;
  };
  return cut(19) - cut(1);
}

/** @param {number[]} values */
export function sum(values) {
  return values.reduce((a, b) => a + b, 0);
}

const LONGEST_REASON = 160;
export class Stage {
  /** @type {number | null} */
  #step = null;

  /**
   * @param {any} rows a stage of an export that was checked
   * @param {any} exported
   */
  constructor(rows, exported) {
    const { names } = exported;
    this.rows = rows;
    this.name = /** @type {string} */ (rows.rung.name);
    this.cold = rows.rung.cold === true;
    /** @type {Launch[]} */
    this.launches = rows.work.map((/** @type {any} */ row) => launchOf(row, names));
    this.processes = rows.processes.map((/** @type {any} */ process) => ({
      ...process,
      work: process.work.map(([at, us]) => ({ launch: this.launches[at], us })),
    }));
    this.published = this.processes[rows.published_process];
    const { trace } = rows;
    const at = clock(trace);
    /** @type {Step[]} */
    this.steps = trace.steps.map(([number, start, dur]) => ({ number, start: at(start), dur: dur / 1000 }));
    /** @type {Op[]} */
    this.ops = [];
    for (const [index, [kind, name, parent, thread, step, start, dur]] of trace.ops.entries()) {
      const depth = parent === NONE ? 0 : this.ops[parent].depth + 1;
      const timed = { start: at(start), dur: dur / 1000 };
      this.ops.push({ index, kind, name: names[name], parent, depth, thread, step, ...timed });
    }
    /** @type {Call[]} */
    this.calls = trace.calls.map(([, name, op, thread, step, start, dur], /** @type {number} */ index) => ({
      ...{ index, name: names[name], op, thread, step },
      ...{ start: at(start), dur: dur / 1000, starts: [] },
    }));
    /** @type {Activity[]} */
    this.activities = trace.activities.map(([work, call, start, dur], /** @type {number} */ index) => {
      const launch = call === NONE ? null : this.calls[call];
      launch?.starts.push(index);
      const of = { op: launch?.op ?? NONE, step: launch?.step ?? NONE };
      return { index, launch: this.launches[work], call, ...of, start: at(start), dur: dur / 1000 };
    });
  }

  // Steps

  /**
   * All profiled steps, or the one counted from 1.
   * @param {number | null} step
   */
  stepsOf(step) {
    if (!this.steps.length) throw new NoValue(`the trace of ${this.name} has no ProfilerStep`);
    if (step === null) return this.steps;
    if (!(step >= 1 && step <= this.steps.length)) throw new NoValue(`${this.name} has no profiled step ${step}`);
    return [this.steps[step - 1]];
  }

  /** The step that pictures show, from 1: the first of a cold stage, else the one nearest the median. */
  get shownStep() {
    if (this.#step !== null) return this.#step;
    const times = this.published.step_us;
    const off = times.map((/** @type {number} */ us) => Math.abs(us - median(times)));
    this.#step = this.cold ? 1 : off.indexOf(least(off)) + 1;
    return this.#step;
  }

  /** @param {number | null} step */
  stepNumber(step) {
    return this.stepsOf(step ?? this.shownStep)[0].number;
  }

  /** Whether a step runs a kernel that another of its steps does not. */
  get stepsDiffer() {
    return this.published.work.some((/** @type {Work} */ { launch, us }) => launch.kind === "kernel" && us.includes(null));
  }

  // Counts, from the trace

  /**
   * A count that is the same in every step asked for.
   * @param {(number: number) => number} ofStep
   * @param {number | null} step
   */
  count(ofStep, step) {
    const counts = this.stepsOf(step).map(({ number }) => ofStep(number));
    if (new Set(counts).size !== 1) throw new NoValue(`it differs by step: ${counts.join(", ")}`);
    return counts[0];
  }

  /**
   * @param {Kind} kind
   * @param {number} number
   */
  ofKind(kind, number) {
    return this.activities.filter((one) => one.launch.kind === kind && one.step === number);
  }

  /**
   * The op at this position and every op around it, innermost first.
   * @param {number} at
   */
  *ancestors(at) {
    for (let op = at; op !== NONE; op = this.ops[op].parent) yield this.ops[op];
  }

  /**
   * The nth kernel of a step, from 1 in the order they run.
   * @param {number} n
   * @param {number | null} step
   */
  kernel(n, step) {
    const kernels = this.ofKind("kernel", this.stepNumber(step));
    if (!(n >= 1 && n <= kernels.length)) throw new NoValue(`a step of ${this.name} runs no kernel ${n}`);
    return kernels[n - 1];
  }

  /**
   * @param {string} text
   * @param {number | null} step
   */
  kernelPosition(text, step) {
    return this.count((number) => {
      const at = this.ofKind("kernel", number).findIndex(({ launch }) => launch.name.includes(text));
      if (at < 0) throw new NoValue(`no kernel of ${this.name} has ${text} in its name`);
      return at + 1;
    }, step);
  }

  // Times, over processes

  /** @param {(process: any) => number} ofProcess */
  over(ofProcess) {
    return spread(this.processes.map(ofProcess));
  }

  timeUs() {
    return this.over(({ time_us }) => (this.cold ? time_us[0] : median(time_us)));
  }

  /**
   * A time of each profiled step: the median over steps in each process, or one step's.
   * @param {(process: any) => number[]} ofProcess
   * @param {number | null} step
   */
  profiledUs(ofProcess, step) {
    this.stepsOf(step);
    return this.over((process) => one(ofProcess(process), step));
  }

  /**
   * Summed time of a step's GPU work of these kinds.
   * @param {Kind[]} kinds
   * @param {number | null} step
   */
  workUs(kinds, step) {
    this.stepsOf(step);
    return this.over((process) => {
      const mine = process.work.filter((/** @type {Work} */ { launch }) => kinds.includes(launch.kind));
      const steps = process.step_us.map((/** @type {number} */ _, /** @type {number} */ at) =>
        sum(mine.map((/** @type {Work} */ { us }) => us[at] || 0)),
      );
      return one(steps, step);
    });
  }

  /**
   * Time of the nth kernel of a step in the processes that ran the same kernels by name.
   * @param {number} n
   * @param {number | null} step
   */
  kernelUs(n, step) {
    this.kernel(n, step);
    const names = kernelNames(this.published, step);
    const same = this.processes.filter((/** @type {any} */ process) => sameList(kernelNames(process, step), names));
    const times = same.flatMap((/** @type {any} */ process) => launchUs(kernelsOf(process, step)[n - 1], step) ?? []);
    if (!times.length) throw new NoValue(`kernel ${n} of ${this.name} did not run in that step`);
    return spread(times);
  }

  // Times in the published trace, of one step

  /**
   * @param {Timed[]} events
   * @param {string} name
   */
  summed(events, name) {
    const mine = events.filter((event) => event.name === name);
    if (!mine.length) throw new NoValue(`a step of ${this.name} has no ${name}`);
    return sum(mine.map(({ dur }) => dur));
  }

  /**
   * @param {string} name
   * @param {number | null} step
   */
  callUs(name, step) {
    const number = this.stepNumber(step);
    return this.summed(this.calls.filter((call) => call.step === number), name);
  }

  /**
   * @param {string} name
   * @param {number | null} step
   */
  opUs(name, step) {
    const number = this.stepNumber(step);
    const outermost = this.ops.filter(
      (op) => op.step === number && [...this.ancestors(op.parent)].every((around) => around.name !== op.name),
    );
    return this.summed(outermost, name);
  }

  /** @param {number | null} step */
  gpuStartUs(step) {
    const number = this.stepNumber(step);
    const label = this.ops.find((op) => op.step === number && op.kind === "annotation" && op.name === this.name);
    const work = this.activities.filter((one) => one.step === number).map(({ start }) => start);
    if (!label || !work.length) throw new NoValue(`a step of ${this.name} has no label, or no GPU work`);
    return least(work) - label.start;
  }

  /**
   * How long the GPU had nothing to do before the nth kernel of a step.
   * @param {number} n
   * @param {number | null} step
   */
  gapUs(n, step) {
    const kernel = this.kernel(n, step);
    const earlier = this.activities.filter((one) => one.step === kernel.step && one.index < kernel.index);
    return earlier.length ? Math.max(0, kernel.start - most(earlier.map(end))) : 0;
  }

  /** @param {number | null} step */
  gpuIdleUs(step) {
    const number = this.stepNumber(step);
    let [idle, reached] = [0, NaN];
    for (const work of this.activities.filter((one) => one.step === number)) {
      if (!Number.isNaN(reached)) idle += Math.max(0, work.start - reached);
      reached = Number.isNaN(reached) ? end(work) : Math.max(reached, end(work));
    }
    return idle;
  }

  /** In how many ways the processes launched the step's work. */
  get draws() {
    const ways = this.processes.map(({ work }) => JSON.stringify(work.map((/** @type {Work} */ w) => likeness(w.launch))));
    return new Set(ways).size;
  }

  // HBM and the profiler's table

  /** Why there are no HBM bytes, in a line. */
  get hbmMissing() {
    const why = this.rows.hbm_missing ?? "";
    return why.length <= LONGEST_REASON ? why : `${why.slice(0, LONGEST_REASON - 1)}…`;
  }

  /** @returns {[number, number, number][]} name, read, write by kernel, in the order they run */
  hbm() {
    if (!this.rows.hbm) throw new NoValue(`HBM bytes were not measured: ${this.hbmMissing}`);
    return this.rows.hbm;
  }

  get table() {
    if (!this.rows.table) throw new NoValue(this.rows.table_missing);
    return this.rows.table;
  }

  // Lists

  /**
   * GPU work of a step, or of all steps taken together, in the order it runs; equal launches in one row.
   * @param {Kind[]} kinds
   * @param {number | null} step
   * @returns {Row[]}
   */
  workRows(kinds, step) {
    this.stepsOf(step);
    /** @type {Map<string, {launch: Launch, at: number[], numbers: number[]}>} */
    const groups = new Map();
    let [kernels, running] = [-1, 0];
    for (const { launch, us } of this.published.work) {
      if (launch.kind === "kernel") kernels += 1;
      if (step !== null && us[step - 1] === null) continue;
      if (launch.kind === "kernel") running += 1;
      if (!kinds.includes(launch.kind)) continue;
      const key = JSON.stringify(likeness(launch));
      const group = groups.get(key) ?? { launch, at: [], numbers: [] };
      groups.set(key, group);
      group.at.push(kernels);
      group.numbers.push(running);
    }
    return [...groups.values()].map(({ launch, at, numbers }) => this.#row(launch, at, numbers, step));
  }

  /**
   * @param {Launch} launch
   * @param {number[]} at positions among the kernels
   * @param {number[]} numbers
   * @param {number | null} step
   * @returns {Row}
   */
  #row(launch, at, numbers, step) {
    const key = JSON.stringify(likeness(launch));
    const means = this.processes.flatMap((/** @type {any} */ process) => {
      const mine = process.work.filter((/** @type {Work} */ w) => JSON.stringify(likeness(w.launch)) === key);
      const times = mine.flatMap((/** @type {Work} */ w) => launchUs(w, step) ?? []);
      return times.length ? [sum(times) / times.length] : [];
    });
    const { kind, name, grid, block } = launch;
    const us = means.length ? spread(means) : null;
    return { kind, name, grid, block, numbers, count: at.length, us, draws: means.length, hbm: this.#hbmOf(kind, at) };
  }

  /**
   * Mean HBM bytes, read and written, of kernels at these positions.
   * @param {Kind} kind
   * @param {number[]} at
   * @returns {[number, number] | null}
   */
  #hbmOf(kind, at) {
    if (!this.rows.hbm || kind !== "kernel") return null;
    const mine = at.map((n) => this.rows.hbm[n]);
    return [Math.round(sum(mine.map((row) => row[1])) / at.length), Math.round(sum(mine.map((row) => row[2])) / at.length)];
  }
}

/**
 * @param {any[]} row
 * @param {string[]} names
 * @returns {Launch}
 */
function launchOf([kind, name, grid, block, device, stream, registers, shared, , perSm, occupancy], names) {
  const of = { device: device ?? 0, stream: names[stream ?? NONE] ?? "", registers: registers ?? null };
  const said = { sharedBytes: shared ?? null, blocksPerSm: perSm ?? null, occupancy: occupancy ?? null };
  return { kind, name: names[name], grid, block, ...of, ...said };
}

/**
 * µs on the trace's own clock, where a double holds that; else from the trace's first event.
 * @param {any} trace
 * @returns {(ns: number) => number}
 */
function clock({ origin_ns: origin }) {
  const base = Number.isSafeInteger(origin) ? origin : 0;
  return (ns) => (base + ns) / 1000;
}

/** @param {Activity} event */
function end({ start, dur }) {
  return start + dur;
}

/** @param {Launch} launch */
function likeness({ kind, name, grid, block }) {
  return [kind, name, grid, block];
}

/**
 * @param {any} process
 * @param {number | null} step
 * @returns {Work[]}
 */
function kernelsOf(process, step) {
  return process.work.filter(
    (/** @type {Work} */ { launch, us }) => launch.kind === "kernel" && (step === null || us[step - 1] !== null),
  );
}

/**
 * @param {any} process
 * @param {number | null} step
 */
function kernelNames(process, step) {
  return kernelsOf(process, step).map(({ launch }) => launch.name);
}

/**
 * @param {string[]} a
 * @param {string[]} b
 */
function sameList(a, b) {
  return a.length === b.length && a.every((name, at) => name === b[at]);
}

/**
 * One launch's time in a step, or its median over the steps that it ran in; null if it did not run.
 * @param {Work} work
 * @param {number | null} step
 */
function launchUs({ us }, step) {
  if (step !== null) return us[step - 1];
  const present = /** @type {number[]} */ (us.filter((one) => one !== null));
  return present.length ? median(present) : null;
}

/**
 * @param {number[]} bySteps
 * @param {number | null} step
 */
function one(bySteps, step) {
  return step === null ? median(bySteps) : bySteps[step - 1];
}
