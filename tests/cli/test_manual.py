# SPDX-License-Identifier: GPL-2.0-only
"""The program does what the manuals say: options, keys, columns, defaults, paths, examples."""
import csv
import importlib.util
import io
import json
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest
from asked import commands, options
from attacks import run
from script import SCRIPTS, TESTS, recorded, write_recording

import manual
import sysfs_tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = commands()
# Subsections that describe a command's options; the first has its own options, as its synopsis does.
OPTIONS = {command: [f"Of {command}"] for command in COMMANDS} | {
    "live": ["Of live and record"], "record": ["Of record", "Of live and record"]}
COMMON = {("h", "help", None), (None, "usage", None), (None, "version", None)}
PERCENTILES = ["p50", "p90", "p99", "p99.9", "p99.99"]


def page_options(title):
    """{(short, long, argument)} of the options that a subsection describes."""
    found = set()
    for line in manual.section(title, "Ss"):
        option = re.fullmatch(r"\.It (?:Fl (\w) , )?Fl -([\w-]+)(?: Ns = Ns Ar (\w+))?", line)
        assert option or not line.startswith(".It Fl"), f"not read: {line}"
        if option:
            assert option.groups() not in found, f"twice: {line}"
            found.add(option.groups())
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_those_of_help(command):
    assert page_options("Of all commands") == COMMON
    assert set().union(COMMON, *map(page_options, OPTIONS[command])) == options(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_synopsis_has_every_option(command):
    uses = [use for use in "\n".join(manual.section("SYNOPSIS")).split(".Nm\n") if re.search(rf"\bCm {command}$", use, re.M)]
    shown = {(name, argument or None) for use in uses
             for name, argument in re.findall(r"Fl -([\w-]+)(?: Ns = Ns Ar (\w+))?", use)}
    own = page_options(OPTIONS[command][0]) if OPTIONS[command] else set()
    assert shown == {(name, argument) for _, name, argument in own}


def test_commands_are_those_of_help():
    assert [line.split()[2] for line in manual.section("COMMANDS") if line.startswith(".It Cm")] == COMMANDS


def test_defaults_and_limits():
    """Tries what the page promises about values."""
    text = " ".join(manual.section("Of live and record", "Ss"))
    file = recorded(TESTS / "cli/replay/nvme.txt")

    def live(*args):
        return run("live", "--replay", file, "--count", "1", "--format", "csv", *args)

    assert "The default is 50,90,99,99.9,99.99." in text
    assert live().stdout == live("--percentiles", "50,90,99,99.9,99.99").stdout != live("--percentiles", "50").stdout
    most = int(re.search(r"The percentiles to print, at most (\d+)", text)[1])
    assert live("--percentiles", ",".join(map(str, range(1, most + 1)))).returncode == 0
    assert live("--percentiles", ",".join(map(str, range(1, most + 2)))).returncode == 2
    assert "The least is 1 ms, the most is a day." in text
    assert [live("--interval", s).returncode for s in ("1ms", "0.9ms", "24h", "86401", "1441m")] == [0, 2, 0, 2, 2]
    most = int(re.search(r"65536 by default, (\d+) at most", text)[1])
    assert [live("--max-bios", n).returncode for n in (most, most + 1)] == [0, 2]
    low, high = map(int, re.search(r"from (\d) to (\d)\.", text).groups())
    assert [live("--scale", n).returncode for n in (low, high, high + 1)] == [0, 0, 2]


def keys_of(value, path=""):
    """Paths of all keys with a scalar, or an empty or irregular value; descends into arrays of objects."""
    if isinstance(value, dict) and value:
        return {k for key, v in value.items() for k in keys_of(v, f"{path}.{key}" if path else key)}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {path} | {k for v in value for k in keys_of(v, path)}
    return {path}


def replayed(*args):
    assert SCRIPTS
    return "".join(run("live", "--replay", recorded(s), *args).stdout for s in SCRIPTS)


def without_percentiles(keys, suffix="", prefix=""):
    """The page documents one percentile for all."""
    others = {f"{prefix}{p}{suffix}" for p in PERCENTILES[1:]}
    assert others <= keys
    return keys - others


def test_json_keys():
    keys = set()
    for line in replayed("--format", "json", "--bins").splitlines():
        keys |= keys_of(json.loads(line))
    reasons = {k for k in keys if k.startswith("accounting.lost_by.")}
    documented = manual.keys("JSON of live")
    keys -= reasons
    for prefix in ("ops.latency_ns.", "ops.after_idle.latency_ns."):
        keys = without_percentiles(keys, prefix=prefix)
    # No device is replaced in a replay; tests/unit/test_renew.c has one.
    assert set(documented) == keys | {"ops", "replaced"}
    assert "gone" in keys and reasons, "the replays no longer show all keys"
    assert {r.rsplit(".")[-1] for r in reasons} <= set(lost_reasons())


def lost_reasons():
    """The reasons in the program's source, as no replay has all of them."""
    source = (ROOT / "userspace/core/accounting.c").read_text()
    names = re.search(r"lost_names\[LOST_REASONS\] = \{(.*?)\};", source, re.S)[1]
    return re.findall(r'\[LOST_\w+\] = "(\w+)"', names)


def test_accounting_explains_reasons_and_figures():
    items = [line.split()[2] for line in manual.section("ACCOUNTING") if line.startswith(".It Cm")]
    assert items == lost_reasons() + ["requeued", "before_start", "unissued", "skipped", "skipped_unexplained"]
    text = "\n".join(manual.section("ACCOUNTING"))
    figures = {k.rsplit(".")[-1] for k in manual.keys("JSON of live") if k.startswith("accounting.")}
    explained = set(re.findall(r"^\.(?:It )?Cm (\w+)", text, re.M)) | {"started", "lost", "lost_by"}
    assert figures <= explained


def test_csv_columns():
    def header(script, *args):
        out = run("live", "--replay", recorded(TESTS / "cli/replay" / script), "--format", "csv", *args).stdout
        return next(csv.reader(io.StringIO(out)))

    all_of_them = header("sizes.txt", "--bins")
    shown = [c for c in all_of_them if c not in [f"{p}_ns" for p in PERCENTILES[1:]]]
    assert manual.keys("CSV of live") == shown
    assert [c for c in all_of_them if c not in header("sizes.txt")] == ["bin_lower_ns", "bin_upper_ns", "bin_ios"]
    assert [c for c in all_of_them if c not in header("nvme.txt", "--bins")] == ["part"]


def test_list_keys(tmp_path):
    sysfs_tree.server(tmp_path)
    shown = json.loads(run("list", "--sysroot", tmp_path, "--format", "json").stdout)
    assert shown.keys() == {"schema", "devices"}
    for device in shown["devices"]:
        assert list(device) == manual.keys("JSON of list")


def test_check_keys(tmp_path):
    sysfs_tree.server(tmp_path)
    shown = json.loads(run("check", "--sysroot", tmp_path, "--format", "json").stdout)
    documented = manual.keys("JSON of check")
    assert set(documented) | {"engines", "runs"} == keys_of(shown)


def example_lines():
    for line in manual.section("EXAMPLES"):
        command = re.match(r"(?:\.Dl )?[#$] (blklat .*)", line)
        if command:
            yield re.split(r" [|>] *(?![-+\d ])", command[1])[0]


@pytest.mark.parametrize("line", example_lines())
def test_examples(line):
    """Each is a valid command line: only the devices may be missing here."""
    words = shlex.split(line)[1:]
    command = words[0] if words and not words[0].startswith("-") else "live"
    assert command in COMMANDS
    if command != "live" or "--replay" in words:
        used = {w for w in words[1:words.index("--") if "--" in words else None] if w.startswith("-")}
        known = options(command)
        assert used <= {f"--{name}" for _, name, _ in known} | {f"-{short}" for short, _, _ in known}
        return
    # Options are read before devices are looked for, and this one would be refused first.
    r = run(*words, "--dev", "/dev/null")
    assert r.returncode == 2
    assert re.search(r"no block device|not a block device|matches no block|does not have it", r.stderr), r.stderr


def test_environment():
    sources = "".join(f.read_text() for f in (ROOT / "userspace").glob("**/*.c"))
    asked = set(re.findall(r'getenv\("(\w+)"\)', sources))
    told = {name for line in manual.section("ENVIRONMENT") if line.startswith(".It Ev")
            for name in line[len(".It Ev "):].split(" , ")}
    assert asked and told - asked == {"LC_ALL", "LC_CTYPE", "LANG", "TZ"}  # these are asked by libc
    assert asked <= told


def test_mandoc_finds_nothing():
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    r = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(manual.PAGE)], capture_output=True, text=True)
    assert (r.returncode, r.stdout) == (0, "")


def test_manual_renders():
    """Every option can be found in the rendered page; -- does not become a dash."""
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    r = subprocess.run(["mandoc", "-Tascii", str(manual.PAGE)], capture_output=True, text=True)
    text = re.sub(r".\x08", "", r.stdout)
    for command in COMMANDS:
        for _, name, _ in options(command):
            assert f"--{name}" in text


# --- the pages for developers ---------------------------------------------------------------------

PAGES = ["docs/architecture.md", "docs/hacking.md"]
TOP = "LICENSES|bpf|bench|docs|include|kmod|packaging|tests|userspace"


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page):
    text = (ROOT / page).read_text()
    paths = set(re.findall(rf"`((?:{TOP})/[\w./-]*)`", text))
    assert len(paths) > 5
    assert [p for p in sorted(paths) if not (ROOT / p).exists()] == []
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_functions_exist(page):
    """A function named there is ours, or belongs to the kernel or fio and is named in one of our comments."""
    sources = "".join(f.read_text() for folder in ("bpf", "include", "kmod", "userspace", "tests")
                      for f in (ROOT / folder).glob("**/*.*") if f.suffix in (".c", ".h", ".py"))
    told = re.findall(r"`(\w+)\(\)`", (ROOT / page).read_text())
    unknown = {name for name in told if not re.search(rf"\b{name}\(", sources)}
    assert told and unknown <= {"blk_time_get_ns"}


def makefile_words(name):
    return re.search(rf"^{name} := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page):
    rules = [words for path in (ROOT / "Makefile", *ROOT.glob("packaging/*/*.mk"))
             for words in re.findall(r"^([\w-]+(?: [\w-]+)*):", path.read_text(), re.M)]
    targets = set(" ".join(rules).split()) | {f"test-{level}" for level in makefile_words("LEVELS")}
    told = set()
    for words in re.findall(r"`(?:\w+=\w+ )?make( [^`]*)?`", (ROOT / page).read_text()):
        told |= {w for w in shlex.split(words) if "=" not in w}
    assert told and told <= targets


def test_every_level_is_told_of():
    """In the page's table, by 'make help' and by run.py; also which of them 'make test' runs with sanitizers."""
    levels, sanitized = makefile_words("LEVELS"), makefile_words("SANITIZED")
    page, makefile = (ROOT / "docs/hacking.md").read_text(), (ROOT / "Makefile").read_text()
    table = dict(re.findall(r"^\| `make test-(\w+)` \| (.*?) \|", page, re.M))
    assert list(table) == ["quick", *levels, "sanitized", "soak", "arm64", "release"] and all(table.values())
    named = f"{', '.join(sanitized[:-1])} and {sanitized[-1]}"
    assert table["sanitized"].startswith(f"{named} with") and f"has the levels {named} run by" in page
    assert set(re.findall(r'@echo "make test-(\w+) ', makefile)) == set(table)
    runner = (ROOT / "tests/run.py").read_text()
    assert re.search(r"\(levels: (.*)\)", runner)[1].split() == [*levels, "soak", "arm64", "release"]
    known = re.search(r"^LEVELS = \{\n(.*?)^\}", runner, re.M | re.S)[1]
    assert set(re.findall(r'^    "(\w+)":', known, re.M)) | {"vm"} == {*levels, "threaded", "counts", "soak", "arm64", "release"}


def test_every_level_has_a_folder():
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/*") if path.is_file() and path.parent.name != "__pycache__"}
    assert folders == {*makefile_words("LEVELS"), "soak", "arm64", "release", "vectors"}


def test_rooms_are_those_that_are_checked():
    spec = importlib.util.spec_from_file_location("test_includes", ROOT / "tests/tree/test_includes.py")
    includes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(includes)
    text = (ROOT / "docs/architecture.md").read_text()
    rows = {room: columns for room, *columns in re.findall(r"^\| (\w+) \| .*? \| (.*?) \| (.*?) \|$", text, re.M)}
    rows.pop("room")
    told = {room: [set(column.split(", ")) - {"-"} for column in columns] for room, columns in rows.items()}
    assert told == {room: [may, includes.LIBRARIES[room]] for room, may in includes.MAY.items()}


def test_the_script_in_the_page_plays(tmp_path):
    script = re.search(r"^```replay\n(.*?)^```", (ROOT / "docs/hacking.md").read_text(), re.M | re.S)[1]
    r = run("live", "--replay", write_recording(script, tmp_path / "run.blklat"), "--format", "json")
    assert (r.returncode, r.stderr) == (0, "")
    first, second = map(json.loads, r.stdout.splitlines())
    assert {o["op"]: (o["ios"], o["errors"]) for o in first["ops"]} == {"read": (1000, 0), "write": (20, 1)}
    assert (second["ops"], second["in_flight"]) == ([], {"ios": 3, "oldest_ns": 10**9})
