# SPDX-License-Identifier: GPL-2.0-only
"""
The kernel may skip any run of a BPF program, and a standby then has to do the same. That is too rare to wait for. So
builds of the program (tests/vm/altered.h) skip all runs of all first programs, or of that at the end of requests.
"""
import os
import pathlib

import load
import pytest
from needs import need

ALTERED = pathlib.Path(os.environ.get("ALTERED", load.ROOT / "build/tests/altered"))
# Standbys of each event, or as the engine has them by itself. Of two, the first has to tell the second.
STANDBYS = {"none_skipped": "2", "first_skipped": "2", "end_skipped": None}


def with_skips(*builds):
    """For a test that takes the fixture: not all of these, but some. None is blklat as it is."""
    return pytest.mark.parametrize("skips", builds, indirect=True, ids=lambda build: build or "as_is")


# In the latter standbys count everything. Tests of all ops and of requeues take the other two as well.
as_is_and_skipped = with_skips(None, "first_skipped")


@pytest.fixture(params=[None, *STANDBYS], ids=lambda build: build or "as_is")
def skips(request, monkeypatch):
    """The test is run with blklat as it is, with standbys that have nothing to do, and with such skips."""
    if not request.param:
        return
    with open("/proc/kallsyms") as symbols:
        need(" bpf_prog_inc_misses_counter\n" in symbols.read(), "this kernel skips nothing, so there are no standbys")
    if request.param != "none_skipped":
        monkeypatch.setattr(load, "BLKLAT", str(ALTERED / request.param / "blklat"))
    if STANDBYS[request.param]:
        monkeypatch.setenv("BLKLAT_STANDBY", STANDBYS[request.param])
