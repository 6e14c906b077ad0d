# SPDX-License-Identifier: GPL-2.0-only
"""The sources of the manual's pages: blklat.8, and one for each command."""
import re

from script import TESTS

PAGES = {path.stem: path for path in sorted((TESTS.parent / "docs").glob("*.8"))}


def name_of(command):
    return f"blklat-{command}" if command else "blklat"


def lines_of(command=None):
    return PAGES[name_of(command)].read_text().splitlines()


def section(title, command=None):
    """The lines of a section, with those of its subsections."""
    lines, inside = [], False
    for line in lines_of(command):
        if line.startswith(".Sh "):
            inside = line == f".Sh {title}"
        elif inside:
            lines.append(line)
    assert lines, f"{name_of(command)} has no section {title}"
    return lines


def options(lines):
    """{(short, long, argument)} of the options that these lines describe."""
    found = set()
    for line in lines:
        if line.startswith(".It Fl"):
            item = r"(?:Fl (\w) , )?Fl -([\w-]+)(?: Ns = Ns Ar (\w+))?"
            assert re.fullmatch(rf"\.It {item}(?: , {item})*", line), f"not read: {line}"
            for option in re.findall(item, line):
                option = tuple(text or None for text in option)
                assert option not in found, f"twice: {line}"
                found.add(option)
    return found


def leaves(keys):
    """Without those that have others below them."""
    return [key for key in keys if not any(other.startswith(key + ".") for other in keys)]


def keys(command, title="JSON"):
    """What a section describes, in its order. A list within an item has the keys below that item's."""
    found, above, last = [], [], ""
    for line in section(title, command):
        if line.startswith(".Bl "):
            above.append(last)
        elif line == ".El":
            above.pop()
        elif line.startswith(".It Cm "):
            names = [".".join(filter(None, [above[-1], name])) for name in line[len(".It Cm "):].split(" , ")]
            found += names
            last = names[-1]
    assert len(found) == len(set(found))
    return leaves(found)
