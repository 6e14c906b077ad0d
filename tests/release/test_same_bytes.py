# SPDX-License-Identifier: GPL-2.0-only
"""The archive of 'make release' is the same when made from a copy of the sources: elsewhere, later, in a folder of another name."""
import os
import pathlib
import subprocess
import tarfile

from sources import copied

ARCHIVE = pathlib.Path(os.environ["RELEASE_ARCHIVE"])
# Variables by which make tells its children about its own folders.
OURS = ("MAKE", "BLKLAT", "RELEASE_ARCHIVE")


def test_same_bytes_elsewhere(tmp_path):
    tree = copied(tmp_path / "another/name")
    with tarfile.open(ARCHIVE) as tar:
        date = tar.getmembers()[0].mtime
    env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    options = [f"ARCH={'arm64' if 'aarch64' in ARCHIVE.name else 'x86'}"]
    subprocess.run(["make", "-s", "-j2", *options, "release-files"], cwd=tree, check=True, timeout=1800,
                   env=env | {"O": "out", "SOURCE_DATE_EPOCH": str(date), "CCACHE_DISABLE": "1"})
    again = tree / "out/release" / ARCHIVE.name
    assert again.read_bytes() == ARCHIVE.read_bytes()
    assert (again.parent / "SHA256SUMS").read_text() in (ARCHIVE.parent / "SHA256SUMS").read_text()
