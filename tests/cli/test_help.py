# SPDX-License-Identifier: GPL-2.0-only
"""Help and version of the program and of every command; each option that the help names is accepted."""
import re

from asked import commands, options
from command import NONE, REPLAY, bad, run


def quiet(*args):
    r = run(*args)
    assert (r.returncode, r.stderr) == (0, b"")
    return r.stdout.decode()


def test_help_of_the_whole():
    assert quiet("--help") == quiet("-h") == quiet("help") == quiet()
    assert "Usage: blklat" in quiet("--help")


def test_help_of_every_command():
    for command in commands():
        text = quiet(command, "--help")
        assert text.startswith(f"Usage: blklat {command}")
        assert text == quiet(command, "-?") == quiet(command, "-h")
        assert max(map(len, text.splitlines())) <= 80
        assert quiet(command, "--usage").startswith(f"Usage: blklat {command}")


def test_version():
    version = quiet("--version")
    assert re.fullmatch(r"blklat \d+\.\d+\.\d+\S*\n", version)
    assert all(quiet(c, "--version") == version == quiet(c, "-V") for c in commands())


GOOD = {
    "dev": NONE, "interval": "0.5", "count": "3", "duration": "1m", "stage": "device,total", "percentiles": "50,p99.9",
    "format": "json", "engine": "auto", "scale": "auto", "max-memory": "1.5GiB", "top": "3", "max-bios": "1000",
    "replay": str(REPLAY), "sysroot": "/", "kubernetes": "/", "idle-gap": "20ms", "output": "report.html", "steady-from": "10", "from": "10",
    "map": "sda=md0", "phases": "auto", "to": "20", "fail-if": "read.p99 > +10%", "history": "5m", "listen": "127.0.0.1:0",
    "prom-schema": "3", "web-config": "web.yml", "user": "nobody", "record": "/", "keep": "24h", "keep-if": "read.p99 > 20ms", "keep-size": "1G",
    "otlp": "http://h", "otlp-interval": "5", "otlp-headers": "f", "otlp-ca": "f",
    "by": "cgroup", "max-parts": "10", "config": "/etc/fstab", ("export", "format"): "hlog", "slow": "p99.9", "slow-max": "20", "label": "a run", "max-size": "10M", "at": "90",
}


def test_every_option_of_the_help_is_accepted():
    """After all options, in each form, only the wrong option that follows is refused."""
    for command in commands():
        lines = [[], [], [], []]
        for short, long, takes in options(command):
            if long in ("help", "usage", "version"):
                continue
            value = GOOD.get((command, long), GOOD.get(long))
            forms = [[f"--{long}={value}"], [f"--{long}", value]] if takes else [[f"--{long}"]]
            if short:
                forms += [[f"-{short}", value], [f"-{short}{value}"]] if takes else [[f"-{short}"]]
            for line, form in zip(lines, forms):
                line += form
        for line in lines:
            bad(rf"unrecognized option '--{NONE}'", command, *line, f"--{NONE}")


def test_every_option_of_serve_in_a_file(tmp_path):
    """In each form, after comments and empty lines; only the wrong one in the line that follows is refused."""
    for _, long, takes in options("serve"):
        if long in ("help", "usage", "version", "config"):
            continue
        for form in (f"{long} = {GOOD[long]}", f"  {long}={GOOD[long]} \r", f"{long}\t{GOOD[long]}") if takes else (long, f" {long} "):
            file = tmp_path / "blklat.conf"
            file.write_text(f"# comment = 1\n\n{form}\nno-such 1")
            bad(rf"^blklat check: {file}:4: unrecognized option '--no-such'", "check", "--config", str(file))
