"""Where the kernel packages that stages load come from, and that one recording has them from one place."""

from build_traces import local_kernels
from build_traces.errors import BuildTracesError, RecordingError
from build_traces.processes import LOCAL_KERNELS_HINT
from build_traces.recording import KernelPackage


def current() -> tuple[KernelPackage, ...]:
    """Where this run would take them from; the Hub's revision is known once a stage has loaded it.

    Raises RecordingError if LOCAL_KERNELS names no kernel folder.
    """
    try:
        origin = local_kernels.origin()
    except BuildTracesError as error:
        raise RecordingError("", error.message, hint=error.hint or LOCAL_KERNELS_HINT) from error
    return (KernelPackage(origin.repo, origin.kind, origin.detail),)


def require_same(before: tuple[KernelPackage, ...], now: tuple[KernelPackage, ...], recording: str, stays: int) -> None:
    """Raises RecordingError where a run would take them from elsewhere than the `stays` stages that it leaves as is."""
    if list(map(_origin, before)) == list(map(_origin, now)):
        return
    local = any(package.kind == "local" for package in before)
    again = 'export LOCAL_KERNELS="$(python -m build_traces local-kernels)"' if local else "unset LOCAL_KERNELS"
    raise RecordingError(
        "",
        f"{stays} stages of {recording} ran with {_words(before)}, and this run would with {_words(now)}",
        hint=f"take it from there again: {again}, or record all of them: python -m build_traces record --all",
    )


def _origin(package: KernelPackage) -> tuple[str, ...]:
    """What tells origins apart: of the Hub, the revision may be known before and not yet now."""
    return (package.repo, package.kind) if package.kind == "hub" else (package.repo, package.kind, package.detail)


def _words(packages: tuple[KernelPackage, ...]) -> str:
    return ", ".join(f"{package.repo} ({package.kind}: {package.detail})" for package in packages)
