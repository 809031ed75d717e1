"""Keep what was recorded of a stage or sweep: its folder whole, or as it was; for `record`."""

from collections.abc import Mapping
from pathlib import Path

from build_traces.errors import RecordingError
from build_traces.half_made import half_made_folder
from build_traces.ladder import Recorded, digest
from build_traces.recording import record_command


def keep(recorded: Recorded, sha256: str, folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a stage or sweep into its folder of a recording.

    `sha256` is the digest that was taken before it ran. Raises RecordingError if that has changed since, or if a
    file cannot be written.
    """
    name = recorded.name
    if digest(recorded) != sha256:
        raise RecordingError(name, "its snippet changed while it was recorded", hint=record_command(name))
    try:
        with half_made_folder(folder / name) as target:
            for file, content in files.items():
                (target / file).write_bytes(content)
    except OSError as error:
        raise RecordingError(
            name,
            f"its recording cannot be written to {folder}: {error.strerror or error}",
            hint="free disk space or give another --out; the old recording is as it was",
        ) from error
