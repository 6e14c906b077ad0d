# SPDX-License-Identifier: GPL-2.0-only
"""A copy of what is built from."""
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ("Kbuild", "LICENSE", "LICENSES", "Makefile", "README.md", "bpf", "docs", "include", "kmod", "packaging", "userspace",
           "tests/unit")  # whose names the Makefile looks up


def copied(folder):
    folder.mkdir(parents=True)
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
        else:
            shutil.copy(ROOT / name, folder)
    return folder
