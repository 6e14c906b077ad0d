# SPDX-License-Identifier: GPL-2.0-only
"""
SELinux: the type for containers of packaging/selinux in Debian 13's policy, whose module container has the attributes of
container-selinux; and what this policy gives the packaged service.
"""
import os
import pathlib
import re
import shutil
import sys

import debian13
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/vm"))

import chroot  # noqa: E402

MODULE = ROOT / "packaging/selinux/blklat_container.cil"
TYPE, PLAIN = "blklat_container_t", "plain_container_t"
SCRIPT = f"""
cd /out
policy=$(ls /etc/selinux/default/policy/policy.*)
sesearch -T -s init_t -t bin_t -c process $policy >service
sesearch -A -s initrc_t -t initrc_t -c bpf,capability2 $policy >>service
sesearch -A -s init_t -t initrc_t -c process2 $policy >>service
semodule -n -N -s default -i {MODULE.name} plain.cil
for type in {TYPE} {PLAIN}; do sesearch -A -s $type $policy >$type; done
sesearch -A -t {TYPE} -c process -p transition $policy >engines
"""
BPF = {"map_create", "map_read", "map_write", "prog_load", "prog_run"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """What sesearch says, in files of a folder."""
    if os.geteuid() or not shutil.which("mmdebstrap"):
        pytest.skip("a chroot takes root and mmdebstrap")
    out = tmp_path_factory.mktemp("selinux")
    shutil.copy(MODULE, out)
    # The same type, with its attributes alone.
    (out / "plain.cil").write_text(re.sub(r"\(optional blklat_container_lockdown\n\t\(.*\)\)|^\(allow .*$", "", MODULE.read_text(), flags=re.M)
                                   .replace("blklat_container", "plain_container"))
    root = chroot.make(debian13.SUITE, {"policycoreutils", "selinux-policy-default", "setools"})
    r = chroot.enter(root, out, "sh", "-ec", SCRIPT)
    assert r.returncode == 0, r.stderr
    return out


def rules(path):
    """{(target, class): permissions}, but for those by conditions."""
    found = {}
    for target, of, several, one in re.findall(r"^allow \S+ (\S+):(\S+) (?:\{ (.*) \}|(\S+));$", path.read_text(), re.M):
        found.setdefault((target.replace(PLAIN, TYPE), of), set()).update((several or one).split())
    return found


def test_what_the_module_adds(asked):
    """To what all containers may: this, and nothing else."""
    ours, plain = rules(asked / TYPE), rules(asked / PLAIN)
    added = {key: left for key, allowed in ours.items() if (left := allowed - plain.get(key, set()))}
    assert added == {(TYPE, "bpf"): BPF, (TYPE, "capability"): {"setgid", "setuid"}, (TYPE, "capability2"): {"bpf", "perfmon"},
                     ("sysfs_t", "dir"): {"read"}, ("sysfs_t", "file"): {"getattr", "map", "open", "read"}, ("sysfs_t", "lnk_file"): {"getattr", "read"},
                     ("cgroup_t", "dir"): {"read"}}
    assert re.search(r"^allow container_engine_system_domain container_domain:process \{.*transition", (asked / "engines").read_text(), re.M)


def test_the_service_needs_none(asked):
    """systemd starts what it has no policy for as initrc_t, with no_new_privs as well, which may use BPF."""
    said = (asked / "service").read_text()
    assert "type_transition init_t bin_t:process initrc_t;" in said
    assert re.search(r"^allow unconfined_domain_type domain:bpf \{ map_create map_read map_write prog_load prog_run \};", said, re.M)
    assert re.search(r"^allow initrc_t initrc_t:capability2 \{.*\bbpf\b.*\bperfmon\b", said, re.M)
    assert re.search(r"^allow init_t init_domain_type:process2 \{.*nnp_transition", said, re.M)
