// @ts-check
/**
 * What differs between two steps: the definitions of `build_traces/difference.py`. Work is the same where kind and name
 * are; it has changed where it ran another number of times, or with another grid or block.
 */

/** @typedef {{kind: string, name: string, key?: string, short: string, summary?: string, grid: number[], block: number[], count: number, us: {median: number}}} Work */
/** @typedef {{call: string, count: number, started: number, us: {median: number}}} Launches */
/** @typedef {{steps: (number | null)[], stepCount?: number, work: Work[], launches: Launches[]}} StepKind */
/** @typedef {{count: number, us: number, shapes: string[], first: Work}} Side */
/** @typedef {"gone" | "new" | "changed" | "same"} Change */

/**
 * The kind of step that runs most often, one with GPU work first; its position.
 * @param {StepKind[]} kinds
 */
export function typical(kinds) {
  const weight = (/** @type {StepKind} */ kind) => (kind.work.length ? 1e9 : 0) + (kind.stepCount ?? kind.steps.length);
  return kinds.reduce((best, kind, at) => (weight(kind) > weight(kinds[best]) ? at : best), 0);
}

/**
 * Work by name on both sides, in the order of A, what is new behind it.
 * @param {StepKind | null} a
 * @param {StepKind} b
 * @returns {{change: Change, a: Side | null, b: Side | null}[]}
 */
export function workChanges(a, b) {
  const [inA, inB] = [sides(a), sides(b)];
  return [...new Set([...inA.keys(), ...inB.keys()])].map((key) => {
    const [mine, other] = [inA.get(key) ?? null, inB.get(key) ?? null];
    return { change: how(mine, other), a: mine, b: other };
  });
}

/**
 * How often a step makes each launch on both sides.
 * @param {StepKind | null} a
 * @param {StepKind} b
 */
export function launchChanges(a, b) {
  const [inA, inB] = [a, b].map((kind) => new Map((kind?.launches ?? []).map((one) => [one.call, one])));
  return [...new Set([...inA.keys(), ...inB.keys()])].map((call) => ({
    call,
    a: inA.get(call)?.count ?? 0,
    b: inB.get(call)?.count ?? 0,
    started: inB.get(call)?.started ?? 0,
    us: inB.get(call)?.us.median ?? null,
  }));
}

/** @param {StepKind | null} kind */
function sides(kind) {
  /** @type {Map<string, Side>} */
  const found = new Map();
  for (const work of kind?.work ?? []) {
    const key = `${work.kind}\u0000${work.key ?? work.name}`;
    const shape = JSON.stringify([work.grid, work.block, work.count]);
    const side = found.get(key);
    if (side) {
      side.count += work.count;
      side.us += work.us.median;
      side.shapes.push(shape);
    } else found.set(key, { count: work.count, us: work.us.median, shapes: [shape], first: work });
  }
  return found;
}

/**
 * @param {Side | null} a
 * @param {Side | null} b
 * @returns {Change}
 */
function how(a, b) {
  if (!b) return "gone";
  if (!a) return "new";
  const [one, other] = [new Set(a.shapes), new Set(b.shapes)];
  return one.size === other.size && [...one].every((shape) => other.has(shape)) ? "same" : "changed";
}
