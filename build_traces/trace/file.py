"""The bytes of a trace file, packed or not: whole, or block by block so that a large file never stands in memory.

A file is somebody's, so it is bounded: how much it may unpack to is checked while it is unpacked.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from build_traces.errors import TraceError

GZIP = b"\x1f\x8b"
BLOCK_BYTES = 1 << 17
MAX_BYTES = 4 << 30
"""The most that a file may unpack to: real traces are smaller, and a few MB of gzip can hold more."""
UTF16 = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"

Progress = Callable[[int], None]
"""Told how many bytes of the file, as it lies on the disk, have been read."""


def load(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The JSON text of a trace file, unpacked. Raises TraceError."""
    return b"".join(blocks(path, max_bytes))


def blocks(path: Path, max_bytes: int = MAX_BYTES, progress: Progress | None = None) -> Iterator[bytes]:
    """The same, a block at a time. Raises TraceError, also halfway."""
    try:
        with path.open("rb") as file:
            packed = file.read(len(GZIP)) == GZIP
            file.seek(0)
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
            read = 0
            while block := stream.read(BLOCK_BYTES):
                if not read:
                    block = _without_mark(block, path)
                read += len(block)
                if read > max_bytes:
                    what = "it unpacks to more than" if packed else "it is larger than"
                    hint = "profile fewer steps, or allow more with --max-gb"
                    raise TraceError(path, f"{what} {max_bytes / 1e9:.3g} GB", hint=hint)
                if progress is not None:
                    progress(file.tell())
                yield block
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(
            path,
            f"the gzip data is damaged or cut short ({error})",
            hint="copy or export the trace again",
        ) from error
    except OSError as error:
        raise TraceError(
            path, f"cannot be read: {error.strerror}", hint="give the path of a trace, .json or .json.gz"
        ) from error


def _without_mark(block: bytes, path: Path) -> bytes:
    if block.startswith(UTF16):
        raise TraceError(path, "not valid JSON: it is UTF-16 text", hint="save it as UTF-8; the profiler writes that")
    return block.removeprefix(UTF8_MARK)
