# SPDX-License-Identifier: GPL-2.0-only
"""The Helm chart: what helm makes of it is the DaemonSet as it is, what values change, and the rules as they are."""
import json
import pathlib
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/vm"))

import kubernetes  # noqa: E402

CHART = ROOT / "packaging/helm"
HELM = "helm.sh/helm/v3/cmd/helm@v3.11.3"
OBJECTS = list(yaml.safe_load_all((ROOT / "packaging/kubernetes/daemonset.yaml").read_text()))
RULES = (ROOT / "packaging/prometheus/blklat.rules.yml").read_text()
PAGE = "file:///usr/share/doc/blklat/runbooks.md"


@pytest.fixture(scope="module")
def helm():
    path = kubernetes.go_program(HELM)

    def run(*argv):
        r = subprocess.run([path, *argv, str(CHART)], capture_output=True, text=True, timeout=120)
        assert r.returncode == 0, r.stdout + r.stderr
        return r.stdout
    return run


def template(helm, **values):
    made = helm("template", *(word for name, value in values.items() for word in ("--set-json", f"{name.replace('__', '.')}={json.dumps(value)}")))
    return {o["kind"]: o for o in yaml.safe_load_all(made) if o}


def test_lint(helm):
    assert "0 chart(s) failed" in helm("lint", "--strict")


def test_by_default_it_is_the_manifest(helm):
    made = template(helm)
    assert made.keys() == {"ConfigMap", "DaemonSet"}
    pod = made["DaemonSet"]["spec"]["template"]
    assert len(pod["metadata"]["annotations"].pop("checksum/config")) == 64
    assert (pod["spec"].pop("imagePullSecrets"), pod["spec"]["containers"][0].pop("imagePullPolicy")) == ([], "IfNotPresent")
    assert list(made.values()) == OBJECTS


def test_values(helm):
    options = "dev = nvme*n1\nrecord = /var/lib/blklat\n"
    made = template(helm, image="registry/blklat:1", config=options, recordings="/srv/blklat", imagePullSecrets=[{"name": "s"}],
                    resources={"limits": {"memory": "1Gi"}}, nodeSelector={"disks": "many"}, tolerations=[])
    assert kubernetes.complaints(made.values(), kubernetes.VERSIONS[-1]) == ""
    assert made["ConfigMap"]["data"] == {"blklat.conf": options}
    pod = made["DaemonSet"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    # As always with helm, a mapping is merged with the default, a list replaces it.
    assert (container["image"], container["resources"]["limits"]) == ("registry/blklat:1", {"memory": "1Gi"})
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux", "disks": "many"}
    assert (pod["tolerations"], pod["imagePullSecrets"]) == ([], [{"name": "s"}])
    assert container["volumeMounts"][-1] == {"name": "recordings", "mountPath": "/var/lib/blklat"}
    assert pod["volumes"][-1]["hostPath"]["path"] == "/srv/blklat"
    other = template(helm, config="dev = all\n")["DaemonSet"]["spec"]["template"]["metadata"]["annotations"]
    assert other["checksum/config"] != made["DaemonSet"]["spec"]["template"]["metadata"]["annotations"]["checksum/config"]


def test_for_the_operator(helm):
    made = template(helm, podMonitor__enabled=True, prometheusRule__enabled=True, prometheusRule__labels={"release": "p"},
                    prometheusRule__runbooks="https://wiki/runbooks.md")
    monitor, rule = made["PodMonitor"], made["PrometheusRule"]
    pod = made["DaemonSet"]["spec"]["template"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in [port["name"] for port in pod["spec"]["containers"][0]["ports"]]
    # It is not scraped twice.
    assert not [name for name in pod["metadata"]["annotations"] if name.startswith("prometheus.io")]
    assert rule["spec"] == yaml.safe_load(RULES.replace(PAGE, "https://wiki/runbooks.md")) and rule["metadata"]["labels"]["release"] == "p"
