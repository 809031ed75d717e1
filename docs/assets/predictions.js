// @ts-check
/**
 * `<guide-predictions>`: the page of all exercises. Adds to each what the reader predicted and, once they have, what
 * was measured; the score of the first tries; a picture of how good the guesses for numbers are; and the buttons
 * that save everything as a file, read such a file, and forget everything.
 */

import { calibration, exerciseOf, inWords, judge, sentences, shownNumber } from "./predict-judge.js";
import { scatter } from "./predict-pictures.js";
import { exported, imported, openStorage, PREFIX, read, wipe } from "./predict-store.js";

/** @typedef {import("./predict-judge.js").Exercise} Exercise */
/** @typedef {import("./predict-store.js").Try} Try */

/**
 * An exercise on the page, with what was predicted; `exercise` is null where the recording has no answer to it.
 * @typedef {{entry: HTMLElement, exercise: Exercise | null, tries: Try[]}} Row
 */

const LARGEST_FILE = 1_000_000;
const FILE_NAME = "predictions.json";

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} className
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function make(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

/**
 * @param {boolean} right
 * @returns {HTMLElement}
 */
function badge(right) {
  return make("strong", `verdict verdict--${right ? "holds" : "fails"}`, right ? "Right" : "Not right");
}

/**
 * What stands under a question.
 * @param {Row} row
 */
function outcome({ entry, exercise, tries }) {
  if (!exercise) return [];
  if (tries.length === 0) return [make("p", "prediction-open", "Not predicted yet.")];
  const [first, second] = tries.map(({ guess }) => judge(exercise, guess).right);
  const lines = [make("p", "", badge(first), ` ${sentences(exercise, [tries[0].guess])}`)];
  if (second !== undefined) {
    const text = `Second try: ${inWords(exercise, tries[1].guess)}, ${second ? "right" : "not right"}.`;
    lines.push(make("p", "prediction-second", text));
  }
  const teaches = entry.querySelector("template")?.content.cloneNode(true);
  if (teaches) lines.push(make("div", "prediction-teaches", teaches));
  return lines;
}

/**
 * `3 of 5 first tries were right.`
 * @param {Row[]} rows
 */
function score(rows) {
  const tried = rows.filter(({ tries }) => tries.length > 0);
  if (tried.length === 0) return `You have predicted none of ${rows.length} yet.`;
  const right = tried.filter(({ exercise, tries }) => exercise && judge(exercise, tries[0].guess).right).length;
  const left = rows.length - tried.length;
  const open = left ? `${left} of ${rows.length} not predicted yet.` : "All are predicted.";
  return `First tries: ${right} of ${tried.length} right. ${open}`;
}

/**
 * The picture of all guesses for numbers, and a sentence about them; nothing while there are none.
 * @param {Row[]} rows
 */
function numbers(rows) {
  const points = rows.flatMap(({ exercise, tries }) => {
    if (exercise?.kind !== "number" || tries.length === 0) return [];
    const guess = Number(tries[0].guess);
    const { right, ratio } = judge(exercise, guess);
    const label = `you: ${inWords(exercise, guess)}, measured: ${exercise.key.measured}`;
    return [{ guess, measured: exercise.key.answer ?? NaN, right, ratio: ratio ?? NaN, label }];
  });
  const found = calibration(points.map(({ ratio }) => ratio));
  if (!found) return [];
  const off = shownNumber(found.typical);
  const sentence =
    `Your first guesses for numbers: ${found.high} too high, ${found.low} too low; ` +
    `the typical one is off by a factor of ${off}.`;
  const caption = make(
    "figcaption",
    "",
    `${sentence} On the line a guess is exact, in the band within a factor of 2. A cross was not near enough.`,
  );
  return [make("figure", "prediction-numbers", caption, scatter(points))];
}

/**
 * What came of a file, for the reader.
 * @param {import("./predict-store.js").Imported | null} result
 */
function importInWords(result) {
  if (!result) return "This file holds no predictions: nothing was changed.";
  const { added, kept, foreign, lost } = result;
  const parts = [`${added} added`];
  if (kept) parts.push(`${kept} kept as they were here`);
  if (foreign) parts.push(`${foreign} left out: of no question here, or of one that has changed`);
  if (lost) parts.push(`${lost} could not be stored`);
  return `Read the file: ${parts.join("; ")}.`;
}

class GuidePredictions extends HTMLElement {
  #storage = openStorage();
  /** @type {Row[]} */
  #rows = [];
  #built = false;
  #score = make("p", "predictions-score");
  #numbers = make("div", "");
  #status = make("p", "predictions-status");
  #save = make("button", "predict-button", "Save as a file");
  #forget = make("button", "predict-button", "Forget everything…");
  #file = make("input", "predictions-file");
  #dialog = make("dialog", "predictions-dialog");

  connectedCallback() {
    if (!this.#built) this.#build();
    this.#render();
    addEventListener("storage", this.#onStorage);
    addEventListener("pageshow", this.#onPageShow);
  }

  disconnectedCallback() {
    removeEventListener("storage", this.#onStorage);
    removeEventListener("pageshow", this.#onPageShow);
  }

  /** Another recording decides now: the keys of the entries have changed. */
  refresh() {
    for (const row of this.#rows) row.exercise = exerciseOf(row.entry.dataset);
    if (this.#built) this.#render();
  }

  /** @param {StorageEvent} event */
  #onStorage = (event) => {
    if (!event.key || event.key.startsWith(PREFIX)) this.#render(); // another tab predicted
  };

  #onPageShow = () => this.#render(); // back from an exercise, to a page that the browser had kept

  #build() {
    this.#built = true;
    const entries = /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll(".prediction"));
    this.#rows = [...entries].map((entry) => {
      const said = make("div", "prediction-outcome");
      entry.append(said);
      return { entry, exercise: exerciseOf(entry.dataset), tries: [] };
    });
    this.#status.setAttribute("role", "status");
    this.prepend(this.#score, this.#numbers, this.#tools());
  }

  #tools() {
    for (const button of [this.#save, this.#forget]) button.type = "button";
    this.#save.addEventListener("click", () => this.#download());
    this.#forget.addEventListener("click", () => this.#dialog.showModal());
    Object.assign(this.#file, { type: "file", accept: ".json,application/json", id: "predictions-file" });
    this.#file.addEventListener("change", () => this.#import());
    const label = make("label", "predict-button predictions-read", this.#file, "Read a file");
    this.#buildDialog();
    return make(
      "div",
      "predictions-tools",
      make("div", "predictions-buttons", this.#save, label, this.#forget),
      this.#status,
      this.#dialog,
    );
  }

  #buildDialog() {
    const keep = make("button", "predict-button", "Keep them");
    const forget = make("button", "predict-button predict-button--danger", "Forget everything");
    keep.value = "keep";
    forget.value = "forget";
    const form = make(
      "form",
      "",
      make(
        "p",
        "",
        "Forget all your predictions in this browser? This cannot be undone. Save them as a file first to keep them.",
      ),
      make("div", "predictions-buttons", keep, forget),
    );
    form.method = "dialog";
    this.#dialog.setAttribute("aria-label", "Forget everything?");
    keep.autofocus = true;
    this.#dialog.append(form);
    this.#dialog.addEventListener("close", () => {
      if (this.#dialog.returnValue === "forget") this.#wipe();
      this.#dialog.returnValue = "";
    });
  }

  #render() {
    for (const row of this.#rows) {
      row.tries = row.exercise ? read(this.#storage, row.exercise) : [];
      row.entry.querySelector(".prediction-outcome")?.replaceChildren(...outcome(row));
    }
    const asked = this.#rows.filter(({ exercise }) => exercise);
    this.#score.textContent = this.#storage
      ? score(asked)
      : "This browser does not let the page store anything, so no prediction is remembered.";
    this.#numbers.replaceChildren(...numbers(asked));
    const none = asked.every(({ tries }) => tries.length === 0);
    this.#save.disabled = none;
    this.#file.disabled = !this.#storage;
    this.#forget.disabled = !this.#storage;
  }

  /** @returns {Exercise[]} */
  #exercises() {
    return this.#rows.flatMap(({ exercise }) => exercise ?? []);
  }

  #download() {
    const text = exported(this.#storage, this.#exercises(), new Date());
    const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const link = make("a", "");
    Object.assign(link, { href: url, download: FILE_NAME });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 0);
    this.#status.textContent = `Saved as ${FILE_NAME}.`;
  }

  async #import() {
    const file = this.#file.files?.[0];
    if (!file) return;
    const text = file.size > LARGEST_FILE ? "" : await file.text().catch(() => "");
    this.#status.textContent = importInWords(imported(this.#storage, this.#exercises(), text));
    this.#file.value = ""; // so that the same file can be read once more
    this.#render();
  }

  #wipe() {
    const gone = wipe(this.#storage);
    this.#render();
    this.#status.textContent = gone
      ? "Everything is forgotten."
      : "The browser does not let the page forget: clear the site's data in its settings.";
  }
}

if (!customElements.get("guide-predictions")) customElements.define("guide-predictions", GuidePredictions);
