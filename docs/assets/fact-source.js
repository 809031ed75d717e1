// @ts-check
/**
 * Says where a number comes from to a reader who cannot point at it: what stands in `title`, shown on a tap or a click.
 *
 * Numbers, dashes, strips and bars tell their source only under a pointer. Here a tap shows the same text in one box: at
 * the foot of a phone's screen, under the number elsewhere. Another tap, anywhere, or Esc closes it. A browser without
 * `popover` shows what it has always shown.
 *
 * No number is a tab stop: a page has hundreds. What a keyboard reaches already is the region around a table or a
 * picture. Enter there shows the source of the first number in it, and the arrow keys go from number to number, through
 * the text between the regions too.
 */

const SOURCES = "[title], svg :has(> title)";
const DO_THEIR_OWN = "a, button, summary, label, input, select, textarea";
/** Between the parts of a title; none is torn at the end of a line. */
const SEPARATOR = " · ";
const GAP_PX = 8;
/** @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

const box = document.createElement("div");
const watch = new MutationObserver(closeIfChanged);
/** @type {Element | null} whose source is shown now */
let shown = null;
/** @type {Element | null} whose source was shown as the pointer went down: it is closed before the click comes */
let pressed = null;
/** What the box says. */
let said = ["", ""];
/** Whether it was opened by keyboard, so that the arrow keys lead on. */
let byKeys = false;

/**
 * What of ours lies there and tells its source by its title alone.
 * @param {EventTarget | null} target
 */
function sourceAt(target) {
  const found = target instanceof Element ? target.closest(SOURCES) : null;
  return found?.closest("article") && !found.closest(DO_THEIR_OWN) ? found : null;
}

/**
 * The number as it is shown, and where it comes from.
 * @param {Element} source
 */
function textsOf(source) {
  const title = source.getAttribute("title") ?? source.querySelector(":scope > title")?.textContent ?? "";
  return source instanceof HTMLDataElement ? [source.textContent ?? "", title] : ["", title];
}

/**
 * @param {string} tag
 * @param {string} text
 */
function make(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

/** @param {Element} source */
function show(source) {
  leave();
  shown = source;
  said = textsOf(source);
  source.setAttribute("data-told", "");
  const article = /** @type {Element} */ (source.closest("article"));
  watch.observe(article, { subtree: true, childList: true, attributes: true, attributeFilter: ["title"] });
  if (!box.isConnected) document.body.append(box);
  if (!isOpen()) box.showPopover();
  box.toggleAttribute("data-keys", byKeys);
  const parts = said[1].split(SEPARATOR).flatMap((part) => [" ", make("span", part), SEPARATOR.trimEnd()]).slice(1, -1);
  box.replaceChildren(...(said[0] ? [make("strong", said[0]), " "] : []), ...parts);
  if (byKeys) source.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  place(source.getBoundingClientRect());
}

/**
 * Beside the number, on a screen with room for that; on a phone not over the number.
 * @param {DOMRect} number
 */
function place(number) {
  const { width, height } = box.getBoundingClientRect();
  const left = Math.max(GAP_PX, Math.min(number.left, document.documentElement.clientWidth - width - GAP_PX));
  const below = number.bottom + GAP_PX;
  const top = below + height <= innerHeight ? below : Math.max(GAP_PX, number.top - GAP_PX - height);
  box.style.setProperty("--left", `${left + scrollX}px`);
  box.style.setProperty("--top", `${top + scrollY}px`);
  box.toggleAttribute("data-head", number.bottom > innerHeight - height);
}

function isOpen() {
  return box.matches(":popover-open");
}

function close() {
  if (isOpen()) box.hidePopover();
}

/** No source is shown any more. */
function leave() {
  watch.disconnect();
  shown?.removeAttribute("data-told");
  shown = null;
}

/** Another recording may have come in its place: what is said would no longer be true of what is on the page. */
function closeIfChanged() {
  if (!shown?.isConnected || textsOf(shown).some((text, position) => text !== said[position])) close();
}

/** @param {Element} source */
function isSelected(source) {
  const selection = getSelection();
  return Boolean(selection && !selection.isCollapsed && selection.containsNode(source, true));
}

/** @param {MouseEvent} click */
function onClick(click) {
  const source = sourceAt(click.target);
  const again = source === pressed || source === shown;
  pressed = null;
  if (!source || click.defaultPrevented) return;
  if (click.ctrlKey || click.metaKey || click.shiftKey || click.altKey || isSelected(source)) return;
  byKeys = false;
  if (again) close();
  else show(source);
}

/** @param {PointerEvent} up */
function onPointerUp(up) {
  if (!box.contains(/** @type {Node} */ (up.target))) close(); // not all browsers on phones do so by themselves
}

/** @param {Element | Document} root */
function sourcesIn(root) {
  return [...root.querySelectorAll(SOURCES)].filter(
    (source) => sourceAt(source) && source.getClientRects().length && !source.closest("details:not([open])"),
  );
}

/** @param {KeyboardEvent} press */
function onKey(press) {
  if (press.key === "Tab") close(); // it might lie over what gets the focus
  if (press.defaultPrevented || press.ctrlKey || press.metaKey || press.shiftKey || press.altKey) return;
  const region = press.target instanceof Element && press.target.matches(".trace-scroll") ? press.target : null;
  if (press.key === "Enter" && region) {
    if (shown) close();
    else goTo(sourcesIn(region)[0]);
  } else if (press.key in STEPS && shown && byKeys) {
    press.preventDefault();
    const all = sourcesIn(document);
    goTo(all[all.indexOf(shown) + STEPS[press.key]]);
  }
}

/** @param {Element | undefined} source */
function goTo(source) {
  if (!source) return;
  byKeys = true;
  show(source);
}

if ("popover" in HTMLElement.prototype) {
  box.className = "fact-source";
  box.popover = "auto";
  box.setAttribute("role", "status");
  box.addEventListener("beforetoggle", (toggle) => {
    if (/** @type {ToggleEvent} */ (toggle).newState === "closed") leave();
  });
  document.addEventListener("pointerdown", () => (pressed = shown), true);
  document.addEventListener("pointerup", onPointerUp);
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  // Material announces each page it shows on document$: the number is on another one then.
  /** @type {any} */ (window).document$?.subscribe(close);
}
