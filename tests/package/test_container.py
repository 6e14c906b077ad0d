# SPDX-License-Identifier: GPL-2.0-only
"""
The image and the DaemonSet: valid by Kubernetes' own schema, and sufficient: the service runs with exactly what they specify, in
namespaces made by bubblewrap, so that no container engine is needed.
"""
import errno
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / folder) for folder in ("vm", "host", "serve")]

import kubernetes  # noqa: E402
import service  # noqa: E402

CONTAINERFILE = ROOT / "packaging/container/Containerfile"
OPTIONS, DAEMONSET = OBJECTS = list(yaml.safe_load_all((ROOT / "packaging/kubernetes/daemonset.yaml").read_text()))
BUILD = (ROOT / os.environ.get("O", "build")).resolve()
ARCHIVE = pathlib.Path(os.environ.get("RELEASE_ARCHIVE", "none"))
POD = DAEMONSET["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
NEEDED = ["BPF", "PERFMON", "SETUID", "SETGID"]
# System calls that the runtimes' default profiles refuse to processes with only these capabilities.
REFUSED = ("acct add_key clock_settime delete_module finit_module fsopen get_mempolicy init_module ioperm iopl kcmp kexec_file_load kexec_load "
           "keyctl mbind mount move_mount nfsservctl open_by_handle_at open_tree pivot_root process_madvise quotactl reboot "
           "request_key set_mempolicy setdomainname sethostname setns settimeofday swapoff swapon syslog umount2 unshare userfaultfd "
           "vhangup").split()
# Bit numbers of linux/capability.h.
BITS = {"SETGID": 6, "SETUID": 7, "PERFMON": 38, "BPF": 39}
# For a filter of system calls: numbers of bpf(), and of linux/bpf.h, linux/bpf_common.h and linux/seccomp.h.
BPF_CALL = {"x86_64": 321, "aarch64": 280}
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
RETURN_ERRNO, RETURN_ALLOW = 0x00050000, 0x7fff0000
CALL_NUMBER, FIRST_ARGUMENT = 0, 16  # in struct seccomp_data
MAP_CREATE = 0

READS = 100


def version():
    return re.search(r"^VERSION\s*:= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]


@pytest.mark.parametrize("kubernetes_version", kubernetes.VERSIONS)
def test_schema(kubernetes_version):
    assert kubernetes.complaints(OBJECTS, kubernetes_version) == ""


def test_recordings_are_two_lines_away():
    """They go to a folder of the node's own."""
    text = (ROOT / "packaging/kubernetes/daemonset.yaml").read_text()
    *_, recording = yaml.safe_load_all(re.sub(r"#(- \{name: recordings)", r"\1", text))
    assert kubernetes.complaints([recording], kubernetes.VERSIONS[-1]) == ""
    pod = recording["spec"]["template"]["spec"]
    assert pod["volumes"][-1]["hostPath"]["path"] == pod["containers"][0]["volumeMounts"][-1]["mountPath"] == "/var/lib/blklat"


def test_names_of_pods_are_four_lines_away():
    """They go below /node, where --kubernetes /node looks: only names of logs, and mounts."""
    text = (ROOT / "packaging/kubernetes/daemonset.yaml").read_text()
    *_, named = yaml.safe_load_all(re.sub(r"#(- \{name: (logs|mounts))", r"\1", text))
    assert kubernetes.complaints([named], kubernetes.VERSIONS[-1]) == ""
    pod = named["spec"]["template"]["spec"]
    wanted = {"logs": "/var/log/containers", "mounts": "/proc/1/mountinfo"}
    assert {v["name"]: v["hostPath"]["path"] for v in pod["volumes"] if v["name"] in wanted} == wanted
    assert {m["name"]: (m["mountPath"], m["readOnly"]) for m in pod["containers"][0]["volumeMounts"] if m["name"] in wanted} == {
        name: (f"/node{path}", True) for name, path in wanted.items()}


@pytest.mark.parametrize("right, wrong, said", [("readOnlyRootFilesystem: ", "readOnlyRootFileSystem: ", "'readOnlyRootFileSystem' not allowed"),
                                                ("hostPID: false", "hostPID: 'no'", "expected boolean or null, but got string")])
def test_the_schema_finds_mistakes(right, wrong, said):
    """An unknown key, and a value of the wrong type."""
    changed = yaml.safe_load(yaml.safe_dump(DAEMONSET).replace(right, wrong))
    assert said in kubernetes.complaints([changed], kubernetes.VERSIONS[-1])


def test_as_little_as_it_can_be():
    """Nothing of the node but its cgroups, read-only."""
    context = CONTAINER["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"], "add": NEEDED}
    assert (context["privileged"], context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, False, True)
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert [POD[key] for key in ("hostNetwork", "hostPID", "hostIPC", "automountServiceAccountToken")] == [False] * 4
    assert [v["hostPath"]["path"] for v in POD["volumes"] if "hostPath" in v] == ["/sys/fs/cgroup"]
    assert all(m["readOnly"] for m in CONTAINER["volumeMounts"])


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """The root and the entry point that the lines of the Containerfile make."""
    if not ARCHIVE.exists():
        pytest.skip(f"no {ARCHIVE}: make release-files packs it, and RELEASE_ARCHIVE names it")
    text = CONTAINERFILE.read_text().replace("${VERSION}", version()).replace("${ARCH}", os.uname().machine)
    lines = [line.split(None, 1) for line in text.splitlines() if line and line[0] not in "#"]
    steps = [(word, rest) for word, rest in lines if word not in ("ARG", "EXPOSE", "USER")]
    assert [word for word, _ in steps] == ["FROM", "ADD", "FROM", "COPY", "ENTRYPOINT", "CMD"]
    stages = {}
    for word, rest in steps:
        if word == "FROM":
            assert rest.split()[0] == "scratch"
            here = tmp_path_factory.mktemp("stage")
            stages[rest.partition(" AS ")[2]] = here
        elif word == "ADD":
            name, _ = rest.split()
            assert name == ARCHIVE.name
            with tarfile.open(ARCHIVE) as tar:
                tar.extractall(here)
        elif word == "COPY":
            stage, source, target = re.fullmatch(r"--from=(\w+) (\S+) (\S+)", rest).groups()
            shutil.copytree(stages[stage] / source[1:], here / target[1:])
    return here, yaml.safe_load(dict(steps)["ENTRYPOINT"])


@pytest.fixture
def file_on_disk():
    """A file below the tree, and its disk."""
    with tempfile.NamedTemporaryFile(dir=BUILD) as f:
        device = os.stat(f.name).st_dev
        place = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
        if not (place / "stat").exists():
            pytest.skip(f"{BUILD} is on no block device of its own")
        f.write(os.urandom(READS * 4096))
        f.flush()
        os.fsync(f.fileno())
        yield f.name, (place.parent if (place / "partition").exists() else place).name


def config_map(name, beside):
    """Its files in a folder; the service gets any free port."""
    assert OPTIONS["metadata"]["name"] == name
    folder = beside / name
    folder.mkdir(exist_ok=True)
    for file, text in OPTIONS["data"].items():
        assert text.count(":9834\n") == 1
        (folder / file).write_text(text.replace(":9834\n", ":0\n"))
    return str(folder)


def words(image):
    """bubblewrap's arguments for what the DaemonSet specifies and what every container gets: proc, a few nodes, /sys read-only."""
    root, entry = image
    context = CONTAINER["securityContext"]
    for place in ("proc", "sys", "dev"):  # as a runtime makes them
        (root / place).mkdir(exist_ok=True)
    argv = ["bwrap", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--as-pid-1", "--die-with-parent", "--clearenv",
            "--ro-bind" if context["readOnlyRootFilesystem"] else "--bind", str(root), "/", "--proc", "/proc", "--dev", "/dev",
            "--ro-bind", "/sys", "/sys", "--tmpfs", "/sys/fs/cgroup", "--remount-ro", "/sys/fs/cgroup"]
    for mount in CONTAINER["volumeMounts"]:
        (root / mount["mountPath"][1:]).mkdir(parents=True, exist_ok=True)
        volume = next(v for v in POD["volumes"] if v["name"] == mount["name"])
        path = volume["hostPath"]["path"] if "hostPath" in volume else config_map(volume["configMap"]["name"], root.parent)
        argv += ["--ro-bind" if mount["readOnly"] else "--bind", path, mount["mountPath"]]
    argv += ["--cap-drop", "ALL", *(word for name in context["capabilities"]["add"] for word in ("--cap-add", f"CAP_{name}"))]
    return [*argv, "--", *entry, *CONTAINER["args"]]


class Service(service.Serve):
    """Started by a program that starts others."""

    def __enter__(self):
        super().__enter__()
        self.host = "127.0.0.1"
        return self

    def processes(self):
        """Status files of blklat's processes, the one that captures first."""
        found, at = [], [self.process.pid]
        while at:
            pid = at.pop(0)
            at += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            if re.match(r"Name:\s+blklat", status):
                found.append((pid, dict(re.findall(r"^(\w+):\s+(.*)$", status, re.M))))
        return found

    def stop(self):
        os.kill(self.processes()[0][0], signal.SIGTERM)
        assert self.process.wait(60) == 0, self.read_stderr()


needs_bubblewrap = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("bwrap"), reason="takes root and bubblewrap")


@needs_bubblewrap
def test_it_counts_with_that_alone(image, file_on_disk):
    """It counts this machine's reads of a disk, with nothing to write to and no privilege but the four."""
    path, name = file_on_disk
    with Service(argv=words(image)) as s:
        reads = re.compile(rf'^blklat_io_latency_seconds_count{{.*device="{name}".*op="read".*}} (\d+)', re.M)
        s.until(lambda: f'device="{name}"' in s.request("/metrics").text, "the disk")
        subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=4k", "iflag=direct"], check=True, capture_output=True)
        s.until(lambda: sum(map(int, reads.findall(s.request("/metrics").text))) >= READS, "the reads")
        alive, ready = (s.request(CONTAINER[probe]["httpGet"]["path"]).text for probe in ("livenessProbe", "readinessProbe"))
        # Devices of other tests, which are watched as well, may lose IOs.
        assert alive == "ok\n" and (ready == "ok\n" or "within the last minute" in ready and name not in ready), (alive, ready)
        (first, captures), (_, serves) = s.processes()
        assert captures["NSpid"].split()[-1] == "1"
        assert captures["NoNewPrivs"] == serves["NoNewPrivs"] == "1"
        assert serves["Uid"].split() == ["65534"] * 4 and int(serves["CapPrm"], 16) == 0
        # Kept for new devices.
        assert int(captures["CapPrm"], 16) == 1 << BITS["BPF"] | 1 << BITS["PERFMON"]
        mounts = [line.split() for line in pathlib.Path(f"/proc/{first}/mountinfo").read_text().splitlines()]
        writable = {fields[4] for fields in mounts if "rw" in fields[5].split(",")}
        assert not {place for place in writable if place != "/proc" and not re.match("/dev(/|$)", place)}
        assert set(os.listdir(f"/proc/{first}/root/sys/fs/cgroup")) == set(os.listdir("/sys/fs/cgroup"))


@needs_bubblewrap
@pytest.mark.parametrize("capability,said", [("BPF", "CAP_BPF missing"), ("PERFMON", "CAP_PERFMON missing"), ("SETUID", "takes CAP_SETUID"), ("SETGID", "and CAP_SETGID")])
def test_less_is_not_enough(image, capability, said):
    argv = words(image)
    at = argv.index(f"CAP_{capability}")
    r = subprocess.run(argv[:at - 1] + argv[at + 1:], capture_output=True, text=True, timeout=60)
    assert r.returncode and said in r.stderr, r.stderr


def refusing(answer, command=None):
    """A filter that answers bpf(), or only a command of it, with an error."""
    steps = [(RETURN, 0, 0, RETURN_ERRNO | answer), (RETURN, 0, 0, RETURN_ALLOW)]
    for offset, value in ((FIRST_ARGUMENT, command), (CALL_NUMBER, BPF_CALL[os.uname().machine])):
        if value is not None:
            steps = [(LOAD_WORD, 0, 0, offset), (JUMP_IF_EQUAL, 0, len(steps) - 1, value), *steps]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


FILTER_SAID = ("not permitted to call bpf(): a seccomp filter refuses it in spite of the capabilities, as the default profile of an older container engine "
               "does: give the container another profile")
MODULE_SAID = ("not permitted to make a BPF map: a security module forbids it (the kernel's audit log has more), as SELinux does to containers: "
               "give the container the type spc_t")


@needs_bubblewrap
@pytest.mark.parametrize("profile,said", [
    (refusing(errno.EPERM), FILTER_SAID),  # containers-common before 0.60, containerd before 1.6.9
    (refusing(errno.ENOSYS), FILTER_SAID),
    (refusing(errno.EACCES, MAP_CREATE), MODULE_SAID)])  # what SELinux answers
def test_refused_in_spite_of_the_capabilities(image, profile, said):
    with tempfile.TemporaryFile() as file:
        file.write(profile)
        file.seek(0)
        argv = words(image)
        argv[1:1] = ["--seccomp", str(file.fileno())]
        r = subprocess.run(argv, capture_output=True, text=True, timeout=60, pass_fds=[file.fileno()])
    assert (r.returncode, r.stdout, r.stderr) == (1, "", f"blklat serve: {said}\n")


@needs_bubblewrap
def test_no_call_that_the_default_profile_refuses(image, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    with Service(argv=["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=execve,capset," + ",".join(REFUSED), "-o", str(trace), *words(image)]) as s:
        s.until(lambda: "device=" in s.request("/metrics").text, "a device")
    calls = [re.match(r"\d+ +(\w+)", line)[1] for line in trace.read_text().splitlines() if re.match(r"\d+ +\w+\(", line)]
    own = calls[max(n for n, call in enumerate(calls) if call == "execve") + 1:]
    assert "capset" in own and set(own) <= {"capset"}
