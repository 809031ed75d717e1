// @ts-check
/**
 * What must run before a page is drawn: the light or dark scheme that the reader has chosen, and the four names by
 * which Material's scripts keep such choices.
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

  /**
   * The colors of a choice; of the choice to follow the system, those of its scheme now.
   * @param {Record<string, string>} chosen
   * @returns {Record<string, string>}
   */
  function colors(chosen) {
    if (chosen.media !== FOLLOW) return chosen;
    const scheme = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
    const option = document.querySelector(`[data-md-color-media="(prefers-color-scheme: ${scheme})"]`);
    const named = ["media", "scheme", "primary", "accent"];
    return Object.fromEntries(named.map((name) => [name, option?.getAttribute(`data-md-color-${name}`) ?? ""]));
  }

  Object.assign(window, { __md_scope: scope, __md_hash: hash, __md_get: get, __md_set: set });
  const chosen = get("__palette")?.color ?? { media: FOLLOW };
  for (const [name, value] of Object.entries(colors(chosen))) document.body.setAttribute(`data-md-color-${name}`, value);
})();
