# SPDX-License-Identifier: GPL-2.0-only
"""
Every command in the indented blocks of README.md and docs/*.md, and in the manual pages, is run, with a device and files of
the test in place of those that it names. Those that watch are stopped once they do. Make only says what it would do.
"""
import pathlib
import re
import shlex
import shutil
import signal
import subprocess

import devices
import pytest
from asked import commands, options
from load import BLKLAT, DEADLINE_S, Process, watching
from manual import PAGES
from needs import need
from recorder import Recorder
from script import write_recording
from screen import Screen

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARKDOWN = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
COMMANDS = commands()
# Why some are not run here.
ELSEWHERE = {
    "systemctl": "needs systemd: tests/vm/systemd", "curl": "asks the installed service, as tests/vm/systemd does",
    "helm": "needs a cluster; tests/package/test_helm.py renders the chart", "tests/vm/vm.py": "boots a guest, as make test-vm does",
    "apt": "installs: tests/package/test_repo.py", "dnf": "as apt", "zypper": "there is none for Debian",
    "semodule": "changes the policy: tests/release/test_selinux.py", "apparmor_parser": "changes the kernel: tests/vm/systemd", "cp": "as apparmor_parser", "insmod": "changes the kernel: tests/vm", "modprobe": "changes the kernel: tests/vm", "dkms": "builds for a kernel: tests/package/test_deb.py",
}
HERE = {"blklat", "podman", "make", "sed", "sqlite3", "export", "tests/script.py", "/usr/bin/python3", "FAIL_AT=3523"}
# How blocks begin that have no commands: figures, other programs' languages.
OTHER = {"kernel", "D1", "DEVICE", "10:59:15", "blklat_device_info{volume!=\"\"}", "scrape_configs:", ";"}
# Options of Prometheus, fio and podman.
OTHERS_OPTIONS = {"--enable-feature", "--web", "--output-format", "--security-opt"}
FOR_DEVELOPERS = {"architecture.md", "benchmarks.md", "counting.md", "hacking.md"}
RECORDING = """blklat-replay 1
start 2024-11-27T03:00:00.000Z
interval 60
device nvme0n1 kind=nvme
watch nvme0n1 device
""" + "io read 100us 4096 x1000\ntick 60\n" * 15
RECORDED = "archive/2024-11-27T03-00-00Z.blklat"
INSTEAD = {
    r"\bsudo ": "", r"(\./)?build/blklat\b": "blklat", r" +# .*": "", r"/dev/shm/|/usr/share/doc/blklat/examples/": "",
    r"--record /\S+": "--record .", r"/var/lib/blklat(-record/nvme0n1)?": "archive", r"/etc/blklat/": "packaging/", r"(?<![$\w])FILE\b(?!=)": "run.blklat",
    r"'nvme\*n1'|\bnvme[01]n1\b(?!-)|\bsda\b|\bmd0\b|\bloop0\b": "DEVICE", r" :9834\b": " 127.0.0.1:0",
}


def blocks():
    for path in MARKDOWN:
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
        for block in re.findall(r"(?<=\n\n)(?: {4}.*\n)+", text):
            yield path.name, re.sub(r"^ {4}", "", block, flags=re.M)
    for path in PAGES.values():
        for line, block in re.findall(r"^((?:\.Dl [#$] .*\n)+)|^\.Bd -literal.*\n([#$] (?:[^.].*\n)+)", path.read_text(), re.M):
            yield path.name, re.sub(r"^\.Dl ", "", line or block, flags=re.M).replace("\\e\n", "\\\n")


def in_place(text):
    for pattern, instead in INSTEAD.items():
        text = re.sub(pattern, instead, text)
    return text


def commands_of(block):
    """What follows the prompts, or each line if there is none; lines that are indented go on with a command."""
    lines = re.findall(r"^[#$] (.*(?:\n +.*)*)", block, re.M) or re.findall(r"^(\S.*(?:\n +.*)*)", block, re.M)
    return [command for line in lines for command in line.split(" && ")]


BLOCKS = [(page, in_place(block)) for page, block in blocks()]
SETTINGS = [(page, block) for page, block in BLOCKS if re.search(r"^[\w-]+ = [^+\n]+$", block, re.M)]
SESSIONS = [(page, commands_of(block)) for page, block in BLOCKS if (page, block) not in SETTINGS]
RUN = [(page, session) for page, session in SESSIONS if session[0].split()[0] not in OTHER]


@pytest.fixture(scope="module")
def device():
    with devices.loop(devices.MIB) as device:
        yield device


@pytest.fixture
def place(folder):
    """A folder with what the commands read."""
    for program in ("jq", "sqlite3", "tmux"):
        need(shutil.which(program), f"no {program}")
    for name, target in {"bin/blklat": shutil.which(BLKLAT), "build": pathlib.Path(shutil.which(BLKLAT)).parent,
                         **{name: ROOT / name for name in ("docs", "packaging", "tests", "Makefile")}}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(target)
    (folder / "web.yml").write_text("basic_auth_users: { prometheus: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi }\n")
    (folder / "job.fio").write_text("[job]\nfilename=/dev/${DEVICE}\nrw=randread\ndirect=1\nsize=1M\n")
    (folder / "sweep.fio").write_text((ROOT / "packaging/examples/sweep.fio").read_text().replace("runtime=10\n", "runtime=100ms\n"))
    shutil.copy(ROOT / "packaging/prometheus/blklat.rules.yml", folder)
    (folder / "archive").mkdir()
    write_recording(RECORDING, folder / RECORDED)
    return folder


def prepare(place, words):
    """The recordings that it reads are there, and the one that it makes is not."""
    for before, word in zip(words, words[1:]):
        if before == "-o":
            (place / word).unlink(missing_ok=True)
        elif re.fullmatch(r"[\w/.-]+\.blklat", word) and not (place / word).exists():
            shutil.copy(place / RECORDED, place / word)


def shell(text, statuses=(0,)):
    done = subprocess.run(["bash", "-c", text], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode in statuses, done.stderr


def watch(before, text):
    """Until it watches. The second program of a pipe reads what it has printed."""
    text, _, reader = text.partition(" |\n")
    shown = []
    with Process(["bash", "-c", f"{before}exec {text}"]) as p:
        p.take = shown.append
        p.until(lambda: watching(p) and ("listening on" in p.stderr or " serve" not in text), "watching")
        p.signal(signal.SIGINT)
        assert p.wait() == 0, p.stderr
    shell(f"{reader or 'cat'} <<'END'\n{''.join(shown)}END\n")


def run_blklat(place, device, before, text):
    words = shlex.split(text)
    command = words[1] if words[1] in COMMANDS else "live"
    if command == "top":
        with Screen(BLKLAT, *words[1:]) as screen:
            screen.until("sort ")
            screen.keys("q")
            screen.until("ended with 0")
    elif command == "mark" and "--at" not in words:
        (place / words[2]).unlink(missing_ok=True)
        with Recorder(device, place / words[2]) as recorder:
            shell(before + text)
            assert recorder.stop() == 0
        (place / words[2]).unlink()
    elif command in ("live", "serve", "record") and not {"--replay", "--"} & set(words):
        watch(before, text + (" --listen 127.0.0.1:0" if command == "serve" and "--listen" not in words else ""))
    else:
        shell(before + text, (0, 3) if "--fail-if" in words else (0,))


@pytest.mark.parametrize("page, session", RUN, ids=[page for page, _ in RUN])
def test_commands_run(device, place, page, session):
    before = f"cd {place}; export TZ=UTC PATH={place}/bin:$PATH DEVICE={device.name}\n"
    for text in (text.replace("DEVICE", device.name) for text in session):
        first = text.split()[0]
        prepare(place, shlex.split(text))
        if first == "export":
            before += text + "\n"
        elif first in ("blklat", "podman"):
            run_blklat(place, device, before, "blklat " + re.sub(r"^podman .* blklat:\S+ |^blklat ", "", text))
        elif first not in ELSEWHERE:
            assert first in HERE, f"add {first} to HERE, ELSEWHERE or OTHER"
            more = {"make": f" -nC {ROOT}", "/usr/bin/python3": " --collect-only"}.get(first, "")
            shell(before + text + more, (0, 1) if first.startswith("FAIL_AT") else (0,))


def test_lists_are_of_what_is_there():
    assert {text.split()[0] for _, session in RUN for text in session} == HERE | ELSEWHERE.keys()
    assert OTHER <= {session[0].split()[0] for _, session in SESSIONS}


@pytest.mark.parametrize("page, lines", SETTINGS, ids=[page for page, _ in SETTINGS])
def test_settings_are_valid(place, page, lines):
    (place / "blklat.conf").write_text("dev = all\n" + lines)
    shell(f"cd {place}; {BLKLAT} check --config blklat.conf")


@pytest.mark.parametrize("page", MARKDOWN, ids=[path.name for path in MARKDOWN])
def test_options_in_sentences(page):
    """Those of a command that is named exist, and those that stand alone are of some command."""
    for text in re.findall(r"`blklat ((?:[a-z]+|--dev) [^`]*)`", page.read_text()):
        words = shlex.split(text)
        known = options(words[0] if words[0] in COMMANDS else "live")
        assert {word for word in words if re.match("--?[a-z]", word)} <= {f"--{name}" for _, name, _ in known} | {f"-{short}" for short, _, _ in known}, text
    if page.name not in FOR_DEVELOPERS:
        alone = set(re.findall(r"`(--[a-z-]+)", page.read_text()))
        assert alone <= {f"--{name}" for command in COMMANDS for _, name, _ in options(command)} | OTHERS_OPTIONS
