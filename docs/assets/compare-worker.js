// @ts-check
/**
 * Reads a file beside the page, so that the page never waits: unpacks it, tells an export from a trace, and says what
 * is in it. The page ends this worker to cancel. Nothing leaves the browser.
 *
 * In: `{open: {file, tables}}`, then `{step: {window, id}}`. Out: `{progress}`, `{trace}`, `{exported}`, `{lanes, id}`
 * and `{refused}`, a sentence.
 */

import { callsItself, check, Refused } from "./compare-import.js";
import { say } from "./compare-inspect.js";
import { lanesOf } from "./compare-lanes.js";
import { decoder, MAX_NAME, workKind } from "./compare-names.js";
import { VERSIONS } from "./compare-store.js";
import { Seen, tie } from "./compare-ties.js";
import { TraceReader } from "./compare-trace.js";

const MOST_EXPORT = 20_000_000;
const MOST_UNPACKED = 1_500_000_000;
const PROGRESS_EVERY_MS = 100;
const EXPORT = /^\s*\{\s*"format"\s*:\s*"build-traces recording"/;
const ENOUGH = 200;
/** What the page is given at most, of what a hostile file may hold by the million. */
const MOST = { steps: 200, kinds: 20, work: 300, launches: 100, idle: 50, ops: 50, memcpys: 50, unlaunched: 50, name: 2_000 };

/** @type {Seen | null} */
let seen = null;
/** @type {ReturnType<typeof decoder>} */
let decode;
/** @type {(name: string) => {short: string, kind: string}} */
let look;

/** @param {unknown} message */
function tell(message) {
  /** @type {any} */ (self).postMessage(message);
}

self.addEventListener("message", async ({ data }) => {
  try {
    if (data.open) {
      decode = decoder(data.open.tables);
      look = (name) => {
        const { short, family } = decode(name);
        return { short, kind: name.length > MAX_NAME ? "kernel" : workKind(data.open.tables, name, family) };
      };
      tell(await open(data.open.file));
    } else if (data.step && seen) tell({ lanes: lanesOf(seen, data.step.window, look), id: data.step.id });
  } catch (error) {
    tell({ refused: sentence(error) });
  }
});

/** @param {unknown} error */
function sentence(error) {
  if (error instanceof Refused) return error.message;
  if (error instanceof RangeError) return "it is nested too deep, or too large for this browser's memory";
  return `the reader failed on it (${error instanceof Error ? error.message : error}): this is a bug of the guide`;
}

/** @param {Blob} file */
async function open(file) {
  const begin = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const packed = begin[0] === 0x1f && begin[1] === 0x8b;
  /** @type {Uint8Array[]} */
  const held = [];
  let [length, total] = [0, 0];
  /** @type {TraceReader | null} */
  let reader = null;
  let isExport = false;
  const decide = () => {
    const head = new TextDecoder().decode(joined(held, length).subarray(0, 4 * ENOUGH));
    isExport = EXPORT.test(head);
    if (isExport) return;
    reader = new TraceReader();
    for (const chunk of held) reader.push(chunk);
    held.length = 0;
  };
  for await (const chunk of chunks(file, packed)) {
    total += chunk.length;
    if (total > MOST_UNPACKED) {
      const what = packed ? "it unpacks to more than" : "it is larger than";
      throw new Refused(`${what} ${MOST_UNPACKED / 1e9} GB, which is more than a page should read: profile fewer steps`);
    }
    if (reader) /** @type {TraceReader} */ (reader).push(chunk);
    else {
      held.push(chunk);
      length += chunk.length;
      if (length >= ENOUGH && !isExport) decide();
      if (isExport && length > MOST_EXPORT)
        throw new Refused(`it is no export of a recording: it holds more than ${MOST_EXPORT / 1e6} MB`);
    }
  }
  if (!reader && !isExport) decide();
  return isExport ? exportIn(joined(held, length)) : traceIn(/** @type {any} */ (reader));
}

/**
 * The file, unpacked, while the page is told how far it has been read.
 * @param {Blob} file
 * @param {boolean} packed
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function* chunks(file, packed) {
  let [read, told] = [0, 0];
  const counting = new TransformStream({
    transform(chunk, controller) {
      read += chunk.length;
      if (performance.now() - told > PROGRESS_EVERY_MS) {
        told = performance.now();
        tell({ progress: read / file.size });
      }
      controller.enqueue(chunk);
    },
  });
  /** @type {ReadableStream<any>} */
  let stream = file.stream().pipeThrough(counting);
  if (packed) stream = stream.pipeThrough(/** @type {any} */ (new DecompressionStream("gzip")));
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      if (packed && error instanceof TypeError) throw new Refused("the gzip data is damaged or cut short: copy it again");
      throw new Refused("the file cannot be read: was it moved or changed?");
    });
    if (done) return;
    if (value.length) yield value;
  }
}

/**
 * @param {Uint8Array[]} parts
 * @param {number} length
 */
function joined(parts, length) {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @param {Uint8Array} bytes */
function exportIn(bytes) {
  let value;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Refused("it is no export of a recording: it is not valid JSON; was it cut short?");
  }
  try {
    if (!callsItself(value, VERSIONS)) throw new Refused("it does not call itself one");
    check(value, VERSIONS);
  } catch (error) {
    if (error instanceof Refused) throw new Refused(`it is no export that this guide can show: ${error.message}`);
    throw error;
  }
  const names = new Set(value.stages.flatMap((/** @type {any} */ { work }) => work.map((/** @type {any} */ row) => row[1])));
  const decoded = Object.fromEntries([...names].map((at) => [value.names[at], decode(value.names[at])]));
  return { exported: value, decoded };
}

/** @param {TraceReader} reader */
function traceIn(reader) {
  tell({ progress: 1 });
  const events = reader.end();
  seen = new Seen(tie(events));
  return { trace: trimmed(say(events, seen, decode)) };
}

/**
 * What the page shows of it, with summaries of the kernels' names.
 * @param {ReturnType<typeof say>} said
 */
function trimmed(said) {
  const cut = (/** @type {string} */ name) => (name.length > MOST.name ? `${name.slice(0, MOST.name)}…` : name);
  const named = (/** @type {any} */ row) =>
    Object.fromEntries(Object.entries(row).map(([key, value]) => [key, typeof value === "string" ? cut(value) : value]));
  const kinds = said.kinds.slice(0, MOST.kinds).map((kind) => ({
    ...kind,
    steps: kind.steps.slice(0, MOST.steps),
    stepCount: kind.steps.length,
    workCount: kind.work.length,
    work: [...kind.work]
      .map((row, at) => ({ ...named(row), at, key: row.name, summary: row.kind === "kernel" ? decode(row.name).summary : "" }))
      .sort((/** @type {any} */ a, /** @type {any} */ b) => b.us.median - a.us.median)
      .slice(0, MOST.work)
      .sort((a, b) => a.at - b.at)
      .map((row) => ({ ...row, key: row.key.length > MOST.name ? `${row.key.slice(0, MOST.name)}…${row.at}` : row.key })),
    launches: kind.launches.slice(0, MOST.launches).map(named),
  }));
  const { gpus } = said.about;
  return {
    ...said,
    about: { ...said.about, gpus: gpus.slice(0, 16).map(named), gpuCount: gpus.length },
    steps: said.steps.slice(0, MOST.steps),
    stepCount: said.steps.length,
    kinds,
    kindCount: said.kinds.length,
    idle: said.idle.slice(0, MOST.idle).map(named),
    gaps: said.gaps.map(named),
    silent_ops: said.silent_ops.slice(0, MOST.ops).map(named),
    blocking_memcpys: said.blocking_memcpys.slice(0, MOST.memcpys).map(named),
    unlaunched: said.unlaunched.slice(0, MOST.unlaunched).map(named),
  };
}
