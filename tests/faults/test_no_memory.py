# SPDX-License-Identifier: GPL-2.0-only
"""
Memory runs out: an allocation fails once on each call path that leads to one. FAULTS_ALL=1 makes every single allocation fail,
and on each path once all from there on.
"""
import pathlib
import tempfile

import pytest

from faults import ALL, COMMANDS, NO_MEMORY


def numbers(bench, name):
    """The first allocation on each call path, and the number of all allocations."""
    with tempfile.NamedTemporaryFile(prefix="blklat-faults-") as file:
        outcome = bench.run(name, env={"LD_PRELOAD": NO_MEMORY, "FAIL_LIST": file.name})
        found = [int(line) for line in pathlib.Path(file.name).read_text().split()]
    assert bench.complaint(name, outcome) is None, outcome
    return found[:-1], found[-1]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "record"])  # one with a limit does the same and more
def test_one_allocation_fails(bench, name):
    firsts, n = numbers(bench, name)

    def failing(number, **more):
        return {"env": {"LD_PRELOAD": NO_MEMORY, "FAIL_AT": str(number), **more}}
    failed = bench.denied(name, range(1, n + 1) if ALL else firsts, failing)
    if ALL:
        bench.denied(name, firsts, lambda number: failing(number, FAIL_ON="1"))
    assert failed > len(firsts) / 4
