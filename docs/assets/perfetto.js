// @ts-check
/**
 * Opens a recorded trace in the Perfetto UI, for links that are written
 *
 *     <a class="perfetto" href="…/trace.json.gz" data-title="mlp_eager">Open in Perfetto</a>
 *
 * The link downloads the file; this module turns a plain click on it into: open the UI in a new
 * tab, fetch the file, ask the UI (PING) until it answers (PONG), hand the file over. The file goes
 * from this tab to that one and to no server. Nothing is requested before the click. What fails is
 * said beside the link, with the download as the way out.
 */

const UI = "https://ui.perfetto.dev";
const PING_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 30_000;

/** Why the trace was not opened, in words for the reader. */
export class NotOpened extends Error {}

/**
 * @typedef {object} TraceMessage
 * @property {{buffer: ArrayBuffer, title: string, fileName: string}} perfetto
 */

/**
 * The message that the Perfetto UI takes a trace from.
 * @param {ArrayBuffer} buffer
 * @param {string} title
 * @param {string} url where the file is; its last part becomes the file's name
 * @returns {TraceMessage}
 */
export function traceMessage(buffer, title, url) {
  return { perfetto: { buffer, title, fileName: url.split("/").pop() ?? "" } };
}

/**
 * Whether a message is the answer of this very window and origin.
 * @param {Pick<MessageEvent, "data" | "origin" | "source">} message
 * @param {Window} ui
 * @param {string} origin
 */
export function isAnswer(message, ui, origin) {
  return message.source === ui && message.origin === origin && message.data === "PONG";
}

/**
 * Whether the browser should follow the link by itself: a new tab, a download, a middle click.
 * @param {MouseEvent} click
 */
export function isForTheBrowser(click) {
  return click.button !== 0 || click.ctrlKey || click.metaKey || click.shiftKey || click.altKey;
}

/**
 * @param {string} url
 * @returns {Promise<ArrayBuffer>}
 */
async function fetchTrace(url) {
  try {
    const response = await fetch(url);
    if (response.ok) return await response.arrayBuffer();
  } catch {
    // offline, or the page was opened from a file: told below, as a missing file is
  }
  throw new NotOpened("The trace could not be fetched.");
}

/**
 * Resolves when the UI answers.
 * @param {Window} ui
 * @param {string} origin
 * @returns {Promise<void>}
 */
function answered(ui, origin) {
  return new Promise((resolve, reject) => {
    /** @param {NotOpened} [error] */
    const end = (error) => {
      clearInterval(pinging);
      clearTimeout(limit);
      removeEventListener("message", onMessage);
      if (error) reject(error);
      else resolve();
    };
    /** @param {MessageEvent} message */
    const onMessage = (message) => {
      if (isAnswer(message, ui, origin)) end();
    };
    const ping = () => {
      if (ui.closed) end(new NotOpened("The Perfetto tab was closed before it was ready."));
      else ui.postMessage("PING", origin);
    };
    const pinging = setInterval(ping, PING_EVERY_MS);
    const limit = setTimeout(() => end(new NotOpened("The Perfetto UI does not answer.")), ANSWER_WITHIN_MS);
    addEventListener("message", onMessage);
  });
}

/**
 * @param {HTMLAnchorElement} link
 */
async function openTrace(link) {
  const origin = link.dataset.origin ?? UI;
  // Opened first: a browser allows it during the click, no longer after a wait.
  const ui = window.open(origin);
  if (!ui) throw new NotOpened("The browser blocked the new tab. Allow pop-ups for this site and try again.");
  const fetched = fetchTrace(link.href).catch((error) => {
    ui.close();
    throw error;
  });
  const [buffer] = await Promise.all([fetched, answered(ui, origin)]);
  ui.postMessage(traceMessage(buffer, link.dataset.title ?? document.title, link.href), origin);
}

/**
 * @param {HTMLElement} status
 * @param {string} text
 * @param {string} [download] URL of the file, if the reader should get it as the way out
 */
function say(status, text, download) {
  status.textContent = text;
  if (!download) return;
  const link = document.createElement("a");
  link.href = download;
  link.download = "";
  link.textContent = "Download the file";
  status.append(" ", link, " and open it in Perfetto by hand.");
}

/**
 * @param {HTMLAnchorElement} link
 */
function enhance(link) {
  if (link.dataset.enhanced) return;
  link.dataset.enhanced = "true";
  const status = document.createElement("span");
  status.className = "perfetto-status";
  status.setAttribute("role", "status");
  link.after(status);
  let busy = false;
  link.addEventListener("click", async (click) => {
    if (isForTheBrowser(click)) return;
    click.preventDefault();
    if (busy) return;
    busy = true;
    say(status, "Opening in a new tab …");
    try {
      await openTrace(link);
      say(status, "Opened in a new tab.");
    } catch (error) {
      if (!(error instanceof NotOpened)) throw error;
      say(status, error.message, link.href);
    } finally {
      busy = false;
    }
  });
}

/** Every link of this kind that is on the page now; one that is enhanced already stays as it is. */
export function enhanceAll() {
  for (const link of document.querySelectorAll("a.perfetto")) {
    enhance(/** @type {HTMLAnchorElement} */ (link));
  }
}

if (typeof document !== "undefined") {
  // Material announces each page it shows on document$; without it there is this one page.
  const shown = /** @type {any} */ (window).document$;
  if (shown) shown.subscribe(enhanceAll);
  else enhanceAll();
}
