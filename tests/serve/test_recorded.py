# SPDX-License-Identifier: GPL-2.0-only
"""What 'serve --record' keeps, against the script that it plays; and what becomes of it when things go wrong."""
import collections
import contextlib
import datetime
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import pytest
from groups import groups
from kept import BLKLAT_LIVE, all_readable, readable, recordings, small_disk
from load import wait_until
from script import write_recording
from service import DEADLINE_S, ROOT, Serve, gone, let_all_reach
from stalls import cpu_and_states

NOBODY = pwd.getpwnam("nobody")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="not root")
BEGIN = datetime.datetime(2026, 11, 21, 7, 35, tzinfo=datetime.timezone.utc)
# Of each device and interval: 9 reads of two sizes, one of them slow, and a write.
IOS = 'io read 96us 4096 x7', 'io read 20ms 65536', 'slow read 20ms 65536 sector=8 in="64 KiB"', 'io write 58us 4096', 'io read 90us 4096'
EVERY = 10      # intervals, in one of which an IO is lost


def played(folder, intervals, wall_s=400, seconds=0.02, ios=IOS, head=("by size", "slow-max 5"), later=(), odd=()):
    """A recording whose clock on the wall goes faster than it is played. The devices of @later = (interval, name) come in that interval.
    @odd: (interval, what sda does then, too)."""
    later, odd = dict(later), dict(odd)
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
            lines += odd.get(i, []) if n == "sda" else []
            lines += ["account overwritten 1"] if i % EVERY == 3 else []
        end = BEGIN + datetime.timedelta(seconds=wall_s * (i + 1))
        lines.append(f"tick {seconds} at={end:%Y-%m-%dT%H:%M:%S}.{end.microsecond // 1000:03}Z")
    return write_recording("\n".join(lines), folder / "played.blklat")


@pytest.fixture
def tmp_path():
    """In memory: a recorder has some seconds to end, and how long a busy disk takes is not what is tested."""
    with tempfile.TemporaryDirectory(prefix="blklat-test-", dir="/dev/shm") as folder:
        yield pathlib.Path(folder)


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    return folder


def ask(file, sql):
    with contextlib.closing(sqlite3.connect(file)) as db:
        return db.execute(sql).fetchall()


def rests(recorder):
    """Whether it has nothing to do. It gives way to all others, also to programs that read its files, so these are run only then."""
    with contextlib.suppress(PermissionError):  # a busy machine would leave it no time for a minute
        os.setpriority(os.PRIO_PROCESS, int(recorder), 0)
    before = cpu_and_states(recorder)
    time.sleep(0.05)
    return before == cpu_and_states(recorder) and before[1] == {"S"}


def recorded(s, kept, intervals, wall_s=400):
    """Waits until the recorder has all intervals of a replay."""
    last = [end_of(intervals - 1, wall_s)]
    s.until(lambda: rests(s.recorder) and any(readable(file)[-1:] == last for file in recordings(kept)[-1:]), "the last interval")


def test_an_hour_is_a_file(tmp_path, kept):
    """Each has what happened in it, and its accounts begin with it."""
    with Serve("--replay", played(tmp_path, 30), "--record", kept) as s:
        s.replayed()
        # Intervals that began in the same hour are in the same file.
        begins = [BEGIN + datetime.timedelta(seconds=400 * (i + 1) - 0.02) for i in range(30)]
        hours = sorted({b.strftime("%Y-%m-%dT%H") for b in begins})
        recorded(s, kept, 30)
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
        recorded(s, kept, 20, wall_s=1)
    watched = [ask(f, "SELECT name, sum(ios) FROM device JOIN op_interval ON name = op_interval.device GROUP BY name") for f in recordings(kept)]
    assert watched == [[("sda", 100), ("sdb", 100)], [("sda", 100), ("sdb", 100), ("sdc", 100)]]


def test_owners_that_come_and_go_are_parts_of_one_file(kept, loop):
    with groups() as g, Serve("--dev", loop.name, "--by", "cgroup", "--interval", "0.2", "--record", kept) as s:
        s.until(lambda: all_readable(kept), "an interval")
        for name, n in (("a", 50), ("b", 30), ("a", 20)):
            g.run(name, "dd", f"if={loop.path}", "of=/dev/null", "bs=4k", f"count={n}", "iflag=direct")

        def counts():
            n = collections.Counter()
            for file in recordings(kept):   # two, where an hour begins in between
                subprocess.run([*BLKLAT_LIVE[:1], "record", "--quiet", "--overwrite", "--replay", file, "-o", kept / "copy"], check=True, timeout=DEADLINE_S)
                n.update(dict(ask(kept / "copy", f"SELECT part, sum(ios) FROM op_interval WHERE part LIKE '{g.name}/%' GROUP BY part")))
            return n
        s.until(lambda: counts() == {f"{g.name}/a": 70, f"{g.name}/b": 30}, "all reads")


def test_what_is_old_goes(tmp_path, kept):
    (kept / "mine.blklat").write_text("of somebody else")
    with Serve("--replay", played(tmp_path, 60), "--record", kept, "--keep", "2h") as s:
        s.replayed()
        recorded(s, kept, 60)
    # The last interval ends at 14:15, so the file of 12 o'clock still has something.
    assert [f.name[:13] for f in recordings(kept)] == ["2026-11-21T12", "2026-11-21T13", "2026-11-21T14"]
    assert (kept / "mine.blklat").exists()


def test_what_was_recorded_survives_sigkill(tmp_path, kept):
    with Serve("--replay", played(tmp_path, 1000, wall_s=1, seconds=0.04), "--record", kept) as s:
        before = s.until(lambda: (t := all_readable(kept))[20:] and t, "some intervals")
        recorder, written = s.recorder, s.metrics()["blklat_recorder_last_interval_timestamp_seconds"]
        s.kill()
        # The recorder does not outlive the service.
        wait_until(lambda: gone(recorder), "the recorder's end")
    after = all_readable(kept)
    # Nothing is missing of what it had written.
    assert after[:len(before)] == before and len(recordings(kept)) == 1
    assert after == [end_of(i, 1) for i in range(len(after))] and after[-1] >= end_of(written - BEGIN.timestamp() - 1, 1)
    with Serve("--replay", played(tmp_path, 20, wall_s=1), "--record", kept) as s:
        s.replayed()
        s.until(lambda: len(all_readable(kept)) == len(after) + 20, "the intervals of the next service")


def test_metrics_follow_a_recorder_that_is_late(tmp_path, kept):
    """Also when no interval comes any more, after the end of a replay."""
    def last():
        return s.metrics().get("blklat_recorder_last_interval_timestamp_seconds", 0) - BEGIN.timestamp()
    with Serve("--replay", played(tmp_path, 20, wall_s=1, seconds=0.1), "--record", kept) as s:
        os.kill(s.recorder, signal.SIGSTOP)
        s.replayed()
        assert last() < 20
        os.kill(s.recorder, signal.SIGCONT)
        s.until(lambda: last() == 20, "the last interval")


def test_a_recorder_that_ends_is_told_once(tmp_path, kept):
    with Serve("--replay", played(tmp_path, 1000, wall_s=1, seconds=0.04), "--record", kept) as s:
        os.kill(s.recorder, signal.SIGKILL)
        s.until(lambda: s.read_stderr().count("\n") > 1, "a message")
        before = s.metrics()["blklat_capture_intervals_total"]
        s.until(lambda: s.metrics()["blklat_capture_intervals_total"] > before + 10, "more intervals")
    assert s.stderr.splitlines()[1:] == [
        f"blklat serve: the recorder was ended by signal 9 (Killed); restart the service to record again in {kept}"]


def listening(pid):
    """The tables of /proc/PID/net that have one of its sockets in them."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(fd)))
    return {table for table in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
            if line.split()[9] in inodes}


def incidents(folder):
    return sorted(folder.glob("incident-*.blklat"))


def end_of(i, wall_s):
    return f"{BEGIN + datetime.timedelta(seconds=wall_s * (i + 1)):%Y-%m-%dT%H:%M:%S}.000Z"


FIGURES = ("SELECT time, device, op, part, ios, bytes, errors, mean_ns, min_ns, max_ns FROM op_interval WHERE time BETWEEN ? AND ? ORDER BY 1, 2, 3, 4",
           "SELECT time, device, ios, in_flight, oldest_ns FROM watch_interval WHERE time BETWEEN ? AND ? ORDER BY 1, 2",
           "SELECT i.time, device, op, part, latency_ns, sector FROM slow_io s JOIN interval_time i ON i.interval = s.interval "
           "WHERE i.time BETWEEN ? AND ? ORDER BY 1, 2, 5")


def same_as_hours(folder, file, begin, end):
    """An incident has the intervals of these times and no others, with all that the hours' recordings have of them; returns how many."""
    times = readable(file)
    assert times[0] == begin and times[-1] == end
    for sql in FIGURES:
        with contextlib.closing(sqlite3.connect(file)) as db:
            kept = db.execute(sql, ("0", "9")).fetchall()
        hours = []
        for hour in recordings(folder):
            with contextlib.closing(sqlite3.connect(hour)) as db:
                hours += db.execute(sql, (begin, end)).fetchall()
        assert kept and kept == hours
    return len(times)


# Five minutes before and after are 15 intervals of 20 s.
@pytest.mark.parametrize("at, first", [(40, 25), (5, 0), (200, 185)])
def test_an_incident_is_kept(tmp_path, kept, at, first):
    file = played(tmp_path, 240, wall_s=20, odd=[(at, ["io read 80ms 4096"])])
    with Serve("--replay", file, "--record", kept, "--keep-if", "read.max > 50ms", "--keep-if", "total.lost > 5",
               "--keep-if", "flush.max < 1s", "--keep-if", "total.errors > 0") as s:
        s.replayed()
        recorded(s, kept, 240, wall_s=20)
        found = {name: value for name, value in s.metrics().items() if name.startswith("blklat_recorder")}
    moment = end_of(at, 20)
    incident, = incidents(kept)
    assert incident.name == f"incident-{moment[:19].replace(':', '-')}Z-sda-read.max.blklat"
    assert [line for line in s.stderr.splitlines()[1:] if "has stopped" not in line] == [
        f"blklat serve: read.max of sda is 80.0 ms (read.max > 50ms); the minutes around this are kept in {incident}"]
    assert same_as_hours(kept, incident, end_of(first, 20), end_of(at + 15, 20)) == at + 15 - first + 1
    # Its accounts begin with it.
    of_sda = ask(incident, "SELECT started, in_flight, overwritten FROM state JOIN watch ON watch.id = watch JOIN device d ON d.id = device "
                 "WHERE part IS NULL AND d.name = 'sda' AND interval = (SELECT max(id) FROM interval)")
    lost = sum(i % EVERY == 3 for i in range(first, at + 16))
    assert of_sda == [(10 * (at + 16 - first) + 1 + 3 + lost, 3, lost)]
    assert set(found) == set(re.findall(r"^\| `(blklat_recorder\w+)`", (ROOT / "docs/prometheus.md").read_text(), re.M))
    assert found["blklat_recorder_incidents_total"] == 1 and found["blklat_recorder_failures_total"] == 0
    assert found["blklat_recorder_last_incident_timestamp_seconds"] == (BEGIN + datetime.timedelta(seconds=20 * (at + 1))).timestamp()
    assert found["blklat_recorder_last_interval_timestamp_seconds"] == (BEGIN + datetime.timedelta(seconds=4800)).timestamp()
    assert 0 < found["blklat_recorder_bytes"] < 1e8
    # It is a recording like others, and no part of the folder's run.
    runs = json.loads(subprocess.run([*BLKLAT_LIVE[:1], "report", "-f", "json", kept], check=True, capture_output=True, timeout=DEADLINE_S).stdout)["runs"]
    assert len(runs[0]["start_s"]) == 240


def test_what_goes_on_is_kept_for_half_an_hour_once(tmp_path, kept):
    """A drive is sick for an hour and a half; another one is for a minute after that."""
    sick = ["in-flight 3 oldest=9s"]
    odd = [(i, sick) for i in range(20, 110)] + [(150, sick)]
    with Serve("--replay", played(tmp_path, 180, wall_s=60, odd=odd), "--record", kept, "--keep-if", "sick") as s:
        s.replayed()
        recorded(s, kept, 180, wall_s=60)
    first, second = incidents(kept)
    assert [f.name[9:] for f in (first, second)] == [f"{end_of(i, 60)[:19].replace(':', '-')}Z-sda-old.blklat" for i in (20, 150)]
    assert same_as_hours(kept, first, end_of(15, 60), end_of(50, 60)) == 36
    assert same_as_hours(kept, second, end_of(145, 60), end_of(155, 60)) == 11


def test_an_incident_goes_on_in_another_file_when_a_device_comes(tmp_path, kept):
    file = played(tmp_path, 60, wall_s=20, odd=[(20, ["io read 80ms 4096"])], later=[(25, "sdc")])
    with Serve("--replay", file, "--record", kept, "--keep-if", "read.max > 50ms") as s:
        s.replayed()
        recorded(s, kept, 60, wall_s=20)
    first, second = incidents(kept)
    assert same_as_hours(kept, first, end_of(5, 20), end_of(24, 20)) == 20
    assert same_as_hours(kept, second, end_of(25, 20), end_of(35, 20)) == 11


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
    with small_disk(kept), Serve("--replay", played(tmp_path, 1500, wall_s=1, seconds=0.08), "--record", kept) as s:
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
    with small_disk(kept), Serve("--replay", played(tmp_path, 1500, seconds=0.08), "--record", kept) as s:
        s.until(lambda: all_readable(kept), "an interval")
        kept.chmod(0o555)       # the next hour's file can't be made: without capabilities not even by root
        told(s, kept, "can't be created: Permission denied")
        kept.chmod(0o755)
        goes_on(s, kept)
        s.stop()


@pytest.mark.parametrize("what", ["files", "folder"])
def test_recordings_that_vanish(tmp_path, kept, what):
    with Serve("--replay", played(tmp_path, 1500, wall_s=1, seconds=0.08), "--record", kept) as s:
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


def test_without_a_server(tmp_path, kept, request):
    """It has no socket to listen on, says where it records, and ends with its recorder."""
    args = [*BLKLAT_LIVE[:1], "serve", "--listen", "none", "--replay", played(tmp_path, 1000, wall_s=1, seconds=0.2), "--record", kept, "--keep-if", "total.lost > 0"]

    def begin():
        p = subprocess.Popen(args, stderr=subprocess.PIPE, text=True)
        request.addfinalizer(p.kill)
        children = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children")
        wait_until(lambda: (child := children.read_text()) and recordings(kept) and rests(child.strip()) and all_readable(kept)[5:], "some intervals")
        wait_until(lambda: rests(children.read_text().strip()), "its recorder to have them all")
        child, = children.read_text().split()
        return p, child
    p, child = begin()
    assert not {"tcp", "tcp6"} & {table for pid in (p.pid, child) for table in listening(pid)}
    p.send_signal(signal.SIGTERM)
    said, status = p.communicate(timeout=DEADLINE_S)[1].splitlines(), p.returncode
    assert status == 0 and said[0] == f"blklat: recording in {kept}" and len(said) == 2 and "incident" in said[1]
    assert sorted(kept.iterdir()) == sorted([*recordings(kept), *recordings(kept, coarse=True), *incidents(kept)])
    p, child = begin()
    os.kill(int(child), signal.SIGKILL)
    assert p.communicate(timeout=DEADLINE_S)[1].splitlines()[-1] == "blklat serve: the recorder was ended by signal 9 (Killed)" and p.returncode == 1


def downloaded(s, path, file):
    answer = s.until(lambda: (a := s.request(path)).status != 503 and a, path)
    assert answer.status == 200, answer.text
    file.write_bytes(answer.body)
    return answer.headers


def page_of(file):
    """The document in a report's page, without its file's name."""
    document = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script', file.read_text(), re.S)[1])
    assert document["runs"][0].pop("file") and document["runs"][0].pop("name")
    return document


# All of it; and of 150 intervals those that came in the last 0.4 s, some 20, whose counts begin with them.
@pytest.mark.parametrize("history, of", [(300, 60), (0.4, 150)])
def test_a_download_is_the_recording_of_the_last_minutes(tmp_path, kept, history, of):
    with Serve("--replay", played(tmp_path, of, wall_s=1, later=[] if history == 300 else [(2, "sdc")]), "--record", kept, "--history", history) as s:
        s.replayed()
        recorded(s, kept, of, wall_s=1)
        headers = downloaded(s, "/api/recording", tmp_path / "got.blklat")
        assert re.fullmatch(r'attachment; filename="blklat-[\w.-]+-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.blklat"', headers["Content-Disposition"])
        downloaded(s, "/api/report", tmp_path / "got.html")
    n = len(readable(tmp_path / "got.blklat"))
    assert n == of if history == 300 else 0 < n < of
    assert same_as_hours(kept, tmp_path / "got.blklat", end_of(of - n, 1), end_of(of - 1, 1)) == n
    lost = sum(i % EVERY == 3 for i in range(of - n, of))
    assert ask(tmp_path / "got.blklat", "SELECT DISTINCT started, in_flight, overwritten FROM state JOIN watch ON watch.id = watch "
               "WHERE part IS NULL AND interval = (SELECT max(id) FROM interval)") == [(10 * n + 3 + lost, 3, lost)]
    subprocess.run([*BLKLAT_LIVE[:1], "report", "-o", tmp_path / "made.html", tmp_path / "got.blklat"], check=True, timeout=DEADLINE_S)
    assert page_of(tmp_path / "got.html") == page_of(tmp_path / "made.html")


def test_a_download_begins_anew_with_another_device(tmp_path):
    with Serve("--replay", played(tmp_path, 60, wall_s=1, later=[(40, "sdc")])) as s:
        assert s.request("/api/recording").status in (200, 503)
        s.replayed()
        s.until(lambda: downloaded(s, "/api/recording", tmp_path / "got.blklat") and len(readable(tmp_path / "got.blklat")) == 20, "it, from the 40th")
    assert ask(tmp_path / "got.blklat", "SELECT DISTINCT device FROM op_interval ORDER BY 1") == [("sda",), ("sdb",), ("sdc",)]


def test_downloads_are_made_once_for_all(tmp_path):
    """However many ask at once, one thread makes one file, and all of them get the same."""
    with Serve("--replay", played(tmp_path, 60, wall_s=1)) as s:
        s.replayed()
        bodies = [a.body for _ in range(40) for a in [s.request("/api/recording")] if a.status == 200]
        s.until(lambda: (a := s.request("/api/recording")).status == 200 and bodies.append(a.body) is None, "the file")
        assert s.request("/api/recording", headers={"Host": "elsewhere.example"}).status == 403
        assert len(set(bodies)) == 1 and "Retry-After" in s.request("/api/report").headers


@needs_root
@pytest.mark.plain
def test_nobody_may_record_too(tmp_path, kept):
    file = played(tmp_path, 20, wall_s=1)
    let_all_reach(file)
    shutil.chown(kept, "nobody")
    with Serve("--replay", file, "--record", kept, prefix=["setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--clear-groups"]) as s:
        recorded(s, kept, 20, wall_s=1)
    assert all(f.stat().st_uid == NOBODY.pw_uid for f in recordings(kept))
