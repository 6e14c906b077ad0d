# SPDX-License-Identifier: GPL-2.0-only
"""
usage: sbom.py ARCHIVE VERSION EPOCH THIRD_PARTY PACKAGE_LOCK

What is inside of the archive's program, as SPDX 2.3: the libraries in THIRD_PARTY (made by licenses.sh), and the page's from
PACKAGE_LOCK. A license of Debian's is the package's copyright file, as that has several for different files.
"""
import datetime
import hashlib
import json
import pathlib
import platform
import sys
import urllib.parse


def package(name, version, license_, purl=None, **more):
    found = {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
             "licenseConcluded": "NOASSERTION", "licenseDeclared": license_, "copyrightText": "NOASSERTION"}
    if purl:
        found["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return found | more


def debian(name, version):
    system = platform.freedesktop_os_release()
    quoted = urllib.parse.quote(version, safe="")
    return package(name, version, f"LicenseRef-{name}", f"pkg:deb/debian/{name}@{quoted}?arch=source&distro={system['ID']}-{system['VERSION_ID']}",
                   supplier="Organization: Debian")


def main(archive, version, epoch, third_party, lock):
    archive, third_party = pathlib.Path(archive), pathlib.Path(third_party)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    ours = package("blklat", version, "GPL-2.0-only", packageFileName=archive.name, checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    linked = [debian(*line.split()) for line in (third_party / "VERSIONS").read_text(encoding="utf-8").splitlines()]
    uplot = json.loads(pathlib.Path(lock).read_text(encoding="utf-8"))["packages"]["node_modules/uplot"]
    page = package("uplot", uplot["version"], uplot["license"], f"pkg:npm/uplot@{uplot['version']}")
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", ours), *((ours["SPDXID"], "STATIC_LINK", p) for p in linked), (ours["SPDXID"], "CONTAINS", page)]
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": archive.name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{archive.name}-{digest}",
        "creationInfo": {"created": datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": [f"Tool: blklat-sbom-{version}"]},
        "packages": [ours, *linked, page],
        "hasExtractedLicensingInfos": [{"licenseId": p["licenseDeclared"], "name": f"copyright file of Debian's source package {p['name']}",
                                        "extractedText": (third_party / p["name"]).read_text(encoding="utf-8")} for p in linked],
        "relationships": [{"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": p["SPDXID"]} for of, kind, p in relations],
    }, sys.stdout, indent=1)


main(*sys.argv[1:])
