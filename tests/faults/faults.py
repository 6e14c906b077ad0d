# SPDX-License-Identifier: GPL-2.0-only
"""Commands that are denied something, and what they may do then."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

from script import write_recording

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLKLAT = os.environ.get("BLKLAT", str(ROOT / "build/blklat"))
NO_MEMORY = os.environ.get("NO_MEMORY", str(ROOT / "build/tests/faults/no_memory.so"))
# Freed memory is overwritten, so that a use of it shows.
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "MALLOC_PERTURB_": "165"}
ALL = bool(os.environ.get("FAULTS_ALL"))
# Little of everything: parts that come as they are named, slow IOs, what failed, what is in flight, what is lost.
SMALL_SCRIPT = """blklat-replay 1
scale 1
by cgroup
slow-max 3
device d kind=disk model=M
device e
watch d device
watch e total
io read 60us 4096 x1000 in=/
io write 1ms 4096 x10 errors=1 in=/a/b.service
part write 512 errors=1 in=/a/b.service
in-flight 3 oldest=15us
slow write 1ms 4096 ago=9ms sector=8 queue=1ms device=1ms hw-queue=1 cpu=1 pid=7 comm=dd cgroup=/a/b.service in=/a/b.service x4
slow write 1ms 512 error=7 thread=5 comm=kworker/0:1 in=/
tick 1
on e total
io read 2ms 512 in=/c
io flush 1us 0 in=none
slow read 2ms 512 cgroup=/c in=/c
account no_start 1
tick 1
"""
SENTENCE = re.compile(r"blklat( [a-z]+)?: [^\n]*[^.\s]\n")
DEADLINE_S = 60

# FILE is a recording, OUT what a command makes if it makes a file.
COMMANDS = {
    "record": ("record", "--replay", "FILE", "-o", "OUT", "--quiet"),
    "record-max-size": ("record", "--replay", "FILE", "-o", "OUT", "--quiet", "--max-size", "12M"),
    "report": ("report", "FILE", "-o", "OUT"),
    "report-text": ("report", "--format", "text", "FILE"),
    "compare": ("compare", "FILE", "FILE"),
    "live": ("live", "--replay", "FILE"),
    "live-json": ("live", "--replay", "FILE", "--format", "json"),
    "live-csv": ("live", "--replay", "FILE", "--format", "csv"),
}


class Bench:
    """A folder with a recording, and the output and files of each command when nothing fails."""

    def __init__(self, folder):
        self.file = write_recording(SMALL_SCRIPT, folder / "run.blklat")
        # Readers can't change it, and what they find beside it is nobody's.
        self.file.chmod(0o444)
        self.whole = {}

    def argv(self, name, out):
        places = {"FILE": str(self.file), "OUT": str(out)}
        return [BLKLAT, *(places.get(word, word) for word in COMMANDS[name])]

    def run(self, name, before=(), env=None):
        """One run in a folder of its own: how it ended, and the files that it left with what is in them."""
        with tempfile.TemporaryDirectory(prefix="blklat-faults-", dir="/dev/shm") as folder:
            out = pathlib.Path(folder) / "out"
            ended = subprocess.run([*before, *self.argv(name, out)], capture_output=True, env={**ENV, **(env or {})}, timeout=DEADLINE_S)
            left = {path.name for path in pathlib.Path(folder).iterdir()}
            made = self.content(name, out) if out.exists() else None
        return Outcome(ended.returncode, ended.stdout, ended.stderr.decode(errors="replace"), left, made)

    def content(self, name, out):
        """The contents of a recording: no two files are the same to the byte."""
        if not name.startswith("record"):
            return out.read_bytes()
        r = subprocess.run([BLKLAT, "live", "--replay", out, "--format", "csv"], capture_output=True, env=ENV, timeout=DEADLINE_S)
        return Recorded(r.returncode, without_times(r.stdout), r.stderr.decode(errors="replace"))

    def expected(self, name):
        if name not in self.whole:
            self.whole[name] = self.run(name)
            assert self.whole[name].status == 0 and not self.whole[name].stderr, self.whole[name]
        return self.whole[name]

    def complaint(self, name, outcome):
        """What is wrong about it, or None."""
        whole = self.expected(name)
        if outcome.status == 0:
            right = (outcome.stdout, outcome.left, outcome.made, outcome.stderr) == (whole.stdout, whole.left, whole.made, whole.stderr)
            return None if right else "says that all is well, and it is not"
        if outcome.status != 1:
            return f"status {outcome.status}"
        if not SENTENCE.fullmatch(outcome.stderr):
            return "not one sentence"
        if not begins(whole.stdout, outcome.stdout):
            return "half an interval on the output"
        # A recording that could not be made one file stays two.
        if outcome.left - ({"out", "out-wal"} if name.startswith("record") else set()):
            return "left something"
        # A recording that broke off is one of the intervals until then, or has none and says so.
        if outcome.made and not (begins(whole.made.csv, outcome.made.csv) and
                                 (outcome.made.status == 0 or SENTENCE.fullmatch(outcome.made.stderr))):
            return f"half a recording: {outcome.made}"
        return None


    def denied(self, name, ones, how):
        """Runs the command once for each of @ones, with what @how makes of it for run(); each must do what is right. How many failed."""
        failed = 0

        def without(one):
            nonlocal failed
            outcome = self.run(name, **how(one))
            failed += outcome.status != 0
            complaint = self.complaint(name, outcome)
            return complaint and f"{one}: {complaint}: {outcome}"
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            complaints = list(filter(None, pool.map(without, ones)))
        print(f"{name}: {len(ones)} runs, {failed} failed")
        assert not complaints, f"{len(complaints)} of {len(ones)}:\n" + "\n".join(complaints[:20])
        return failed


class Outcome:
    def __init__(self, status, stdout, stderr, left, made):
        self.status, self.stdout, self.stderr, self.left, self.made = status, stdout, stderr, left, made

    def __repr__(self):
        return f"status {self.status}, {self.stderr.strip()!r}, {sorted(self.left)}"


class Recorded(tuple):
    def __new__(cls, status, csv, stderr):
        return super().__new__(cls, (status, csv, stderr))

    status, csv, stderr = (property(lambda self, i=i: self[i]) for i in range(3))


def without_times(csv):
    return b"".join(line.split(b",", 1)[1] for line in csv.splitlines(keepends=True) if b"," in line)


def begins(whole, part):
    """Whether @part is the first lines of @whole, maybe none."""
    return whole.startswith(part) and (not part or part.endswith(b"\n"))
