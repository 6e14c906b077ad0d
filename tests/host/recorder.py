# SPDX-License-Identifier: GPL-2.0-only
"""blklat record run by tests, and its files read by SQLite alone."""
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile

from devices import Delta
from load import BLKLAT, DEADLINE_S, Fio, Process, blklat_argv, deep, watching
from sql import query as rows


def record_argv(device, file, *args, interval=0.2, command=()):
    argv = [BLKLAT, "record", *blklat_argv(device)[1:], "-o", file, "--interval", interval, *args]
    return [str(a) for a in argv + (["--", *command] if command else [])]


def record(device, file, *args, **kw):
    """Runs a recorder to its end."""
    return subprocess.run(record_argv(device, file, *args, **kw), capture_output=True, text=True, timeout=DEADLINE_S)


class Recorder(Process):
    """A recorder in the background; in a with block it is recording already."""

    def __init__(self, device, file, *args, **kw):
        self.file = file
        self.lines = []
        super().__init__(record_argv(device, file, *args, **kw))

    def take(self, line):
        self.lines.append(line)

    def __enter__(self):
        try:
            self.until(lambda: watching(self) and self.file.exists(), "recording")
        except BaseException:
            self.kill()
            raise
        return self

    def more(self, n):
        """Waits until n more intervals are in the file."""
        want = intervals(self.file) + n
        self.until(lambda: intervals(self.file) >= want, f"interval {want}")

    def stop(self, number=signal.SIGINT):
        self.signal(number)
        return self.wait()


@contextlib.contextmanager
def busy(device, **options):
    """A device under load, from the first IO on and for as long as it takes."""
    moved = Delta(device)
    with Fio(device, **deep(60 * DEADLINE_S, **options)) as load:
        try:
            load.until(lambda: moved()["ios"], "its first IO")
            yield load
        finally:
            if load.process.poll() is None:
                load.end()


def until_there(path):
    """For the script of a command: waits for a file that the test makes, but not for ever if the test fails."""
    return f"for n in $(seq {int(10 * DEADLINE_S)}); do [ -e {path} ] && break; sleep 0.1; done"


def is_recorded(file):
    with open(file) as f:
        try:
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def query(file, sql):
    """
    Rows by SQLite alone, from a copy while it is recorded, as the recorder locks its file. After a killed recorder SQLite
    makes an index beside the file, for which there may be no room.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/copy"
        if is_recorded(file):
            subprocess.run([BLKLAT, "record", "--quiet", "--replay", file, "-o", copy], check=True, timeout=DEADLINE_S,
                           stderr=subprocess.PIPE, text=True)
        elif os.path.exists(f"{file}-wal"):
            for end in ("", "-wal"):
                shutil.copy(f"{file}{end}", f"{copy}{end}")
        else:
            copy = file
        return rows(copy, sql)


def value(file, sql):
    return query(file, sql)[0][0]


def intervals(file):
    try:
        return value(file, "SELECT count(*) FROM interval_time")
    except subprocess.CalledProcessError as e:
        assert "damaged" not in e.stderr, e.stderr
        return 0  # there is no file to copy yet


def ios(file):
    """{op: (IOs, bytes, errors)} of the whole recording."""
    rows = query(file, "SELECT op.name, sum(ios), sum(bytes), sum(errors) FROM series JOIN op ON op.id = series.op "
                       "GROUP BY op.name HAVING sum(ios)")
    return {name: tuple(rest) for name, *rest in rows}


def meta(file, key):
    return value(file, f"SELECT value FROM meta WHERE key = '{key}'")


def replayed(file, *args):
    """blklat's own replay of the file."""
    done = subprocess.run([BLKLAT, "live", "--replay", str(file), "--format", "json", *args], capture_output=True,
                          text=True, timeout=DEADLINE_S)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_one_plain_file(file):
    assert sorted(p.name for p in file.parent.iterdir()) == [file.name]
    assert meta(file, "finished") == 1
    assert value(file, "PRAGMA integrity_check") == "ok"
