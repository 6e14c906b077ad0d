# SPDX-License-Identifier: GPL-2.0-only
"""The archive of 'make release': its contents, and its program in a root with nothing else."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / folder) for folder in ("host", "serve", "vm")]

import devices  # noqa: E402
import load  # noqa: E402
import service  # noqa: E402
import wheels  # noqa: E402
from script import recorded, write_recording  # noqa: E402
from users import basic, bcrypt  # noqa: E402

# The dynamically linked program, as installed.
BLKLAT = os.environ.get("BLKLAT", str(ROOT / "build/blklat"))
ARCHIVE = pathlib.Path(os.environ.get("RELEASE_ARCHIVE", "none"))
SBOM = ARCHIVE.with_name(ARCHIVE.name.replace(".tar.xz", ".spdx.json"))
# SPDX's own reader and validator, and what it needs for JSON.
SPDX = ("spdx-tools==0.8.5", "beartype==0.23.1", "boolean.py==5.0", "license-expression==30.4.4", "uritools==7.0.0")
REPLAY = recorded(ROOT / "tests/cli/replay/mixed.txt")
DOC = "share/doc/blklat"
THIRD = f"{DOC}/third-party"
# name in the archive -> file of the tree that is copied
FILES = {
    "share/blklat/blklat.py": "packaging/python/blklat.py",
    "share/bash-completion/completions/blklat": "packaging/completion/blklat.bash",
    "share/fish/vendor_completions.d/blklat.fish": "packaging/completion/blklat.fish",
    "share/zsh/site-functions/_blklat": "packaging/completion/_blklat",
    f"{DOC}/README.md": "packaging/release/README.md",
    f"{DOC}/blklat.conf": "packaging/blklat.conf",
    f"{DOC}/grafana/blklat.json": "packaging/grafana/blklat.json",
    f"{DOC}/prometheus/blklat.rules.yml": "packaging/prometheus/blklat.rules.yml",
    f"{DOC}/examples/sweep.fio": "packaging/examples/sweep.fio",
    f"{DOC}/LICENSES/GPL-2.0-only.txt": "LICENSES/GPL-2.0-only.txt",
} | {f"share/man/man8/{page.name}": f"docs/{page.name}" for page in ROOT.glob("docs/*.8")}
# Replaced by static.c and release.mk, which say why: p11-kit, and what libcurl has for protocols that are not used.
NOT_LINKED = {"p11-kit", "brotli", "krb5", "libpsl", "libssh2", "libzstd", "nghttp2", "openldap", "rtmpdump"}
ENTER = 'mount -t proc proc "$1/proc"; mount -t sysfs sysfs "$1/sys"; mount --rbind /dev "$1/dev"; exec chroot "$@"'

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a chroot takes root")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The unpacked archive, and mount points for the kernel's file systems; nothing else."""
    if not ARCHIVE.exists():
        pytest.skip(f"no {ARCHIVE}: make release-files packs it, and RELEASE_ARCHIVE names it")
    folder = tmp_path_factory.mktemp("root")
    for name in ("proc", "sys", "dev", "tmp"):
        (folder / name).mkdir()
    subprocess.run(["tar", "-xf", ARCHIVE, "-C", folder, "--strip-components=1"], check=True)
    return folder


def within(root):
    """A prefix that runs a command in that root, as the started process itself."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh", str(root)]


def run(root, *args):
    return subprocess.run([*within(root), "/sbin/blklat", *map(str, args)], capture_output=True, text=True, timeout=60)


def output(*argv):
    return subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=True).stdout


def test_sums():
    if not ARCHIVE.exists():
        pytest.skip(f"no {ARCHIVE}")
    lines = dict(reversed(line.split("  ")) for line in (ARCHIVE.parent / "SHA256SUMS").read_text().splitlines())
    for path in ARCHIVE, SBOM:
        assert lines[path.name] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_contents(root):
    for name, source in FILES.items():
        assert (root / name).read_bytes() == (ROOT / source).read_bytes(), name
    assert "\nExecStart=/usr/local/sbin/blklat serve --config /etc/blklat/blklat.conf $ARGS\n" in (root / "lib/systemd/system/blklat.service").read_text()
    said = output(root / "sbin/blklat", "--version")
    assert said == output(BLKLAT, "--version")
    assert ARCHIVE.name == f"blklat-{said.split()[1]}-linux-{os.uname().machine}.tar.xz"


def test_nothing_of_the_build_shows(root):
    """Neither when, nor where, nor by whom it was built."""
    with tarfile.open(ARCHIVE) as tar:
        members = tar.getmembers()
    assert [m.name for m in members] == sorted((m.name for m in members), key=lambda name: name.split("/"))
    assert {(m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, "", "")}
    assert len({m.mtime for m in members}) == 1
    assert {oct(m.mode) for m in members if m.isfile() and not m.name.endswith("/sbin/blklat")} == {"0o644"}
    program = (root / "sbin/blklat").read_bytes()
    assert str(ROOT).encode() not in program and b"bpf/blklat.bpf.c" in program


def test_it_loads_nothing(root):
    told = output("readelf", "-Wdl", root / "sbin/blklat")
    assert "PIE" in told and "NEEDED" not in told and "INTERP" not in told and "interpreter" not in told


@pytest.mark.parametrize("which", ["static", "with libraries"])
def test_hardened(root, which):
    """Hardened as distributions build programs that read untrusted input: position-independent, and no page writable and executable."""
    program = root / "sbin/blklat" if which == "static" else BLKLAT
    told = output("readelf", "-Wdl", program)
    assert "PIE" in told and "BIND_NOW" in told and "GNU_RELRO" in told
    loaded = re.findall(r"^ +(\w+) +(?:0x\w+ +){5}([RWE ]{3})", told, re.M)
    assert ("GNU_STACK", "RW ") in loaded and not [name for name, flags in loaded if "W" in flags and "E" in flags], loaded
    if which != "static":  # the static one has no symbols
        assert {"__stack_chk_fail", "__snprintf_chk", "__memcpy_chk"} <= set(re.findall(r"U (\w+)@", output("nm", "-D", program)))


def test_licenses(root):
    """There is a license for libc and each library that the dynamic program is linked with or loads, in the version installed here."""
    told = dict(line.split() for line in (root / THIRD / "VERSIONS").read_text().splitlines())
    names = [name.decode() for name in re.findall(rb"\0(lib[\w-]+\.so\.\d+)(?=\0)", pathlib.Path(BLKLAT).read_bytes())]
    known = dict(re.findall(r"^\s(\S+) .*=> (/\S+)", output("ldconfig", "-p"), re.M))
    libraries = [known[name] for name in names]
    paths = [*libraries, *re.findall(r"=> (/\S+)", output("ldd", *libraries))]
    # A package may still have paths from before /lib was merged into /usr; dpkg finds only those that it knows.
    names = {name.removeprefix(merged) for path in paths for name in (path, os.path.realpath(path)) for merged in ("", "/usr")}
    owners = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True).stdout
    packages = sorted(set(re.findall(r"^(\S+): ", owners, re.M)))
    linked = dict(line.split() for line in output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\n", *packages).splitlines())
    direct = {"libbpf", "gnutls28", "sqlite3", "glibc", "nettle", "gmp"}
    assert direct <= set(told) and direct <= set(linked)
    assert {name: version for name, version in told.items() if name in linked} == {n: v for n, v in linked.items() if n in told}
    # The others are what these are linked with.
    assert set(linked) - set(told) <= NOT_LINKED | {"libffi", "libcap2", "cyrus-sasl2", "e2fsprogs", "keyutils", "openssl"}
    for name in [*told, "uplot"]:
        assert "opyright" in (root / THIRD / name).read_text(), name
    texts = "".join(path.read_text() for path in (root / THIRD).iterdir() if path.is_file())
    for name in set(re.findall(r"/usr/share/common-licenses/([A-Z]+-[\d.]*\d|[A-Z]+\b)", texts)):
        assert (root / THIRD / "common" / name).stat().st_size > 1000, name


def test_bill_of_materials(root):
    """By SPDX's own tools it is valid; it has what the licenses are of."""
    sys.path += [wheels.unpacked(requirement) for requirement in SPDX]
    from spdx_tools.spdx.model import RelationshipType
    from spdx_tools.spdx.parser.json import json_parser
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    document = json_parser.parse_from_file(str(SBOM))
    assert validate_full_spdx_document(document, "SPDX-2.3") == []
    packages = {p.spdx_id: p for p in document.packages}
    ours = packages["SPDXRef-blklat"]
    assert ours.version == output(root / "sbin/blklat", "--version").split()[1] and ours.file_name == ARCHIVE.name
    assert ours.checksums[0].value == hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()
    linked = [packages[r.related_spdx_element_id] for r in document.relationships if r.relationship_type == RelationshipType.STATIC_LINK]
    assert {p.name: p.version for p in linked} == dict(line.split() for line in (root / THIRD / "VERSIONS").read_text().splitlines())
    assert {i.license_id: i.extracted_text for i in document.extracted_licensing_info} == {
        str(p.license_declared): (root / THIRD / p.name).read_text() for p in linked}
    purls = {p.name: p.external_references[0].locator for p in packages.values() if p != ours}
    assert purls["zlib"].startswith("pkg:deb/debian/zlib@1%3A1.") and purls["uplot"] == f"pkg:npm/uplot@{packages['SPDXRef-uplot'].version}"


@needs_root
def test_devices_and_what_is_possible(root):
    """The output equals that of the dynamically linked program."""
    for command in ("list", "check"):
        other = subprocess.run([BLKLAT, command], capture_output=True, text=True, timeout=60)
        r = run(root, command)
        assert (r.returncode, r.stderr) == (other.returncode, other.stderr)
        # Devices of the tests that run beside this one come and go.
        lines, others = ([line.split() for line in text.splitlines() if not re.match("loop|zram", line)] for text in (r.stdout, other.stdout))
        assert lines[:3] == others[:3] and lines


@needs_root
def test_record_and_report(root):
    shutil.copy(REPLAY, root / "tmp/mixed.blklat")
    r = run(root, "record", "--replay", "/tmp/mixed.blklat", "-o", "/tmp/run.blklat")
    assert r.returncode == 0, r.stderr
    r = run(root, "report", "/tmp/run.blklat", "--format", "json")
    assert r.returncode == 0 and r.stdout == output(BLKLAT, "report", root / "tmp/run.blklat", "--format", "json").replace(str(root), "")
    r = run(root, "report", "/tmp/run.blklat", "-o", "/tmp/page.html")
    assert r.returncode == 0 and "uPlot" in (root / "tmp/page.html").read_text()


blklat_argv = load.blklat_argv


@needs_root
@load.exact
def test_capture(root, monkeypatch):
    """Counts each of fio's IOs on a device of this machine."""
    monkeypatch.setattr(load, "blklat_argv", lambda *args: [*within(root), "/sbin/blklat", *blklat_argv(*args)[1:]])
    with devices.loop() as device:
        with load.Blklat(device, interval=0.2) as b:
            done = load.fio(device, rw="randrw", number_ios=20000)
            b.next(device, n=2)
        load.assert_all_counted(b)
        assert b.ops() == {"read": done.ios("read"), "write": done.ios("write")}


@needs_root
def test_serve(root, tmp_path, monkeypatch):
    """TLS, a password, and the change to a user without a name here; the filters of system calls fit this libc."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=one", "-keyout", root / "tmp/one.key", "-out", root / "tmp/one.crt"], check=True, capture_output=True)
    (root / "tmp/web.yml").write_text("tls_server_config: {cert_file: one.crt, key_file: one.key}\n"
                                      f"basic_auth_users: {{prometheus: {bcrypt('secret')}}}\n")
    write_recording(service.script_of(1000, 0.1), root / "tmp/steady.blklat")
    monkeypatch.setattr(service, "BLKLAT", "/sbin/blklat")
    with service.Serve("--replay", "/tmp/steady.blklat", "--web-config", "/tmp/web.yml", prefix=within(root), tls=True) as s:
        assert s.scheme == "https"
        assert s.request("/metrics").status == 401
        # It answers before its first interval has ended, when there is no IO to tell of yet.
        s.until(lambda: "blklat_io_latency_seconds" in s.request("/metrics", headers=basic("prometheus", "secret")).text, "an interval")
        status = pathlib.Path(f"/proc/{s.server}/status").read_text()
        assert re.search(r"^Uid:(\s+65534){4}$", status, re.M) and re.search(r"^CapEff:\s+0+$", status, re.M)
        assert re.search(r"^Seccomp:\s+2$", status, re.M)
        assert "warning" not in s.read_stderr()
