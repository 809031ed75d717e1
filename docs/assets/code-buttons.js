// @ts-check
/**
 * Material puts the copy button of each code block into a <nav> without a name: for a screen reader,
 * a page full of nameless places to navigate to (axe: landmark-unique). A plain box is all it is.
 */

function unmark() {
  for (const box of document.querySelectorAll("nav.md-code__nav")) box.setAttribute("role", "none");
}

// Material announces each page it shows on document$, and has made its buttons by then.
const shown = /** @type {any} */ (window).document$;
if (shown) shown.subscribe(unmark);
