"""The profiler's own table is read by its columns; the values are those printed in the text here."""

import pytest

from build_traces.errors import FactError
from build_traces.profiler_table import ProfilerTable, read_table

TABLE = """\
-------------------  ------------  ------------  ------------
               Name      Self CPU     Self CUDA   Self CUDA %
-------------------  ------------  ------------  ------------
               step       0.000us       1.500ms       120.00%
  void f<a, b>(int)       2.000us     250.500us        20.00%
   Memset  (Device)       0.000us       0.500us         0.04%
-------------------  ------------  ------------  ------------
Self CPU time total: 1.391ms
Self CUDA time total: 2.000s
"""


def test_a_table_gives_each_rows_own_gpu_time_and_the_total() -> None:
    rows = (("step", 1500.0), ("void f<a, b>(int)", 250.5), ("Memset  (Device)", 0.5))
    assert read_table(TABLE) == ProfilerTable(rows, 2_000_000.0)


@pytest.mark.parametrize("text", ["", "Self CUDA time total: 1us", TABLE.replace("Self CUDA time total", "Total")])
def test_a_text_without_gpu_times_is_refused(text: str) -> None:
    with pytest.raises(FactError, match="no GPU times"):
        read_table(text)


def test_a_time_in_another_unit_is_refused() -> None:
    with pytest.raises(FactError, match="'3min'"):
        read_table(TABLE.replace("2.000s", "3min"))
