# SPDX-License-Identifier: GPL-2.0-only
"""The program does what the manuals say: options, keys, columns, defaults, paths."""
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
from asked import answer, commands, options
from attacks import run
from script import SCRIPTS, TESTS, recorded, write_recording

import manual
import sysfs_tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = commands()
COMMON = {("h", "help", None), (None, "usage", None), (None, "version", None)}
PERCENTILES = ["p50", "p90", "p99", "p99.9", "p99.99"]


SHARED = manual.options(manual.section("OPTIONS"))


def taken(command):
    """Options of the first page that a command's page says it takes."""
    text = "\n".join(manual.lines_of(command))
    if re.search(r"^All common options", text, re.M):
        return SHARED - COMMON
    names = set(re.findall(r"-([\w-]+)", (re.search(r"^Of the common options.*\n(?:\.Xr.*\n)?(.*)", text, re.M) or [""] * 2)[1]))
    assert names <= {name for _, name, _ in SHARED}
    return {option for option in SHARED if option[1] in names}


def described(command):
    own = manual.options(manual.lines_of(command))
    return own | taken(command) | (described("live") if command == "record" else set())


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_those_of_help(command):
    assert COMMON <= SHARED
    assert COMMON | described(command) == options(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_synopsis_has_every_option(command):
    """But for those that are described in the first page."""
    shown = {(name, argument or None) for line in manual.section("SYNOPSIS", command)
             for name, argument in re.findall(r"Fl -([\w-]+)(?: Ns = Ns Ar (\w+))?", line)}
    own = {option[1:] for option in manual.options(manual.lines_of(command))}
    assert own - {option[1:] for option in SHARED} <= shown <= {option[1:] for option in options(command)}


def test_each_command_has_a_page():
    assert [line.split()[2] for line in manual.section("COMMANDS") if line.startswith(".It Cm")] == COMMANDS
    assert set(manual.PAGES) == {"blklat", *map(manual.name_of, COMMANDS)}
    for command in COMMANDS:
        assert f"man blklat-{command}" in answer(command, "--help").stdout
        assert answer("help", command).stdout == answer(command, "--help").stdout
        assert f".Xr blklat-{command} 8" in "\n".join(manual.section("SEE ALSO"))
    named = {name for page in manual.PAGES.values() for name in re.findall(r"\.Xr (blklat\S*) 8", page.read_text())}
    assert named <= set(manual.PAGES)


def test_defaults_and_limits():
    """Tries what the page promises about values."""
    text = " ".join(manual.lines_of() + manual.lines_of("live"))
    file = recorded(TESTS / "cli/replay/nvme.txt")

    def live(*args):
        return run("live", "--replay", file, "--count", "1", "--format", "csv", *args)

    assert "The default is 50,90,99,99.9,99.99." in text
    assert live().stdout == live("--percentiles", "50,90,99,99.9,99.99").stdout != live("--percentiles", "50").stdout
    most = int(re.search(r"The percentiles to print, at most (\d+)", text)[1])
    assert live("--percentiles", ",".join(map(str, range(1, most + 1)))).returncode == 0
    assert live("--percentiles", ",".join(map(str, range(1, most + 2)))).returncode == 2
    assert "from 1 ms to a day" in text
    assert [live("--interval", s).returncode for s in ("1ms", "0.9ms", "24h", "86401", "1441m")] == [0, 2, 0, 2, 2]
    most = int(re.search(r"65536 by default, (\d+) at most", text)[1])
    assert [live("--max-bios", n).returncode for n in (most, most + 1)] == [0, 2]
    low, high = map(int, re.search(r"from (\d) to (\d)\. At 6", text).groups())
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
    keys -= reasons
    for prefix in ("ops.latency_ns.", "ops.after_idle.latency_ns."):
        keys = without_percentiles(keys, prefix=prefix)
    # No device is replaced in a replay; tests/host/test_stall.py has one.
    assert set(manual.keys("live")) == {*manual.leaves(keys), "replaced"}
    assert "gone" in keys and reasons, "the replays no longer show all keys"
    assert {r.rsplit(".")[-1] for r in reasons} <= set(lost_reasons())


def lost_reasons():
    """The reasons in the program's source, as no replay has all of them."""
    return re.findall(r'X\(LOST_\w+, "(\w+)"', (ROOT / "userspace/core/kinds.h").read_text())


def test_accounting_explains_reasons_and_figures():
    items = [line.split()[2] for line in manual.section("ACCOUNTING", "live") if line.startswith(".It Cm")]
    assert items == lost_reasons() + ["requeued", "before_start", "unissued", "skipped", "skipped_unexplained"]
    text = "\n".join(manual.section("ACCOUNTING", "live"))
    figures = {k.rsplit(".")[-1] for k in manual.keys("live") if k.startswith("accounting.")}
    explained = set(re.findall(r"(?:^\.It Cm |\\fB)(\w+)", text, re.M)) | {"started", "lost", "lost_by"}
    assert figures <= explained


def test_csv_columns():
    def header(script, *args):
        out = run("live", "--replay", recorded(TESTS / "cli/replay" / script), "--format", "csv", *args).stdout
        return next(csv.reader(io.StringIO(out)))

    all_of_them = header("sizes.txt", "--bins")
    shown = [c for c in all_of_them if c not in [f"{p}_ns" for p in PERCENTILES[1:]]]
    assert manual.keys("live", "CSV") == shown
    assert [c for c in all_of_them if c not in header("sizes.txt")] == ["bin_lower_ns", "bin_upper_ns", "bin_ios"]
    assert [c for c in all_of_them if c not in header("nvme.txt", "--bins")] == ["part"]


def test_list_keys(tmp_path):
    sysfs_tree.server(tmp_path)
    shown = json.loads(run("list", "--sysroot", tmp_path, "--format", "json").stdout)
    assert shown.keys() == {"schema", "devices"}
    told, seen = manual.keys("list"), set()
    for device in shown["devices"]:
        keys = [leaf for key in device for leaf in ([f"identity.{k}" for k in device[key]] if key == "identity" else [key])]
        seen |= set(keys)
        assert keys == [key for key in told if key in keys or not key.startswith("identity.")]
    assert seen == set(told)


def test_check_keys(tmp_path):
    sysfs_tree.server(tmp_path)
    shown = json.loads(run("check", "--sysroot", tmp_path, "--format", "json").stdout)
    assert set(manual.keys("check")) == set(manual.leaves(keys_of(shown)))


def test_environment():
    sources = "".join(f.read_text() for f in (ROOT / "userspace").glob("**/*.c"))
    asked = set(re.findall(r'getenv\("(\w+)"\)', sources))
    told = {name for line in manual.section("ENVIRONMENT") if line.startswith(".It Ev")
            for name in line[len(".It Ev "):].split(" , ")}
    assert asked and told - asked == {"LC_ALL", "LC_CTYPE", "LANG", "TZ"}  # these are asked by libc
    assert asked <= told


def mandoc(*args):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    return subprocess.run(["mandoc", *args], capture_output=True, text=True)


def test_mandoc_finds_nothing():
    r = mandoc("-Tlint", "-Wwarning", *manual.PAGES.values())
    assert (r.returncode, r.stdout) == (0, "")


def test_manual_renders():
    """In 80 columns; every option can be found in the rendered pages, -- does not become a dash."""
    pages = {name: re.sub(r".\x08", "", mandoc("-Tascii", path).stdout) for name, path in manual.PAGES.items()}
    assert {name: line for name, text in pages.items() for line in text.splitlines() if len(line) > 80} == {}
    for command in COMMANDS:
        text = pages["blklat"] + pages["blklat-live"] + pages[manual.name_of(command)]
        assert [name for _, name, _ in options(command) if f"--{name}" not in text] == []


# --- the pages for developers ---------------------------------------------------------------------

PAGES = ["docs/architecture.md", "docs/counting.md", "docs/hacking.md"]
MARKDOWN = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md"))]
TOP = "LICENSES|bpf|bench|docs|include|kmod|packaging|tests|userspace"


@pytest.mark.parametrize("page", MARKDOWN)
def test_paths_exist(page):
    text = (ROOT / page).read_text()
    paths = set(re.findall(rf"`(?:[^`]* )?((?:{TOP})/[\w./-]*)`", text))
    assert len(paths) > 5 or page not in PAGES
    assert [p for p in sorted(paths) if not (ROOT / p).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_functions_exist(page):
    """A function named there is ours, or belongs to the kernel or fio and is named in one of our comments."""
    sources = "".join(f.read_text() for folder in ("bpf", "include", "kmod", "userspace", "tests")
                      for f in (ROOT / folder).glob("**/*.*") if f.suffix in (".c", ".h", ".py"))
    told = re.findall(r"`(\w+)\(\)`", (ROOT / page).read_text())
    unknown = {name for name in told if not re.search(rf"\b{name}\(", sources)}
    assert told and unknown <= {"blk_time_get_ns"}


@pytest.mark.parametrize("page", MARKDOWN)
def test_links_lead_somewhere(page):
    text, folder = (ROOT / page).read_text(), (ROOT / page).parent
    links = [link for link in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", text) if link]
    assert [link for link in links if not (folder / link).exists()] == []


def test_the_readme_is_one_screen():
    """Its figures are those of the page with all of them."""
    text, figures = (ROOT / "README.md").read_text(), (ROOT / "docs/benchmarks.md").read_text()
    assert len(text.splitlines()) < 50
    ours, floor, biolatency = re.search(r"costs (\d+) ns, .* read the clock (\d+), biolatency (\d+)", text).groups()
    for name, ns in (("**blklat**", f"**{ours}**"), ("two programs that only read the clock", floor), ("libbpf-tools biolatency 0.26", biolatency)):
        assert f"| {name} | {ns} |" in figures


def makefile_words(name):
    return re.search(rf"^{name} := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()


@pytest.mark.parametrize("page", MARKDOWN)
def test_make_targets_exist(page):
    rules = [words for path in (ROOT / "Makefile", *ROOT.glob("packaging/*/*.mk"))
             for words in re.findall(r"^([\w-]+(?: [\w-]+)*):", path.read_text(), re.M)]
    targets = set(" ".join(rules).split()) | {f"test-{level}" for level in makefile_words("LEVELS")}
    told = set()
    for words in re.findall(r"`(?:\w+=\w+ )?make( [^`]*)?`", (ROOT / page).read_text()):
        told |= {w for w in shlex.split(words) if "=" not in w} - {"&&", "make", "sudo"}
    assert told <= targets


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
