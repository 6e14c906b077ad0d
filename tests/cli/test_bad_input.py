# SPDX-License-Identifier: GPL-2.0-only
"""Bad input: one line on stderr that names the thing, status 2, nothing on stdout, nothing started.

The devices are those of the machine that runs this; tests for devices that it lacks are skipped by name.
"""
import json
import os
import pathlib
import re
import shutil
import tempfile

import pytest
from command import BLKLAT, NONE, REPLAY, bad, run, usable
from script import TESTS, recorded

ROOT = os.geteuid() == 0
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


# --- words that are wrong whatever the machine ---------------------------------------------------------

SECONDS = r"must be (a number of seconds above 0 and at most 86400 \(a day\)|at least 0\.001 seconds)"
WHOLE = r"must be a whole number from 1"
BYTES = r"must be a number of bytes above 0"

# tests/unit/test_parse.c and test_quantile.c have more of what numbers, sizes and lists may not be, test_device.c of devices' names.
VALUES = [("--interval", v, SECONDS) for v in ["0", "abc", "86401", "", "0.0001"]]
VALUES += [("--duration", v, SECONDS) for v in ["-1", "86401"]]
VALUES += [("--idle-gap", v, SECONDS) for v in ["-1", "0.0009", "25h"]]
VALUES += [("--count", v, WHOLE) for v in ["0", "1.5", ""]]
VALUES += [("--max-bios", v, WHOLE) for v in ["0", "-3", "many"]]
VALUES += [("--top", v, WHOLE) for v in ["0", "-3", "many"]]
VALUES += [("--max-bios", "16777217", r"must be at most 16777216")]
VALUES += [("--slow", v, r"must be a time with its unit, from 1us to a day") for v in ["0", "20", "1.5", "0.9us", "abc", "", "-1ms", "86401", "25h", "1ns"]]
VALUES += [("--slow", v, r"must be one percentile above 0 and below 100") for v in ["p", "p0", "p100", "p50,p99", "p-1", "p99.9x"]]
VALUES += [("--slow-max", v, WHOLE) for v in ["0", "-3", "many"]]
VALUES += [("--max-memory", v, BYTES) for v in ["0", "64X"]]
VALUES += [("--scale", v, r"must be auto or a number from 0 to 6") for v in ["7", "fine"]]
VALUES += [("--percentiles", "50,abc,99", r"'abc' is not a percentile: .*above 0 and up to 100")]
VALUES += [("--format", v, r"must be text, json or csv") for v in ["xml", "", "JSON", "text,json"]]
VALUES += [("--engine", v, r"must be auto(, \w+)* or \w+") for v in ["dtrace", "", "replay"]]


@pytest.mark.parametrize("option,value,sentence", VALUES, ids=[f"{o[2:]}={v!r}" for o, v, _ in VALUES])
def test_value(option, value, sentence):
    # The value is wrong for any device, so the device is not even looked for.
    for form in ([option, value], [f"{option}={value}"]):
        text = bad(sentence, "--dev", NONE, *form)
        assert f"{option} '{value}':" in text


@pytest.mark.parametrize("args,suggestion", [
    (["--intervall", "1"], "--interval"), (["--precentiles", "50"], "--percentiles"), (["--form-at=csv"], "--format"),
    (["liv"], "live"), (["lsit"], "list"), (["chekc"], "check"),
])
def test_a_slip_is_answered_by_the_right_word(args, suggestion):
    bad(rf"did you mean '{suggestion}'", *args)


SERVE = "serve", "--listen", "127.0.0.1:0"
ADDRESSES = ["9834", "localhost", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[::1]", "[::1:80", "example.org:80",
             "127.1:80", "1.2.3.4.5:80", " 127.0.0.1:80", "127.0.0.1:80 ", "[]:80", "a" * 300]
LINES = [
    ([f"--{NONE}"], rf"unrecognized option '--{NONE}'"),
    (["live", f"--{NONE}=5"], rf"unrecognized option '--{NONE}'"),
    (["--dev", NONE, "-z"], r"unrecognized option '-z'"),
    (["--dev"], r"option '--dev' needs a value"),
    (["-i"], r"option '-i' needs a value"),
    (["--dev", NONE, "--bins=3"], r"option '--bins' takes no value"),
    (["--s", "1"], r"option '--s' is ambiguous"),
    ([NONE], rf"unknown command '{NONE}'"),
    ([NONE, "--interval", "1"], rf"unknown command '{NONE}'.*blklat --dev {NONE}"),
    ([""], r"unknown command ''"),
    (["/dev/null", "1"], r"'/dev/null' is a character device, not a block device"),
    ([f"/{NONE}/sda"], rf"no block device '/{NONE}/sda'"),
    ([f"{NONE}*"], rf"pattern '{NONE}\*' matches no block device"),
    (["1", "5"], r"unknown command '1'"),
    (["live", "1", "5"], r"no block device '1'"),
    (["live", NONE, "1", "5", "3"], r"unexpected argument '3'"),
    (["live", NONE, "0"], r"--interval '0'"),
    (["live", NONE, "1", "0.5"], r"--count '0.5'"),
    (["live"], r"no device given: .*--dev"),
    (["--interval", "1"], r"no device given: .*--dev"),
    (["list", "extra"], r"unexpected argument 'extra'"),
    (["list", "--format", "csv"], r"--format 'csv': must be text or json"),
    (["list", "--interval", "1"], r"unrecognized option '--interval'"),
    (["list", "-xf", "json"], r"unrecognized option '-x'"),
    (["list", "--format", "a\nb"], r"--format 'a\?b'"),
    (["list", "--format", "x" * 5000], r"--format 'xxx"),
    (["list", "--" + "x" * 5000], r"unrecognized option '--xxx"),
    (["list", "--sysroot", "/nonexistent"], r"can't read '/nonexistent/sys/block'"),
    (["list", "--sysroot", "/" * 300], r"longer than 255 characters"),
    (["check", "--sysroot", "/nonexistent"], r"/nonexistent"),
    (["check", NONE], rf"no block device '{NONE}'"),
    (["--dev", ""], r"device's name can't be empty"),
    (["--dev", NONE, "--stage", "device,disk"], r"--stage 'disk': must be device, queue, total or wait"),
    (["check", "--dev", NONE], rf"no block device '{NONE}'"),
    (["check", "--stage", "disk"], r"--stage 'disk': must be device, queue, total or wait"),
    (["--replay", str(REPLAY), "--idle-gap", "0"], r"--replay .*--idle-gap"),
    (["--replay", str(REPLAY), "--slow", "1ms"], r"--replay .*--slow"),
    (["--dev", NONE, "--slow-max", "3"], r"--slow-max has no effect without --slow: .*leave it out"),
    (["--dev", NONE, "--kubernetes", NONE], r"--kubernetes \S+: neither /var/log/containers nor /proc/1/mountinfo can be read below it: .*leave it out"),
    (["--replay", NONE, "--kubernetes", "/"], r"--replay shows names as they were recorded: leave --kubernetes out"),
    (["--dev", NONE, "--no-owners"], r"--no-owners has no effect without --slow: .*leave it out"),
    (["--dev", NONE, "--slow", "1ms", "--slow-max", "10001"], r"--slow-max '10001': must be at most 10000"),
    (["--dev", NONE, "--slow", "1ms", "--format", "csv"], r"--slow is for text and json"),
    (["record", "--dev", NONE, "-o", ""], r"the name of the file to make is empty: -o FILE"),
    (["record", "-o", NONE], r"no device given: .*--dev"),
    (["record", "-o", NONE, "--dev", NONE], rf"no block device '{NONE}'"),
    (["record", "-o", NONE, "--dev", NONE, "fio", "job.fio"], r"unexpected argument 'fio': no device has this name.* --"),
    (["record", "-o", NONE, "--replay", str(REPLAY), "--dev", NONE], r"--replay .*--dev"),
    (["record", "-o", NONE, "--replay", str(REPLAY), "--", "true"], r"--replay takes no command"),
    (["record", "-o", str(REPLAY), "--replay", str(REPLAY)], r"can't be replayed into itself"),
    (["record", "--max-size", "0"], rf"--max-size '0': {BYTES}"),
    (["mark"], r"no file given"),
    (["mark", NONE], r"no text given"),
    (["mark", NONE, ""], r"text is empty"),
    (["mark", NONE, "  "], r"text is empty"),
    (["mark", NONE, "QD", "16"], r"unexpected argument '16': quote "),
    (["mark", NONE, "a\tb"], r"one line of UTF-8"),
    (["mark", NONE, "a\x1b[31m"], r"one line of UTF-8"),
    (["mark", NONE, "x", "--at", "noon"], r"--at 'noon': must be seconds .*07:35:10"),
    (["mark", NONE, "x" * 501], r"has 501 bytes: the limit is 500"),
    (["--replay", str(REPLAY), "--dev", NONE], r"--replay .*--dev"),
    (["compare", str(REPLAY), "--fail-if", "reed.p99 > 5us"], r"--fail-if 'reed.p99 > 5us': at 'reed.p99 > 5us', letter 1, must be "),
    ([*SERVE], r"no device given"),
    ([*SERVE, "--dev", "/etc/passwd"], r"'/etc/passwd' is a file, not a block device"),
    ([*SERVE, "--dev", "x", "--prom-schema", "7"], r"--prom-schema '7'"),
    ([*SERVE, "--dev", "x", "--prom-schema", "auto"], r"--prom-schema 'auto': must be a number from 0 to 6"),
    ([*SERVE, "--dev", "x", "--history", "x"], r"--history 'x'"),
    ([*SERVE, "--dev", "x", "--record", "/nowhere"], r"--record /nowhere: No such file or directory; make this folder, or name one that exists"),
    ([*SERVE, "--dev", "x", "--record", "/dev/null"], r"--record /dev/null: is not a folder"),
    ([*SERVE, "--dev", "x", "--record", "--listen", ":9834"], r"--record needs a folder, and '--listen' is an option: name the folder before it"),
    (["serve", "--listen", "none", "--dev", "x"], r"--listen none serves nobody: it needs --record DIR"),
    (["serve", "--listen", "none", "--dev", "x", "--record", "/", "--user", "nobody"], r"--listen none has no web server"),
    ([*SERVE, "--dev", "x", "--keep", "1h"], r"--keep, --keep-size and --keep-if need --record DIR"),
    ([*SERVE, "--dev", "x", "--keep-if", "sick"], r"--keep, --keep-size and --keep-if need --record DIR"),
    ([*SERVE, "--dev", "x", "--record", "/", "--keep-if", "sad"], r"--keep-if 'sad': at 'sad', letter 1, must be read, write, .* or total"),
    ([*SERVE, "--dev", "x", "--record", "/", "--keep-if", "read.p99 > +10%"], r"--keep-if 'read.p99 > \+10%': is about an interval, which has no baseline"),
    ([*SERVE, "--dev", "x", "--record", "/", "--keep-if", "a: read.p99 > 1ms"], r"--keep-if 'a: read.p99 > 1ms': is about an interval, which has no phases"),
    ([*SERVE, "--dev", "x", "--record", "/", "--keep", "400d"], r"--keep '400d': must be a time from a minute to a year"),
    ([*SERVE, "--dev", "x", "--record", "/", "--keep-if", "read.p99"], r"--keep-if 'read.p99': at its end <, <=, > or >= is missing"),
    ([*SERVE, "--dev", "x", "--record", "/", "--keep-size", "1M"], r"--keep-size: at least 64M are needed"),
    ([*SERVE, "--dev", "x", "--otlp", "localhost:4318"], r"--otlp 'localhost:4318': a URL is needed, such as http://"),
    ([*SERVE, "--dev", "x", "--otlp", "ftp://host/"], r"--otlp 'ftp://host/': a URL is needed"),
    ([*SERVE, "--dev", "x", "--otlp", ""], r"--otlp '': a URL is needed"),
    ([*SERVE, "--dev", "x", "--otlp", "https://me:secret@host"], r"--otlp: everyone on this machine sees what is typed; .* --otlp-headers"),
    ([*SERVE, "--dev", "x", "--otlp", "http://host", "--otlp-headers", "/nowhere"], r"--otlp-headers /nowhere: No such file"),
    ([*SERVE, "--dev", "x", "--otlp", "http://host", "--otlp-headers", "/etc/hostname"], r"--otlp-headers /etc/hostname: line 1 is not 'Name: value'"),
    ([*SERVE, "--dev", "x", "--otlp", "http://host", "--otlp-ca", "/nowhere"], r"--otlp-ca /nowhere: No such file"),
    ([*SERVE, "--dev", "x", "--otlp-interval", "5"], r"--otlp-ca, --otlp-headers and --otlp-interval need --otlp URL"),
    ([*SERVE, "--dev", "x", "--format", "json"], r"unrecognized option '--format'"),
    ([*SERVE, "--dev", "x", "--by", "color"], r"--by 'color': "),
    ([*SERVE, "--dev", "all", "--slow-max", "5"], r"--slow-max has no effect without --slow"),
    ([*SERVE, "--dev", "all", "--no-owners"], r"--no-owners has no effect without --slow"),
    ([*SERVE, "--replay", "/nowhere"], r"/nowhere"),
    *((["serve", "--listen", address, "--replay", str(REPLAY)], r"must be ADDRESS:PORT") for address in ADDRESSES),
]


@pytest.mark.parametrize("args,sentence", LINES, ids=[" ".join(a)[:50] for a, _ in LINES])
def test_line(args, sentence):
    bad(sentence, *args)


# --- devices ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dev", [NONE, f"/dev/{NONE}", "..", "sda sdb", "a/../b"])
def test_no_such_device(dev):
    assert f"'{dev}'" in bad(r"no (such )?block device|no such (file|device)|is a (file|directory)", "--dev", dev)


def test_one_wrong_device_among_good_ones():
    bad(rf"no block device '{NONE}'", "--dev", usable(), "--dev", NONE)


@pytest.mark.parametrize("dev", ["one\ntwo", "esc\033[31mape", "tab\there", "x" * 2000, "per%scent%n"])
def test_odd_names_stay_one_line(dev):
    bad(r"no (such )?block device|no such", "--dev", dev)
    bad(r"unrecognized option", f"--{dev}")
    bad(r"unknown command|matches no block device", dev)


def test_bytes_that_are_no_utf8():
    r = run("--dev", b"\xff\xfe")
    assert (r.returncode, r.stdout, r.stderr.count(b"\n")) == (2, b"", 1)


# --- rights and memory ------------------------------------------------------------------------------------

@pytest.fixture
def by_nobody():
    """The binary where any user can run it, and how to be one."""
    if ROOT and not shutil.which("setpriv"):
        pytest.skip("running without rights: no setpriv")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="blklat-test-"))
    folder.chmod(0o755)
    binary = shutil.copy(BLKLAT, folder)
    yield {"binary": binary, "before": NOBODY if ROOT else [], "cwd": "/"}
    shutil.rmtree(folder)


def test_not_root(by_nobody):
    text = bad(r"CAP_BPF", "--dev", usable(), **by_nobody)
    assert "CAP_PERFMON" in text
    bad(r"CAP_BPF.*CAP_PERFMON", "--dev", usable(), "--engine", "bpf", **by_nobody)


def test_memory_limit_too_small():
    """The memory that the message asks for is enough: with it, the run reaches its only interval."""
    if not ROOT:
        pytest.skip("memory limit: found after the rights, run as root")
    name = usable()
    for args in (["--scale", "6"], ["--scale", "0"], []):
        text = bad(r"need \d+\w? .*--max-memory", "--dev", name, "--max-memory", "10K", *args)
        assert "10K" in text
    needed = re.search(r"need (\d+)(\w?)", bad("need", "--dev", name, "--max-memory", "1", "--scale", "0"))
    less = f"{int(needed[1]) - 1}{needed[2]}"
    bad(r"need", "--dev", name, "--max-memory", less, "--scale", "0")
    r = run("--dev", name, "--max-memory", needed[1] + needed[2], "--scale", "0", "--interval", "10ms", "--count", "1", "--format", "json")
    assert r.returncode == 0, r.stderr
    assert len(r.stdout.splitlines()) == 1 and json.loads(r.stdout)["device"] == name


# --- replays ------------------------------------------------------------------------------------------------

def test_replay_that_can_not_be_read(tmp_path, by_nobody):
    missing = tmp_path / "missing"
    bad(rf"{missing}.*No such file", "--replay", str(missing))
    bad(rf"{tmp_path}: is not a regular file", "--replay", str(tmp_path))
    closed = pathlib.Path(by_nobody["binary"]).parent / "closed.blklat"
    shutil.copy(REPLAY, closed)
    closed.chmod(0)
    bad(rf"{closed}.*Permission denied", "--replay", str(closed), **by_nobody)


def test_replay_that_is_none(tmp_path):
    """The command line is correct; the file is not a replay."""
    for name, content in (("empty", b""), ("text", b"hello\n"), ("binary", os.urandom(5000)), ("elf", pathlib.Path(BLKLAT).read_bytes()[:9999])):
        file = tmp_path / name
        file.write_bytes(content)
        bad(rf"{file}: is not a recording", "--replay", str(file), status=1)


@pytest.mark.parametrize("text,sentence", [
    ("dev all\n\ninterval = 5x\n", r":3: --interval '5x': must be a number of seconds"),
    ("dev all\nintervall = 5", r":2: unrecognized option '--intervall' \(did you mean '--interval'\?\)"),
    ("listen =\n", r":1: option '--listen' needs a value"),
    ("dev all\nbins = yes\n", r":2: option '--bins' takes no value"),
    ("dev all\ninterv 5\n", r":2: a file can't have option 'interv'"),
    ("config /etc/fstab\n", r":1: a file can't have option 'config'"),
    ("dev all\nkeep = 1h\n", r": --keep, --keep-size and --keep-if need --record DIR"),
    ("# dev all\n", r": no device given: say which with --dev"),
    ("", r": no device given: say which with --dev"),
    ("dev all\0\n", r" is not a text file"),
])
def test_a_file_of_options(text, sentence, tmp_path):
    """'check' says of it what 'serve' says."""
    file = tmp_path / "x.conf"
    file.write_text(text)
    assert bad(sentence, "check", "--config", str(file)).split(": ", 1)[1] == bad(sentence, "serve", "--config", str(file)).split(": ", 1)[1]


def test_a_file_of_options_that_is_not_one(tmp_path):
    bad(r"could not read .*: No such file or directory", "check", "--config", str(tmp_path / "x"))
    bad(r"could not read .*: Is a directory", "serve", "--config", str(tmp_path))
    file = tmp_path / "x.conf"
    file.write_text("dev all\n")
    assert run("check", "--config", str(file)).stdout.decode() == f"{file}: valid\n"
    bad(r"--config checks a file, and nothing else", "check", "--config", str(file), "--dev", NONE)


@pytest.mark.parametrize("library,option", [("libmicrohttpd.so.12", ()), ("libgnutls.so.30", ()), ("libcurl-gnutls.so.4", ("--otlp", "http://host"))])
def test_a_library_that_can_not_be_loaded(library, option, tmp_path):
    (tmp_path / library).touch()
    before = ["env", f"LD_LIBRARY_PATH={tmp_path}"]
    bad(rf"a library could not be loaded: .*{library}: file too short", *SERVE, "--replay", str(REPLAY), *option, status=1, before=before)
    assert run("list", before=before).returncode == 0  # which needs none of them


def test_export():
    bad(r"no recording given", "export")
    bad(r"unexpected argument 'two': one recording at a time", "export", "one", "two")
    bad(r"No such file", "export", NONE)
    assert run("export", str(recorded(TESTS / "cli/replay/gone.txt"))).returncode == 0  # all devices went away in the end
    bad(r"must be csv or hlog", "export", "--format", "parquet", str(REPLAY))
