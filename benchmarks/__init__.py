"""How fast and how small `inspect` is: a generator of large traces, two others to compare with, and the table."""
