// @ts-check
/**
 * What every page loads for the reader's own recording: it looks whether one is kept in this browser, and only then
 * loads what shows it. On the page Compare it loads what reads files.
 */

import { onChange, state } from "./compare-store.js";

async function shown() {
  const compare = document.querySelector("guide-compare");
  if (compare) await import("./compare-page.js");
  const kept = await state();
  if (kept || document.querySelector(".compare-banner"))
    await (await import("./compare-switch.js")).apply(kept?.shown ?? "none");
}

/** @type {Promise<void>} one after the other */
let last = Promise.resolve();
const show = () => (last = last.then(shown));

// Material announces each page it shows on document$; without it there is this one page.
const pages = /** @type {any} */ (window).document$;
if (pages) pages.subscribe(show);
else show();
onChange(show);
