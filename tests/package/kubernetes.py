# SPDX-License-Identifier: GPL-2.0-only
"""The schemas of Kubernetes' objects from the Python package kubernetes-validate, in the cache."""
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import jsonschema

from cache import CACHE, locked
from packages import Staged

WHEEL = "kubernetes-validate==1.37.0"
# The oldest and the newest that it has. Strict: what a schema does not name is an error.
VERSIONS = ("1.25.0", "1.37.0")
FOLDER = CACHE / "kubernetes-objects"
SCHEMAS = {"DaemonSet": "daemonset-apps-v1.json", "ConfigMap": "configmap-v1.json"}
DEFINITIONS = "_definitions.json"


def fetch():
    if FOLDER.exists():
        return
    with locked(), tempfile.TemporaryDirectory() as scratch, Staged(FOLDER) as staged:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, WHEEL], check=True, timeout=300)
        with zipfile.ZipFile(next(pathlib.Path(scratch).glob("*.whl"))) as wheel:
            for version in VERSIONS:
                for name in (*SCHEMAS.values(), DEFINITIONS):
                    member = f"kubernetes_validate/kubernetes-json-schema/v{version}-local-strict/{name}"
                    (staged / version).mkdir(exist_ok=True)
                    (staged / version / name).write_bytes(wheel.read(member))


def complaints(document, version):
    """What is wrong with an object, a line each."""
    fetch()
    schema, definitions = (json.loads((FOLDER / version / name).read_text()) for name in (SCHEMAS[document["kind"]], DEFINITIONS))
    resolver = jsonschema.RefResolver.from_schema(schema, store={definitions["$id"]: definitions})
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
    return [f"{'.'.join(map(str, e.absolute_path))}: {e.message}" for e in validator.iter_errors(document)]
