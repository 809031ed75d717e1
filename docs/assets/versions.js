// @ts-check
/**
 * The versions of the guide: a list to change to another one, and a line that says so where this one is old.
 *
 *     <guide-versions data-version="1.0">1.0</guide-versions>
 *     <aside class="guide-outdated" hidden>… <a href="…"></a></aside>
 *
 * Both are on the pages of published versions only. What there is stands in versions.json beside the versions, with the
 * pages of each: a reader who changes versions stays on the page, if the other version has it. Where the file cannot be
 * had, offline or without scripts, the page names its version and offers no other.
 */

const LATEST = "latest";
/** Relative to this file, which is in assets/ of its version. */
const HERE = new URL("../", import.meta.url);
const ALL = new URL("../", HERE);

/**
 * @typedef {object} Version
 * @property {string} version
 * @property {string} title
 * @property {string[]} aliases
 * @property {{pages: string[], recording: {gpu: string, torch: string}}} properties
 */

/**
 * A page's address inside its version; the start page's is "".
 * @param {string} pathname of the page
 * @param {string} base path of the version
 */
export function addressIn(pathname, base) {
  const inside = pathname.startsWith(base) ? pathname.slice(base.length) : "";
  return inside.replace(/index\.html$/, "");
}

/**
 * Where a page is in another version, and whether it is there at all.
 * @param {Version} version
 * @param {string} folder the version's own or `latest`
 * @param {string} address
 * @param {URL} all where the versions are
 */
export function pageIn(version, folder, address, all) {
  const there = version.properties.pages.includes(address);
  return { there, url: new URL(`${folder}/${there ? address : ""}`, all).href };
}

/**
 * The version that readers of this one are sent to, if any.
 * @param {Version[]} versions
 * @param {string} current
 */
export function newerThan(versions, current) {
  const latest = versions.find((version) => version.aliases.includes(LATEST));
  return latest && latest.version !== current ? latest : undefined;
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {(Node | string)[]} children
 */
function make(tag, ...children) {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}

/**
 * @param {Version} version
 * @param {string} current
 * @param {string} address
 */
function entry(version, current, address) {
  const { gpu, torch } = version.properties.recording;
  const link = make("a", make("strong", version.title), version.aliases.includes(LATEST) ? ` ${LATEST}` : "");
  link.href = pageIn(version, version.version, address, ALL).url + location.hash;
  if (version.version === current) link.setAttribute("aria-current", "true");
  link.append(make("small", `${gpu}, torch ${torch}`));
  return make("li", link);
}

class GuideVersions extends HTMLElement {
  connectedCallback() {
    this.current = this.dataset.version ?? "";
    fetch(new URL("versions.json", ALL))
      .then((response) => (response.ok ? response.json() : Promise.reject(response)))
      .then((versions) => this.show(versions))
      .catch(() => {}); // one version, then
  }

  /** @param {Version[]} versions */
  show(versions) {
    const address = addressIn(location.pathname, HERE.pathname);
    const list = make("ul", ...versions.map((version) => entry(version, this.current ?? "", address)));
    const title = versions.find((version) => version.version === this.current)?.title ?? this.current ?? "";
    const summary = make("summary", title);
    summary.setAttribute("aria-label", `Version ${title}: choose another`);
    const details = make("details", summary, list);
    this.replaceChildren(details);
    this.closeOnLeaving(details);
    this.warn(versions, address);
  }

  /** @param {HTMLDetailsElement} details */
  closeOnLeaving(details) {
    const close = () => details.removeAttribute("open");
    document.addEventListener("click", (click) => {
      if (!this.contains(/** @type {Node} */ (click.target))) close();
    });
    this.addEventListener("focusout", (left) => {
      if (left.relatedTarget && !this.contains(/** @type {Node} */ (left.relatedTarget))) close();
    });
    this.addEventListener("keydown", (key) => {
      if (key.key !== "Escape" || !details.open) return;
      close();
      details.querySelector("summary")?.focus();
    });
  }

  /**
   * @param {Version[]} versions
   * @param {string} address
   */
  warn(versions, address) {
    const newer = newerThan(versions, this.current ?? "");
    const banner = /** @type {HTMLElement | null} */ (document.querySelector(".guide-outdated"));
    const link = banner?.querySelector("a");
    if (!newer || !banner || !link) return;
    const page = pageIn(newer, LATEST, address, ALL);
    link.href = page.url + (page.there ? location.hash : "");
    link.textContent = page.there ? `Read this page in ${newer.title}, the latest` : `Read ${newer.title}, the latest`;
    banner.hidden = false;
  }
}

customElements.define("guide-versions", GuideVersions);
