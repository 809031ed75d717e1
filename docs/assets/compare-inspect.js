// @ts-check
/**
 * What a trace says: steps, kernel lists, launches, where the GPU idles and what it waits for. The definitions are those
 * of `build_traces/inspection` and `build_traces/trace/ties.py`; tests/vectors holds traces with what both must say.
 */

import { Refused } from "./compare-import.js";
import { rounded } from "./compare-format.js";
import { NONE, spread as spreadOf } from "./compare-stage.js";
import { OP_KINDS, quoted, WORK_KINDS } from "./compare-trace.js";

/** @typedef {import("./compare-trace.js").Event} Event */
/** @typedef {import("./compare-trace.js").Events} Events */
/** @typedef {{number: number, ts: number, dur: number}} Step */
/** @typedef {(name: string) => {short: string, family: string}} Decode */

const MAX_US = 1e18;
const MAX_NAME = 16_384;
const MAX_STEPS_OF_GPUS = 4_000_000;
const BIGGEST_GAPS = 20;
const STEP_NAME = /^ProfilerStep#(\d{1,18})$/;
const OPTIONS = ["record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"];
const VERSIONS = ["cuda_runtime_version", "cuda_driver_version", "cupti_version", "hip_runtime_version", "hip_driver_version"];

/** @type {(us: number) => number} */
const toNs = (us) => rounded(us, 3);
/** @type {(part: number, whole: number) => number} */
const percent = (part, whole) => (whole ? rounded((100 * part) / whole, 3) : 0);
/** @type {(event: {ts: number, dur: number}) => number} */
const end = ({ ts, dur }) => ts + dur;

/** @param {number[]} values */
function spread(values) {
  const { median, low, high } = spreadOf(values);
  return { median: toNs(median), low: toNs(low), high: toNs(high) };
}

/** @type {(a: string, b: string) => number} */
function byText(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

// Ties

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

// What is said

/**
 * Everything that `inspect --json` prints, without the file's name.
 * @param {Events} events
 * @param {Decode} decode
 */
export function inspect(events, decode) {
  const seen = new Seen(tie(events));
  return say(events, seen, decode);
}

/**
 * @param {Events} events
 * @param {Seen} seen
 * @param {Decode} decode
 */
export function say(events, seen, decode) {
  if (seen.windows.length * seen.workOf.size > MAX_STEPS_OF_GPUS)
    throw new Refused(`it has ${seen.windows.length} steps on ${seen.workOf.size} GPUs, more than can be told apart`);
  const named = (/** @type {string} */ category, /** @type {string} */ name) =>
    category === "kernel" && name.length <= MAX_NAME
      ? decode(name)
      : { short: name.slice(0, MAX_NAME), family: category === "kernel" ? "unknown" : "" };
  const pieces = [...seen.workOf.keys()].flatMap((device) => idlePieces(seen, device));
  const { steps, kinds } = stepsSay(seen, named, pieces);
  return {
    schema: 1,
    about: about(events, seen.ties),
    whole_file: seen.wholeFile,
    steps,
    kinds,
    idle: idle(seen, pieces),
    gaps: gaps(seen, pieces),
    silent_ops: silentOps(seen),
    blocking_memcpys: blockingMemcpys(seen),
    unlaunched: unlaunched(seen, named),
    outside: outside(seen),
  };
}

/**
 * @param {Events} events
 * @param {Ties} ties
 */
function about({ head, total, annotations }, ties) {
  const count = (/** @type {string} */ cat) => ties.work.reduce((n, event) => n + Number(event.cat === cat), 0);
  const labels = annotations - ties.steps.length;
  const number = (/** @type {unknown} */ value) => (Number.isInteger(value) ? Number(value) : null);
  const versions = VERSIONS.flatMap((name) => (number(head[name]) ? [[name, head[name]]] : []));
  const from = typeof head.distributedInfo === "object" && head.distributedInfo ? head.distributedInfo : {};
  return {
    events: total,
    ops: ties.ops.length - labels,
    annotations: labels,
    calls: ties.calls.length,
    ...{ kernels: count("kernel"), memsets: count("gpu_memset"), memcpys: count("gpu_memcpy") },
    threads: ties.threads,
    gpus: gpus(head, ties),
    versions: Object.fromEntries(versions),
    options: OPTIONS.filter((name) => number(head[name])),
    rank: number(from.rank),
    world_size: number(from.world_size),
    backend: typeof from.backend === "string" ? from.backend : "",
    negative_durations: ties.negative,
  };
}

/**
 * Those that ran something; if none did, those that the file lists.
 * @param {any} head
 * @param {Ties} ties
 */
function gpus(head, ties) {
  const listed = Array.isArray(head.deviceProperties) ? head.deviceProperties : [];
  const known = new Map(
    listed
      .filter((/** @type {any} */ one) => typeof one === "object" && one !== null)
      .map((/** @type {any} */ one, /** @type {number} */ at) => [Number.isInteger(one.id) ? one.id : at, one]),
  );
  /** @type {Map<number, number>} */
  const ran = new Map();
  for (const { device } of ties.work) ran.set(device, (ran.get(device) ?? 0) + 1);
  const number = (/** @type {unknown} */ value) => (typeof value === "number" ? value : null);
  return [...(ran.size ? ran : known).keys()]
    .sort((a, b) => a - b)
    .map((device) => {
      const said = known.get(device) ?? {};
      return {
        device,
        name: typeof said.name === "string" ? said.name : "",
        memory_bytes: number(said.totalGlobalMem),
        multiprocessors: number(said.numSms),
        capability: number(said.computeMajor) === null ? "" : `${said.computeMajor}.${number(said.computeMinor) ?? 0}`,
        activities: ran.get(device) ?? 0,
      };
    });
}

// Steps

/** @typedef {{first: number, count: number, us: number, started: number}} Sum */
/** @typedef {{rows: Map<string, Sum>, launches: Map<string, Sum>}} OneStep */
/** @typedef {{us: number, start: number, window: number, device: number, before: number, after: number}} Piece */

/**
 * @param {Map<string, Sum>} sums
 * @param {string} key
 * @param {number} at
 */
function summed(sums, key, at) {
  let sum = sums.get(key);
  if (!sum) sums.set(key, (sum = { first: at, count: 0, us: 0, started: 0 }));
  sum.count += 1;
  return sum;
}

/**
 * @param {Seen} seen
 * @param {(category: string, name: string) => {short: string, family: string}} named
 * @param {Piece[]} pieces
 */
function stepsSay(seen, named, pieces) {
  const ran = ranIn(seen);
  const busy = busyIn(seen, pieces);
  /** @type {Map<string, number[]>} */
  const members = new Map();
  for (const [at, one] of ran.entries()) {
    const kind = kindOf(one);
    const mine = members.get(kind);
    if (mine) mine.push(at);
    else members.set(kind, [at]);
  }
  const kinds = [...members.values()];
  const kindAt = new Int32Array(ran.length);
  for (const [kind, steps] of kinds.entries()) for (const at of steps) kindAt[at] = kind;
  const steps = seen.windows.map((window, at) => ({
    number: seen.number(at),
    kind: kindAt[at],
    start_us: toNs(window.ts - seen.origin),
    us: toNs(window.dur),
    gpus: busy[at],
  }));
  return { steps, kinds: kinds.map((mine) => kindSays(seen, named, ran, busy, mine)) };
}

/** @param {OneStep} one */
function kindOf({ rows, launches }) {
  const row = [...rows].map(([key, { count }]) => `${key}\u0000${count}`).sort();
  const call = [...launches].map(([key, { count, started }]) => `${key}\u0000${count}\u0000${started}`).sort();
  return JSON.stringify([row, call]);
}

/** @type {(event: Event) => string} */
const rowOf = ({ cat, name, grid, block }) => JSON.stringify([cat, name, grid, block]);

/** @param {Seen} seen */
function ranIn(seen) {
  /** @type {OneStep[]} */
  const ran = seen.windows.map(() => ({ rows: new Map(), launches: new Map() }));
  for (const [at, event] of seen.ties.work.entries())
    if (seen.workStep[at] !== NONE) summed(ran[seen.workStep[at]].rows, rowOf(event), at).us += event.dur;
  for (const [at, call] of seen.ties.calls.entries())
    if (seen.started[at] && seen.callStep[at] !== NONE) {
      const sum = summed(ran[seen.callStep[at]].launches, call.name, at);
      sum.us += call.dur;
      sum.started += seen.started[at];
    }
  return ran;
}

/**
 * @param {Seen} seen
 * @param {Piece[]} pieces
 */
function busyIn(seen, pieces) {
  const devices = [...seen.workOf.keys()];
  const idle = new Map(devices.map((device) => [device, new Float64Array(seen.windows.length)]));
  for (const { device, window, us } of pieces) /** @type {Float64Array} */ (idle.get(device))[window] += us;
  return seen.windows.map(({ dur }, at) =>
    devices.map((device) => {
      const us = /** @type {Float64Array} */ (idle.get(device))[at];
      return { device, busy_us: toNs(Math.max(0, dur - us)), idle_us: toNs(us), idle_percent: percent(us, dur) };
    }),
  );
}

/**
 * @param {Seen} seen
 * @param {(category: string, name: string) => {short: string, family: string}} named
 * @param {OneStep[]} ran
 * @param {{idle_percent: number}[][]} busy
 * @param {number[]} steps
 */
function kindSays(seen, named, ran, busy, steps) {
  const [first, mine] = [ran[steps[0]], steps.map((at) => ran[at])];
  const gpu = mine.map(({ rows }) => [...rows.values()].reduce((all, { us }) => all + us, 0));
  const gpuUs = spread(gpu);
  const idlePercents = steps.flatMap((at) => busy[at].map(({ idle_percent }) => idle_percent));
  const work = [...first.rows].map(([key, { first: at, count }]) => {
    const { cat, name, grid, block } = seen.ties.work[at];
    const [op, call] = seen.launcher(at);
    const us = spread(mine.map(({ rows }) => /** @type {Sum} */ (rows.get(key)).us));
    const { short, family } = named(cat, name);
    const share = percent(us.median, gpuUs.median);
    return { kind: WORK_KINDS[cat], name, short, family, grid, block, count, us, percent: share, call, op };
  });
  const launches = [...first.launches].map(([call, { count, started }]) => ({
    ...{ call, count, started },
    us: spread(mine.map((one) => /** @type {Sum} */ (one.launches.get(call)).us)),
  }));
  return {
    steps: steps.map((at) => seen.number(at)),
    step_us: spread(steps.map((at) => seen.windows[at].dur)),
    gpu_us: gpuUs,
    idle_percent: idlePercents.length ? spread(idlePercents) : null,
    work,
    launches,
  };
}

// Idle

/**
 * Where nothing runs on this GPU, step by step.
 * @param {Seen} seen
 * @param {number} device
 * @returns {Piece[]}
 */
function idlePieces(seen, device) {
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
function idle(seen, pieces) {
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
function gaps(seen, pieces) {
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
function silentOps(seen) {
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
function blockingMemcpys(seen) {
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
function unlaunched(seen, named) {
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
function outside(seen) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const [at, { cat }] of seen.ties.work.entries())
    if (seen.workStep[at] === NONE && seen.ties.workCall[at] !== NONE)
      counts[WORK_KINDS[cat]] = (counts[WORK_KINDS[cat]] ?? 0) + 1;
  return counts;
}
