# SPDX-License-Identifier: GPL-2.0-only
"""The archive of 'make release-source': what git has, and the page, so that it builds where there is no Node.js."""
import os
import pathlib
import re
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("O", "build")).resolve()
VERSION = re.search(r"^VERSION\s*:= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
NAME = f"blklat-{VERSION}"
PAGE = {"report.html", "live.html", "live.policy", "LICENSE.uplot"}
# The C files that have the pages in them.
OBJECTS = {"userspace/report/html.o": ["report.html"], "userspace/service/routes.o": ["live.html", "live.policy"]}


def make(folder, *words, **env):
    kept = {k: v for k, v in os.environ.items() if k != "O" and not k.startswith("MAKE")}
    return subprocess.run(["make", "-s", "-C", folder, *words], env=kept | env, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def tracked():
    r = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True)
    if r.returncode:
        pytest.skip("not a git clone, which tells what belongs into the archive")
    return set(r.stdout.splitlines())


@pytest.fixture(scope="module")
def archive(tracked):
    r = make(ROOT, "release-source", O=str(BUILD))
    assert r.returncode == 0, r.stderr
    return BUILD / f"release/{NAME}.tar.xz"


@pytest.fixture(scope="module")
def tree(archive, tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
    return folder / NAME


def test_contents(archive, tracked):
    with tarfile.open(archive) as tar:
        files = {m.name: m for m in tar.getmembers() if not m.isdir()}
    assert set(files) == {f"{NAME}/{name}" for name in tracked} | {f"{NAME}/page/{name}" for name in PAGE}
    assert {(m.uid, m.gid) for m in files.values()} == {(0, 0)} and len({m.mtime for m in files.values()}) == 1


def test_same_bytes_twice(archive):
    first = archive.read_bytes()
    assert make(ROOT, "release-source", O=str(BUILD)).returncode == 0
    assert archive.read_bytes() == first


def test_builds_without_node(tree):
    """Without the programs, and without what they would fetch: the pages that it has are those of this build."""
    r = make(tree, *(f"out/{o}" for o in OBJECTS), "NODE=/none", "NPM=/none", O="out")
    assert r.returncode == 0, r.stderr
    assert not (tree / "out/web/node_modules").exists()
    for name, pages in OBJECTS.items():
        data = (tree / "out" / name).read_bytes()
        for page in pages:
            assert (BUILD / "web" / page).read_bytes() in data, page


def test_asks_for_no_node(tree):
    def asked(folder):
        return set(re.search(r"^deps := (.*)$", make(folder, "-pn", "deps", "NPM=/none").stdout, re.M)[1].split())
    assert asked(ROOT) - asked(tree) == {"nodejs", "npm"}


def test_only_from_a_clone(tree):
    r = make(tree, "release-source", "NODE=/none", "NPM=/none", O="out")
    assert r.returncode and "make release-source: no git clone" in r.stderr.splitlines()[0], r.stderr
