"""Put a built site onto the branch that is served, beside the versions that are there.

A version pins the guide's text and its recording together. `deploy` is the order in which it is made, `branch` what
may be done to the versions. Only these modules know mike and git; the rest of the package imports neither.
"""

from build_traces.errors import BuildTracesError


class PublishError(BuildTracesError):
    """For the maintainer who publishes: what stands in the way, and which command clears it."""
