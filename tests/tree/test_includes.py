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
    "core": {"util", "blklat"},
    "engine": {"core", "util", "blklat", "bpf"},
    "recording": {"core", "util", "blklat/parts.h"},
    "live": {"core", "util"},
    "report": {"core", "util", "blklat/parts.h"},
    "service": {"core", "util"},
    "cmd": {"core", "util", "blklat/parts.h", "live/formats.h", "live/loop.h", "recording/archive.h", "recording/marks.h", "recording/recorder.h",
            "report/comparison.h", "report/condition.h", "report/document.h", "report/findings.h", "report/fio.h", "report/run.h",
            "service/address.h", "service/download.h", "service/feed.h", "service/otlp_push.h", "service/prometheus.h", "service/recent.h", "service/relay.h", "service/server.h",
            "service/web_config.h"},
}
# room -> libraries that it may use, besides libc and its kernel headers
LIBRARIES = {
    "util": {"cap-ng", "json-c", "seccomp"},
    "core": set(),
    "engine": {"libbpf"},
    "recording": {"sqlite3"},
    "live": {"ncurses", "zlib"},
    "report": {"json-c"},
    "service": {"crypt", "curl", "gnutls", "libmicrohttpd", "yaml", "zlib"},
    "cmd": set(),
}
HEADERS = {
    "cap-ng.h": "cap-ng", "crypt.h": "crypt", "curl/": "curl", "curses.h": "ncurses", "term.h": "ncurses", "gnutls/": "gnutls", "json-c/": "json-c", "bpf/": "libbpf",
    "microhttpd.h": "libmicrohttpd", "seccomp.h": "seccomp", "sqlite3.h": "sqlite3", "yaml.h": "yaml", "zlib.h": "zlib",
}
LIBC = re.compile(r"(arpa|linux|net|netinet|sys)/\w+\.h|(argp|assert|ctype|dirent|dlfcn|endian|errno|fcntl|fnmatch|grp|inttypes|langinfo|libgen|limits|locale|"
                  r"malloc|math|netdb|poll|pthread|pwd|sched|search|signal|spawn|std\w+|string|strings|termios|time|unistd|wchar)\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
SYSTEM_INCLUDE = re.compile(r'^\s*#\s*include\s+<([^>]+)>', re.M)


def includes(path):
    return INCLUDE.findall(path.read_text())


def allowed(room, header):
    parts = header.split("/")
    if len(parts) == 1:  # a generated skeleton, known by its name
        return room == "engine" and header.endswith(".skel.h")
    if header.startswith("../bpf/"):
        return "bpf" in MAY[room]
    return parts[0] == room or parts[0] in MAY[room] or header in MAY[room]


@pytest.mark.parametrize("room", sorted(MAY))
def test_room(room):
    files = sorted((USERSPACE / room).glob("*.[ch]"))
    assert files, f"userspace/{room} is empty"
    wrong = [(f.name, h) for f in files for h in includes(f) if not allowed(room, h)]
    assert wrong == []


def library(header):
    """The library that a system header belongs to; "" is libc. An unknown header fails."""
    if LIBC.fullmatch(header):
        return ""
    return next(name for begin, name in HEADERS.items() if header.startswith(begin))


@pytest.mark.parametrize("room", sorted(MAY))
def test_libraries_of_room(room):
    used = {library(h) for f in (USERSPACE / room).glob("*.[ch]") for h in SYSTEM_INCLUDE.findall(f.read_text())}
    assert used - {""} == LIBRARIES[room]


@pytest.mark.parametrize("room", sorted(MAY))
def test_guards_are_named_after_their_files(room):
    for path in (USERSPACE / room).glob("*.h"):
        guard = f"{room}_{path.stem}_h".upper()
        assert f"#ifndef {guard}\n#define {guard}\n" in path.read_text(), path


def test_every_room_has_rules():
    # The report's page is not C; its compiler checks its modules.
    assert {d.name for d in USERSPACE.iterdir() if d.is_dir()} == set(MAY) == set(LIBRARIES)


@pytest.mark.parametrize("room", ["bpf", "kmod", "include/blklat"])
def test_kernel_side_is_alone(room):
    files = sorted((ROOT / room).glob("*.[ch]"))
    assert files, f"{room} is empty"
    for path in files:
        for header in includes(path):
            assert header.startswith("blklat/") or (ROOT / room / header).exists(), (path.name, header)


def test_a_wrong_include_is_found():
    assert not allowed("live", "report/run.h")
    assert not allowed("live", "blklat/abi.h")
    assert not allowed("core", "live/loop.h")
    assert not allowed("cmd", "engine/region.h")
    assert not allowed("util", "core/hist.h")
    assert library("bpf/libbpf.h") == "libbpf"
    with pytest.raises(StopIteration):
        library("ncurses.h")


def test_packages_of_the_page_come_from_no_named_place():
    """npm takes packages from the registry that its user has configured."""
    lock = (ROOT / "userspace/report/web/package-lock.json").read_text()
    assert '"integrity"' in lock
    assert '"resolved"' not in lock and "://" not in re.sub(r'"url": "[^"]*"', "", lock)


def test_one_version():
    """The program, the module, and what packs or deploys them have the same version."""
    said = {file: re.search(pattern, (ROOT / file).read_text(), re.M).group(1) for file, pattern in (
        ("Makefile", r"^VERSION\s*:= (\S+)"), ("kmod/main.c", r'^MODULE_VERSION\("(.*)"\)'),
        ("packaging/dkms/dkms.conf", r'^PACKAGE_VERSION="(.*)"'), ("packaging/debian/changelog", r"\Ablklat \((.*?)\)"),
        ("packaging/container/Containerfile", r"^ARG VERSION=(.*)"), ("packaging/kubernetes/daemonset.yaml", r"^ *image: blklat:(.*)"),
        ("packaging/helm/Chart.yaml", r'^appVersion: "(.*)"'), ("packaging/helm/values.yaml", r"^image: blklat:(.*)"))}
    assert len(set(said.values())) == 1, said
