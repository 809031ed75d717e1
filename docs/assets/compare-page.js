// @ts-check
/**
 * `<guide-compare>`: reads a file that the reader drops or chooses, an export of a recording or a raw trace, and shows
 * it beside ours. Nothing is sent anywhere; a recording is kept in this browser until it is removed.
 */

import { make, row, table } from "./compare-draw.js";
import { NoValue, shown } from "./compare-format.js";
import { Reading } from "./compare-reading.js";
import { keep, onChange, recording, remove, show, state } from "./compare-store.js";
import { factsOf } from "./compare-switch.js";
import * as view from "./compare-trace-view.js";

/** @typedef {import("./compare-facts.js").Facts} Facts */

/** @typedef {import("./compare-trace-view.js").Opened} Opened */

const LARGEST = 1_500_000_000;
const FIELDS = ["gpu", "driver", "cuda", "torch", "triton", "date"];

class GuideCompare extends HTMLElement {
  /** @type {any} */
  #tables = null;
  /** @type {Opened | null} the reader's trace */
  #yours = null;
  /** @type {Opened | null} the trace of our stage beside it */
  #ours = null;
  /** @type {Reading | null} what is being read now */
  #reading = null;
  /** @type {Facts | null} a recording that the browser does not keep: only this page can show it */
  #loose = null;
  #turn = 0;
  #built = false;

  #status = make("p"); // both are on the page: see connectedCallback
  #drop = make("div");
  #bar = make("progress", { max: "1", "aria-label": "How far the file has been read" });
  #cancel = make("button", { type: "button", class: "predict-button" }, "Cancel");
  #progress = make("div", { class: "compare-progress" });
  #file = make("input", { type: "file", accept: ".json,.gz,application/json,application/gzip", class: "compare-file" });
  #kept = make("section", { class: "compare-kept", "aria-label": "Your recording" });
  #result = make("section", { class: "compare-result", "aria-label": "Your trace" });

  connectedCallback() {
    if (this.#built) return;
    this.#built = true;
    this.#tables = JSON.parse(this.querySelector("script.compare-names")?.textContent ?? "null");
    this.#drop = /** @type {HTMLDivElement} */ (this.querySelector(".compare-drop"));
    this.#status = /** @type {HTMLParagraphElement} */ (this.querySelector(".compare-status"));
    const choose = this.#drop.querySelector(".compare-choose");
    choose?.replaceWith(make("label", { class: choose.className }, this.#file, choose.textContent ?? ""));
    this.#progress.append(this.#bar, this.#cancel);
    this.#progress.hidden = true;
    this.#status.before(this.#progress);
    this.#status.after(this.#kept, this.#result);
    this.#file.addEventListener("change", () => this.#choose(this.#file.files?.[0]));
    this.#cancel.addEventListener("click", () => this.#stop("Cancelled. Nothing was kept."));
    this.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.#drop.classList.add("compare-drop--over");
    });
    this.addEventListener("dragleave", () => this.#drop.classList.remove("compare-drop--over"));
    this.addEventListener("drop", (event) => {
      event.preventDefault();
      this.#drop.classList.remove("compare-drop--over");
      this.#choose(event.dataTransfer?.files[0]);
    });
    onChange(() => this.#showKept());
    this.#showKept();
  }

  disconnectedCallback() {
    this.#stop("");
    this.#yours?.reading.end();
    this.#ours?.reading.end();
    this.#yours = this.#ours = null;
  }

  /** @param {string} said */
  #stop(said) {
    this.#turn += 1;
    this.#reading?.end();
    this.#reading = null;
    this.#progress.hidden = true;
    if (said) {
      this.#status.textContent = said;
      this.#file.focus();
    }
  }

  /** @param {File | undefined} file */
  async #choose(file) {
    if (!file) return;
    this.#stop("");
    const turn = this.#turn;
    this.#file.value = ""; // so that the same file can be read once more
    this.#clear();
    if (file.size > LARGEST) {
      this.#status.textContent = `${file.name} was not read: it is larger than ${LARGEST / 1e9} GB.`;
      return;
    }
    this.#status.textContent = `Reading ${file.name} …`;
    this.#bar.removeAttribute("value");
    this.#progress.hidden = false;
    const reading = new Reading(file, this.#tables, (share) => {
      this.#bar.value = share;
    });
    this.#reading = reading;
    const found = await reading.found;
    if (turn !== this.#turn) return;
    this.#reading = null;
    this.#progress.hidden = true;
    if ("trace" in found) {
      this.#yours = { reading, trace: found.trace, name: file.name };
      this.#status.textContent = `Read ${file.name}.`;
      this.#showTrace();
      return;
    }
    reading.end();
    if ("refused" in found) this.#status.textContent = `${file.name} was not read: ${found.refused}.`;
    else await this.#import(file.name, found);
  }

  #clear() {
    this.#yours?.reading.end();
    this.#yours = null;
    this.#result.replaceChildren();
  }

  // A recording

  /**
   * @param {string} name
   * @param {{exported: any, decoded: Record<string, any>}} found
   */
  async #import(name, { exported, decoded }) {
    const kept = await keep({ exported, decoded, saved: new Date().toISOString() });
    this.#loose = kept ? null : factsOf({ exported, decoded, saved: "" });
    await this.#showKept(); // before it is said: who hears it finds it
    this.#status.textContent = kept
      ? `Read ${name}. Every page of this guide shows its numbers now.`
      : `Read ${name}, but this browser does not let the page keep it, so no other page can show it.`;
  }

  async #showKept() {
    const [now, kept] = await Promise.all([state(), recording()]);
    if (!now || !kept) {
      this.#kept.replaceChildren(...(this.#loose ? this.#recording(this.#loose, null) : []));
      return;
    }
    const inside = this.#kept.contains(document.activeElement);
    try {
      this.#kept.replaceChildren(...this.#recording(factsOf(kept), now.shown));
    } catch {
      this.#kept.replaceChildren(make("p", {}, "The recording that is kept cannot be shown. "), this.#remover());
    }
    if (inside) this.#kept.querySelector("button")?.focus();
  }

  /**
   * @param {Facts} facts
   * @param {import("./compare-store.js").Shown | null} shows
   */
  #recording(facts, shows) {
    const left = Object.keys(facts.exported.left_out).length;
    const stages = facts.exported.stages.length;
    const text = `Your recording: ${facts.label}, ${stages} stage${stages === 1 ? "" : "s"}${left ? `, ${left} left out` : ""}.`;
    const said = shows ? ` Every page shows ${shows === "yours" ? "your numbers" : "our numbers"}.` : "";
    const made = [make("h2", {}, "Your recording"), make("p", {}, text + said)];
    if (shows) {
      const other = shows === "yours" ? "ours" : "yours";
      const turn = make("button", { type: "button", class: "predict-button" }, `Show ${other === "ours" ? "our" : "my"} numbers`);
      turn.addEventListener("click", () => show(other));
      made.push(make("div", { class: "compare-buttons" }, turn, this.#remover()));
    }
    return [...made, this.#stages(facts), this.#machine(facts)];
  }

  #remover() {
    const button = make("button", { type: "button", class: "predict-button predict-button--danger" }, "Remove it from this browser");
    button.addEventListener("click", async () => {
      this.#status.textContent = (await remove())
        ? "Your recording is removed. The pages show our numbers."
        : "The browser does not let the page remove it: close the other pages of this guide and try again.";
      this.#file.focus();
    });
    return button;
  }

  /**
   * Each stage with our time and yours.
   * @param {Facts} facts
   */
  #stages(facts) {
    const rows = [...this.querySelectorAll("table.compare-stages tbody tr")].map((of) => {
      const name = /** @type {HTMLElement} */ (of).dataset.stage ?? "";
      const [title, ourCount, ourTime] = [...of.children].map((cell) => cell.textContent ?? "");
      const ours = Number(of.querySelector('data[data-fact$=".time_us"]')?.getAttribute("value"));
      const [count, time] = [`${name}.${facts.has(name) && facts.stage(name).cold ? "step1." : ""}kernel_count`, `${name}.time_us`].map(
        (path) => said(() => facts.get(path).value),
      );
      const ratio = typeof time === "number" && ours ? `${shown(time / ours)} ×` : "–";
      const write = (/** @type {any} */ value) => (value === null ? "–" : shown(value));
      return row(make("th", { scope: "row" }, title), ourCount, write(count), ourTime, write(time), ratio);
    });
    const columns = ["Stage", "Kernels, ours", "yours", "GPU µs, ours", "yours", "Yours / ours"];
    return table("Your stages beside ours", columns, rows, "compare-both");
  }

  /** @param {Facts} facts */
  #machine(facts) {
    const entries = FIELDS.flatMap((field) => [make("dt", {}, field), make("dd", {}, String(facts.environment[field]))]);
    return make("details", {}, make("summary", {}, "Your machine"), make("dl", {}, ...entries));
  }

  // A trace

  #showTrace() {
    const { trace, name } = /** @type {Opened} */ (this.#yours);
    const kinds = make("select", { id: "compare-kind" });
    for (const [at, kind] of trace.kinds.entries()) {
      const text = trace.whole_file ? "The whole file" : `Steps ${listed(kind.steps)}`;
      kinds.append(make("option", { value: String(at) }, text));
    }
    kinds.value = String(view.typical(trace.kinds));
    const stages = make("select", { id: "compare-stage" }, make("option", { value: "" }, "nothing"));
    for (const link of this.querySelectorAll("table.compare-stages a[data-stage]"))
      stages.append(make("option", { value: /** @type {HTMLElement} */ (link).dataset.stage ?? "" }, link.textContent ?? ""));
    const shows = make("div", { class: "compare-shows" });
    const again = () => this.#compare(Number(kinds.value), stages.value, shows);
    kinds.addEventListener("change", again);
    stages.addEventListener("change", again);
    const controls = make(
      "div",
      { class: "compare-controls" },
      make("label", { for: "compare-kind" }, "Show"),
      kinds,
      make("label", { for: "compare-stage" }, "beside our stage"),
      stages,
    );
    const heading = make("h2", { tabindex: "-1" }, "Your trace");
    this.#result.replaceChildren(heading, view.summary(name, trace), ...view.steps(trace), controls, shows);
    heading.focus();
    again();
  }

  /**
   * @param {number} kind
   * @param {string} stage "" for none
   * @param {HTMLElement} shows
   */
  async #compare(kind, stage, shows) {
    const turn = (this.#turn += 1);
    const yours = /** @type {Opened} */ (this.#yours);
    const ours = stage ? await this.#open(stage) : null;
    if (turn !== this.#turn || yours !== this.#yours) return;
    const ourKind = ours ? view.typical(ours.trace.kinds) : 0;
    const mine = yours.trace.kinds[kind];
    const besides = ours ? ours.trace.kinds[ourKind] : null;
    shows.replaceChildren(...view.work(besides, mine, stage), ...view.launches(besides, mine));
    const title = `your trace, ${yours.trace.whole_file ? "the whole file" : `step ${mine.steps[0]}`}`;
    const pictures = await view.picture(yours, view.stepToDraw(yours.trace, kind), title);
    if (ours) {
      const link = /** @type {HTMLElement} */ (this.#linkOf(stage));
      pictures.push(...(await view.picture(ours, Number(link.dataset.step ?? 1) - 1, `ours, ${stage}`)));
    }
    if (turn !== this.#turn) return;
    shows.append(make("h3", {}, "Timelines"), make("p", {}, "Each on a time scale of its own."), ...pictures);
    shows.dataset.ready = String(turn);
  }

  /** @param {string} stage */
  #linkOf(stage) {
    const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (this.querySelectorAll("table.compare-stages a[data-stage]"));
    return [...links].find((link) => link.dataset.stage === stage);
  }

  /**
   * Our trace of a stage; null, said in words, where it cannot be had.
   * @param {string} stage
   * @returns {Promise<Opened | null>}
   */
  async #open(stage) {
    if (this.#ours?.name === stage) return this.#ours;
    this.#ours?.reading.end();
    this.#ours = null;
    try {
      const answer = await fetch(/** @type {HTMLAnchorElement} */ (this.#linkOf(stage)).href);
      if (!answer.ok) throw new TypeError();
      const reading = new Reading(await answer.blob(), this.#tables);
      const found = await reading.found;
      if ("trace" in found) return (this.#ours = { reading, trace: found.trace, name: stage });
      reading.end();
    } catch {
      // offline, or the page was opened from a file: told below
    }
    this.#status.textContent = `Our trace of ${stage} could not be fetched: the guide must be served, and not opened from a file.`;
    return null;
  }
}

/**
 * @template T
 * @param {() => T} ask
 */
function said(ask) {
  try {
    return ask();
  } catch (error) {
    if (error instanceof NoValue) return null;
    throw error;
  }
}

/** @param {number[]} numbers */
function listed(numbers) {
  return numbers.length <= 6 ? numbers.join(", ") : `${numbers.slice(0, 5).join(", ")} and ${numbers.length - 5} more`;
}

if (!customElements.get("guide-compare")) customElements.define("guide-compare", GuideCompare);
