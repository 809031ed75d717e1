"""`nox -s new -- stage NAME` and `-- chapter NAME`: what a contributor begins with, filled in and registered.

What is made runs and passes as it is; MARK stands wherever its author has something to say. A page that is no draft,
and what is recorded, may not hold it any more: the tests see to it.
"""

from build_traces.errors import BuildTracesError

MARK = "WRITE:"


class NewError(BuildTracesError):
    """For a contributor: why nothing was made, and what to type instead."""
