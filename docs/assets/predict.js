// @ts-check
/**
 * `<guide-predict>`: an exercise. The reader commits to a guess, and then sees what the recording says.
 *
 * The page holds the question, the options as a list, what decides (`data-key`) and, in `<noscript>`, all that is
 * said of the answer. This element makes controls of the list, judges the guess, and moves what `<noscript>` holds
 * into the page once the reader has committed. Guesses stay in the browser; nothing is sent anywhere.
 */

import { enhanceAll } from "./perfetto.js";
import { exerciseOf, inWords, judge, parseNumber, problemWith, sentences } from "./predict-judge.js";
import { scale } from "./predict-pictures.js";
import { MOST_TRIES, openStorage, read, write } from "./predict-store.js";

/** @typedef {import("./predict-judge.js").Exercise} Exercise */
/** @typedef {import("./predict-judge.js").Guess} Guess */
/** @typedef {import("./predict-judge.js").Verdict} Verdict */
/** @typedef {import("./predict-store.js").Try} Try */

/**
 * What a reader answers with.
 * @typedef {object} Control
 * @property {HTMLElement} element
 * @property {() => {guess: Guess} | {problem: string}} answer
 * @property {() => void} focus
 */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]> & Record<string, unknown>} properties a name with a dash is an attribute
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") made.setAttribute(name, String(value));
    else /** @type {any} */ (made)[name] = value;
  }
  made.append(...children);
  return made;
}

/**
 * @param {Exercise} exercise
 * @param {string} asks id of the question
 * @returns {Control}
 */
function typed(exercise, asks) {
  const whole = exercise.kind === "count";
  const input = make("input", {
    type: "text",
    inputMode: whole ? "numeric" : "decimal",
    autocomplete: "off",
    id: `${asks}-guess`,
    className: "predict-input",
    "aria-describedby": `${asks}-unit ${asks}-hint`,
  });
  const hint = whole ? "A whole number." : `Right within a factor of ${exercise.within}.`;
  return {
    element: make(
      "div",
      { className: "predict-typed" },
      make("label", { htmlFor: input.id }, "Your guess"),
      make("span", { className: "predict-field" }, input, make("span", { id: `${asks}-unit` }, exercise.unit)),
      make("span", { className: "predict-hint", id: `${asks}-hint` }, hint),
    ),
    answer() {
      const guess = parseNumber(input.value, exercise.unit);
      const problem = problemWith(exercise, guess);
      input.setAttribute("aria-invalid", String(Boolean(problem)));
      return problem ? { problem } : { guess: /** @type {number} */ (guess) };
    },
    focus: () => input.focus(),
  };
}

/**
 * @param {Exercise} exercise
 * @param {string} asks
 * @param {HTMLElement[]} parts
 * @returns {Control}
 */
function chosen(exercise, asks, parts) {
  const inputs = parts.map((part) =>
    make("input", {
      type: exercise.several ? "checkbox" : "radio",
      name: `${asks}-option`,
      value: part.dataset.position ?? "",
    }),
  );
  const hint = exercise.several ? [make("p", { className: "predict-hint" }, "More than one may be right.")] : [];
  return {
    element: make(
      "div",
      { className: "predict-options", role: exercise.several ? "group" : "radiogroup", "aria-labelledby": asks },
      ...hint,
      ...parts.map((part, n) => make("label", { className: "predict-choice" }, inputs[n], copyOf(part))),
    ),
    answer() {
      const guess = inputs.filter((input) => input.checked).map((input) => Number(input.value));
      return guess.length ? { guess: guess.sort((a, b) => a - b) } : { problem: "Choose an option first." };
    },
    focus: () => (inputs.find((input) => input.checked) ?? inputs[0]).focus(),
  };
}

/**
 * @param {Exercise} _exercise
 * @param {string} asks
 * @param {HTMLElement[]} parts
 * @returns {Control}
 */
function ordered(_exercise, asks, parts) {
  const said = make("span", { role: "status", className: "predict-moved" });
  const list = make("ol", { className: "predict-sorting", "aria-labelledby": asks });
  const places = () => /** @type {HTMLElement[]} */ ([...list.children]);
  /**
   * @param {HTMLElement} entry
   * @param {number} by
   * @param {HTMLButtonElement} button
   */
  const move = (entry, by, button) => {
    const place = places().indexOf(entry) + by;
    const other = places()[place];
    if (!other) return;
    if (by < 0) other.before(entry);
    else other.after(entry);
    mark();
    button.focus();
    said.textContent = `${entry.dataset.name} is now number ${place + 1} of ${parts.length}.`;
  };
  const mark = () => {
    for (const [place, entry] of places().entries()) {
      const [up, down] = entry.querySelectorAll("button");
      // Not `disabled`: the button that was just pressed would lose the focus.
      up.setAttribute("aria-disabled", String(place === 0));
      down.setAttribute("aria-disabled", String(place === parts.length - 1));
    }
  };
  for (const part of parts) {
    const name = part.textContent?.trim() ?? "";
    const [up, down] = [
      ["Move up", "↑"],
      ["Move down", "↓"],
    ].map(([does, arrow]) =>
      make("button", { type: "button", className: "predict-move", "aria-label": `${does}: ${name}` }, arrow),
    );
    const entry = make("li", {}, make("span", { className: "predict-item" }, copyOf(part)), up, down);
    entry.dataset.position = part.dataset.position;
    entry.dataset.name = name;
    up.addEventListener("click", () => move(entry, -1, up));
    down.addEventListener("click", () => move(entry, 1, down));
    list.append(entry);
  }
  mark();
  return {
    element: make(
      "div",
      { className: "predict-order-box" },
      make("p", { className: "predict-hint" }, "Move them until the first is on top."),
      list,
      said,
    ),
    answer: () => ({ guess: places().map((entry) => Number(entry.dataset.position)) }),
    focus: () => list.querySelector("button")?.focus(),
  };
}

/** @type {Record<string, (exercise: Exercise, asks: string, parts: HTMLElement[]) => Control>} */
const CONTROLS = { count: typed, number: typed, choice: chosen, order: ordered };

/**
 * What a list's entry holds, once more.
 * @param {HTMLElement} part
 */
function copyOf(part) {
  const copy = document.createDocumentFragment();
  for (const node of part.childNodes) copy.append(node.cloneNode(true));
  return copy;
}

/**
 * What a `<noscript>` holds: text where scripts run, elements where they were off as the page was parsed.
 * @param {Element} noscript
 */
function contentOf(noscript) {
  const template = document.createElement("template");
  if (noscript.firstElementChild)
    template.content.append(...[...noscript.childNodes].map((node) => node.cloneNode(true)));
  else template.innerHTML = noscript.textContent ?? "";
  return template.content;
}

/**
 * The level of a heading under the one that this element stands under.
 * @param {Element} element
 */
function levelUnder(element) {
  const above = [...document.querySelectorAll("h1, h2, h3, h4, h5")].filter(
    (heading) => heading.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING,
  );
  return Number(above.at(-1)?.tagName[1] ?? 1) + 1;
}

/**
 * `Right`, or what else to say on top.
 * @param {Verdict[]} verdicts of all tries
 */
function verdictInWords(verdicts) {
  const right = verdicts.at(-1)?.right;
  if (verdicts.length === 1) return right ? "Right" : "Not right";
  return right ? "Right, at the second try" : "Not right, at the second try either";
}

class GuidePredict extends HTMLElement {
  /** @type {Exercise | null} */
  #exercise = null;
  /** @type {Try[]} */
  #tries = [];
  #storage = openStorage();
  /** @type {Control | undefined} */
  #control;

  #form = make("form", { className: "predict-form", noValidate: true });
  #note = make("p", { className: "predict-note", hidden: true }, "A second try. Only the first one counts.");
  #problem = make("p", { className: "predict-problem", role: "alert" });
  #heading = make("p", { className: "predict-verdict", role: "heading", tabIndex: -1, hidden: true });
  #status = make("p", { className: "predict-said" });
  #rest = make("div", { className: "predict-rest" });

  connectedCallback() {
    if (this.#exercise) return;
    this.#exercise = exerciseOf(this.dataset);
    if (!this.#exercise) return; // no answer in this recording: the page says so
    this.#build(this.#exercise);
    this.#tries = read(this.#storage, this.#exercise);
    // What is shown again as the page opens is no news to be read out.
    if (this.#tries.length) this.#show(this.#exercise, { fresh: false });
    else this.#status.setAttribute("role", "status");
  }

  /** Another recording decides now: `data-key` has changed. */
  refresh() {
    const changed = this.#exercise && exerciseOf(this.dataset);
    if (!changed || !this.#exercise) return;
    Object.assign(this.#exercise, changed);
    if (!this.#heading.hidden) this.#show(this.#exercise, { fresh: false });
  }

  /** @param {Exercise} exercise */
  #build(exercise) {
    const list = this.querySelector(":scope > .predict-parts");
    const parts = /** @type {HTMLElement[]} */ ([...(list?.children ?? [])]);
    this.#control = CONTROLS[exercise.kind](exercise, `${this.id}-asks`, parts);
    const commit = make("button", { type: "submit", className: "predict-button" }, "Commit");
    this.#form.append(this.#note, this.#control.element, this.#problem, commit);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#commit(exercise);
    });
    this.#heading.setAttribute("aria-level", String(levelUnder(this)));
    list?.remove();
    this.querySelector(":scope > noscript")?.before(this.#form, this.#heading, this.#status, this.#rest);
    this.classList.add("predict--ready");
  }

  /** @param {Exercise} exercise */
  #commit(exercise) {
    const answer = this.#control?.answer();
    if (!answer) return;
    if ("problem" in answer) {
      this.#problem.textContent = answer.problem;
      this.#control?.focus();
      return;
    }
    this.#problem.textContent = "";
    const { right } = judge(exercise, answer.guess);
    this.#tries = [...this.#tries, { guess: answer.guess, right, at: new Date().toISOString() }];
    const kept = write(this.#storage, exercise, this.#tries);
    this.#show(exercise, { fresh: true, kept });
  }

  /**
   * Show the verdict and all that is said of the answer.
   * @param {Exercise} exercise
   * @param {{fresh: boolean, kept?: boolean}} how `fresh`: the reader has just committed
   */
  #show(exercise, { fresh, kept = true }) {
    const verdicts = this.#tries.map(({ guess }) => judge(exercise, guess));
    const last = /** @type {Try} */ (this.#tries.at(-1));
    const verdict = verdicts[verdicts.length - 1];
    this.#form.hidden = true;
    this.#heading.textContent = verdictInWords(verdicts);
    this.#heading.className = `predict-verdict verdict verdict--${verdict.right ? "holds" : "fails"}`;
    this.#heading.hidden = false;
    this.#status.textContent = sentences(
      exercise,
      this.#tries.map(({ guess }) => guess),
    );
    this.#rest.replaceChildren(...this.#details(exercise, verdict, last.guess, fresh));
    if (!kept) this.#rest.prepend(make("p", { className: "predict-note" }, CANNOT_REMEMBER));
    if (!verdict.right && this.#tries.length < MOST_TRIES) this.#rest.append(this.#again());
    this.querySelector(":scope > .predict-all")?.removeAttribute("hidden");
    enhanceAll();
    this.dispatchEvent(new CustomEvent("guide-shown", { bubbles: true }));
    if (fresh) this.#heading.focus();
  }

  /**
   * @param {Exercise} exercise
   * @param {Verdict} verdict
   * @param {Guess} guess
   * @param {boolean} open
   */
  #details(exercise, verdict, guess, open) {
    const noscript = this.querySelector(":scope > noscript");
    const solution = noscript && contentOf(noscript).querySelector(".predict-solution");
    if (!solution) return [];
    for (const position of Array.isArray(guess) && exercise.kind === "choice" ? guess : []) {
      const option = solution.querySelector(`.predict-reasons > [data-position="${position}"] > .predict-option`);
      option?.after(" ", make("em", { className: "predict-yours" }, "your answer"));
    }
    const made = make(
      "details",
      { className: "predict-more", open },
      make("summary", {}, "What the recording shows"),
      solution,
    );
    if (verdict.ratio === undefined) return [made];
    const picture = scale(verdict.ratio, exercise.within, inWords(exercise, guess), exercise.key.measured);
    return [picture, made];
  }

  #again() {
    const button = make(
      "button",
      { type: "button", className: "predict-button predict-button--again" },
      "Try once more",
    );
    button.addEventListener("click", () => {
      this.#heading.hidden = true;
      this.#status.textContent = "";
      this.#status.setAttribute("role", "status");
      this.#rest.replaceChildren();
      this.#note.hidden = false;
      this.#form.reset();
      this.#form.hidden = false;
      this.#control?.focus();
    });
    return button;
  }
}

const CANNOT_REMEMBER = "This browser does not let the page remember your answer: it is gone when you leave.";

if (!customElements.get("guide-predict")) customElements.define("guide-predict", GuidePredict);
