# SPDX-License-Identifier: GPL-2.0-only
"""Data flows one way: who may include what (docs/architecture.md has the same table)."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
USERSPACE = ROOT / "userspace"

# room -> rooms whose headers it may include, besides its own
MAY = {
    "util": set(),
    "model": {"util", "blklat"},
    "capture": {"model", "util", "blklat", "bpf"},
    "sink": {"model", "util"},
    "run": {"capture/capture.h", "sink/sink.h", "model", "util"},
    "serve": {"sink", "model", "util"},
    "cmd": {"run", "serve", "capture/capture.h", "sink/sink.h", "sink/collect.h", "sink/compare.h", "sink/prometheus.h", "sink/recording.h",
            "sink/relay.h", "sink/report.h",
            "sink/report_json.h", "model", "util", "blklat/bins.h"},
}
# A model header brings abi.h's names; no file of these rooms may ask for it itself.
NEVER = {"sink": {"blklat/abi.h"}}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def includes(path):
    return INCLUDE.findall(path.read_text())


def allowed(room, header):
    parts = header.split("/")
    if len(parts) == 1:  # a generated skeleton, known by its name
        return room == "capture" and header.endswith(".skel.h")
    if header.startswith("../bpf/"):
        return "bpf" in MAY[room]
    if header in NEVER.get(room, ()):
        return False
    return parts[0] == room or parts[0] in MAY[room] or header in MAY[room]


@pytest.mark.parametrize("room", sorted(MAY))
def test_room(room):
    files = sorted((USERSPACE / room).glob("*.[ch]"))
    assert files, f"userspace/{room} is empty"
    wrong = [(f.name, h) for f in files for h in includes(f) if not allowed(room, h)]
    assert wrong == []


def test_every_room_has_rules():
    # The page is no C: its modules are checked by its compiler.
    assert {d.name for d in USERSPACE.iterdir() if d.is_dir()} <= set(MAY) | {"web"}


@pytest.mark.parametrize("room", ["bpf", "kmod", "include/blklat"])
def test_kernel_side_is_alone(room):
    files = sorted((ROOT / room).glob("*.[ch]"))
    assert files, f"{room} is empty"
    for path in files:
        for header in includes(path):
            assert header.startswith("blklat/") or (ROOT / room / header).exists(), (path.name, header)


def test_a_wrong_include_is_found():
    assert not allowed("sink", "capture/capture.h")
    assert not allowed("sink", "blklat/abi.h")
    assert not allowed("model", "sink/sink.h")
    assert not allowed("cmd", "capture/region.h")
    assert not allowed("util", "model/hist.h")


@pytest.mark.parametrize("pattern", ["userspace/**/*.[ch]", "bpf/*.[ch]", "kmod/*.[ch]", "include/blklat/*.h", "tests/**/*.[ch]",
                                     "tests/**/*.py", "bench/*.[ch]", "bench/*.py", "userspace/web/**/*.ts", "userspace/web/*.mjs",
                                     "userspace/web/*.css", "tests/**/*.mjs", "packaging/*", "packaging/completion/*", "packaging/debian/rules"])
def test_license_on_the_first_lines(pattern):
    for path in filter(pathlib.Path.is_file, ROOT.glob(pattern)):
        head = path.read_text().split("\n")[:2]
        assert any("SPDX-License-Identifier: GPL-2.0-only" in line for line in head), path


def test_packages_of_the_page_come_from_no_named_place():
    """npm takes them from the registry that its user has set."""
    lock = (ROOT / "userspace/web/package-lock.json").read_text()
    assert '"integrity"' in lock
    assert '"resolved"' not in lock and "://" not in re.sub(r'"url": "[^"]*"', "", lock)


def test_one_version():
    """The module, its DKMS package and the program are of one release."""
    said = {file: re.search(pattern, (ROOT / file).read_text(), re.M).group(1) for file, pattern in (
        ("Makefile", r"^VERSION\s*:= (\S+)"), ("kmod/main.c", r'^MODULE_VERSION\("(.*)"\)'),
        ("packaging/dkms/dkms.conf", r'^PACKAGE_VERSION="(.*)"'))}
    assert len(set(said.values())) == 1, said
