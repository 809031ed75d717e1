// @ts-check
/**
 * One sweep of a recording, read from an export: what `build_traces/sweep_view.py` and its vocabulary derive. Times are
 * over processes; what was compiled and which kernels ran is the same in every process, or is refused.
 */

import { NoValue } from "./compare-format.js";
import { median, spread, sum } from "./compare-stage.js";

/** @typedef {{compile_id: string, reason: string, guards: number, failed: string, dynamo_ms: number, backend_ms: number}} Graph */
/** @typedef {{name: string, callMs: number[], gpuUs: number[], graphs: Graph[], hits: number, kernels: string[]}} Call */
/** @typedef {import("./compare-format.js").Scalar | import("./compare-stage.js").Spread} Raw */

/** @param {Call} call the graphs that it added */
const compiled = ({ graphs }) => graphs.filter(({ failed }) => !failed);

/** @type {Record<string, {unit: string, derive: (sweep: Sweep, at: number) => Raw}>} */
const CALL = {
  first_ms: { unit: "ms", derive: (sweep, at) => sweep.over(at, ({ callMs }) => callMs[0]) },
  second_ms: { unit: "ms", derive: (sweep, at) => sweep.over(at, ({ callMs }) => callMs[1]) },
  tenth_ms: { unit: "ms", derive: (sweep, at) => sweep.over(at, ({ callMs }) => callMs[callMs.length - 1]) },
  gpu_us: { unit: "µs", derive: (sweep, at) => sweep.over(at, ({ gpuUs }) => median(gpuUs)) },
  graphs: { unit: "", derive: (sweep, at) => BigInt(sweep.graphsAfter(at)) },
  new_graphs: { unit: "", derive: (sweep, at) => BigInt(sweep.same(at, (call) => compiled(call).length)) },
  refused: { unit: "", derive: (sweep, at) => BigInt(sweep.same(at, (call) => call.graphs.length - compiled(call).length)) },
  reason: {
    unit: "",
    derive: (sweep, at) => sweep.same(at, ({ graphs }) => graphs.map(({ reason }) => reason)).findLast(Boolean) ?? "",
  },
  guards: {
    unit: "",
    derive: ({ processes }, at) => {
      const last = compiled(processes[0][at]).at(-1);
      if (!last) throw new NoValue("the call compiled nothing: it has no guards");
      return BigInt(last.guards);
    },
  },
  dynamo_ms: { unit: "ms", derive: (sweep, at) => sweep.over(at, ({ graphs }) => sum(graphs.map((one) => one.dynamo_ms))) },
  backend_ms: {
    unit: "ms",
    derive: (sweep, at) => sweep.over(at, ({ graphs }) => sum(graphs.map((one) => one.backend_ms))),
  },
  cache_hits: { unit: "", derive: (sweep, at) => BigInt(sweep.same(at, ({ hits }) => hits)) },
  kernel_count: { unit: "", derive: (sweep, at) => BigInt(sweep.same(at, ({ kernels }) => kernels.length)) },
  kernels: { unit: "", derive: (sweep, at) => sweep.same(at, ({ kernels }) => kernels).join(", ") },
};

/** @type {Record<string, {unit: string, derive: (sweep: Sweep) => Raw}>} */
const SWEEP = {
  graphs: { unit: "", derive: (sweep) => BigInt(sweep.graphsAfter(sweep.calls.length - 1)) },
  calls: { unit: "", derive: ({ calls }) => BigInt(calls.length) },
  first_calls_ms: {
    unit: "ms",
    derive: ({ processes }) => spread(processes.map((calls) => sum(calls.map(({ callMs }) => callMs[0])))),
  },
  processes: { unit: "", derive: ({ processes }) => BigInt(processes.length) },
  setup: { unit: "", derive: ({ rows }) => rows.setup },
};

export class Sweep {
  /**
   * @param {any} rows a sweep of an export that was checked
   * @param {string[]} names
   */
  constructor(rows, names) {
    this.rows = rows;
    /** @type {Call[][]} by process */
    this.processes = rows.processes.map(([calls]) =>
      calls.map(([name, callMs, gpuUs, graphs, hits, kernels]) => ({
        ...{ name, callMs, gpuUs, graphs, hits },
        kernels: kernels.map((/** @type {number} */ at) => names[at]),
      })),
    );
    /** The names of its calls, in the order they are made. */
    this.calls = this.processes[0].map(({ name }) => name);
  }

  /**
   * The fact of this name, with `<call>.<field>` as its key if it is of one call.
   * @param {string} name
   * @param {string} key
   */
  ask(name, key) {
    if (name !== "call") {
      if (key || !Object.hasOwn(SWEEP, name)) throw new NoValue(`there is no fact ${name} of a sweep`);
      return { raw: SWEEP[name].derive(this), unit: SWEEP[name].unit };
    }
    const dot = key.indexOf(".");
    const [call, field] = [key.slice(0, Math.max(0, dot)), key.slice(dot + 1)];
    if (!Object.hasOwn(CALL, field)) throw new NoValue(`a call of a sweep has no ${field}`);
    const at = this.calls.indexOf(call);
    if (at < 0) throw new NoValue(`the sweep makes no call ${call}`);
    return { raw: CALL[field].derive(this, at), unit: CALL[field].unit };
  }

  /**
   * @param {number} at
   * @param {(call: Call) => number} value
   */
  over(at, value) {
    return spread(this.processes.map((calls) => value(calls[at])));
  }

  /**
   * What every process saw at a call.
   * @template T
   * @param {number} at
   * @param {(call: Call) => T} value
   */
  same(at, value) {
    return same(this.processes.map((calls) => value(calls[at])));
  }

  /** @param {number} at */
  graphsAfter(at) {
    return same(this.processes.map((calls) => sum(calls.slice(0, at + 1).map((call) => compiled(call).length))));
  }
}

/**
 * @template T
 * @param {T[]} seen
 */
function same(seen) {
  if (new Set(seen.map((one) => JSON.stringify(one))).size > 1) throw new NoValue("it differs by process");
  return seen[0];
}
