// @ts-check
/** What the page Compare shows of a raw trace: its steps, kernels and launches, beside a stage of our recording. */

import { launchChanges, typical, workChanges } from "./compare-difference.js";
import { legend, make, row, table, timeline, wrapping } from "./compare-draw.js";
import { grouped, shown } from "./compare-format.js";

/** @typedef {import("./compare-reading.js").Reading} Reading */
/** @typedef {{reading: Reading, trace: any, name: string}} Opened */

const WORDS = { gone: "gone", new: "new", changed: "changed", same: "same" };

/** @param {number} n */
function count(n, word = "") {
  return `${grouped(String(n))}${word ? ` ${word}${n === 1 ? "" : "s"}` : ""}`;
}

/**
 * A kernel by what tells it apart; the whole name of a template may be a page long, and is folded away.
 * @param {string} name
 * @param {string} short
 */
function nameCell(name, short) {
  const cell = make("td", {}, wrapping(short || name));
  if (short && short !== name)
    cell.append(make("details", {}, make("summary", {}, "its whole name"), wrapping(name)));
  return cell;
}

/** @param {{grid: number[], block: number[]}} work */
function shape({ grid, block }) {
  return grid.length ? `(${grid.join(" × ")}) × (${block.join(" × ")})` : "–";
}

/** @param {{grid: number[], block: number[]}} work another shape, for a second line */
function ourShape(work) {
  return [make("br"), make("small", {}, `ours: ${shape(work)}`)];
}

/**
 * What is in the file, in sentences.
 * @param {string} name
 * @param {any} trace
 */
export function summary(name, { about, whole_file: wholeFile, stepCount, kindCount, outside }) {
  const ran = about.gpus.map((/** @type {any} */ gpu) => gpu.name || `GPU ${gpu.device}`).join(", ");
  const more = about.gpuCount > about.gpus.length ? ` and ${about.gpuCount - about.gpus.length} more` : "";
  const said = [
    `${name}: ${count(about.events, "event")}; ${count(about.ops, "op")}, ${count(about.kernels, "kernel")}, ` +
      `${count(about.memsets, "memset")} and ${count(about.memcpys, "memcpy")}.`,
    about.kernels + about.memsets + about.memcpys === 0
      ? "Nothing ran on a GPU in it."
      : `They ran on ${ran || "a GPU that the file does not name"}${more}.`,
    wholeFile
      ? "There is no ProfilerStep in it: the whole file is shown as one step."
      : `${count(stepCount, "step")}${stepCount === 1 ? "" : kindCount === 1 ? ", all of one kind" : `, of ${count(kindCount)} kinds`}.`,
  ];
  if (about.world_size > 1) said.push(`It is rank ${about.rank} of ${about.world_size}.`);
  if (about.negative_durations)
    said.push(`${count(about.negative_durations, "event")} ended before beginning; each counts as taking no time.`);
  const out = Object.values(outside).reduce((/** @type {number} */ all, /** @type {any} */ n) => all + n, 0);
  if (out) said.push(`${count(out)} pieces of GPU work were launched outside every step.`);
  return make("p", { class: "compare-said" }, said.join(" "));
}

/**
 * The steps, at a glance.
 * @param {any} trace
 */
export function steps({ steps: all, stepCount, whole_file: wholeFile }) {
  if (wholeFile) return [];
  const rows = all.map((/** @type {any} */ step) => {
    const gpus = step.gpus.slice(0, 4).map((/** @type {any} */ gpu) => `${shown(gpu.idle_percent)} %`);
    return row(String(step.number), shown(step.us), gpus.join(", ") || "–", String(step.kind + 1));
  });
  const made = table("Steps of your trace", ["Step", "µs", "GPU idle", "Kind"], rows, "compare-steps");
  const cut = stepCount > all.length ? [make("p", {}, `The first ${all.length} of ${count(stepCount)} steps.`)] : [];
  return [make("details", {}, make("summary", {}, "Its steps"), made, ...cut)];
}

/**
 * The kernel list, with what differs from ours marked.
 * @param {any | null} ours a kind of step
 * @param {any} yours
 * @param {string} beside the name of our stage
 */
export function work(ours, yours, beside) {
  const changes = workChanges(ours, yours);
  const rows = changes.map(({ change, a, b }) => {
    const { kind, name, short, summary: says = "", grid, block } = /** @type {any} */ (b ?? a).first;
    const cells = [
      nameCell(name, kind === "kernel" ? short : name),
      make("td", {}, kind === "kernel" ? says : kind),
      b ? `${count(b.count)}` : "–",
      b ? shown(b.us) : "–",
      make("td", {}, shape({ grid, block }), ...(a && b && shape(a.first) !== shape(b.first) ? ourShape(a.first) : [])),
    ];
    if (ours) {
      const mark = make("td", {}, make("span", { class: `compare-mark compare-mark--${change}` }, WORDS[change]));
      cells.unshift(mark);
      cells.push(a ? count(a.count) : "–", a ? shown(a.us) : "–");
    }
    const made = row(...cells);
    if (ours) made.className = `compare-row--${change}`;
    return made;
  });
  const columns = ["Kernel", "What the name says", "A step", "µs a step", "Grid × block"];
  if (ours) columns.unshift("Beside ours");
  if (ours) columns.push("Ours: a step", "Ours: µs");
  const label = ours ? `Kernels of your trace beside ${beside}` : "Kernels of your trace";
  const made = [make("h3", {}, "Kernels, memsets and memcpys"), table(label, columns, rows, "compare-work")];
  if (!rows.length) made.push(make("p", {}, "A step of it runs nothing on a GPU."));
  if (yours.workCount > yours.work.length)
    made.push(make("p", {}, `The ${yours.work.length} that take longest, of ${count(yours.workCount)}.`));
  if (ours && rows.length) {
    const of = (/** @type {string} */ kind) => changes.filter(({ change }) => change === kind).length;
    made.splice(1, 0, make("p", { class: "compare-counts" },
      `Beside ${beside}: ${of("same")} the same, ${of("changed")} changed, ${of("new")} new, ${of("gone")} gone.`)); // prettier-ignore
  }
  return made;
}

/**
 * @param {any | null} ours
 * @param {any} yours
 */
export function launches(ours, yours) {
  const rows = launchChanges(ours, yours).map(({ call, a, b, started, us }) => {
    const cells = [make("td", {}, wrapping(call)), count(b), count(started), us === null ? "–" : shown(us)];
    if (ours) cells.push(count(a));
    const made = row(...cells);
    if (ours && a !== b) made.className = "compare-row--changed";
    return made;
  });
  if (!rows.length) return [];
  const columns = ["Launch", "A step", "What they start", "µs on the CPU"];
  if (ours) columns.push("Ours: a step");
  return [make("h3", {}, "Launches by kind"), table("Launches of your trace", columns, rows, "compare-launches")];
}

/**
 * The position, among the steps, of the one to draw: the first of this kind.
 * @param {any} trace
 * @param {number} kind
 */
export function stepToDraw({ steps: all, whole_file: wholeFile }, kind) {
  return wholeFile ? 0 : Math.max(0, all.findIndex((/** @type {any} */ step) => step.kind === kind));
}

/**
 * @param {Opened} opened
 * @param {number} step position
 * @param {string} title
 */
export async function picture({ reading }, step, title) {
  const lanes = await reading.lanes(step);
  if (!lanes) return [];
  const made = [timeline(lanes, title), legend([lanes])];
  if (lanes.leftOut)
    made.push(make("p", { class: "compare-ours" }, `${count(lanes.leftOut)} shorter events are not drawn.`));
  return made;
}

export { typical };
