// @ts-check
/**
 * Keeps the reader's recording in the browser's own database, and nowhere else, until it is removed:
 *
 *     guide-compare / kept / "recording" = {exported, decoded, saved}     "shown" = "yours" | "ours"
 *
 * Other pages of the same host may have written there: what is read back is checked as a file is.
 */

/** The versions of the format of exports that this guide reads; a test holds them to `build_traces/export_format.py`. */
export const VERSIONS = { format: "build-traces recording", schema: 1, protocol: 1, sweepProtocol: 1 };
const DATABASE = "guide-compare";
const STORE = "kept";
const CHANNEL = "guide-compare";

/** @typedef {{exported: any, decoded: Record<string, any>, saved: string}} Kept */
/** @typedef {"yours" | "ours"} Shown */

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * The database; null where there is none and `create` does not ask for one, or the browser has none to give.
 * @param {boolean} create
 * @returns {Promise<IDBDatabase | null>}
 */
async function database(create) {
  try {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      if (create) request.result.createObjectStore(STORE);
      else request.transaction?.abort();
    };
    return await done(request);
  } catch {
    return null;
  }
}

/**
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => Promise<T>} use
 * @param {boolean} [create]
 * @returns {Promise<T | null>} null where nothing is kept, or nothing can be
 */
async function within(mode, use, create = false) {
  const opened = await database(create);
  if (!opened) return null;
  try {
    return await use(opened.transaction(STORE, mode).objectStore(STORE));
  } catch {
    return null;
  } finally {
    opened.close();
  }
}

/** Whether a recording is kept, and whose numbers are shown; null for none. */
export function state() {
  return within("readonly", async (store) => {
    const [there, shown] = await Promise.all([done(store.count("recording")), done(store.get("shown"))]);
    return there ? { shown: /** @type {Shown} */ (shown === "ours" ? "ours" : "yours") } : null;
  });
}

/** @returns {Promise<Kept | null>} */
export function recording() {
  return within("readonly", (store) => done(store.get("recording")));
}

/**
 * Whether it is kept.
 * @param {Kept} kept
 */
export async function keep(kept) {
  const stored = await within(
    "readwrite",
    async (store) => {
      await Promise.all([done(store.put(kept, "recording")), done(store.put("yours", "shown"))]);
      return true;
    },
    true,
  );
  announce();
  return stored === true;
}

/** @param {Shown} shown */
export async function show(shown) {
  await within("readwrite", (store) => done(store.put(shown, "shown")));
  announce();
}

/** Whether nothing is left. */
export async function remove() {
  const gone = await new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(DATABASE);
    request.onsuccess = () => resolve(true);
    request.onerror = request.onblocked = () => resolve(false);
  }).catch(() => false);
  announce();
  return gone;
}

function announce() {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage("changed");
  channel.close();
}

/**
 * Called when another tab has changed something.
 * @param {() => void} changed
 */
export function onChange(changed) {
  new BroadcastChannel(CHANNEL).onmessage = changed;
}
