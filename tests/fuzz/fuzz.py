#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fuzzes each parser for its share of a minute: fuzz.py BUILD

Seeds are made here, from the replay scripts of the cli tests and recordings of them. FUZZ_SECONDS=N is for all of them
together, 60 unless said otherwise. What made one crash is left in BUILD/tests/fuzz/.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "tests/cli/replay").glob("*.txt"))
SMALL = 64 << 10  # longer seeds only make it slower
SHARES = {"fuzz_bins": 3, "fuzz_percentiles": 1, "fuzz_script": 3, "fuzz_recording": 8, "fuzz_headers": 2, "fuzz_web_config": 3}


def record(build, script, file):
    subprocess.run([build / "blklat", "record", "--replay", script, "-o", file, "--overwrite", "--quiet"],
                   stderr=subprocess.DEVNULL)  # a run whose devices go away ends with status 1


def seed_bins(folder, build):
    """Scale, then bins: those of recordings."""
    import sqlite3
    for script in SCRIPTS:
        file = folder / "made.blklat"
        record(build, script, file)
        db = sqlite3.connect(file)
        (scale,) = db.execute("SELECT value FROM meta WHERE key = 'scale'").fetchone()
        for n, (bins,) in enumerate(db.execute("SELECT bins FROM series LIMIT 20")):
            (folder / f"{script.stem}-{n}").write_bytes(bytes([scale]) + bins)
        db.close()
        file.unlink()


def seed_percentiles(folder, build):
    for n, text in enumerate(("50,90,99.9", "p50,p99.99", "100", "0.001,1e3,,", "p99.90000,p99.9")):
        (folder / str(n)).write_text(text)


def seed_scripts(folder, build):
    for script in SCRIPTS:
        (folder / script.stem).write_bytes(script.read_bytes()[:SMALL])


# Small, so that most of what is changed is of some use: no pages of bounds, which no reader needs.
SMALL_SCRIPT = """blklat-replay 1
scale 1
device d kind=disk model=M
device e
watch d device
watch e total
io read 60us 4096 x1000
io write 1ms 4096 x10 errors=1
part write 512 errors=1
in-flight 3 oldest=15us
tick 1
tick 1
on e total
io read 2ms 512
io flush 1us 0
account no_start 1
tick 1
on d device
gone
tick 1
"""


def seed_recordings(folder, build):
    script = folder / "script"
    script.write_text(SMALL_SCRIPT)
    record(build, script, folder / "small")
    script.unlink()
    subprocess.run(["sqlite3", folder / "small", "INSERT INTO mark VALUES(1001000000000, 1, 'QD 16 starts'); "
                    "INSERT INTO lower VALUES(0, 1); DELETE FROM cell; PRAGMA page_size = 512; VACUUM"], check=True)


def seed_headers(folder, build):
    """A byte that says which, then the header."""
    words = {0: ["localhost:9834", "127.0.0.1:9834", "[::1]:80", "[::1]"], 1: ["gzip;q=0.5, *;q=0", "x-gzip", "deflate, br"],
             2: ["application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
                 "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"],
             3: ["127.0.0.1:9834", "[fe80::1]:0", ":65535", "localhost:1"]}
    for which, texts in words.items():
        for n, text in enumerate(texts):
            (folder / f"{which}-{n}").write_bytes(bytes([which]) + text.encode())


def seed_web_configs(folder, build):
    hashed = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
    (folder / "all").write_text("tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: TLS13\n"
                                f"basic_auth_users:\n  a: {hashed}\n  \"b\": '{hashed}'\n")
    (folder / "odd").write_text("{tls_server_config: {cert_file: &x a, key_file: *x}, basic_auth_users: ~}\n...\n---\n- ? [a]\n: |\n b\n")


SEEDS = {"fuzz_headers": seed_headers, "fuzz_web_config": seed_web_configs, "fuzz_bins": seed_bins, "fuzz_percentiles": seed_percentiles, "fuzz_script": seed_scripts,
         "fuzz_recording": seed_recordings}


def fuzz(name, build, seconds):
    """Returns None, or why it failed."""
    program = build / "tests/fuzz" / name
    corpus = build / "tests/fuzz" / f"{name}.corpus"
    shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True)
    SEEDS[name](corpus, build)
    seeds = len(list(corpus.iterdir()))
    # Each input has 10 s and 2 GB: whatever is in it.
    with subprocess.Popen([program, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
                           f"-max_len={SMALL}", "-print_final_stats=1", f"-artifact_prefix={program}-", corpus],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace") as r:
        said = r.stderr.read()
    for folder in ("/dev/shm", "/tmp"):  # where one that crashed had its input
        for left in pathlib.Path(folder).glob(f"blklat-fuzz-{r.pid}*"):
            left.unlink()
    runs = re.search(r"stat::number_of_executed_units: (\d+)", said)
    print(f"{name}: {runs[1] if runs else 0} inputs from {seeds} seeds in {seconds} s", flush=True)
    if r.returncode:
        print(said[-6000:], flush=True)
    return r.returncode or not runs or int(runs[1]) <= seeds


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    total = int(os.environ.get("FUZZ_SECONDS", "60"))
    failed = 0
    for name, share in SHARES.items():
        failed += bool(fuzz(name, build, max(1, total * share // sum(SHARES.values()))))
    print(f"{len(SHARES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
