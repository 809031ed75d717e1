// @ts-check
/**
 * Whether a file is an export of a recording that this guide can read, and fits together: as `build_traces/imported.py`
 * decides it. A file comes from anywhere; what is wrong with it is said in a sentence.
 */

/** What a file is refused for; the message is for its owner. */
export class Refused extends Error {}

const NONE = -1;
const LARGEST = 1e21;
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

/** @typedef {{format: string, schema: number, protocol: number, sweepProtocol: number}} Versions */
/** @typedef {(value: unknown, where: string) => void} Check */

/** @type {(holds: boolean, otherwise: string) => void} */
function must(holds, otherwise) {
  if (!holds) throw new Refused(otherwise);
}

/** @param {string} what */
function typed(what, /** @type {(value: unknown) => boolean} */ is) {
  return (/** @type {unknown} */ value, /** @type {string} */ where) => must(is(value), `${where} is not ${what}`);
}

/** @type {Check} */
const text = typed("text", (value) => typeof value === "string");
/** @type {Check} */
const truth = typed("true or false", (value) => typeof value === "boolean");
const isNumber = (/** @type {unknown} */ value) => typeof value === "number" && Math.abs(value) < LARGEST;
/** @type {Check} */
const number = typed("a number, or too large for anything that is measured", isNumber);
/** @type {Check} */
const integer = typed("a whole number", (value) => isNumber(value) && Number.isInteger(value));

/** @type {(check: Check) => Check} */
const orNull = (check) => (value, where) => value === null || check(value, where);

/** @type {(check: Check) => Check} */
const list = (check) => (value, where) => {
  must(Array.isArray(value), `${where} is no list`);
  for (const [at, one] of /** @type {unknown[]} */ (value).entries()) check(one, `${where}[${at}]`);
};

/** @type {(fields: Record<string, Check>) => Check} */
const object = (fields) => (value, where) => {
  must(typeof value === "object" && value !== null && !Array.isArray(value), `${where} is no object`);
  for (const [name, check] of Object.entries(fields)) {
    must(Object.hasOwn(/** @type {object} */ (value), name), `${where} has no ${name}`);
    check(/** @type {any} */ (value)[name], `${where}.${name}`);
  }
};

/** @type {(checks: Check[], least?: number) => Check} */
const row = (checks, least = checks.length) => (value, where) => {
  must(Array.isArray(value) && value.length >= least, `${where} is no row of ${checks.length}`);
  for (const [at, check] of checks.entries())
    if (at < /** @type {unknown[]} */ (value).length) check(/** @type {any} */ (value)[at], `${where}[${at}]`);
};

/** @type {(...texts: string[]) => Check} */
const oneOf =
  (...texts) =>
  (value, where) =>
    must(texts.includes(/** @type {string} */ (value)), `${where} is none of ${texts.join(", ")}`);

const STEP = row([integer, integer, integer]);
const OP = row([oneOf("op", "annotation"), integer, integer, integer, integer, integer, integer]);
const CALL = row([oneOf("runtime", "driver"), integer, integer, integer, integer, integer, integer]);
const ACTIVITY = row([integer, integer, integer, integer]);
const WORK = row(
  [
    ...[oneOf("kernel", "memset", "memcpy"), integer, list(integer), list(integer), integer, integer],
    ...[orNull(integer), orNull(integer), orNull(integer), orNull(number), orNull(number)],
  ],
  4,
);
const PROCESS = object({
  ...{ first_call_ms: number, time_us: list(number), back_to_back_us: orNull(number), peak_bytes: integer },
  ...{ error: number, cpu_us: list(number), step_us: list(number), work: list(row([integer, list(orNull(number))])) },
});
const STAGE = object({
  rung: object({ name: text, title: text, against: text, cold: truth, chapter: integer, rung: truth }),
  ...{ sha256: text, command: text, recorded: text, commit: text, machine: text, flops: integer },
  ...{ published_process: integer, processes: list(PROCESS), artefacts: list(text), work: list(WORK) },
  ...{ hbm: orNull(list(row([integer, integer, integer]))), hbm_missing: orNull(text) },
  trace: object({
    ...{ gpu: text, origin_ns: integer, steps: list(STEP), ops: list(OP), calls: list(CALL) },
    activities: list(ACTIVITY),
  }),
  table: orNull(object({ rows: list(row([integer, number])), total_us: number })),
  table_missing: text,
});
const ENVIRONMENT = object({
  ...{ gpu: text, driver: text, cuda: text, torch: text, triton: text, kernels: text, liger_kernel: text },
  ...{ python: text, ncu: text, date: text, commit: text, l2_bytes: integer, hbm_bytes: integer, sm_count: integer },
  ceilings: object({
    ...{ copy_bytes_per_s: list(number), gemm_flops_per_s: list(number) },
    gemm_back_to_back_flops_per_s: list(number),
  }),
  kernel_packages: list(object({ repo: text, kind: text, detail: text })),
});
const GRAPH = object({ compile_id: text, reason: text, guards: integer, failed: text, dynamo_ms: number, backend_ms: number });
const CALLED = row([text, list(number), list(number), list(GRAPH), integer, list(integer)]);
const SWEEP = object({
  ...{ name: text, title: text, snippet: text, setup: text, caches: oneOf("empty", "warm"), log: truth },
  ...{ chapter: integer, protocol: integer, sha256: text, command: text, recorded: text, commit: text, machine: text },
  ...{ processes: list(row([list(CALLED), number])), artefacts: list(text) },
});
const EXPORT = object({ recording: text, environment: ENVIRONMENT, names: list(text), stages: list(STAGE) });

/**
 * Whether this JSON calls itself an export, of whatever version.
 * @param {any} value
 * @param {Versions} versions
 */
export function callsItself(value, versions) {
  return typeof value === "object" && value !== null && value.format === versions.format;
}

/**
 * Throws Refused for an export that this guide cannot read.
 * @param {any} value
 * @param {Versions} versions that this guide reads
 */
export function check(value, versions) {
  const { schema, protocol } = value;
  must(
    schema === versions.schema && protocol === versions.protocol,
    `it is of schema ${short(schema)} and protocol ${short(protocol)}; ` +
      `this guide reads schema ${versions.schema} and protocol ${versions.protocol}`,
  );
  EXPORT(value, "the export");
  const left = value.left_out;
  must(typeof left === "object" && left !== null && Object.values(left).every((why) => typeof why === "string"),
    "left_out is not stages with reasons"); // prettier-ignore
  const sweeps = value.sweeps ?? [];
  list(SWEEP)(sweeps, "the export.sweeps");
  must(value.stages.length > 0, "there is no stage in it");
  const names = [
    ...value.stages.map((/** @type {any} */ stage) => stage.rung.name),
    ...sweeps.map((/** @type {any} */ sweep) => sweep.name),
  ];
  must(new Set(names).size === names.length, "a stage is in it twice");
  must(names.every((/** @type {string} */ name) => NAME.test(name)), "a stage's name is no name of a Python module");
  for (const list of Object.values(value.environment.ceilings))
    must(/** @type {number[]} */ (list).length > 0, "a ceiling of the machine has no value");
  for (const stage of value.stages)
    told(`stage ${short(stage.rung.name)}`, () => checkStage(stage, value.names.length));
  for (const sweep of sweeps)
    told(`sweep ${short(sweep.name)}`, () => checkSweep(sweep, value.names.length, versions.sweepProtocol));
}

/**
 * Say where it is that something does not fit.
 * @param {string} where
 * @param {() => void} check
 */
function told(where, check) {
  try {
    check();
  } catch (error) {
    if (error instanceof Refused) throw new Refused(`${where}: ${error.message}`);
    throw error;
  }
}

/**
 * @param {any} sweep
 * @param {number} names how many there are
 * @param {number} protocol of sweeps that this guide reads
 */
function checkSweep({ protocol: its, processes }, names, protocol) {
  must(its === protocol, `it is of protocol ${short(its)}; this guide reads ${protocol}`);
  must(processes.length > 0 && processes[0][0].length > 0, "it holds no call");
  const called = processes.map(([calls]) => calls.map(([name]) => name));
  must(called.every((other) => JSON.stringify(other) === JSON.stringify(called[0])), "its processes made other calls");
  must(new Set(called[0]).size === called[0].length, "two of its calls have one name");
  for (const [, callMs, gpuUs, , , kernels] of processes.flatMap(([calls]) => calls)) {
    must(callMs.length > 1 && gpuUs.length > 0, "a call has no time samples");
    must([...callMs, ...gpuUs].every((time) => time > 0), "a call took no time");
    must(kernels.every((at) => within(at, 0, names)), "a name is not in the list of names");
  }
}

/** @param {unknown} value */
function short(value) {
  return String(typeof value === "object" ? typeof value : value).slice(0, 60);
}

/**
 * @param {any} stage
 * @param {number} names how many there are
 */
function checkStage(stage, names) {
  const { trace, work, processes } = stage;
  const steps = trace.steps.length;
  const named = [...work, ...trace.ops, ...trace.calls].map((one) => one[1]);
  named.push(...[...(stage.hbm ?? []), ...(stage.table?.rows ?? [])].map((one) => one[0]));
  must(named.every((name) => within(name, 0, names)), "a name is not in the list of names");
  must(trace.activities.every(([at]) => within(at, 0, work.length)), "an activity points to no work");
  must(trace.activities.every(([at]) => within(work[at][5], 0, names)), "a stream is not in the list of names");
  must(trace.ops.every(([, , parent], at) => within(parent, NONE, at)), "an op is inside one that is not before it");
  must(trace.calls.every(([, , op]) => within(op, NONE, trace.ops.length)), "a call points to no op");
  must(trace.activities.every(([, call]) => within(call, NONE, trace.calls.length)), "an activity points to no call");
  checkOrder(trace.steps, 1);
  checkOrder(trace.ops, 5);
  checkOrder(trace.calls, 5);
  checkOrder(trace.activities, 2);
  const { published_process: published } = stage;
  must(within(published, 0, processes.length), `process ${published} is published, there are ${processes.length}`);
  for (const process of processes) {
    const lengths = [process.cpu_us, process.step_us, ...process.work.map(([, us]) => us)].map((one) => one.length);
    must(steps > 0 && lengths.every((one) => one === steps), "a process has times of other steps than the trace");
    must(process.work.every(([at]) => within(at, 0, work.length)), "a process ran work that is not listed");
    must(process.time_us.length > 0, "a process has no time samples");
    must(process.time_us.every((us) => us > 0), "a step took no time");
  }
  const kernels = processes[published].work.filter(([at]) => work[at][0] === "kernel").length;
  must(stage.hbm === null || stage.hbm.length === kernels, "HBM bytes are of other kernels than those that ran");
}

/** @type {(value: number, from: number, to: number) => boolean} */
const within = (value, from, to) => value >= from && value < to;

/**
 * @param {number[][]} events
 * @param {number} at where the start stands in a row; the duration is behind it
 */
function checkOrder(events, at) {
  must(
    events.every((one, n) => n === 0 || events[n - 1][at] <= one[at]),
    "events are not in the order of their start",
  );
  must(events.every((one) => one[at + 1] >= 0), "an event ends before it begins");
}
