"""The built site as the browser tests see it: its pages, and what a page did while it was open."""

import functools
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page, Request

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def _address(source: Path) -> str:
    """`docs/stages/mlp_eager.md` → `stages/mlp_eager/`, as MkDocs does it."""
    path = source.relative_to(DOCS).with_suffix("")
    if path.name == "index":
        path = path.parent
    return "" if path == Path() else f"{path.as_posix()}/"


PAGES = sorted(_address(p) for p in DOCS.rglob("*.md") if "recordings" not in p.relative_to(DOCS).parts[:-1])
PAGE_NAMES = [address or "start" for address in PAGES]
WIDTHS = (390, 768, 1440)


FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def wait_until(page: Page, holds: str, argument: object = None, within_s: float = 5.0) -> None:
    """Wait for an expression, asked again and again from here: the page's policy forbids it to do so by itself."""
    end = time.monotonic() + within_s
    while not page.evaluate(holds, argument):
        assert time.monotonic() < end, f"after {within_s} s still not: {holds}"
        page.wait_for_timeout(50)


@dataclass(frozen=True)
class Site:
    """A built site: its folder, and where it is served."""

    folder: Path
    url: str


@dataclass
class Visit:
    """An open page, and what it asked for and complained about so far."""

    page: Page
    url: str
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def watch(self, site: Site) -> None:
        def on_request(request: Request) -> None:
            if not request.url.startswith((site.url, "data:", "blob:")):
                self.outside.append(request.url)

        def on_console(message: ConsoleMessage) -> None:
            if message.type == "error":
                self.errors.append(message.text)

        self.page.on("request", on_request)
        self.page.on("console", on_console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def resize(self, width: int) -> None:
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.wait_for_timeout(50)  # Material lays out once more after a resize


class _QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder without a line a request on the console."""

    def log_message(self, *_: object) -> None: ...


class _SlowHandler(_QuietHandler):
    """Sends a page's first screens in pieces of a row or a paragraph, some frames apart: each is drawn."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        page = path / "index.html" if path.is_dir() else path
        if page.suffix != ".html" or not page.is_file():
            super().do_GET()
            return
        text = page.read_text(encoding="utf-8")
        head, content = text.split("<h1", 1)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        # a piece ends with a row or a paragraph: the rest of a line moves what is there of it, and no style helps that
        pieces = re.findall(r".+?</(?:tr|dd|p|li|h2|figcaption|svg)>|.+", content, re.DOTALL)
        for piece in [f"{head}<h1", *pieces[:80], "".join(pieces[80:])]:
            self.wfile.write(piece.encode())
            self.wfile.flush()
            time.sleep(0.05)


@contextmanager
def serve(folder: Path, *, slowly: bool = False) -> Iterator[str]:
    """Serve a folder on a free port; gives the URL, with a slash at the end."""
    handler = _SlowHandler if slowly else _QuietHandler
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
