# SPDX-License-Identifier: GPL-2.0-only
"""Lines of C have at most 120 columns, as in .clang-format. What is laid out as a row may be longer: messages, initializers."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def too_long(text):
    """Numbers of such lines."""
    return [number for number, line in enumerate(text.expandtabs(8).split("\n"), 1)
            if len(line) > 120 and '"' not in line and "{" not in line and not line.lstrip().startswith((".", "["))]


def test_lines_of_c():
    files = [path for room in ("bpf", "include", "kmod", "userspace") for path in (ROOT / room).glob("**/*.[ch]")]
    assert len(files) > 300
    assert {str(path): found for path in files if (found := too_long(path.read_text()))} == {}


def test_a_long_line_is_found():
    assert too_long("\t/* " + "x" * 110 + " */\n\treturn " + "y" * 100 + ";\n" + '"' + "z" * 130 + '"') == [1]
