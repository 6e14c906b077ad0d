# SPDX-License-Identifier: GPL-2.0-only
"""What 'serve --record' keeps, against the script that it plays; and what becomes of it when things go wrong."""
import contextlib
import datetime
import os
import pwd
import re
import shutil
import signal
import sqlite3
import subprocess

import pytest
from groups import groups
from load import wait_until
from script import write_recording
from service import DEADLINE_S, Serve, let_all_reach, status

NOBODY = pwd.getpwnam("nobody")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="not root")
BEGIN = datetime.datetime(2026, 11, 21, 7, 35, tzinfo=datetime.timezone.utc)
# Of each device and interval: 9 reads of two sizes, one of them slow, and a write.
IOS = 'io read 96us 4096 x7', 'io read 20ms 65536', 'slow read 20ms 65536 sector=8 in="64 KiB"', 'io write 58us 4096', 'io read 90us 4096'
EVERY = 10      # intervals, in one of which an IO is lost


def played(folder, intervals, wall_s=400, seconds=0.02, ios=IOS, head=("by size", "slow-max 5"), later=()):
    """A recording whose clock on the wall goes faster than it is played. The devices of @later = (interval, name) come in that interval."""
    later = dict(later)
    names = ["sda", "sdb", *later.values()]
    lines = ["blklat-replay 1", "engine bpf", f"start {BEGIN:%Y-%m-%dT%H:%M:%S.000Z}", *head]
    lines += [f"device {n} size=1920383410176" for n in names]
    lines += [f"watch {n} device{' later' if n in later.values() else ''}" for n in names]
    there = names[:2]
    for i in range(intervals):
        if i in later:
            there.append(later[i])
        for n in there:
            lines += [f"on {n} device", *(["come"] if later.get(i) == n else []), *ios, "in-flight 3 oldest=40us"]
            lines += ["account overwritten 1"] if i % EVERY == 3 else []
        end = BEGIN + datetime.timedelta(seconds=wall_s * (i + 1))
        lines.append(f"tick {seconds} at={end:%Y-%m-%dT%H:%M:%S}.{end.microsecond // 1000:03}Z")
    return write_recording("\n".join(lines), folder / "played.blklat")


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    return folder


def recordings(folder, coarse=False):
    return sorted(folder.glob("2*Z-10s.blklat" if coarse else "2*Z.blklat"))


def ask(file, sql):
    with contextlib.closing(sqlite3.connect(file)) as db:
        return db.execute(sql).fetchall()


def readable(file):
    """The times of all intervals, as the program reads them, also while they are written."""
    r = subprocess.run([*BLKLAT_LIVE, file], capture_output=True, text=True, timeout=DEADLINE_S)
    return sorted(set(re.findall(r'"time":"([^"]*)"', r.stdout)))


BLKLAT_LIVE = [os.environ.get("BLKLAT", "build/blklat"), "live", "--format", "json", "--replay"]


def all_readable(folder):
    return [time for file in recordings(folder) for time in readable(file)]


def test_an_hour_is_a_file(tmp_path, kept):
    """Each has what happened in it, and its accounts begin with it."""
    with Serve("--replay", played(tmp_path, 60), "--record", kept) as s:
        s.replayed()
        # Intervals that began in the same hour are in the same file.
        begins = [BEGIN + datetime.timedelta(seconds=400 * (i + 1) - 0.02) for i in range(60)]
        hours = sorted({b.strftime("%Y-%m-%dT%H") for b in begins})
        s.until(lambda: len(all_readable(kept)) == 60, "the last interval")
    files = recordings(kept)
    assert [f.name[:13] for f in files] == hours and all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.blklat", f.name) for f in files)
    # Nothing is left beside them, but the coarse ones.
    coarse = recordings(kept, coarse=True)
    assert sorted(kept.iterdir()) == sorted([*files, *coarse]) and [c.name.replace("-10s", "") for c in coarse] == [f.name for f in files]
    for file, hour in [*zip(files, hours), *zip(coarse, hours)]:
        here = [i for i, b in enumerate(begins) if b.strftime("%Y-%m-%dT%H") == hour]
        lost = sum(i % EVERY == 3 for i in here)
        assert ask(file, "SELECT device, op, part, sum(ios), sum(bytes) FROM op_interval GROUP BY device, op, part") == [
            (d, op, part, n * len(here), n * size * len(here)) for d in ("sda", "sdb")
            for op, part, n, size in (("read", "4 KiB", 8, 4096), ("read", "64 KiB", 1, 65536), ("write", "4 KiB", 1, 4096))]
        assert ask(file, "SELECT started, in_flight, overwritten, kernel_ios FROM state JOIN watch ON watch.id = watch "
                   "WHERE part IS NULL AND interval = (SELECT max(id) FROM interval)") == [(10 * len(here) + 3 + lost, 3, lost, 10 * len(here))] * 2
        most = len(here) if file in files else min(len(here), 5)
        assert ask(file, "SELECT count(*), min(latency_ns) FROM slow_io") == [(2 * most, 20000000)]
        assert ask(file, "SELECT sum(found) FROM slow_found") == [(2 * len(here),)]
        assert ask(file, "SELECT value FROM meta WHERE key = 'finished'") == [(1,)]


def test_a_device_that_comes_begins_another_file(tmp_path, kept):
    with Serve("--replay", played(tmp_path, 20, wall_s=1, later=[(10, "sdc")]), "--record", kept) as s:
        s.replayed()
        s.until(lambda: len(all_readable(kept)) == 20, "the last interval")
    watched = [ask(f, "SELECT name, sum(ios) FROM device JOIN op_interval ON name = op_interval.device GROUP BY name") for f in recordings(kept)]
    assert watched == [[("sda", 100), ("sdb", 100)], [("sda", 100), ("sdb", 100), ("sdc", 100)]]


def test_owners_that_come_and_go_are_parts_of_one_file(kept, loop):
    with groups() as g, Serve("--dev", loop.name, "--by", "cgroup", "--interval", "0.2", "--record", kept) as s:
        s.until(lambda: all_readable(kept), "an interval")
        for name, n in (("a", 50), ("b", 30), ("a", 20)):
            g.run(name, "dd", f"if={loop.path}", "of=/dev/null", "bs=4k", f"count={n}", "iflag=direct")

        def counts():
            file, = recordings(kept)
            subprocess.run([*BLKLAT_LIVE[:1], "record", "--quiet", "--overwrite", "--replay", file, "-o", kept / "copy"], check=True, timeout=DEADLINE_S)
            return dict(ask(kept / "copy", f"SELECT part, sum(ios) FROM op_interval WHERE part LIKE '{g.name}/%' GROUP BY part"))
        s.until(lambda: counts() == {f"{g.name}/a": 70, f"{g.name}/b": 30}, "all reads")


def test_what_is_old_goes(tmp_path, kept):
    (kept / "mine.blklat").write_text("of somebody else")
    with Serve("--replay", played(tmp_path, 60), "--record", kept, "--keep", "2h") as s:
        s.replayed()
        s.until(lambda: readable(recordings(kept)[-1])[-1:] == [f"{BEGIN + datetime.timedelta(seconds=24000):%Y-%m-%dT%H:%M:%S}.000Z"], "the last interval")
    # The last interval ends at 14:15, so the file of 12 o'clock still has something.
    assert [f.name[:13] for f in recordings(kept)] == ["2026-11-21T12", "2026-11-21T13", "2026-11-21T14"]
    assert (kept / "mine.blklat").exists()


def test_what_was_recorded_survives_sigkill(tmp_path, kept):
    with Serve("--replay", played(tmp_path, 2000, wall_s=1), "--record", kept) as s:
        before = s.until(lambda: (t := all_readable(kept))[20:] and t, "some intervals")
        recorder = s.recorder
        s.kill()
        # The recorder does not outlive the service.
        wait_until(lambda: not os.path.exists(f"/proc/{recorder}") or status(recorder, "State")[0] in "ZX", "the recorder's end")
    after = all_readable(kept)
    assert after[:len(before)] == before and len(recordings(kept)) == 1
    with Serve("--replay", played(tmp_path, 20, wall_s=1), "--record", kept) as s:
        s.replayed()
        s.until(lambda: len(all_readable(kept)) == len(after) + 20, "the intervals of the next service")


def test_a_recorder_that_ends_is_told_once(tmp_path, kept):
    with Serve("--replay", played(tmp_path, 2000, wall_s=1), "--record", kept) as s:
        os.kill(s.recorder, signal.SIGKILL)
        s.until(lambda: s.read_stderr().count("\n") > 1, "a message")
        before = s.metrics()["blklat_capture_intervals_total"]
        s.until(lambda: s.metrics()["blklat_capture_intervals_total"] > before + 10, "more intervals")
    assert s.stderr.splitlines()[1:] == [
        f"blklat serve: the recorder was ended by signal 9 (Killed); restart the service to record again in {kept}"]


@contextlib.contextmanager
def small_disk(folder, size="5m"):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def told(s, kept, why, end=""):
    """The only message about the recording is that it has stopped; and then it is served as before."""
    s.until(lambda: s.read_stderr().count("\n") > 1, "a message")
    before = s.metrics()["blklat_capture_intervals_total"]
    s.until(lambda: s.metrics()["blklat_capture_intervals_total"] > before + 10, "more intervals")
    line, = s.read_stderr().splitlines()[1:]
    assert re.fullmatch(rf"blklat serve: {kept}.*: ({why}); what is served now is not recorded{end}", line), line


def goes_on(s, kept):
    s.until(lambda: "recording goes on" in s.read_stderr(), "recording")
    _, line = s.read_stderr().splitlines()[1:]
    name, = re.fullmatch(rf"blklat serve: recording goes on in {kept}/(.*)", line).groups()
    s.until(lambda: readable(kept / name), "an interval")


@needs_root
def test_a_full_disk(tmp_path, kept):
    with small_disk(kept), Serve("--replay", played(tmp_path, 3000, wall_s=1), "--record", kept) as s:
        before = s.until(lambda: all_readable(kept), "an interval")
        with contextlib.suppress(OSError), open(kept / "other", "wb", buffering=0) as f:
            while True:
                f.write(b"x" * 4096)
        told(s, kept, "can't be written: No space left on device")
        assert all_readable(kept)[:len(before)] == before
        (kept / "other").unlink()
        goes_on(s, kept)
        s.stop()


@needs_root
def test_a_disk_that_is_read_only(tmp_path, kept):
    with small_disk(kept), Serve("--replay", played(tmp_path, 3000), "--record", kept) as s:
        s.until(lambda: all_readable(kept), "an interval")
        kept.chmod(0o555)       # the next hour's file can't be made: without capabilities not even by root
        told(s, kept, "can't be created: Permission denied")
        kept.chmod(0o755)
        goes_on(s, kept)
        s.stop()


@pytest.mark.parametrize("what", ["files", "folder"])
def test_recordings_that_vanish(tmp_path, kept, what):
    with Serve("--replay", played(tmp_path, 3000, wall_s=1), "--record", kept) as s:
        s.until(lambda: all_readable(kept), "an interval")
        if what == "files":
            for file in kept.iterdir():
                file.unlink()
            told(s, kept, "was deleted while it was being recorded")
            goes_on(s, kept)
        else:
            kept.rename(tmp_path / "elsewhere")
            told(s, kept, "can't be read: No such file or directory|was deleted while it was being recorded", " until the service is restarted")
            assert not kept.exists()


@needs_root
@pytest.mark.plain
def test_nobody_may_record_too(tmp_path, kept):
    file = played(tmp_path, 20, wall_s=1)
    let_all_reach(file)
    shutil.chown(kept, "nobody")
    with Serve("--replay", file, "--record", kept, prefix=["setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--clear-groups"]) as s:
        s.until(lambda: len(all_readable(kept)) == 20, "the last interval")
    assert all(f.stat().st_uid == NOBODY.pw_uid for f in recordings(kept))
