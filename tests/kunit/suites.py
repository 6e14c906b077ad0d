# SPDX-License-Identifier: GPL-2.0-only
"""The module's sources and suites, gathered in one folder from which a kernel can build them."""
import pathlib
import re
import subprocess
import sys

from source import Failure

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = re.compile(r"struct\s+kunit_suite\s[\w\s]+=\s*\{[^}]*?\.name\s*=\s*\"([^\"]+)\"")


def expected():
    """Suite names with their files. Each *_kunit.c must have a suite."""
    found = {}
    for path in sorted((ROOT / "kmod").glob("*_kunit.c")):
        names = SUITE.findall(path.read_text())
        if not names:
            raise Failure(f"{path.relative_to(ROOT)} has no struct kunit_suite with a name")
        found.update({name: str(path.relative_to(ROOT)) for name in names})
    if not found:
        raise Failure("kmod/ has no *_kunit.c")
    return found


def generated(script):
    return subprocess.run([sys.executable, "-B", ROOT / script], check=True, stdout=subprocess.PIPE, text=True).stdout


def sources():
    """Contents by path: files of the repository, and generated ones."""
    files = [*(ROOT / "kmod").glob("*.[ch]"), *(ROOT / "include/blklat").glob("*.h")]
    found = {str(path.relative_to(ROOT)): path.read_text() for path in files}
    found["include/blklat/bins_table.h"] = generated("include/blklat/gen_bins.py")
    found["include/blklat/bins_vectors.h"] = generated("tests/vectors/gen_vectors.py")
    return found


def write(folder, files):
    """
    Makes the folder hold exactly these files. A file that is the same already is left alone; one that differs gets a
    new time, whatever its source's is. So make rebuilds what changed, even when repositories take turns.
    """
    for old in folder.glob("**/*.[ch]"):
        if str(old.relative_to(folder)) not in files and not old.name.endswith(".mod.c"):
            old.unlink()
    for name, content in files.items():
        path = folder / name
        if not path.exists() or path.read_text() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)


def objects(files):
    return sorted(name[:-2] + ".o" for name in files if name.endswith(".c"))
