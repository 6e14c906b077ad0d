# SPDX-License-Identifier: GPL-2.0-only
"""A name of a test says one thing: no two files share it, and a unit test is named after what it tests."""
import collections
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
# Beyond userspace/: headers that kernel code shares with it or has to itself.
UNITS = [*(ROOT / "userspace").glob("**/*.[ch]"), *(ROOT / "bpf").glob("*.h"), *(ROOT / "include/blklat").glob("*.h")]


def stem(path):
    return path.name.split(".")[0]


def shared(files):
    """Names that several files share, with these files."""
    found = collections.defaultdict(list)
    for path in files:
        found[stem(path)].append(str(path))
    return {name: sorted(paths) for name, paths in found.items() if len(paths) > 1}


def named_after(name, units, rooms):
    """Whether it is test_FILE, test_ROOM_FILE, or one of these with an aspect appended."""
    words = name.removeprefix("test_").split("_")
    return any("_".join(words[:n]) in units | rooms for n in range(1, len(words) + 1))


def test_every_name_is_known():
    """Also in tests that run only before a release."""
    said = subprocess.run([sys.executable, "-m", "pyflakes", TESTS, ROOT / "bench"], capture_output=True, text=True)
    assert not said.stderr and not [line for line in said.stdout.splitlines() if "undefined name" in line]


def test_no_two_tests_share_a_name():
    """Names must be unique in a log, and for pytest, which imports one module of a name."""
    assert shared(path for kind in ("py", "c", "mjs") for path in TESTS.glob(f"**/test_*.{kind}")) == {}


def test_no_two_modules_share_a_name():
    assert shared(path for path in TESTS.glob("**/*.py") if path.name != "conftest.py") == {}


def test_what_is_shared_is_in_modules():
    """With several conftest.py, imports would find the one that was read last."""
    found = [str(path) for path in TESTS.glob("**/*.py")
             if re.search(r"^\s*(from|import) (conftest|test_\w+)\b", path.read_text(), re.M)]
    assert found == []


@pytest.mark.parametrize("path", sorted((TESTS / "unit").glob("test_*.c")), ids=stem)
def test_unit_tests_are_named_after_what_they_test(path):
    rooms = {d.name for d in (ROOT / "userspace").iterdir() if d.is_dir()}
    assert named_after(stem(path), {stem(unit) for unit in UNITS}, rooms)


def test_a_wrong_name_is_found():
    assert shared(map(pathlib.Path, ("a/test_life.py", "b/test_life.c", "b/test_long_life.py"))) == {
        "test_life": ["a/test_life.py", "b/test_life.c"]}
    assert named_after("test_hist", {"hist"}, set()) and named_after("test_live_csv_rows", {"csv"}, {"live"})
    assert not named_after("test_consistency", {"account"}, {"core"}) and not named_after("test_histogram", {"hist"}, set())
