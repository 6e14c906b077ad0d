# SPDX-License-Identifier: GPL-2.0-only
"""Each file says its license in its first lines, and the text of each license is there."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = "GPL-2.0-only"
# Headers that others' programs include.
SHARED = "GPL-2.0-only WITH Linux-syscall-note OR MIT"
PATTERNS = ["userspace/**/*.[ch]", "bpf/*.[ch]", "kmod/*.[ch]", "include/blklat/*", "tests/**/*.[ch]", "tests/**/*.py", "bench/*.[ch]",
            "bench/*.py", "bench/*.sh", "userspace/report/web/**/*.ts", "userspace/report/web/*.mjs", "userspace/report/web/*.css",
            "tests/**/*.mjs", "tests/**/*.sh", "packaging/*", "packaging/release/*", "packaging/completion/*", "packaging/apparmor/*", "packaging/selinux/*", "packaging/dkms/*",
            "packaging/prometheus/*", "packaging/debian/rules", "docs/*.8", ".ci/*", "Makefile", "Kbuild", ".clang-format", ".editorconfig"]
SPDX = re.compile(r"^(?://|/\*|\*|#|;|\.\\\"|<!--)\s*SPDX-License-Identifier: (.*?)(?:\s*(?:\*/|-->))?$")


def files(pattern):
    return [path for path in sorted(ROOT.glob(pattern)) if path.is_file()]


def expression(text):
    """The license in the first two lines; the first may name an interpreter."""
    return next((m[1] for m in map(SPDX.match, text.split("\n")[:2]) if m), None)


def terms(expression):
    """The licenses and exceptions in an expression."""
    return set(re.split(r" (?:OR|AND|WITH) |[()]", expression)) - {""}


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_license_on_the_first_lines(pattern):
    assert files(pattern), f"no file is {pattern}"
    for path in files(pattern):
        must = SHARED if path.parent == ROOT / "include/blklat" else OURS
        assert expression(path.read_text()) == must, path


def test_the_text_of_each_license_is_there():
    used = {term for pattern in PATTERNS for path in files(pattern) for term in terms(expression(path.read_text()))}
    assert {path.name for path in (ROOT / "LICENSES").iterdir()} == {f"{term}.txt" for term in used}
    begins = {"GPL-2.0-only": "GNU GENERAL PUBLIC LICENSE Version 2, June 1991 ", "MIT": "MIT License Copyright (c) 2026 blklat maintainers ",
              "Linux-syscall-note": "NOTE! This copyright does *not* cover user programs that use kernel services "}
    for term in used:
        assert words((ROOT / "LICENSES" / f"{term}.txt").read_text()).startswith(begins[term])


def test_what_applies_to_what():
    said = (ROOT / "LICENSE").read_text()
    assert re.findall(r"SPDX-License-Identifier: (.*)", said) == [OURS, SHARED]
    assert set(re.findall(r"LICENSES/\S+\.txt", said)) == {f"LICENSES/{term}.txt" for term in terms(SHARED)}


def test_the_packages_say_the_same():
    said = words((ROOT / "packaging/debian/copyright").read_text())
    assert f"License: {OURS}." in said and all(term in said for term in terms(SHARED))
    permission = words((ROOT / "LICENSES/MIT.txt").read_text()).partition("Permission is")[2]
    assert permission and permission in said


def test_a_wrong_license_is_found():
    assert expression("/* SPDX-License-Identifier: MIT */\n") == "MIT"
    assert expression("#!/bin/sh\n# SPDX-License-Identifier: MIT\n") == "MIT"
    assert expression("\n\n// SPDX-License-Identifier: MIT\n") is None and expression('x = "SPDX-License-Identifier: MIT"') is None
    assert terms(SHARED) == {"GPL-2.0-only", "Linux-syscall-note", "MIT"}
