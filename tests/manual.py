# SPDX-License-Identifier: GPL-2.0-only
"""The source of the manual page."""
from script import TESTS

PAGE = TESTS.parent / "docs/blklat.8"


def section(title, mark="Sh"):
    """The lines of a section, or of a subsection (mark Ss)."""
    ends = ("Sh",) if mark == "Sh" else ("Sh", "Ss")
    lines, inside = [], False
    for line in PAGE.read_text().splitlines():
        if line[1:3] in ends and line.startswith("."):
            inside = line == f".{mark} {title}"
        elif inside:
            lines.append(line)
    assert lines, f"the page has no {mark} {title}"
    return lines


def keys(title):
    """What a subsection describes, in its order."""
    found = [key for line in section(title, "Ss") if line.startswith(".It Cm ") for key in line[len(".It Cm "):].split(" , ")]
    assert len(found) == len(set(found))
    return found
