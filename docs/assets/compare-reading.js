// @ts-check
/** A file that is being read by a worker of its own, from the page's side. Cancelling ends the worker. */

/** @typedef {{trace: any} | {exported: any, decoded: Record<string, any>} | {refused: string}} Found */

export class Reading {
  #worker = new Worker(new URL("compare-worker.js", import.meta.url), { type: "module" });
  /** @type {((found: any) => void)[]} */
  #waiting = [];
  /** @type {Map<number, (lanes: any) => void>} */
  #pictures = new Map();
  #asked = 0;
  #ended = false;

  /**
   * @param {Blob} file
   * @param {unknown} tables of the decoder of names
   * @param {(share: number) => void} [progress]
   */
  constructor(file, tables, progress) {
    /** @type {Promise<Found>} */
    this.found = new Promise((resolve) => this.#waiting.push(resolve));
    this.#worker.addEventListener("message", ({ data }) => {
      if ("progress" in data) progress?.(data.progress);
      else if ("lanes" in data) this.#pictures.get(data.id)?.(data.lanes);
      else this.#answer(data);
    });
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#answer({ refused: "the reader could not run: this browser is too old, or ran out of memory" });
    });
    this.#worker.postMessage({ open: { file, tables } });
  }

  /** @param {Found} found */
  #answer(found) {
    for (const resolve of this.#waiting) resolve(found);
    for (const resolve of this.#pictures.values()) resolve(null);
  }

  /**
   * A step as lanes, for a picture; null where none can be made.
   * @param {number} window
   * @returns {Promise<import("./compare-lanes.js").Lanes | null>}
   */
  lanes(window) {
    if (this.#ended) return Promise.resolve(null);
    const id = (this.#asked += 1);
    this.#worker.postMessage({ step: { window, id } });
    return new Promise((resolve) => this.#pictures.set(id, resolve));
  }

  end() {
    this.#ended = true;
    this.#worker.terminate();
    this.#answer({ refused: "" });
  }
}
