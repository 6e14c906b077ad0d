# SPDX-License-Identifier: GPL-2.0-only
"""
Three days of a service, with an interval each second of the clock on the wall, in minutes, until SIGKILL: its recordings never take more
than they may, and no IO is missing but of the last interval. (tests/unit/test_serve_recorder.c has the longer intervals.)
"""
import contextlib
import datetime
import pathlib
import random
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "host"), str(TESTS / "serve")]

from kept import recordings  # noqa: E402
from load import wait_until  # noqa: E402
from script import write_recording  # noqa: E402
from service import Serve  # noqa: E402
from sql import query, repeated  # noqa: E402

BEGIN, HOURS, MOST_BYTES = datetime.datetime(2026, 11, 21, tzinfo=datetime.timezone.utc), 72, 64 << 20
DRIVES, READS, WRITES = 8, 9, 3     # of a drive in an interval
HOUR, PLAYED_NS, NS = 3600, 10**6, 10**9


def three_days(file):
    """Each hour is as the first one."""
    lines = ["blklat-replay 1", "engine bpf", f"start {BEGIN:%Y-%m-%dT%H:%M:%S}.000Z"]
    lines += [f"device nvme{d}n1 size=1920383410176\nwatch nvme{d}n1 device" for d in range(DRIVES)]
    for i in range(HOUR):
        lines += [f"on nvme{d}n1 device\nio read {90 + (i + d) % 50}us 4096 x{READS - 1}\nio read {4 + i % 7}ms 65536\nio write 30us 4096 x{WRITES}"
                  for d in range(DRIVES)]
        lines.append(f"tick {PLAYED_NS / NS} at={BEGIN + datetime.timedelta(seconds=i + 1):%Y-%m-%dT%H:%M:%S}.000Z")
    return repeated(write_recording("\n".join(lines), file), HOURS)


def content(file):
    """When it begins and ends, as seconds since BEGIN, and its IOs."""
    (played_ns, end_ns, ios), = query(file, "SELECT max(mono_ns) - min(mono_ns), max(wall_ns), (SELECT sum(ios) FROM op_interval) FROM interval")
    end = end_ns // NS - int(BEGIN.timestamp())
    return end - played_ns // PLAYED_NS, end, ios


def test_three_days(tmp_path):
    (kept := tmp_path / "kept").mkdir()
    until, most = HOUR * (HOURS - random.uniform(0.1, 2)), 0
    with Serve("--replay", three_days(tmp_path / "played.blklat"), "--record", kept, "--keep", "100h", "--keep-size", MOST_BYTES) as s:

        def recorded():
            nonlocal most
            with contextlib.suppress(FileNotFoundError):    # deleted meanwhile
                most = max(most, sum(f.stat().st_blocks * 512 for f in kept.iterdir()))
            return s.metrics().get("blklat_recorder_last_interval_timestamp_seconds", 0) - BEGIN.timestamp()
        s.until(lambda: recorded() > until, "the third day", deadline_s=3600)
        recorder, told = pathlib.Path(f"/proc/{s.recorder}"), recorded()
        s.kill()
        wait_until(lambda: not recorder.exists(), "the recorder's end")
        assert "recorded" not in s.stderr
    assert MOST_BYTES / 4 < most <= MOST_BYTES    # a recorder that is late records longer intervals, which take less
    files = [content(f) for f in recordings(kept)]
    for (begin, end, ios), (_, before, _) in zip(files, [(0, files[0][0], 0), *files]):
        assert begin == before and ios == DRIVES * (READS + WRITES) * (end - begin), files
    assert told <= files[-1][1]
    # The last hours are there in full, seven or more; where the first ones went, there are the small files.
    assert files[0][0] <= HOUR * (HOURS - 9) and content(recordings(kept, coarse=True)[0])[0] == 0
