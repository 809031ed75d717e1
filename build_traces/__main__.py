"""`python -m build_traces`."""

from build_traces.cli import main

main()
