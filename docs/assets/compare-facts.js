// @ts-check
/**
 * Facts of a recording that came as an export, by the paths that the pages name them by. The vocabulary is that of
 * `build_traces/vocabulary.py`; tests/vectors/export.json holds what both must say.
 */

import { NoValue } from "./compare-format.js";
import { middleNineTenths, NONE, spread, Stage, sum } from "./compare-stage.js";
import { Sweep } from "./compare-sweep.js";

/** @typedef {import("./compare-format.js").Scalar} Scalar */
/** @typedef {import("./compare-stage.js").Spread} Spread */
/** @typedef {import("./compare-names.js").Decoded} Decoded */

/**
 * @typedef {object} Fact
 * @property {Scalar} value
 * @property {string} unit
 * @property {Spread | null} spread
 * @property {string} stamp
 * @property {number | null} processes over how many processes the spread is
 */

/** @typedef {{stage: Stage, step: number | null, key: string, facts: Facts}} Query */
/** @typedef {Scalar | Spread} Raw */
/** @typedef {{unit: string, derive: (q: Query) => Raw, key?: "may" | "must", byStep?: boolean}} Definition */

const MB = 1e6;
const WORK = /** @type {import("./compare-stage.js").Kind[]} */ (["kernel", "memset", "memcpy"]);
const OCCUPANCY = /^(cuda|cu|hip)Occupancy/;
const TILE = /^output tile (\d+)x(\d+)$/;

/** @type {(n: number) => bigint} */
const whole = (n) => BigInt(n);

/** @param {Query} q */
function refuseCold({ stage }) {
  if (stage.cold) throw new NoValue(`${stage.name} is cold: its time is the CPU's`);
}

/** @param {Query} q */
function tflops(q) {
  refuseCold(q);
  const [work, time] = [q.stage.rows.flops / 1e6, q.stage.timeUs()];
  return { median: work / time.median, low: work / time.high, high: work / time.low };
}

/** @param {Query} q */
function ceilingShare(q) {
  const { gemm_flops_per_s: once, gemm_back_to_back_flops_per_s: loop } = q.facts.environment.ceilings;
  return (100 * tflops(q).median * 1e12) / Math.max(spread(once).median, spread(loop).median);
}

/** @param {Stage} stage */
const firstCall = (stage) => stage.over((p) => p.first_call_ms).median;

/** @type {(q: Query, ...at: number[]) => number} */
const hbm = ({ stage }, ...at) => sum(stage.hbm().map((row) => sum(at.map((n) => row[n])))) / MB;

/** @type {Record<string, Definition>} */
const STAGE = {
  kernel_count: {
    unit: "",
    derive: ({ stage, step, key }) => {
      const mine = (/** @type {number} */ n) => stage.ofKind("kernel", n).filter(({ launch }) => launch.name.includes(key));
      return whole(stage.count((n) => mine(n).length, step));
    },
    key: "may",
    byStep: true,
  },
  memset_count: counted("memset"),
  memcpy_count: counted("memcpy"),
  kernel_position: {
    unit: "",
    derive: ({ stage, step, key }) => whole(stage.kernelPosition(key, step)),
    key: "must",
    byStep: true,
  },
  launch_count: ofCalls((call, key) => call.starts.length > 0 && ["", call.name].includes(key), "may"),
  call_count: ofCalls((call, key) => call.name === key, "must"),
  occupancy_queries: ofCalls((call) => OCCUPANCY.test(call.name)),
  op_count: {
    unit: "",
    derive: ({ stage, step, key }) => {
      const ops = stage.ops.filter((op) => op.kind === "op" && (key === "" || op.name === key));
      return whole(stage.count((n) => ops.filter((op) => op.step === n).length, step));
    },
    key: "may",
    byStep: true,
  },
  launched_under: {
    unit: "",
    derive: ({ stage, step, key }) => {
      const mine = stage.activities.filter(({ op }) => [...stage.ancestors(op)].some(({ name }) => name === key));
      return whole(stage.count((n) => mine.filter((one) => one.step === n).length, step));
    },
    key: "must",
    byStep: true,
  },
  unlaunched_kernels: {
    unit: "",
    derive: ({ stage }) => whole(stage.activities.filter((a) => a.launch.kind === "kernel" && a.call === NONE).length),
  },
  time_us: { unit: "µs", derive: ({ stage }) => stage.timeUs() },
  gpu_us: { unit: "µs", derive: ({ stage, step }) => stage.workUs(WORK, step), byStep: true },
  kernel_us: { unit: "µs", derive: ({ stage, step }) => stage.workUs(["kernel"], step), byStep: true },
  memset_us: { unit: "µs", derive: ({ stage, step }) => stage.workUs(["memset"], step), byStep: true },
  gpu_start_us: { unit: "µs", derive: ({ stage, step }) => stage.gpuStartUs(step), byStep: true },
  gpu_idle_us: { unit: "µs", derive: ({ stage, step }) => stage.gpuIdleUs(step), byStep: true },
  call_us: { unit: "µs", derive: ({ stage, step, key }) => stage.callUs(key, step), key: "must", byStep: true },
  op_us: { unit: "µs", derive: ({ stage, step, key }) => stage.opUs(key, step), key: "must", byStep: true },
  table_self_cuda_us: {
    unit: "µs",
    derive: ({ stage, key, facts }) => {
      const mine = stage.table.rows.filter((/** @type {any} */ [name]) => key === "" || facts.names[name] === key);
      if (!mine.length) throw new NoValue(`the profiler's table has no row ${key}`);
      return sum(mine.map((/** @type {any} */ [, us]) => us));
    },
    key: "may",
  },
  table_rows: {
    unit: "",
    derive: ({ stage, key, facts }) =>
      whole(stage.table.rows.filter((/** @type {any} */ [name]) => facts.names[name].includes(key)).length),
    key: "may",
  },
  table_total_cuda_us: { unit: "µs", derive: ({ stage }) => stage.table.total_us },
  cpu_us: { unit: "µs", derive: ({ stage, step }) => stage.profiledUs((p) => p.cpu_us, step), byStep: true },
  step_us: { unit: "µs", derive: ({ stage, step }) => stage.profiledUs((p) => p.step_us, step), byStep: true },
  back_to_back_us: {
    unit: "µs",
    derive: ({ stage }) => {
      const times = stage.processes.flatMap((/** @type {any} */ process) => process.back_to_back_us ?? []);
      if (!times.length) throw new NoValue(`${stage.name} is cold: its steps are not run back to back`);
      return spread(times);
    },
  },
  first_call_ms: { unit: "ms", derive: ({ stage }) => stage.over((p) => p.first_call_ms) },
  pays_off_after: {
    unit: "forwards",
    derive: (q) => {
      refuseCold(q);
      const against = q.facts.stage(q.stage.rows.rung.against);
      const saved = against.timeUs().median - q.stage.timeUs().median;
      if (saved <= 0) throw new NoValue(`${q.stage.name} is not faster than ${against.name}: it never pays off`);
      return Math.max(0, ((firstCall(q.stage) - firstCall(against)) * 1000) / saved);
    },
  },
  within_us: {
    unit: "µs",
    derive: (q) => {
      refuseCold(q);
      return q.stage.over(({ time_us }) => middleNineTenths(time_us));
    },
  },
  intensity: {
    unit: "FLOP/B",
    derive: (q) => q.stage.rows.flops / ((hbm(q, 1) + hbm(q, 2)) * MB),
  },
  speedup: {
    unit: "×",
    derive: (q) => {
      refuseCold(q);
      return q.facts.stage(q.stage.rows.rung.against).timeUs().median / q.stage.timeUs().median;
    },
  },
  tflops: { unit: "TFLOP/s", derive: tflops },
  gflop: { unit: "GFLOP", derive: ({ stage }) => stage.rows.flops / 1e9 },
  ceiling_share: { unit: "%", derive: ceilingShare },
  hbm_mb: { unit: "MB", derive: (q) => hbm(q, 1) + hbm(q, 2) },
  hbm_read_mb: { unit: "MB", derive: (q) => hbm(q, 1) },
  hbm_write_mb: { unit: "MB", derive: (q) => hbm(q, 2) },
  peak_mb: { unit: "MB", derive: ({ stage }) => stage.over((p) => p.peak_bytes / MB) },
  error: { unit: "", derive: ({ stage }) => stage.over((p) => p.error) },
  processes: { unit: "", derive: ({ stage }) => whole(stage.processes.length) },
  samples: { unit: "", derive: ({ stage }) => whole(stage.published.time_us.length) },
  profiled_steps: { unit: "", derive: ({ stage }) => whole(stage.stepsOf(null).length) },
  draws: { unit: "", derive: ({ stage }) => whole(stage.draws) },
  kernel: { unit: "", derive: kernelField, key: "must", byStep: true },
};

/**
 * @param {"memset" | "memcpy"} kind
 * @returns {Definition}
 */
function counted(kind) {
  return {
    unit: "",
    derive: ({ stage, step }) => whole(stage.count((n) => stage.ofKind(kind, n).length, step)),
    byStep: true,
  };
}

/**
 * @param {(call: import("./compare-stage.js").Call, key: string) => boolean} matches
 * @param {"may" | "must"} [key]
 * @returns {Definition}
 */
function ofCalls(matches, key) {
  const derive = (/** @type {Query} */ q) => {
    const mine = q.stage.calls.filter((call) => matches(call, q.key));
    return whole(q.stage.count((n) => mine.filter(({ step }) => step === n).length, q.step));
  };
  return { unit: "", derive, byStep: true, ...(key && { key }) };
}

// Kernels

/** @type {(q: Query, n: number) => import("./compare-stage.js").Launch} */
const launchAt = ({ stage, step }, n) => stage.kernel(n, step).launch;
/** @type {(dims: number[]) => string} */
const dims = (values) => values.join(" × ");
/** @type {(dims: number[]) => bigint} */
const product = (values) => values.reduce((a, b) => a * BigInt(b), 1n);

/**
 * @param {number | null} value
 * @param {string} what
 */
function known(value, what) {
  if (value === null) throw new NoValue(`the trace does not say ${what} of this kernel`);
  return value;
}

/** @type {(q: Query, n: number) => [number, number, number]} */
const bytesOf = ({ stage }, n) => {
  stage.kernel(n, null);
  return stage.hbm()[n - 1];
};

/** @type {Record<string, {unit: string, derive: (q: Query, n: number) => Raw}>} */
const KERNEL = {
  name: { unit: "", derive: (q, n) => launchAt(q, n).name },
  short: { unit: "", derive: (q, n) => q.facts.decode(launchAt(q, n).name).short },
  family: { unit: "", derive: (q, n) => q.facts.decode(launchAt(q, n).name).family },
  us: { unit: "µs", derive: ({ stage, step }, n) => stage.kernelUs(n, step) },
  gap_us: { unit: "µs", derive: ({ stage, step }, n) => stage.gapUs(n, step) },
  share: {
    unit: "%",
    derive: ({ stage, step }, n) => (100 * stage.kernelUs(n, step).median) / stage.workUs(WORK, step).median,
  },
  tile: {
    unit: "",
    derive: (q, n) => {
      const { parts } = q.facts.decode(launchAt(q, n).name);
      const tile = parts.flatMap(({ meaning }) => TILE.exec(meaning ?? "") ?? []);
      if (!tile.length) throw new NoValue("its name gives no tile, or none that is documented");
      return `${tile[1]} × ${tile[2]}`;
    },
  },
  grid: { unit: "", derive: (q, n) => dims(launchAt(q, n).grid) },
  block: { unit: "", derive: (q, n) => dims(launchAt(q, n).block) },
  blocks: { unit: "", derive: (q, n) => product(launchAt(q, n).grid) },
  threads: { unit: "", derive: (q, n) => product(launchAt(q, n).block) },
  registers: { unit: "", derive: (q, n) => whole(known(launchAt(q, n).registers, "registers")) },
  shared_kb: { unit: "kB", derive: (q, n) => known(launchAt(q, n).sharedBytes, "shared memory") / 1e3 },
  stream: { unit: "", derive: (q, n) => launchAt(q, n).stream },
  trace_blocks_per_sm: { unit: "", derive: (q, n) => known(launchAt(q, n).blocksPerSm, "blocks per SM") },
  trace_occupancy: { unit: "%", derive: (q, n) => known(launchAt(q, n).occupancy, "an occupancy") },
  launched_by: {
    unit: "",
    derive: ({ stage, step }, n) => stage.calls[stage.kernel(n, step).call].name,
  },
  op: {
    unit: "",
    derive: ({ stage, step }, n) => {
      for (const op of stage.ancestors(stage.kernel(n, step).op)) if (op.kind === "op") return op.name;
      throw new NoValue(`kernel ${n} of ${stage.name} was launched outside any op`);
    },
  },
  hbm_read_mb: { unit: "MB", derive: (q, n) => bytesOf(q, n)[1] / MB },
  hbm_write_mb: { unit: "MB", derive: (q, n) => bytesOf(q, n)[2] / MB },
};

/**
 * The value at the key `<n>.<field>`.
 * @param {Query} q
 */
function kernelField(q) {
  const [, number, field] = /^(\d+)\.(.*)$/s.exec(q.key) ?? [];
  if (number === undefined || !Object.hasOwn(KERNEL, field)) throw new NoValue(`there is no fact kernel.${q.key}`);
  return KERNEL[field].derive(q, Number(number));
}

// The machine

/** @type {(values: number[]) => Spread} */
const tera = (values) => spread(values.map((value) => value / 1e12));

/** @type {Record<string, {unit: string, derive: (environment: any, name: string) => Raw}>} */
const RECORDING = {
  name: { unit: "", derive: (_, name) => name },
  ...Object.fromEntries(
    ["gpu", "driver", "cuda", "torch", "triton", "kernels", "liger_kernel", "python", "ncu", "date"].map((field) => [
      field,
      { unit: "", derive: (/** @type {any} */ environment) => environment[field] },
    ]),
  ),
  commit: { unit: "", derive: ({ commit }) => shortCommit(commit) },
  kernel_packages: {
    unit: "",
    derive: (e) =>
      e.kernel_packages.map((/** @type {any} */ p) => `${p.repo} (${p.kind}: ${p.detail})`).join("; "),
  },
  sm_count: { unit: "", derive: ({ sm_count }) => whole(sm_count) },
  l2_mb: { unit: "MB", derive: ({ l2_bytes }) => l2_bytes / MB },
  hbm_gb: { unit: "GB", derive: ({ hbm_bytes }) => hbm_bytes / 1e9 },
  copy_tb_per_s: { unit: "TB/s", derive: ({ ceilings }) => tera(ceilings.copy_bytes_per_s) },
  gemm_tflops: { unit: "TFLOP/s", derive: ({ ceilings }) => tera(ceilings.gemm_flops_per_s) },
  gemm_back_to_back_tflops: { unit: "TFLOP/s", derive: ({ ceilings }) => tera(ceilings.gemm_back_to_back_flops_per_s) },
};

/** @param {string} commit */
export function shortCommit(commit) {
  const dash = commit.indexOf("-");
  return dash < 0 ? commit.slice(0, 10) : commit.slice(0, Math.min(10, dash)) + commit.slice(dash);
}

export class Facts {
  /** @type {Map<string, Stage>} */
  #stages = new Map();
  /** @type {Map<string, any>} the rows of each sweep */
  #sweeps;
  /** @type {Map<string, Fact | NoValue>} */
  #known = new Map();

  /**
   * @param {any} exported an export that was checked
   * @param {(name: string) => Decoded} decode
   */
  constructor(exported, decode) {
    this.exported = exported;
    this.decode = decode;
    /** @type {string[]} */
    this.names = exported.names;
    this.environment = exported.environment;
    this.#sweeps = new Map((exported.sweeps ?? []).map((/** @type {any} */ rows) => [rows.name, rows]));
  }

  /** `NVIDIA H200, torch 2.11.0`. */
  get label() {
    return `${this.environment.gpu}, torch ${this.environment.torch.split("+")[0]}`;
  }

  /** @param {string} name */
  has(name) {
    return this.exported.stages.some((/** @type {any} */ { rung }) => rung.name === name);
  }

  /** @param {string} name */
  stage(name) {
    let stage = this.#stages.get(name);
    if (stage) return stage;
    const rows = this.exported.stages.find((/** @type {any} */ { rung }) => rung.name === name);
    const left = Object.hasOwn(this.exported.left_out, name) ? `: ${this.exported.left_out[name]}` : "";
    if (!rows) throw new NoValue(`stage ${name} is not in this recording${left}`);
    stage = new Stage(rows, this.exported);
    this.#stages.set(name, stage);
    return stage;
  }

  /**
   * The fact at this path. Throws NoValue where this recording has none.
   * @param {string} path
   * @returns {Fact}
   */
  get(path) {
    let found = this.#known.get(path);
    if (!found) {
      try {
        found = this.#derive(path);
      } catch (error) {
        if (!(error instanceof NoValue)) throw error;
        found = error;
      }
      this.#known.set(path, found);
    }
    if (found instanceof NoValue) throw found;
    return found;
  }

  /** @param {string} path */
  #derive(path) {
    const dot = path.indexOf(".");
    if (dot < 0) throw new NoValue(`${path} is no path of a fact`);
    const [first, rest] = [path.slice(0, dot), path.slice(dot + 1)];
    if (first === "recording") return this.#ofRecording(rest);
    return this.#sweeps.has(first) ? this.#ofSweep(first, rest) : this.#ofStage(first, rest);
  }

  /** @param {string} rest */
  #ofRecording(rest) {
    const [name, part] = splitPart(rest);
    if (!Object.hasOwn(RECORDING, name)) throw new NoValue(`there is no fact recording.${name}`);
    const { unit, derive } = RECORDING[name];
    const { date, commit } = this.environment;
    return fact(derive(this.environment, this.exported.recording), unit, part, this.#stamp(date, commit), null);
  }

  /**
   * @param {string} name
   * @param {string} rest
   */
  #ofSweep(name, rest) {
    const sweep = new Sweep(this.#sweeps.get(name), this.names);
    const dot = rest.indexOf(".");
    const [key, part] = splitPart(dot < 0 ? "" : rest.slice(dot + 1));
    const { raw, unit } = sweep.ask(dot < 0 ? rest : rest.slice(0, dot), key);
    const { recorded, commit } = sweep.rows;
    return fact(raw, unit, part, this.#stamp(recorded, commit), sweep.processes.length);
  }

  /**
   * @param {string} stageName
   * @param {string} rest
   */
  #ofStage(stageName, rest) {
    const stage = this.stage(stageName);
    const [, number, behind] = /^step(\d+)\.(.*)$/s.exec(rest) ?? [];
    const step = number === undefined ? null : Number(number);
    const written = behind ?? rest;
    const dot = written.indexOf(".");
    const name = dot < 0 ? written : written.slice(0, dot);
    if (!Object.hasOwn(STAGE, name)) throw new NoValue(`there is no fact ${name}`);
    const definition = STAGE[name];
    const [key, part] = splitPart(dot < 0 ? "" : written.slice(dot + 1));
    if (step !== null && !definition.byStep) throw new NoValue(`${name} is of the whole stage`);
    if (key && !definition.key) throw new NoValue(`${name} takes no key`);
    if (!key && definition.key === "must") throw new NoValue(`${name} needs a key`);
    const raw = definition.derive({ stage, step, key, facts: this });
    const unit = name === "kernel" ? KERNEL[key.slice(key.indexOf(".") + 1)].unit : definition.unit;
    const over = name === "kernel" ? null : stage.processes.length;
    return fact(raw, unit, part, this.#stamp(stage.rows.recorded, stage.rows.commit), over);
  }

  /** @type {(date: string, commit: string) => string} */
  #stamp(date, commit) {
    return `${this.environment.gpu} · torch ${this.environment.torch} · ${date} · commit ${shortCommit(commit)}`;
  }
}

/**
 * `kernel.1.us.low` → `kernel.1.us` and `low`.
 * @param {string} rest
 * @returns {[string, "low" | "high" | ""]}
 */
function splitPart(rest) {
  if (rest === "low" || rest === "high") return ["", rest];
  const [, head, part] = /^(.*)\.(low|high)$/s.exec(rest) ?? [];
  return part === "low" || part === "high" ? [head, part] : [rest, ""];
}

/**
 * @param {Raw} raw
 * @param {string} unit
 * @param {"low" | "high" | ""} part
 * @param {string} stamp
 * @param {number | null} processes
 * @returns {Fact}
 */
function fact(raw, unit, part, stamp, processes) {
  if (typeof raw === "object") return { value: raw[part || "median"], unit, spread: raw, stamp, processes };
  if (part) throw new NoValue("it is one value");
  return { value: raw, unit, spread: null, stamp, processes: null };
}
