# SPDX-License-Identifier: GPL-2.0-only
"""Programs of others read what 'blklat export' prints and blklat.py gives: counts are those of the IO, latencies as exact as is promised."""
import collections
import csv
import io
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / folder) for folder in ("tests", "tests/vm", "packaging/python")]

from asked import BLKLAT  # noqa: E402
from script import write_recording  # noqa: E402

import blklat  # noqa: E402
import wheels  # noqa: E402

POLARS, DUCKDB = "polars==1.9.0", "duckdb==1.1.3"
PANDAS = "pandas==2.2.3", "numpy==1.26.4", "python-dateutil==2.9.0.post0", "pytz==2024.2", "six==1.16.0"
HDR = "hdrhistogram==0.10.8"
WITHIN = 0.0055 + 0.001  # half of a bin of 1.09 %, and the 3 digits of an HdrHistogram
START_S = 1763710500  # 2025-11-21T07:35:00Z
# (op, latency in ns, IOs) of each interval; beyond an hour, 3 digits need more room.
IOS = [[("read", 96_000, 20_000), ("read", 103_456, 9_000), ("read", 1_930_000, 3), ("write", 58_123, 77)],
       [("write", 12, 5), ("write", 31, 1)],
       [],
       [("read", 127_000_000_000, 1), ("read", 7_300_000_000_000, 2), ("flush", 2_000, 1)]]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    lines = ["blklat-replay 1", "start 2025-11-21T07:35:00.000Z", "device cciss/c0d0", "device nvme0n1", "watch nvme0n1 device",
             "watch cciss/c0d0 total"]
    for n, interval in enumerate(IOS):
        for device in ("nvme0n1 device", "cciss/c0d0 total")[:1 if n % 2 else 2]:
            lines += [f"on {device}", *(f"io {op} {ns}ns 4096 x{ios}" for op, ns, ios in interval)]
        lines.append("tick 1")
    return write_recording("\n".join(lines), tmp_path_factory.mktemp("readers") / "run.blklat")


def exported(*args):
    r = subprocess.run([BLKLAT, "export", *map(str, args)], capture_output=True, text=True, timeout=60)
    assert (r.returncode, r.stderr) == (0, "")
    return r.stdout


def expected():
    """{(interval, tag): {latency: IOs}}"""
    found = collections.defaultdict(dict)
    for n, interval in enumerate(IOS):
        for device in ("nvme0n1.device", "cciss/c0d0.total")[:1 if n % 2 else 2]:
            for op, ns, ios in interval:
                found[n, f"{device}.{op}"][ns] = ios
    return found


def test_hdrhistogram_reads_the_log(recording, tmp_path):
    sys.path.append(wheels.unpacked(HDR))
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader
    log = tmp_path / "run.hlog"
    log.write_text(exported("--format", "hlog", recording))
    reader, seen = HistogramLogReader(str(log), HdrHistogram(1, 3_600_000_000_000, 3)), {}
    while histogram := reader.get_next_interval_histogram():
        n = round(histogram.get_start_time_stamp() / 1000) - START_S
        assert histogram.get_end_time_stamp() - histogram.get_start_time_stamp() == 1000
        seen[n, histogram.get_tag()] = histogram
    assert seen.keys() == expected().keys()
    for key, latencies in expected().items():
        histogram = seen[key]
        assert histogram.get_total_count() == sum(latencies.values())
        # The extremes are exact, but for the 3 digits.
        assert histogram.get_min_value() == pytest.approx(min(latencies), rel=0.001)
        assert histogram.get_max_value() == pytest.approx(max(latencies), rel=0.001)
        counted = [(item.value_iterated_to, item.count_added_in_this_iter_step) for item in histogram.get_recorded_iterator()]
        for ns, ios in latencies.items():
            assert sum(n for value, n in counted if abs(value / ns - 1) < WITHIN) == ios, (key, ns)


def test_the_long_table(recording):
    """Bins add up to the IOs, and contain them; rows of figures and of bins can be told apart."""
    bins, ios = collections.defaultdict(dict), {}
    for row in csv.DictReader(io.StringIO(exported(recording))):
        n = int(row["time"][17:19]) - 1
        tag = f"{row['device']}.{row['stage']}.{row['op']}"
        if row["bin_ios"]:
            bins[n, tag][int(row["bin_lower_ns"]), int(row["bin_upper_ns"] or 1 << 62)] = int(row["bin_ios"])
        elif row["op"] != "-":
            ios[n, tag] = int(row["ios"])
    assert ios == {key: sum(latencies.values()) for key, latencies in expected().items()} and ios.keys() == bins.keys()
    for key, latencies in expected().items():
        for (lower, upper), count in bins[key].items():
            assert count == sum(n for ns, n in latencies.items() if lower < ns <= upper)


def test_polars_and_duckdb(recording, tmp_path):
    """The module's frames, and the long table, queried for the IOs of each device, stage and op; both as Parquet, too."""
    sys.path += [wheels.unpacked(POLARS), wheels.unpacked(DUCKDB)]
    import duckdb
    import polars
    total = collections.Counter()
    for (_, tag), latencies in expected().items():
        total[tag] += sum(latencies.values())
    run = blklat.read(recording, frames="polars")
    for frame in (run.figures(), run.figures(merge=True), run.bins()):
        rows = frame.group_by("device", "stage", "op").agg(polars.col("ios").sum()).rows()
        assert {f"{device}.{stage}.{op}": ios for device, stage, op, ios in rows} == total
    assert run.figures().schema["time"] == polars.Datetime("us", "UTC")
    (tmp_path / "run.csv").write_text(exported(recording))
    duckdb.sql(f"COPY (FROM '{tmp_path}/run.csv') TO '{tmp_path}/run.parquet'")
    for table in ("run.csv", "run.parquet"):
        rows = duckdb.sql(f"SELECT device, stage, op, sum(ios), sum(bin_ios) FROM '{tmp_path}/{table}' WHERE op <> '-' GROUP BY ALL").fetchall()
        assert {f"{device}.{stage}.{op}": ios for device, stage, op, ios, _ in rows} == total
        assert all(ios == bins for _, _, _, ios, bins in rows)
    run.bins().write_parquet(tmp_path / "bins.parquet")
    rows = duckdb.sql(f"SELECT device, stage, op, sum(ios) FROM '{tmp_path}/bins.parquet' GROUP BY ALL").fetchall()
    assert {f"{device}.{stage}.{op}": ios for device, stage, op, ios in rows} == total


def test_pandas(recording):
    sys.path += map(wheels.unpacked, PANDAS)
    run = blklat.read(recording, frames="pandas")
    total = collections.Counter()
    for (_, tag), latencies in expected().items():
        total[tag] += sum(latencies.values())
    for frame in (run.figures(), run.bins()):
        assert frame.groupby(frame.device + "." + frame.stage + "." + frame.op).ios.sum().to_dict() == total
    assert str(run.figures().time.dtype).startswith("datetime64") and run.figures().time[0].timestamp() == START_S + 1
