// @ts-check
/**
 * Reads a profiler trace, chunk by chunk, into the events that are asked for: as `build_traces/trace` does. At no time
 * is more than one piece of the text decoded; a file that is no trace is refused with a sentence.
 */

import { Refused } from "./compare-import.js";

/**
 * An event with a start and a duration; times are µs.
 * @typedef {object} Event
 * @property {string} name
 * @property {number} ts
 * @property {number} dur
 * @property {string} cat
 * @property {string} thread process and thread
 * @property {number | string} tid
 * @property {number | string} correlation
 * @property {number} device
 * @property {number | string | null} stream
 * @property {number[]} grid
 * @property {number[]} block
 * @property {number} bytes
 */

/**
 * @typedef {object} Events
 * @property {number} total
 * @property {number} annotations
 * @property {Event[]} ops
 * @property {Event[]} calls
 * @property {Event[]} work
 * @property {any} head what stands beside the events
 */

/** @type {Record<string, "op" | "annotation">} */
export const OP_KINDS = { cpu_op: "op", user_annotation: "annotation" };
const CALLS = new Set(["cuda_runtime", "cuda_driver"]);
/** @type {Record<string, "kernel" | "memset" | "memcpy">} */
export const WORK_KINDS = { kernel: "kernel", gpu_memset: "memset", gpu_memcpy: "memcpy" };

const PIECE = 1 << 20;
const LONGEST_KEY = 200;
const MOST_EVENT = 64 << 20;
const MOST_HEAD = 32 << 20;
const MOST_EVENTS = 3_000_000;
const [QUOTE, BACKSLASH, OPEN, CLOSE, LEFT, RIGHT] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d];
const KEY = /"traceEvents"\s*:\s*$/;
const BACKSLASHES = /\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})|(\\\\|\\["/bfnrt]|\\u[0-9a-fA-F]{4})/g;
const STRINGS = /"(?:[^"\\]|\\[^])*(?:"|\\?$)/g;
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\x00-\x1f]/g;

/** Takes a file in chunks of bytes; `end` gives what was in it. */
export class TraceReader {
  /** @type {Events} */
  #events = { total: 0, annotations: 0, ops: [], calls: [], work: [], head: {} };
  /** @type {Map<string, string>} */
  #names = new Map();
  /** @type {Uint8Array[]} what has not been decoded yet, of the place that the reader is in */
  #parts = [];
  #length = 0;
  /** @type {string[]} */
  #head = [];
  #headLength = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The depth of the list of events once it has been found, 0 before and behind it. */
  #list = 0;
  #isArray = false;
  #isObject = false;
  #found = false;
  #begun = false;
  #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  /** @param {Uint8Array} chunk */
  push(chunk) {
    if (!this.#begun) chunk = this.#begin(chunk);
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#inString = false;
        continue;
      }
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN || byte === LEFT) {
        this.#depth += 1;
        if (byte === OPEN && this.#depth === 1) this.#isObject = true;
        if (byte === LEFT && !this.#found && this.#isListOfEvents(chunk.subarray(from, at))) {
          this.#take(chunk.subarray(from, at + 1));
          from = at + 1;
          this.#flushHead();
          this.#list = this.#depth;
          this.#found = true;
        }
      } else if (byte === CLOSE || byte === RIGHT) {
        if (this.#list && byte === RIGHT && this.#depth === this.#list) {
          this.#take(chunk.subarray(from, at));
          from = at;
          this.#flushEvents();
          this.#list = 0;
        }
        this.#depth -= 1;
      } else if (byte === 0x2c && this.#list && this.#depth === this.#list) {
        if (this.#length + at - from < PIECE) continue;
        this.#take(chunk.subarray(from, at));
        from = at + 1;
        this.#flushEvents();
      }
    }
    this.#take(chunk.slice(from));
    if (this.#list && this.#length > MOST_EVENT) throw new Refused("not a profiler trace: one event has no end");
    if (!this.#list && this.#length + this.#headLength > MOST_HEAD)
      throw new Refused("not a profiler trace: there is no list of events in its first 32 MB");
  }

  /** @returns {Events} */
  end() {
    if (!this.#begun) throw new Refused("the file is empty");
    if (this.#depth > 0) throw new Refused("not valid JSON: the file ends too early; was it cut short?");
    this.#flushHead();
    const head = this.#head.join("");
    const value = parsed(head, "beside its events");
    if (!this.#isArray) {
      if (typeof value !== "object" || value === null || !this.#found)
        throw new Refused("not a profiler trace: it has no list called traceEvents");
      this.#events.head = value;
    }
    if (!this.#events.total)
      throw new Refused("the trace holds no events: call prof.step() in the loop until the active steps are over");
    return this.#events;
  }

  /** @param {Uint8Array} chunk */
  #begin(chunk) {
    const [first, second, third] = chunk;
    if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
      throw new Refused("not valid JSON: it is UTF-16 text; save it as UTF-8, which the profiler writes");
    this.#begun = chunk.length > 0;
    return first === 0xef && second === 0xbb && third === 0xbf ? chunk.subarray(3) : chunk;
  }

  /**
   * Whether a bracket behind this text opens the list of events.
   * @param {Uint8Array} before
   */
  #isListOfEvents(before) {
    if (this.#depth === 1 && !this.#isObject) {
      this.#isArray = true;
      return true;
    }
    return this.#depth === 2 && KEY.test(this.#tail(before));
  }

  /**
   * The end of what is not decoded yet; enough for a key with some space behind it.
   * @param {Uint8Array} last
   */
  #tail(last) {
    let text = new TextDecoder().decode(last.subarray(-LONGEST_KEY));
    for (let at = this.#parts.length - 1; at >= 0 && text.length < LONGEST_KEY; at -= 1)
      text = new TextDecoder().decode(this.#parts[at].subarray(-LONGEST_KEY)) + text;
    return text;
  }

  /** @param {Uint8Array} bytes */
  #take(bytes) {
    if (!bytes.length) return;
    this.#parts.push(bytes);
    this.#length += bytes.length;
  }

  #taken() {
    const whole = this.#parts.length === 1 ? this.#parts[0] : new Uint8Array(this.#length);
    let at = 0;
    if (this.#parts.length > 1)
      for (const part of this.#parts) {
        whole.set(part, at);
        at += part.length;
      }
    this.#parts = [];
    this.#length = 0;
    return this.#decoder.decode(whole);
  }

  #flushHead() {
    const text = this.#taken();
    this.#headLength += text.length;
    this.#head.push(text);
  }

  #flushEvents() {
    const text = this.#taken();
    if (!text.trim()) return;
    const list = parsed(`[${text}]`, `behind event ${this.#events.total}`);
    for (const one of list) this.#add(one);
  }

  /** @param {any} one */
  #add(one) {
    const events = this.#events;
    events.total += 1;
    if (events.total > MOST_EVENTS)
      throw new Refused(`it holds more than ${MOST_EVENTS / 1e6} million events: profile fewer steps`);
    if (typeof one !== "object" || one === null || Array.isArray(one))
      throw new Refused(`not a profiler trace: event ${events.total} is no object`);
    if (!isText(one.ph ?? "") || one.ph === null) throw this.#refusal("ph", "is no text");
    if (one.ph !== "X" || one.ts == null || one.dur == null) return;
    const { cat } = one;
    const [isOp, isCall, isWork] = [
      Object.hasOwn(OP_KINDS, cat ?? ""),
      CALLS.has(cat),
      Object.hasOwn(WORK_KINDS, cat ?? ""),
    ];
    if (!isText(one.name ?? "") || one.name === null) throw this.#refusal("the name", "is no text");
    const event = this.#event(one);
    if (cat === "user_annotation") events.annotations += 1;
    if (isOp) events.ops.push(event);
    if (isCall) events.calls.push(event);
    if (isWork) events.work.push(event);
  }

  /**
   * @param {string} what
   * @param {string} is
   */
  #refusal(what, is) {
    return new Refused(`not a profiler trace: ${what} of event ${this.#events.total} ${is}`);
  }

  /**
   * @param {any} one
   * @returns {Event}
   */
  #event(one) {
    const args = one.args ?? {};
    if (typeof args !== "object" || Array.isArray(args)) throw this.#refusal("args", "is no object");
    for (const key of ["ts", "dur"])
      if (typeof one[key] !== "number" && !isText(one[key])) throw this.#refusal(key, "is no number");
    const name = this.#interned(one.name ?? "");
    const [ts, dur] = [Number(one.ts), Number(one.dur)];
    if (!Number.isFinite(ts) || !Number.isFinite(dur))
      throw new Refused(`not a profiler trace: ts or dur of event ${quoted(name)} is not finite`);
    const work = Object.hasOwn(WORK_KINDS, one.cat);
    return {
      ...{ name, ts, dur, cat: one.cat, thread: this.#interned(`${one.pid ?? 0}/${one.tid ?? 0}`), tid: one.tid ?? 0 },
      correlation: whole(args.correlation, -1),
      device: work ? whole(args.device, 0) : 0,
      stream: work ? (args.stream ?? null) : null,
      grid: work ? dims(args.grid) : NO_DIMS,
      block: work ? dims(args.block) : NO_DIMS,
      bytes: work ? whole(args.bytes, 0) : 0,
    };
  }

  /**
   * One string for all that read the same: many events have few names.
   * @param {string} text
   */
  #interned(text) {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    this.#names.set(text, text);
    return text;
  }
}

/** @type {(value: unknown) => boolean} */
const isText = (value) => typeof value === "string";

/** @type {number[]} */
const NO_DIMS = [];

/**
 * @param {unknown} value
 * @param {number} otherwise
 */
function whole(value, otherwise) {
  const number = typeof value === "string" && value.trim() ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) ? number : otherwise;
}

/**
 * @param {unknown} value a list, or text such as `[2, 1, 1]`
 * @returns {number[]}
 */
function dims(value) {
  if (typeof value === "string") return (value.match(/\d{1,18}/g) ?? []).map(Number);
  if (!Array.isArray(value)) return NO_DIMS;
  if (!value.every(Number.isInteger)) throw new Refused("not a profiler trace: a grid or block is not whole numbers");
  return value;
}

/** @param {string} name */
export function quoted(name) {
  return JSON.stringify(name.slice(0, 100));
}

/**
 * @param {string} text
 * @param {string} where
 * @returns {any}
 */
function parsed(text, where) {
  try {
    return JSON.parse(text);
  } catch {
    // Old versions of the profiler wrote backslashes and control characters into names as they were.
  }
  try {
    const mended = text.replace(BACKSLASHES, (_, valid) => valid ?? "\\\\").replace(STRINGS, escaped);
    return JSON.parse(mended);
  } catch {
    throw new Refused(`not valid JSON, ${where}`);
  }
}

/** @param {string} string */
function escaped(string) {
  return string.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
