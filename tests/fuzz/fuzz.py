#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fuzzes each parser for its share of the time: fuzz.py BUILD

Seeds are made here, recordings from the scripts of the cli tests. FUZZ_SECONDS=N is the time for all
parsers together, 45 by default. An input that causes a crash is left in BUILD/tests/fuzz/. Inputs that reach new code are kept
for the next run, in $BLKLAT_FUZZ_CACHE or ~/.cache/blklat/fuzz: for each parser the fewest that reach all that was ever reached.
"""
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests/faults")]

from faults import SMALL_SCRIPT as DIVIDED_BY_CGROUP  # noqa: E402
from script import SCRIPTS, write_recording  # noqa: E402

SMALL = 64 << 10  # longer seeds only slow it down
SHARES = {"fuzz_bins": 3, "fuzz_recording": 11, "fuzz_beside": 4, "fuzz_words": 8, "fuzz_tree": 2}
CACHE = pathlib.Path(os.environ.get("BLKLAT_FUZZ_CACHE") or pathlib.Path.home() / ".cache/blklat/fuzz")
HTTP_SHARE = 5
FUZZED = 0.75  # of the time; the rest is for choosing what to keep
KEPT_MOST = 4 << 20  # limit on the bytes of a parser's inputs; the largest are dropped first


def seed_bins(folder, build):
    """Scale, then bins, taken from recordings."""
    for script in SCRIPTS:
        db = sqlite3.connect(write_recording(script, folder / "made.blklat"))
        (scale,) = db.execute("SELECT value FROM meta WHERE key = 'scale'").fetchone()
        for n, (bins,) in enumerate(db.execute("SELECT bins FROM series LIMIT 20")):
            (folder / f"{script.stem}-{n}").write_bytes(bytes([scale]) + bins)
        db.close()
    (folder / "made.blklat").unlink()


# Small, so that most mutations matter: without the pages of bounds, which no reader needs.
SMALL_SCRIPT = (ROOT / "tests/cli/small.txt").read_text() + "tick 1\non d device\ngone\ntick 1\n"


SLOW = """slow read 2ms 4096 ago=9ms sector=8 queue=1ms device=1ms depth=12 beside=flush flags=metadata hw-queue=1 cpu=1 pid=7 comm=dd cgroup=/a/b x2
slow write 1ms 512 error=7 thread=5 comm=kworker/0:1 x3
on d device
slow write 3ms 4096 error=10
"""


def seed_recordings(folder, build):
    """Recordings: whole, divided, with slow IOs."""
    for name, text in (("small", SMALL_SCRIPT), ("divided", SMALL_SCRIPT.replace("scale 1\n", "scale 1\nby size\n")),
                       ("slow", SMALL_SCRIPT.replace("scale 1\n", "scale 1\nslow-max 3\n").replace("tick 1\n", SLOW + "tick 1\n", 1)),
                       ("cgroups", DIVIDED_BY_CGROUP)):
        write_recording(text, folder / name)
        subprocess.run(["sqlite3", folder / name, "INSERT INTO mark VALUES(1001000000000, 1, 'QD 16 starts'); "
                        "INSERT INTO lower VALUES(0, 1); DELETE FROM cell; PRAGMA page_size = 512; VACUUM"], check=True)
    subprocess.run(["sqlite3", folder / "divided", "INSERT INTO state(interval, watch, in_flight, oldest_ns, waited_ns) "
                    "VALUES(1, 1, 2, 300, 500)"], check=True)


def beside(file, **suffixes):
    """A file and its neighbours, packed as fuzz_beside.c unpacks them."""
    parts = [file.read_bytes(), *(suffixes.get(name, b"") for name in ("wal", "shm", "journal"))]
    return struct.pack("<3I", *map(len, parts[:3])) + b"".join(parts)


def seed_beside(folder, build):
    """A recording in the middle of a transaction, with a log and with a journal, and one with garbage beside it."""
    seed_recordings(folder, build)
    small = folder / "small"
    seeds = {"alone": beside(small), "rubbish": beside(small, wal=b"x" * 100, journal=b"\0" * 600)}
    for mode in "wal", "delete":
        db = sqlite3.connect(small, isolation_level=None)
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN")
        db.execute("UPDATE series SET sum_ns = sum_ns + 1")
        db.execute("UPDATE mark SET text = hex(zeroblob(3000))")
        if mode == "wal":
            db.execute("COMMIT")
        left = {s: pathlib.Path(f"{small}-{s}").read_bytes() for s in ("wal", "shm", "journal") if pathlib.Path(f"{small}-{s}").exists()}
        seeds[mode] = beside(small, **left)
        if mode == "delete":
            db.execute("ROLLBACK")
        db.close()
        assert left
    small.unlink()
    for name, seed in seeds.items():
        (folder / name).write_bytes(seed)


HASHED = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
# By the parser's number in fuzz_words.c.
WORDS = {
    0: ["1", "0.5", "250ms", "2m", "64M", "1.5GiB", "auto"], 1: ["queue", "device,total", "devcie"],
    2: ["read.p99 > +10%", "write.iops < -5%", "read.max > 20ms", "total.errors>=0", "total.lost > 0", "read.ks > 0.1"],
    3: ["localhost:9834", "127.0.0.1:9834", "[::1]:80", "[::1]"], 4: ["gzip;q=0.5, *;q=0", "x-gzip", "deflate, br"],
    5: ["application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"],
    6: ["127.0.0.1:9834", "[fe80::1]:0", ":65535", "localhost:1"],
    7: ["50,90,99.9", "p50,p99.99", "100", "0.001,1e3,,", "p99.90000,p99.9"],
    8: ["add@/devices/virtual/block/loop0\0ACTION=add\0SUBSYSTEM=block\0", "remove@/x\0SUBSYSTEM=net\0"],
    9: [f"tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: TLS13\nbasic_auth_users:\n  a: {HASHED}\n  \"b\": '{HASHED}'\n",
        "{tls_server_config: {cert_file: &x a, key_file: *x}, basic_auth_users: ~}\n...\n---\n- ? [a]\n: |\n b\n"],
    10: ["\x0a\x07\x08\x07\x12\x03old", "\x0d1234\x0912345678"],
}


def seed_words(folder, build):
    for which, texts in WORDS.items():
        for n, text in enumerate(texts):
            (folder / f"{which}-{n}").write_bytes(bytes([which]) + text.encode())


def seed_trees(folder, build):
    (folder / "two").write_bytes(b"\0".join(f"{text}\n".encode() for text in (
        "8:0", "2097152", "Samsung SSD 990", "S6Z1", "[none] mq-deadline", "256", "64", "1", "0", "8:1", "1", "1048576", "17", "253:0",
        "vg-root", "1024", "none", "naa.5000")))


SEEDS = {"fuzz_beside": seed_beside, "fuzz_words": seed_words, "fuzz_tree": seed_trees, "fuzz_bins": seed_bins, "fuzz_recording": seed_recordings}


@contextlib.contextmanager
def cache_locked():
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def take_kept(name, corpus):
    """Adds what earlier runs kept to the seeds."""
    with cache_locked():
        for path in (CACHE / name).glob("*"):
            shutil.copy(path, corpus / path.name)


def within(folder, most):
    """Drops the largest files of a folder until at most @most bytes are left."""
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_size)
    total = 0
    for path in files:
        total += path.stat().st_size
        if total > most:
            path.unlink()


def remove_left():
    """Removes the input files and leftovers of fuzzers that have ended, among them a merge's own children."""
    for folder in ("/dev/shm", "/tmp"):
        for left in pathlib.Path(folder).glob("blklat-fuzz-[0-9]*"):
            pid = left.name.split("-")[2]
            if pid.isdigit() and not pathlib.Path("/proc", pid).exists():
                shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)


def keep(name, program, corpus):
    """Keeps the fewest of the inputs, and of those that another run kept meanwhile, that together reach the same code."""
    with cache_locked(), tempfile.TemporaryDirectory(dir=CACHE) as made:
        made = pathlib.Path(made) / name
        made.mkdir()
        (CACHE / name).mkdir(exist_ok=True)
        subprocess.run([program, "-merge=1", "-timeout=10", "-rss_limit_mb=2048", f"-max_len={SMALL}", made, corpus, CACHE / name],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        remove_left()
        within(made, KEPT_MOST)
        shutil.rmtree(CACHE / name)
        made.rename(CACHE / name)
        return len(list((CACHE / name).iterdir()))


def fuzz(name, build, seconds):
    """Fuzzes one parser; returns None, or why it failed."""
    program = build / "tests/fuzz" / name
    corpus = build / "tests/fuzz" / f"{name}.corpus"
    shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True)
    SEEDS[name](corpus, build)
    take_kept(name, corpus)
    seeds = len(list(corpus.iterdir()))
    # Each input has 10 s and 2 GB, whatever is in it.
    with subprocess.Popen([program, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
                           f"-max_len={SMALL}", "-print_final_stats=1", f"-artifact_prefix={program}-", corpus],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace") as r:
        said = r.stderr.read()
    remove_left()
    runs = re.search(r"stat::number_of_executed_units: (\d+)", said)
    if r.returncode:
        print(said[-6000:], flush=True)
        return True
    kept = keep(name, program, corpus)
    print(f"{name}: {runs[1] if runs else 0} inputs from {seeds} in {seconds} s, {kept} kept", flush=True)
    return not runs or int(runs[1]) <= seeds


def fuzz_http(build, seconds):
    """Fuzzes the service with sanitizers through its socket (fuzz_http.py)."""
    program = build / "address/blklat"
    return subprocess.run([sys.executable, "-B", ROOT / "tests/fuzz/fuzz_http.py", program, str(seconds)], cwd=ROOT).returncode


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    total = int(os.environ.get("FUZZ_SECONDS", "45")) * FUZZED
    shares = sum(SHARES.values()) + HTTP_SHARE
    failed = 0
    for name, share in SHARES.items():
        failed += bool(fuzz(name, build, max(1, int(total * share / shares))))
    failed += bool(fuzz_http(build, max(2, int(total * HTTP_SHARE / shares))))
    print(f"{len(SHARES) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
