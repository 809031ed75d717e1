// @ts-check
/**
 * What must run before a page is drawn: the light or dark scheme that the reader has chosen, the four names by which
 * Material's scripts keep such choices, and what keeps these scripts from work that a page does not need to open.
 *
 * Material writes both into each page. The policy of the pages allows no script in a page, so that nothing that came
 * with a trace's names can ever be one; this file stands in their place, and before the content, so that no page is
 * drawn in one scheme and then in the other. It is no module: a module would wait for the whole page.
 */

(() => {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  /** The address of the site; all of its pages share what is kept. */
  const scope = new URL("..", script.src);
  const FOLLOW = "(prefers-color-scheme)";

  /**
   * @param {string} text
   * @returns {number} the same for the same text
   */
  function hash(text) {
    return Array.from(text).reduce((sum, letter) => (sum << 5) - sum + letter.charCodeAt(0), 0);
  }

  /**
   * @param {string} name
   * @param {Storage} [storage]
   * @param {URL} [base]
   * @returns {any} what is kept under the name; null for nothing, and where nothing can be kept
   */
  function get(name, storage, base = scope) {
    try {
      return JSON.parse((storage ?? localStorage).getItem(`${base.pathname}.${name}`) ?? "null");
    } catch {
      return null;
    }
  }

  /**
   * @param {string} name
   * @param {unknown} value
   * @param {Storage} [storage]
   * @param {URL} [base]
   */
  function set(name, value, storage, base = scope) {
    try {
      (storage ?? localStorage).setItem(`${base.pathname}.${name}`, JSON.stringify(value));
    } catch {
      // a browser that keeps nothing shows the pages all the same
    }
  }

  /** @type {HTMLInputElement[]} a choice each; the button behind one leads on to the next */
  const options = Array.from(document.querySelectorAll("input[name=__palette]"));
  const COLORS = ["scheme", "primary", "accent"];
  const theme = Object.assign(document.createElement("meta"), { name: "theme-color" });

  /**
   * @param {HTMLInputElement | undefined} option
   * @param {string} name
   */
  function says(option, name) {
    return option?.getAttribute(`data-md-color-${name}`) ?? "";
  }

  /** What the system asks for now, as an option has it. */
  function asked() {
    return `(prefers-color-scheme: ${matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark"})`;
  }

  function paintFrame() {
    const header = document.querySelector(".md-header");
    if (header) theme.content = getComputedStyle(header).backgroundColor;
  }

  /**
   * Draws the page in the colors of a choice; of the choice to follow the system, in those of its scheme now.
   * @param {number} index
   */
  function draw(index) {
    const chosen = options[index];
    const followed = options.find((option) => says(option, "media") === asked());
    const drawn = says(chosen, "media") === FOLLOW ? followed : chosen;
    for (const name of COLORS) document.body.setAttribute(`data-md-color-${name}`, says(drawn, name));
    document.body.setAttribute("data-md-color-media", says(chosen, "media"));
    document.documentElement.style.colorScheme = says(drawn, "scheme") === "slate" ? "dark" : "light";
    for (const [at, option] of options.entries()) {
      option.checked = at === index;
      if (option.nextElementSibling instanceof HTMLElement) option.nextElementSibling.hidden = at !== index;
    }
    if (document.readyState === "complete") paintFrame();
  }

  /** @returns {number} the choice that is kept, or the first */
  function kept() {
    const index = get("__palette")?.index;
    return options[index] ? index : 0;
  }

  /** @returns {number} the choice that is drawn, kept or not */
  function current() {
    return options.findIndex((option) => option.checked);
  }

  Object.assign(window, { __md_scope: scope, __md_hash: hash, __md_get: get, __md_set: set });
  if (options.length) {
    draw(kept());
    document.head.append(theme);
    addEventListener("load", paintFrame);
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => draw(current()));
    const form = /** @type {HTMLElement} */ (options[0].closest("form"));
    form.addEventListener("change", (event) => {
      const index = options.indexOf(/** @type {HTMLInputElement} */ (event.target));
      const color = Object.fromEntries(["media", ...COLORS].map((name) => [name, says(options[index], name)]));
      set("__palette", { index, color });
      // Material's style sheet stops all transitions for as long as this is there: all colors change at once.
      document.body.setAttribute("data-md-color-switching", "");
      draw(index);
      requestAnimationFrame(() => requestAnimationFrame(() => document.body.removeAttribute("data-md-color-switching")));
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      const next = options[(current() + 1) % options.length];
      next.click();
      next.focus();
    });
  }

  // Material's scripts set both, but when the page is laid out, and then the browser styles all of it once more.
  document.documentElement.classList.replace("no-js", "js");
  document.documentElement.classList.add("js-focus-visible");

  const QUERY = "[data-md-component=search-query]";
  const searched = new Promise((resolve) => {
    /** @param {Event} event */
    function look(event) {
      if (event.target instanceof Element && event.target.closest(`${QUERY}, [for=__search]`)) resolve(true);
    }
    for (const type of ["focusin", "pointerover"]) addEventListener(type, look, { passive: true });
  });

  /** Material asks for the index of the search, by far the largest file, in every page; it comes once it is wanted. */
  window.XMLHttpRequest = class extends XMLHttpRequest {
    #waits = false;

    /**
     * @param {string} method
     * @param {string | URL} url
     */
    open(method, url) {
      this.#waits = `${url}`.endsWith("/search/search_index.json") && !document.activeElement?.matches(QUERY);
      super.open(method, url);
    }

    /** @param {XMLHttpRequestBodyInit | Document | null} [body] */
    send(body) {
      if (this.#waits) searched.then(() => super.send(body));
      else super.send(body);
    }
  };
})();
