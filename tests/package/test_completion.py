# SPDX-License-Identifier: GPL-2.0-only
"""The shells complete exactly what the program takes: commands, options, values."""
import pathlib
import re

import pytest
from asked import answer, commands, options, values

from shells import SHELLS, bash, zsh

VALUES = ("--format", "--engine", "--stage")


def takes_of(command):
    """{long: whether it takes a value} and {short: long} of a command's options."""
    found = options(command)
    return {f"--{name}": bool(value) for _, name, value in found}, {f"-{short}": f"--{name}" for short, name, _ in found if short}


def devices():
    with_size = {p.parent.name for p in pathlib.Path("/sys/class/block").glob("*/size") if p.read_text().strip() != "0"}
    return with_size, {p.name for p in pathlib.Path("/dev/mapper").glob("*") if p.is_block_device()} | {"all"}


@pytest.fixture(params=SHELLS)
def complete(request):
    """A function that returns the words offered after a line, or a list of those for several lines."""
    every = SHELLS[request.param]

    def offered(*lines):
        answers = every(lines)
        return answers if len(lines) > 1 else answers[0]
    offered.shell = request.param
    return offered


def test_commands(complete):
    assert complete("blklat ") == commands() + ["help"]
    assert set(complete("blklat re")) == set(complete("blklat help re")) == {"record", "report"}
    assert complete("blklat help ") == commands() and not complete("blklat help live ")


def test_options(complete):
    """Without a command they are those of live."""
    wanted = {f"blklat {command} --": sorted(takes_of(command)[0]) for command in commands()}
    wanted["blklat --"] = wanted["blklat live --"]
    assert {line: sorted(words) for line, words in zip(wanted, complete(*wanted))} == wanted


@pytest.mark.parametrize("command", commands())
def test_who_takes_a_value(complete, command):
    """Other options are offered only after an option without a value."""
    known, shorts = takes_of(command)
    takes = known | {short: known[name] for short, name in shorts.items()}
    if complete.shell == "zsh":  # it knows that nothing follows these
        takes = {name: value for name, value in takes.items() if name not in ("-h", "--help", "--usage", "--version")}
    after = complete(*(f"blklat {command} {name} --" for name in takes), "blklat ")
    assert {name: not any(word.startswith("--") for word in words) for name, words in zip(takes, after)} == takes


def test_values(complete):
    wanted = {}
    for command in commands():
        known, shorts = takes_of(command)
        for name in VALUES:
            if name in known:
                ways = [f"{name} ", f"{name}=", *(f"{short} " for short, long in shorts.items() if long == name)]
                wanted |= {f"blklat {command} {way}": set(values(command, name)) for way in ways}
    assert {line: set(words) for line, words in zip(wanted, complete(*wanted))} == wanted


def test_stages_are_a_list():
    assert bash("blklat live --stage device,") == ["device,queue", "device,total", "device,wait"]
    assert bash("blklat live --stage=queue,t") == ["queue,total"]
    assert zsh("blklat live --stage device,") == ["queue", "total", "wait"]


def lasting(names):
    """Without devices of the tests that run beside this one, which come and go."""
    return {name for name in names if not re.match("loop|zram", pathlib.Path(name).name)}


@pytest.mark.parametrize("line", ["blklat live --dev ", "blklat live ", "blklat serve -d ", "blklat check --dev=", "blklat -d "])
def test_devices(complete, line):
    """Devices with a size."""
    there, always = devices()
    assert lasting(complete(line)) == lasting(there) | always


def test_device_paths(complete):
    """Only block devices below /dev."""
    nodes = lasting(p.name for p in pathlib.Path("/dev").iterdir() if p.is_block_device())
    if not nodes:
        pytest.skip("no block device has a node here")
    first = min(nodes)[0]
    offered = complete(f"blklat live --dev /dev/{first}")
    assert {name for name in nodes if name.startswith(first)} <= {pathlib.Path(word).name for word in offered}
    assert not complete("blklat live --dev /dev/nul")


def test_files(complete, tmp_path):
    for name in ("one.blklat", "two.blklat"):
        (tmp_path / name).touch()
    uses = ("report ", "report --output ", "compare ", "mark ", "live --replay ", "serve --web-config ")
    for words in complete(*(f"blklat {use}{tmp_path}/" for use in uses)):
        assert sorted(pathlib.Path(word).name for word in words) == ["one.blklat", "two.blklat"]


def test_the_recorded_command_is_completed_too(complete, tmp_path):
    (tmp_path / "only").touch()
    assert set(complete("blklat record --output x -- mkfif")) == set(complete("blklat record sda 1 -- mkfif")) == {"mkfifo"}
    assert [pathlib.Path(word).name for word in complete(f"blklat record -- cat {tmp_path}/")] == ["only"]


def test_addresses():
    assert bash("blklat serve --listen 127") == ["127.0.0.1:9834"]
    # To bash, what precedes a colon is a separate word.
    assert bash("blklat serve --listen [::1]:") == ["9834"]
    assert zsh("blklat serve --listen 127") == ["127.0.0.1:9834"]
    offered = zsh("blklat serve --listen ")
    assert set(offered) == set(bash("blklat serve --listen "))
    assert re.search(r"--listen=[^(]*\(default\s+(\S+)\)", answer("serve", "--help").stdout, re.S)[1] in offered
