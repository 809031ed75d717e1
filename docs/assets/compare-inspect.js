// @ts-check
/**
 * What a trace says: steps, kernel lists, launches, where the GPU idles and what it waits for. The definitions are those
 * of `build_traces/inspection`; tests/vectors holds traces with what both must say.
 */

import { blockingMemcpys, gaps, idle, idlePieces, outside, silentOps, unlaunched } from "./compare-idle.js";
import { Refused } from "./compare-import.js";
import { NONE } from "./compare-stage.js";
import { percent, spread, summed, toNs } from "./compare-sums.js";
import { Seen, tie } from "./compare-ties.js";
import { WORK_KINDS } from "./compare-trace.js";

/** @typedef {import("./compare-trace.js").Event} Event */
/** @typedef {import("./compare-trace.js").Events} Events */
/** @typedef {import("./compare-ties.js").Ties} Ties */
/** @typedef {(name: string) => {short: string, family: string}} Decode */

const MAX_NAME = 16_384;
const MAX_STEPS_OF_GPUS = 4_000_000;
const OPTIONS = ["record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"];
const VERSIONS = ["cuda_runtime_version", "cuda_driver_version", "cupti_version", "hip_runtime_version", "hip_driver_version"];

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

/** @typedef {import("./compare-sums.js").Sum} Sum */
/** @typedef {import("./compare-sums.js").Piece} Piece */
/** @typedef {{rows: Map<string, Sum>, launches: Map<string, Sum>}} OneStep */

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
