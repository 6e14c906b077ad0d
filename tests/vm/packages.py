# SPDX-License-Identifier: GPL-2.0-only
"""
Debian packages of several releases, unpacked into folders; nothing is installed.

apt works below a root with its own lists, sources (the mirrors of this machine's apt, other suites)
and preferences. Only the list of installed packages is this machine's, so that libraries it has need
no download. There may be one root for each architecture.
"""
import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HOST = "bookworm"
SUITES = (HOST, f"{HOST}-updates", f"{HOST}-backports", "bullseye", "sid")
SECURITY_SUITES = (f"{HOST}-security", "bullseye-security")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Other releases provide only what this one does not have; QEMU comes from the backports.
PREFERENCES = f"""\
Package: *
Pin: release n={HOST}-backports
Pin-Priority: 200

Package: *
Pin: release n={HOST}*
Pin-Priority: 500

Package: *
Pin: release n=*
Pin-Priority: 100

Package: qemu-* seabios ipxe-qemu libslirp0
Pin: release n={HOST}-backports
Pin-Priority: 600
"""


class Failure(Exception):
    """One line for the user."""


def exit_with(main):
    """Runs a program's main(); SIGTERM ends it like Ctrl-C, so that what it started ends, too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except Failure as e:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


def run(*argv, **options):
    """Returns what a command printed; on failure the end of its complaint becomes the one line."""
    argv = [str(a) for a in argv]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", **options)
    except FileNotFoundError:
        raise Failure(f"no {argv[0]} on this machine") from None
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()
        raise Failure(f"{pathlib.Path(argv[0]).name} {argv[1]}: {words[-1]}")
    return done.stdout


@functools.cache
def mirrors():
    """Where this machine's apt gets Debian and its security updates from."""
    sites = {}
    for uri, suite in re.findall(r"'(\S+)/dists/(\S+)/InRelease'", run("apt-get", "--print-uris", "update")):
        sites.setdefault(suite, uri)
    if HOST not in sites:
        raise Failure(f"this machine's apt has no mirror of Debian {HOST}")
    return sites[HOST], sites.get(f"{HOST}-security")


def source_line(uri, suite):
    return f"deb [signed-by={KEYRING}] {uri} {suite} main"


def bootstrap(suite, folder, packages, variant, *options):
    """Makes a root of a release by mmdebstrap. In a namespace of its own, so that no mount is left behind."""
    main, security = mirrors()
    lines = [source_line(main, suite)]
    if security and suite != "sid":  # which needs none
        lines.append(source_line(security, f"{suite}-security"))
    run("unshare", "--mount", "--propagation", "private", "mmdebstrap", "--quiet", "--mode=root", f"--variant={variant}",
        f"--include={','.join(packages)}", '--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=Acquire::Retries "3"',
        '--aptopt=APT::Install-Recommends "false"', *options, suite, folder, *lines)


def sources():
    main, security = mirrors()
    lines = [source_line(main, suite) for suite in SUITES]
    return lines + [source_line(security, suite) for suite in SECURITY_SUITES if security]


class Apt:
    """apt for this machine's architecture, or for another one, of which nothing is installed here."""

    def __init__(self, folder, architecture=None):
        self.folder = folder
        self.architecture = architecture
        self.env = os.environ | {"APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}

    def configure(self):
        for name in ("lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        # Of the machine's own settings, only how to reach a mirror.
        reach = re.findall(r"^Acquire::(?:https?|Retries|Check).*$", run("apt-config", "dump"), re.M)
        other = []
        if self.architecture:
            (self.folder / "status").touch()
            other = [f'APT::Architecture "{self.architecture}";', f'APT::Architectures {{ "{self.architecture}"; }};',
                     f'Dir::State::Status "{self.folder}/status";']
        (self.folder / "apt.conf").write_text("\n".join(reach + other + [
            'Dir::Etc::Parts "/dev/null";',
            f'Dir::Etc::SourceList "{self.folder}/sources.list";',
            'Dir::Etc::SourceParts "/dev/null";',
            f'Dir::Etc::Preferences "{self.folder}/preferences";',
            'Dir::Etc::PreferencesParts "/dev/null";',
            f'Dir::State::Lists "{self.folder}/lists";',
            f'Dir::Cache "{self.folder}/cache";',
            'Acquire::Check-Valid-Until "false";', 'Acquire::Languages "none";', 'Acquire::Retries "3";',
            'APT::Install-Recommends "false";', 'APT::Sandbox::User "root";', ""]))
        (self.folder / "sources.list").write_text("\n".join(sources()) + "\n")
        (self.folder / "preferences").write_text(PREFERENCES)

    def __call__(self, *argv, **options):
        return run(*argv, env=self.env, **options)

    @functools.cache
    def update(self):
        """Once a run, before the first question."""
        self.configure()
        print("apt lists of", *([self.architecture, "in"] if self.architecture else []), ", ".join(SUITES + SECURITY_SUITES), flush=True)
        # A mirror that fails is only a warning to apt, and old lists name packages that are gone.
        self("apt-get", "update", "-q", "--error-on=any")

    def versions(self, names):
        """(name, version, suite) of each package in each suite."""
        rows = [[f.strip() for f in line.split("|")] for line in self("apt-cache", "madison", *names).splitlines()]
        return [(name, version, place.split()[1].split("/")[0]) for name, version, place in rows]

    def newest(self, prefix, pattern, suites):
        """Name and version of the newest package whose name matches, None if no suite has one."""
        names = [n for n in self("apt-cache", "pkgnames", prefix).split() if re.fullmatch(pattern, n)]
        found = [(n, v) for n, v, suite in self.versions(names) if suite in suites] if names else []
        return max(found, key=functools.cmp_to_key(lambda a, b: compare(a[1], b[1])), default=None)

    def depends(self, name):
        """Names in its Depends, the first of each alternative."""
        text = self("apt-cache", "show", "--no-all-versions", name)
        fields = re.findall(r"^Depends: (.*)$", text, re.M)
        return [part.split()[0] for part in fields[0].split(",")] if fields else []

    def with_libraries(self, *names):
        """These packages and their dependencies that the machine does not have."""
        plan = self("apt-get", "install", "-s", "--reinstall", *names)
        return re.findall(r"^Inst ([^\s:]+)", plan, re.M)

    @contextlib.contextmanager
    def downloaded(self, names):
        """Files of the candidate versions of packages, which are removed at the end."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            self("apt-get", "-q", "download", *names, cwd=scratch)
            yield sorted(pathlib.Path(scratch).glob("*.deb"))

    def unpack(self, names, folder):
        """Unpacks the candidate versions of packages into a folder."""
        with self.downloaded(names) as debs:
            for deb in debs:
                run("dpkg-deb", "-x", deb, folder)


def compare(a, b):
    """Compares Debian versions: -1, 0 or 1."""
    for sign, operator in ((-1, "lt"), (1, "gt")):
        if subprocess.run(["dpkg", "--compare-versions", a, operator, b]).returncode == 0:
            return sign
    return 0


def unpack_source(deb, folder, left_out=()):
    """Unpacks Linux' tree, which a linux-source package holds as an archive, but nothing that matches left_out (for tar)."""
    name = deb.name.split("_")[0]
    steps = [["dpkg-deb", "--fsys-tarfile", deb],
             ["tar", "-xO", f"./usr/src/{name}.tar.xz"],
             ["xz", "-dc", "-T2"],
             ["tar", "-x", "-C", folder, "--strip-components=1", "--no-same-owner", "--anchored", "--wildcards",
              *(f"--exclude={name}/{pattern}" for pattern in left_out)]]
    running, output = [], None
    try:
        for step in steps:
            running.append(subprocess.Popen(step, stdin=output or subprocess.DEVNULL, stdout=subprocess.PIPE))
            if output:
                output.close()
            output = running[-1].stdout
        if any([p.wait() for p in reversed(running)]):
            raise Failure(f"{deb.name} can't be unpacked into {folder}")
    finally:
        for p in running:
            p.kill()
            p.wait()


class Staged:
    """A folder that appears under its name only when it is complete, and replaces an older one."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix=f".{self.folder.name}.", dir=self.folder.parent))
        self.scratch.chmod(0o755)
        return self.scratch

    def __exit__(self, kind, *_):
        old = self.scratch
        if kind is None:
            if self.folder.exists():
                old = pathlib.Path(tempfile.mkdtemp(prefix=f".{self.folder.name}.", dir=self.folder.parent))
                self.folder.rename(old)
            self.scratch.rename(self.folder)
        shutil.rmtree(old, ignore_errors=True)
