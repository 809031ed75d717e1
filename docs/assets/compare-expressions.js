// @ts-check
/**
 * Computes expressions over facts, `100 * {mlp_compiled.kernel.3.us} / {mlp_compiled.gpu_us}`, as
 * `build_traces/expressions.py` does: Python's arithmetic, comparison and logic on facts in braces, and nothing else.
 */

import { ARITHMETIC, call, compare, number, single, truth } from "./compare-arithmetic.js";
import { NoValue } from "./compare-format.js";

/** @typedef {import("./compare-format.js").Scalar} Scalar */
/** @typedef {{kind: "number" | "text" | "fact" | "word" | "sign" | "end", text: string, value?: Scalar}} Token */
/** @typedef {(facts: (path: string) => Scalar) => Scalar | Scalar[]} Node what a part of an expression comes to */

const TOKEN =
  /\s+|(?<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?)|(?<text>'[^'\n\\]*'|"[^"\n\\]*")|\{(?<fact>[^{}]*)\}|(?<word>[A-Za-z_]\w*)|(?<sign>\*\*|\/\/|[=!<>]=|[-+*/%<>(),])/y;
const FUNCTIONS = new Set(["round", "min", "max", "abs"]);
const MOST_DEPTH = 100;
const LONGEST = 10_000;

/** @typedef {{paths: string[], compute: (facts: (path: string) => Scalar) => Scalar}} Expression */

/**
 * An expression, ready to be computed. Throws NoValue for what is none.
 * @param {string} written
 * @returns {Expression}
 */
export function parse(written) {
  if (written.length > LONGEST) throw new NoValue("the expression is too long");
  const parser = new Parser(tokens(written));
  const node = parser.whole();
  return {
    paths: parser.paths,
    compute(facts) {
      for (const path of parser.paths) facts(path); // all of them, also behind `and` and `or`
      const value = node(facts);
      if (Array.isArray(value)) throw new NoValue("a list is no value");
      if (typeof value === "number" && !Number.isFinite(value)) throw new NoValue("it comes to no number");
      return value;
    },
  };
}

/**
 * @param {string} written
 * @returns {Token[]}
 */
function tokens(written) {
  const found = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < written.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(written)?.groups;
    if (!groups) throw new NoValue(`this is no expression, from ${written.slice(at, at + 20)}`);
    const { number, text, fact, word, sign } = groups;
    if (number !== undefined) found.push(numberToken(number));
    else if (text !== undefined) found.push({ kind: "text", text, value: text.slice(1, -1) });
    else if (fact !== undefined) found.push({ kind: "fact", text: fact.trim() });
    else if (word !== undefined) found.push({ kind: "word", text: word });
    else if (sign !== undefined) found.push({ kind: "sign", text: sign });
  }
  return /** @type {Token[]} */ ([...found, { kind: "end", text: "" }]);
}

/** @param {string} written */
function numberToken(written) {
  const plain = written.replaceAll("_", "");
  return { kind: "number", text: written, value: /^\d+$/.test(plain) ? BigInt(plain) : Number(plain) };
}

/** Python's grammar of expressions, by precedence. */
class Parser {
  /** @type {string[]} */
  paths = [];
  #at = 0;
  #depth = 0;
  #tokens;

  /** @param {Token[]} tokens */
  constructor(tokens) {
    this.#tokens = tokens;
  }

  whole() {
    const node = this.#choice();
    if (this.#next.kind !== "end") throw new NoValue(`this is no expression, from ${this.#next.text}`);
    return node;
  }

  get #next() {
    return this.#tokens[this.#at];
  }

  /**
   * Whether the next token is one of these, which is then passed.
   * @param {string[]} texts
   */
  #take(...texts) {
    const { kind, text } = this.#next;
    if ((kind !== "word" && kind !== "sign") || !texts.includes(text)) return "";
    this.#at += 1;
    return text;
  }

  /** @param {string} text */
  #need(text) {
    if (!this.#take(text)) throw new NoValue(`${text} is missing before ${this.#next.text || "the end"}`);
  }

  /** @returns {Node} */
  #choice() {
    if ((this.#depth += 1) > MOST_DEPTH) throw new NoValue("the expression is nested too deep");
    const then = this.#or();
    this.#depth -= 1;
    if (!this.#take("if")) return then;
    const when = this.#or();
    this.#need("else");
    const otherwise = this.#choice();
    return (facts) => (truth(when(facts)) ? then(facts) : otherwise(facts));
  }

  /** @returns {Node} */
  #or() {
    let left = this.#and();
    while (this.#take("or")) {
      const [first, second] = [left, this.#and()];
      left = (facts) => {
        const value = first(facts);
        return truth(value) ? value : second(facts);
      };
    }
    return left;
  }

  /** @returns {Node} */
  #and() {
    let left = this.#not();
    while (this.#take("and")) {
      const [first, second] = [left, this.#not()];
      left = (facts) => {
        const value = first(facts);
        return truth(value) ? second(facts) : value;
      };
    }
    return left;
  }

  /** @returns {Node} */
  #not() {
    let turns = 0;
    while (this.#take("not")) turns += 1;
    const node = this.#comparison();
    return turns ? (facts) => truth(node(facts)) === (turns % 2 === 0) : node;
  }

  /** @returns {Node} */
  #comparison() {
    const nodes = [this.#sum()];
    const signs = [];
    for (;;) {
      const sign = this.#take("==", "!=", "<", "<=", ">", ">=", "in") || (this.#take("not") && (this.#need("in"), "not in"));
      if (!sign) break;
      signs.push(sign);
      nodes.push(this.#sum());
    }
    if (!signs.length) return nodes[0];
    return (facts) => {
      let left = nodes[0](facts);
      for (const [at, sign] of signs.entries()) {
        const right = nodes[at + 1](facts);
        if (!compare(sign, left, right)) return false;
        left = right;
      }
      return true;
    };
  }

  /** @returns {Node} */
  #sum() {
    let left = this.#product();
    for (let sign = this.#take("+", "-"); sign; sign = this.#take("+", "-"))
      left = binary(sign, left, this.#product());
    return left;
  }

  /** @returns {Node} */
  #product() {
    let left = this.#signed();
    for (let sign = this.#take("*", "/", "//", "%"); sign; sign = this.#take("*", "/", "//", "%"))
      left = binary(sign, left, this.#signed());
    return left;
  }

  /** @returns {Node} */
  #signed() {
    const sign = this.#take("+", "-");
    if (!sign) return this.#power();
    if ((this.#depth += 1) > MOST_DEPTH) throw new NoValue("the expression is nested too deep");
    const node = this.#signed();
    this.#depth -= 1;
    return (facts) => {
      const value = number(node(facts));
      return sign === "-" ? -value : value;
    };
  }

  /** @returns {Node} */
  #power() {
    const base = this.#atom();
    if (!this.#take("**")) return base;
    return binary("**", base, this.#signed());
  }

  /** @returns {Node} */
  #atom() {
    const { kind, text, value } = this.#next;
    this.#at += 1;
    if (kind === "number" || kind === "text") return () => /** @type {Scalar} */ (value);
    if (kind === "fact") {
      if (!text) throw new NoValue("there is no path between the braces");
      if (!this.paths.includes(text)) this.paths.push(text);
      return (facts) => facts(text);
    }
    if (kind === "word" && FUNCTIONS.has(text)) return this.#call(text);
    if (kind === "word" && (text === "True" || text === "False")) return () => text === "True";
    if (kind === "sign" && text === "(") return this.#parenthesis();
    throw new NoValue(`this is no expression, from ${text || "its end"}`);
  }

  /** @returns {Node} */
  #parenthesis() {
    const nodes = [];
    let isTuple = false;
    while (!this.#take(")")) {
      nodes.push(this.#choice());
      if (this.#take(",")) isTuple = true;
      else {
        this.#need(")");
        break;
      }
    }
    if (nodes.length === 1 && !isTuple) return nodes[0];
    return (facts) => nodes.map((node) => single(node(facts)));
  }

  /**
   * @param {string} name
   * @returns {Node}
   */
  #call(name) {
    this.#need("(");
    const nodes = [];
    while (!this.#take(")")) {
      nodes.push(this.#choice());
      if (!this.#take(",")) {
        this.#need(")");
        break;
      }
    }
    return (facts) => call(name, nodes.map((node) => node(facts)));
  }
}

/**
 * @param {string} sign
 * @param {Node} left
 * @param {Node} right
 * @returns {Node}
 */
function binary(sign, left, right) {
  return (facts) => {
    const [a, b] = [left(facts), right(facts)];
    if (sign === "+" && typeof a === "string" && typeof b === "string") return a + b;
    return ARITHMETIC[sign](number(a), number(b));
  };
}
