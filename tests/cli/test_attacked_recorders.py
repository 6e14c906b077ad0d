# SPDX-License-Identifier: GPL-2.0-only
"""Making a recording, and setting marks in one, where somebody else has put files, links and pipes beside it."""
import contextlib
import fcntl
import os
import stat

import pytest
from attacks import BESIDE, NOBODY, NVME, PLANTS, ROOT, named, one_line, plant, run, state


@pytest.mark.parametrize("what", PLANTS)
@pytest.mark.parametrize("end", BESIDE)
def test_nothing_is_made_beside_what_was_planted(folder, victim, end, what):
    file = folder / "run.blklat"
    plant(named(file, end), what, victim)
    before = state(folder)
    for more in ([], ["--overwrite"]):
        one_line(run("record", "--quiet", "--replay", NVME, "-o", file, *more), 2, f"{file}{end}: already exists")
        assert state(folder) == before and victim.read_text() == "precious"


@pytest.mark.skipif(not ROOT, reason="files of two users: only root makes them")
@pytest.mark.parametrize("end", BESIDE)
def test_overwriting_beside_what_somebody_else_planted(file, end):
    named(file, end).write_bytes(b"")
    os.chown(named(file, end), NOBODY, NOBODY)
    before = state(file.parent)
    one_line(run("record", "--quiet", "--replay", NVME, "-o", file, "--overwrite"), 2, f"{file}{end}: already exists")
    assert state(file.parent) == before


def test_what_a_recording_leaves(folder):
    """One file, which others may read as far as the umask allows."""
    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o027, 0o640)):
        file = folder / f"{mode:o}"
        done = run("record", "--quiet", "--replay", NVME, "-o", file, umask=mask)
        assert (done.returncode, done.stderr) == (0, "")
        assert stat.S_IMODE(file.stat().st_mode) == mode
    assert sorted(p.name for p in folder.iterdir()) == ["600", "640", "644"]


@contextlib.contextmanager
def recorded(file):
    """The file in a recorder's state, but without a recorder."""
    with open(file) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield named(file, "-mark")


def test_marks_go_to_the_recorder_alone(file, tmp_path):
    with recorded(file) as fifo:
        before = state(file.parent)
        one_line(run("mark", file, "x"), 1, "takes no more marks")
        assert state(file.parent) == before
        os.mkfifo(fifo, 0o600)
        one_line(run("mark", file, "x"), 1, f"{fifo} can't be opened")
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert run("mark", file, "it is me").returncode == 0
            told = os.read(reader, 65536)
            assert told[16:].rstrip(b"\0") == b"it is me"
            # Nobody waits for a full fifo.
            fill = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(fill, bytes(4096))
            one_line(run("mark", file, "x"), 1, "too many marks at once")
            os.close(fill)
        finally:
            os.close(reader)


@pytest.mark.parametrize("what", PLANTS)
def test_marks_are_not_written_elsewhere(file, victim, what):
    with recorded(file) as fifo:
        plant(fifo, what, victim)
        before = state(file.parent)
        done = run("mark", file, "x")
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and str(fifo) in done.stderr
        assert state(file.parent) == before and victim.read_text() == "precious"


@pytest.mark.skipif(not ROOT, reason="files of two users: only root makes them")
def test_marks_are_not_told_to_somebody_else(file):
    with recorded(file) as fifo:
        os.mkfifo(fifo)
        os.chown(fifo, NOBODY, NOBODY)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        one_line(run("mark", file, "secret"), 1, "does not belong to its recorder")
        assert os.read(reader, 4096) == b""
        os.close(reader)
