# SPDX-License-Identifier: GPL-2.0-only
"""Completion by real shells: what they offer after some words."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from asked import BLKLAT

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPLETION = ROOT / "packaging/completion"
LIBRARY = pathlib.Path("/usr/share/bash-completion/bash_completion")

# $1: the file, $2: the line; then its words, the last of which is being completed.
BASH = r"""
source "$LIBRARY"; source "$1"; COMP_LINE=$2 COMP_POINT=${#COMP_LINE}; shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
COMP_TYPE=9 COMP_KEY=9
compopt() { :; }
_blklat
printf '%s\n' "${COMPREPLY[@]}"
"""

# Run first in the zsh: makes its compadd print its arguments.
ZSH_SETUP = r"""
PROMPT=
unsetopt zle_bracketed_paste
fpath=($COMPLETION $fpath)
autoload -U compinit
compinit -u -D
told() { local -a hits; builtin compadd -O hits "$@"; (( $#hits )) && print -rl -- "<<"${^hits}">>" }
compadd() {
	case " ${@[1,(i)(-|--)]} " in
	*" -O "*|*" -A "*|*" -D "*) builtin compadd "$@" ;;
	*) told "$@" ;;
	esac
}
zstyle ":completion:*" insert-tab false
over() { print "<<>>" }
ask() { comppostfuncs=(over); zle complete-word }
zle -N ask
bindkey "^I" ask
bindkey "^U" kill-whole-line
"""
# zsh's line editor needs a terminal, which another zsh provides. Each line is typed, completed and deleted again.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source $SETUP; print READY''-NOW'
zpty -r shell seen '*READY-NOW*'
for line; do
	zpty -w -n shell "$line"$'\t'
	zpty -r shell seen '*<<>>*' && print -r -- "$seen"
	zpty -w -n shell $'\025'
done
zpty -d shell
"""


# The words for each line, before the tab the offered one.
FISH = 'source $COMPLETION/blklat.fish; for line in $argv; complete -C "$line"; echo "<<>>"; end'


def split_as_bash(line):
    """Splits a line into words by COMP_WORDBREAKS: '=' and ':' stand alone."""
    words = []
    for word in line.split(" "):
        parts = [p for p in re.split(r"(=+|:+)", word) if p]
        words += parts or [""]
    return words


def bash(line):
    """What bash offers at the end of a line, as a list."""
    if not LIBRARY.exists():
        pytest.skip("bash-completion is not installed")
    words = split_as_bash(line)
    r = subprocess.run(["bash", "--norc", "-c", BASH, "bash", str(COMPLETION / "blklat.bash"), line, *words],
                       env=os.environ | {"LIBRARY": str(LIBRARY)}, capture_output=True, text=True, timeout=60)
    assert (r.returncode, r.stderr) == (0, ""), line
    return [word.rstrip() for word in r.stdout.splitlines() if word]


def zsh_all(lines):
    """What zsh offers at the end of each line; a word may occur twice."""
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    with tempfile.NamedTemporaryFile("w", suffix=".zsh") as setup:
        setup.write(ZSH_SETUP)
        setup.flush()
        r = subprocess.run(["timeout", "120", "zsh", "-f", "-c", ZSH, "zsh", *lines], capture_output=True, text=True,
                           env=os.environ | {"COMPLETION": str(COMPLETION), "SETUP": setup.name}, stdin=subprocess.DEVNULL)
    answers = r.stdout.split("<<>>")[:-1]
    assert len(answers) == len(lines), (r.stdout, r.stderr)
    return [[word for word in re.findall(r"<<(.*?)>>", answer)] for answer in answers]


def zsh(line):
    return zsh_all([line])[0]


def bash_all(lines):
    return [bash(line) for line in lines]


def fish_all(lines):
    """What fish offers at the end of each line, without the option that a value is of."""
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    with tempfile.TemporaryDirectory() as home:
        os.symlink(pathlib.Path(BLKLAT).resolve(), f"{home}/blklat")
        r = subprocess.run(["fish", "-N", "-c", FISH, *lines], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                           env=os.environ | {"COMPLETION": str(COMPLETION), "HOME": home, "PATH": f"{home}:{os.environ['PATH']}"})
    assert (r.returncode, r.stderr) == (0, "")
    return [[re.sub(r"^--[\w-]+=|\t.*", "", word) for word in answer.splitlines() if word] for answer in r.stdout.split("<<>>")[:-1]]


SHELLS = {"bash": bash_all, "fish": fish_all, "zsh": zsh_all}
