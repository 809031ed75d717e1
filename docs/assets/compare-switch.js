// @ts-check
/**
 * Shows the reader's own numbers on a page, and ours again: facts, expressions, kernel lists, verdicts, and what
 * exercises are judged by. What the reader's recording cannot say stays ours, and is marked.
 */

import { clean, extremes, kernels, make } from "./compare-draw.js";
import { parse } from "./compare-expressions.js";
import { Facts } from "./compare-facts.js";
import { NoValue, shown } from "./compare-format.js";
import { check } from "./compare-import.js";
import { shortened } from "./compare-names.js";
import { keyOf } from "./compare-predict.js";
import { recording, show, VERSIONS } from "./compare-store.js";

/** @typedef {import("./compare-store.js").Kept} Kept */
/** @typedef {{facts: number, differ: number, ours: number}} Counts what was switched on a page */

const OURS_ONLY = [
  ...["ops", "profile", "generated", "reproduce", "lab"].map((name) => `.trace-block--${name}`),
  "figure.trace-block .trace-scroll:has(svg)", // pictures; a table beside one may be the reader's
  ".sum",
  "article .jp-Notebook",
].join();
const VERDICTS = { holds: "holds", fails: "does not hold", "not-measured": "not yet measured" };

/** @type {(() => void)[]} what gives the page its own numbers back, the last first */
let undo = [];
/** @type {Facts | null} */
let facts = null;

/** @param {Kept} kept */
export function factsOf({ exported, decoded }) {
  check(exported, VERSIONS);
  return new Facts(exported, (name) =>
    Object.hasOwn(decoded, name)
      ? decoded[name]
      : { family: "unknown", maker: "unknown", short: shortened(name), summary: "Not decoded.", parts: [] },
  );
}

/**
 * Show the reader's numbers on this page, or ours; "none" where no recording is kept any more.
 * @param {import("./compare-store.js").Shown | "none"} which
 */
export async function apply(which) {
  back();
  const kept = which === "none" ? null : await recording();
  if (!kept) return;
  loadStyle();
  try {
    facts = factsOf(kept);
  } catch {
    banner("A recording is kept in this browser that this guide cannot show.", null);
    return;
  }
  if (which === "ours") {
    banner(`These are our numbers. A recording of yours is kept: ${facts.label}.`, ["Show mine", "yours"]);
    return;
  }
  const counts = { facts: 0, differ: 0, ours: 0 };
  document.addEventListener("guide-shown", onShown);
  undo.push(() => document.removeEventListener("guide-shown", onShown));
  switchIn(document.querySelector("article") ?? document.body, facts, counts);
  banner(inWords(facts, counts), ["Show ours", "ours"], counts);
}

/** Give the page its own numbers back. */
function back() {
  facts = null;
  for (const one of undo.reverse()) one();
  undo = [];
}

/** @param {Event} event an exercise has shown what is said of its answer */
function onShown(event) {
  if (facts && event.target instanceof Element) switchIn(event.target, facts, { facts: 0, differ: 0, ours: 0 });
}

/**
 * @param {Facts} mine
 * @param {Counts} counts
 */
function inWords(mine, { facts: count, differ, ours }) {
  const said = count
    ? `Of ${count} numbers on this page, ${differ} differ from ours${ours ? `; ${ours} are not in your recording and stay ours` : ""}.`
    : "There is no number on this page.";
  return `These numbers are yours: ${mine.label}. ${said} The text was written on ours.`;
}

/**
 * @param {string} text
 * @param {[string, import("./compare-store.js").Shown] | null} button what it says, and whose numbers it shows
 * @param {Counts} [counts]
 */
function banner(text, button, counts) {
  const made = make("aside", { class: "compare-banner", "aria-label": "Whose numbers these are" }, make("p", {}, text));
  for (const [name, value] of Object.entries(counts ?? {})) made.dataset[name] = String(value);
  if (button) {
    const pressed = make("button", { type: "button", class: "compare-button" }, button[0]);
    pressed.addEventListener("click", () => show(button[1]));
    made.append(pressed);
  }
  const article = document.querySelector("article");
  if (article?.querySelector("guide-compare")) return; // it says so itself
  const heading = article?.querySelector("h1");
  const focused = document.activeElement?.closest(".compare-banner");
  if (heading) heading.after(made);
  else article?.prepend(made);
  if (focused || returned) made.querySelector("button")?.focus();
  returned = false;
  undo.push(() => {
    returned = made.contains(document.activeElement);
    made.remove();
  });
}

/** Whether the focus was on the banner that was taken away. */
let returned = false;

function loadStyle() {
  if (document.querySelector("link[data-compare]")) return;
  const href = new URL("compare.css", import.meta.url).href;
  document.head.append(make("link", { rel: "stylesheet", href, "data-compare": "" }));
}

// What is switched

/**
 * @param {Element} root
 * @param {Facts} mine
 * @param {Counts} counts
 */
function switchIn(root, mine, counts) {
  for (const figure of root.querySelectorAll("figure.trace-block--kernels[data-stage]:not([data-switched])"))
    kernelList(/** @type {HTMLElement} */ (figure), mine, counts);
  for (const data of root.querySelectorAll("data.fact:not([data-switched])")) {
    if (!data.closest("ul.verdicts > li ~ li, [data-switched=kernels], guide-compare"))
      value(/** @type {HTMLDataElement} */ (data), mine, counts);
  }
  for (const small of root.querySelectorAll("small[data-spread]:not([data-switched])"))
    if (!small.closest("guide-compare")) spreadIn(/** @type {HTMLElement} */ (small), mine);
  for (const list of root.querySelectorAll("ul.verdicts[data-check]:not([data-switched])"))
    verdict(/** @type {HTMLElement} */ (list), mine);
  for (const summary of root.querySelectorAll("ul.claims-summary > li:first-child")) recount(summary, mine);
  for (const asked of root.querySelectorAll("[data-exercise][data-key]:not([data-switched])"))
    exercise(/** @type {HTMLElement} */ (asked), mine);
  const solved = root.closest("[data-exercise]");
  for (const solution of root.querySelectorAll(".predict-solution:not([data-switched])"))
    if (solved) answers(/** @type {HTMLElement} */ (solution), /** @type {HTMLElement} */ (solved), mine);
  for (const block of root.querySelectorAll(OURS_ONLY)) stays(/** @type {HTMLElement} */ (block));
}

/**
 * Change an element, and remember how to change it back.
 * @param {HTMLElement} element
 * @param {string} how
 * @param {{text?: string, attributes?: Record<string, string>, className?: string}} to
 */
function change(element, how, { text, attributes = {}, className }) {
  const children = [...element.childNodes];
  const before = Object.fromEntries([...Object.keys(attributes), "class"].map((name) => [name, element.getAttribute(name)]));
  element.dataset.switched = how;
  if (text !== undefined) element.replaceChildren(clean(text));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, clean(value));
  if (className) element.classList.add(className);
  undo.push(() => {
    delete element.dataset.switched;
    if (text !== undefined) element.replaceChildren(...children);
    for (const [name, value] of Object.entries(before))
      if (value === null) element.removeAttribute(name);
      else element.setAttribute(name, value);
  });
}

/**
 * What `mine` says, or why it says nothing.
 * @template T
 * @param {() => T} ask
 * @returns {{said: T} | {why: string}}
 */
function ask(ask) {
  try {
    return { said: ask() };
  } catch (error) {
    if (error instanceof NoValue) return { why: error.message };
    throw error;
  }
}

/**
 * @param {HTMLDataElement} data
 * @param {Facts} mine
 * @param {Counts} counts
 */
function value(data, mine, counts) {
  const { fact, expression, format = "" } = data.dataset;
  counts.facts += 1;
  const found = ask(() => (fact ? ofFact(mine, fact, format) : ofExpression(mine, expression ?? "", format)));
  if ("why" in found || found.said.text === "") {
    counts.ours += 1;
    const why = "why" in found ? found.why : "it is empty";
    change(data, "ours", { className: "fact--ours", attributes: { title: `Ours: your recording does not say. ${why}` } });
    return;
  }
  const ours = data.textContent ?? "";
  const { text, title } = found.said;
  const differs = clean(text) !== ours;
  counts.differ += Number(differs);
  const told = `${title}${differs ? ` · ours: ${ours}` : ""}`;
  change(data, "yours", { text, attributes: { title: told }, className: differs ? "fact--differs" : "fact--yours" });
}

/** @type {(mine: Facts, path: string, format: string) => {text: string, title: string}} */
function ofFact(mine, path, format) {
  const { value, unit, spread, stamp, processes } = mine.get(path);
  const text = shown(value, format);
  if (!spread) return { text, title: stamp };
  const over = processes ? ` over ${processes} processes` : "";
  return {
    text,
    title: `between ${shown(spread.low)} and ${shown(spread.high)}${unit ? ` ${unit}` : ""}${over} · ${stamp}`,
  };
}

/** @type {(mine: Facts, written: string, format: string) => {text: string, title: string}} */
function ofExpression(mine, written, format) {
  const { paths, compute } = parse(written);
  const result = compute((path) => mine.get(path).value);
  if (typeof result === "boolean") throw new NoValue("it is nothing to read");
  const said = paths.map((path) => {
    const { value, unit } = mine.get(path);
    return `${path} = ${shown(value)} ${unit}`.trimEnd();
  });
  const stamps = [...new Set(paths.map((path) => mine.get(path).stamp))];
  return { text: shown(result, format), title: `${said.join(", ")} · ${stamps.join("; ")}` };
}

/**
 * @param {HTMLElement} small
 * @param {Facts} mine
 */
function spreadIn(small, mine) {
  const { spread = "", format = "" } = small.dataset;
  const found = ask(() => mine.get(spread).spread);
  if ("why" in found) return; // the fact beside it stays ours, too
  change(small, "yours", { text: found.said ? extremes(found.said, format) : "" });
}

/**
 * @param {HTMLElement} figure
 * @param {Facts} mine
 * @param {Counts} counts
 */
function kernelList(figure, mine, counts) {
  const { stage: name = "", step = "" } = figure.dataset;
  const found = ask(() => {
    const stage = mine.stage(name);
    return kernels(stage, step || stage.stepsDiffer ? Number(step) || stage.shownStep : null, mine.decode);
  });
  if ("why" in found) {
    stays(figure, found.why);
    return;
  }
  const numbers = figure.querySelectorAll("data.fact").length;
  const texts = (/** @type {Element} */ of) => [...of.querySelectorAll("tbody td")].map(withoutParts).join("\n");
  const before = texts(figure);
  const children = [...figure.childNodes];
  figure.dataset.switched = "kernels";
  const caption = make("figcaption", { class: "compare-caption" }, `Yours: ${found.said.name}, ${mine.label}.`);
  figure.replaceChildren(caption, ...found.said.made);
  const differs = texts(figure) !== before;
  figure.classList.toggle("block--differs", differs);
  counts.facts += numbers;
  counts.differ += differs ? numbers || 1 : 0;
  undo.push(() => {
    delete figure.dataset.switched;
    figure.classList.remove("block--differs");
    figure.replaceChildren(...children);
  });
}

/** @param {Element} cell */
function withoutParts(cell) {
  return [...cell.childNodes]
    .filter((node) => !(node instanceof HTMLDetailsElement))
    .map(({ textContent }) => textContent)
    .join("")
    .trim();
}

/**
 * The verdict of the first entry; the others are of other recordings.
 * @param {HTMLElement} list
 * @param {Facts} mine
 */
function verdict(list, mine) {
  const badge = /** @type {HTMLElement | null} */ (list.querySelector(":scope > li:first-child > .verdict"));
  const on = /** @type {HTMLElement | null} */ (list.querySelector(":scope > li:first-child > .on"));
  if (!badge || !on) return;
  list.dataset.switched = "yours";
  undo.push(() => delete list.dataset.switched);
  const found = ask(() => parse(list.dataset.check ?? "").compute((path) => mine.get(path).value));
  const name = "why" in found || typeof found.said !== "boolean" ? "not-measured" : found.said ? "holds" : "fails";
  const ours = badge.textContent ?? "";
  const differs = VERDICTS[name] !== ours;
  const title = "why" in found ? found.why : differs ? `ours: ${ours}` : "";
  const attributes = { class: `verdict verdict--${name}`, ...(title && { title }) };
  change(badge, "yours", { text: VERDICTS[name], attributes });
  change(on, "yours", { text: `on yours, ${mine.label}${differs ? ` (ours: ${ours})` : ""}` });
}

/**
 * `Of 27 claims, on …: 12 hold, …`, counted anew.
 * @param {Element} summary
 * @param {Facts} mine
 */
function recount(summary, mine) {
  const figure = summary.closest("figure");
  if (!figure || /** @type {HTMLElement} */ (summary).dataset.switched) return;
  const said = [...figure.querySelectorAll("ul.verdicts > li:first-child > .verdict")].map((one) => one.textContent ?? "");
  const words = { holds: "hold", "does not hold": "do not hold", "not yet measured": "", "not decided here": "" };
  const counts = Object.entries(words).map(([one, many]) => {
    const count = said.filter((text) => text === one).length;
    return `${count} ${count === 1 || !many ? one : many}`;
  });
  change(/** @type {HTMLElement} */ (summary), "yours", {
    text: `Of ${said.length} claims, on yours, ${mine.label}: ${counts.join(", ")}.`,
  });
}

/**
 * What stays ours while the reader's numbers are shown.
 * @param {HTMLElement} block
 * @param {string} [why]
 */
function stays(block, why = "") {
  if (block.dataset.switched || block.closest("guide-compare")) return;
  const note = make("p", { class: "compare-ours" }, `From our recording, not yours.${why ? ` ${why}` : ""}`);
  block.dataset.switched = "ours";
  const caption = block.parentElement?.querySelector(":scope > figcaption:has(.figure-says)"); // its words are the picture's
  if (block.matches(".trace-scroll")) (caption ?? block).before(note);
  else block.prepend(note);
  undo.push(() => {
    delete block.dataset.switched;
    note.remove();
  });
}

// Exercises

/**
 * Judge an exercise by the reader's recording.
 * @param {HTMLElement} asked
 * @param {Facts} mine
 */
function exercise(asked, mine) {
  const ours = asked.dataset.key ?? "";
  const found = ask(() => keyOf(asked.dataset, mine));
  asked.dataset.switched = "why" in found ? "ours" : "yours";
  const judged = /** @type {HTMLElement & {refresh?: () => void}} */ (asked.closest("guide-predictions") ?? asked);
  const note = make(
    "p",
    { class: "compare-ours" },
    "why" in found ? `Judged by our recording: yours has no answer. ${found.why}` : `Judged by your recording, ${mine.label}.`,
  );
  if (asked === judged) asked.append(note);
  else asked.querySelector(".prediction-asks")?.after(note);
  if (!("why" in found)) asked.dataset.key = found.said;
  judged.refresh?.();
  undo.push(() => {
    delete asked.dataset.switched;
    note.remove();
    asked.dataset.key = ours;
    judged.refresh?.();
  });
}

/**
 * The options that are right, and the items in their order, by the key that the exercise has now.
 * @param {HTMLElement} solution
 * @param {HTMLElement} asked
 * @param {Facts} mine
 */
function answers(solution, asked, mine) {
  if (asked.dataset.switched !== "yours") return;
  solution.dataset.switched = "yours"; // made anew with each showing: nothing to change back
  const { right = [] } = JSON.parse(new TextDecoder().decode(bytesOf(asked.dataset.key ?? "")));
  for (const entry of solution.querySelectorAll(".predict-reasons > [data-position]")) {
    const badge = entry.querySelector(".verdict");
    const holds = right.includes(Number(/** @type {HTMLElement} */ (entry).dataset.position));
    if (!badge) continue;
    badge.textContent = holds ? "Right" : "Not right";
    badge.className = `verdict verdict--${holds ? "holds" : "fails"}`;
  }
  const order = solution.querySelector(".predict-order");
  for (const position of order ? right : [])
    order?.append(.../** @type {Iterable<Element>} */ (order.querySelectorAll(`:scope > [data-position="${position}"]`)));
  const { date, commit } = mine.environment;
  const stamp = solution.querySelector(".predict-stamp small");
  if (stamp) stamp.textContent = clean(`Yours: ${mine.label} · ${date} · commit ${commit.slice(0, 10)}`);
  solution.querySelector(".predict-explain")?.before(
    make("p", { class: "compare-ours" }, "The explanation was written on our recording."),
  );
}

/** @param {string} text */
function bytesOf(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
