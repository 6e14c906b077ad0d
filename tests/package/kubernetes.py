# SPDX-License-Identifier: GPL-2.0-only
"""Programs that go builds into the cache: helm, and kubeconform, which judges objects by the schemas of the Python package kubernetes-validate."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest
import yaml

from cache import CACHE, locked
from packages import Staged

# The last that Debian 12's Go builds.
KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.6.2"
WHEEL = "kubernetes-validate==1.37.0"
# The oldest and the newest that it has.
VERSIONS = ("1.25.0", "1.37.0")
FOLDER = CACHE / "kubernetes-schemas"


def go_program(module):
    """Its path; go builds it the first time."""
    name = module.partition("@")[0].rpartition("/")[2]
    path = CACHE / name / name
    with locked():
        if not path.exists():
            go = shutil.which("go", path=f"/usr/local/go/bin:{os.environ['PATH']}")
            if not go:
                pytest.skip(f"no go, which builds {name}")
            subprocess.run([go, "install", module], check=True, timeout=1200, env=os.environ | {"GOBIN": str(path.parent), "GOFLAGS": "-p=2"})
    return path


def fetch():
    if FOLDER.exists():
        return
    with locked(), tempfile.TemporaryDirectory() as scratch, Staged(FOLDER) as staged:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, WHEEL], check=True, timeout=300)
        with zipfile.ZipFile(next(pathlib.Path(scratch).glob("*.whl"))) as wheel:
            for version in VERSIONS:
                (staged / version).mkdir(exist_ok=True)
                for name in ("daemonset-apps-v1", "configmap-v1", "_definitions"):
                    text = wheel.read(f"kubernetes_validate/kubernetes-json-schema/v{version}-local-strict/{name}.json").decode()
                    # They refer to each other by addresses of kubernetes.io: here, by name.
                    text = re.sub(r',\s*"\$id": "[^"]*"', "", text).replace('"/api/_definitions.json', '"_definitions.json')
                    (staged / version / f"{name}.json").write_text(text)


def complaints(objects, version):
    """What is wrong with them, by the first mistake of each, as text. Strict: what a schema does not name is a mistake."""
    program = go_program(KUBECONFORM)
    fetch()
    r = subprocess.run([program, "-strict", "-schema-location", f"{FOLDER}/{version}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json", "-"],
                       input=yaml.safe_dump_all(objects), capture_output=True, text=True, timeout=60)
    assert (r.returncode != 0) == bool(r.stdout), r.stderr
    return r.stdout
