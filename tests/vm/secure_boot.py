# SPDX-License-Identifier: GPL-2.0-only
"""
A guest with UEFI firmware and Secure Boot, whose keys include one of ours:

    machine = Machine(kernel, qemu_args=firmware(folder, certificate))

Debian's kernel then locks itself down (lockdown=integrity), and takes modules signed by its own keys or by those in the
firmware's variable "db", which become its keyring .platform. QEMU loads the kernel itself, unchecked.
"""
import pathlib
import struct
import subprocess
import uuid

from cache import CACHE, fetch_programs, locked, read_stamp
from packages import Failure

OVMF = CACHE / "ovmf"
GLOBAL = uuid.UUID("8be4df61-93ca-11d2-aa0d-00e098032b8c")
IMAGE_SECURITY = uuid.UUID("d719b2cb-3d3a-4596-a3bc-dad00e67656f")
ENABLE = uuid.UUID("f0a30bc7-af08-4556-99c4-001009c93a44")
X509 = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")
# Non-volatile and seen by boot services; also seen at run time, and changed only by signed writes.
KEPT, AUTHENTICATED = 0x03, 0x27
# The two headers at the start of an empty store (PiFirmwareVolume.h, VariableFormat.h); the rest is 0xff.
STORE_BEGIN = 0x48 + 28


def fetch():
    """Fetches the firmware into the cache unless it is there; returns its folder."""
    with locked():
        if not read_stamp(OVMF):
            fetch_programs(OVMF, ["ovmf"])
    return OVMF / "usr/share/OVMF"


def variable(name, vendor, attributes, data):
    """A variable as the store has it (AUTHENTICATED_VARIABLE_HEADER)."""
    text = (name + "\0").encode("utf-16-le")
    written = struct.pack("<HBBBBBBIhBB", 2026, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0) if attributes == AUTHENTICATED else bytes(16)
    entry = struct.pack("<HBBIQ", 0x55aa, 0x3f, 0, attributes, 0) + written + struct.pack("<III", 0, len(text), len(data)) + \
        vendor.bytes_le + text + data
    return entry + b"\xff" * (-len(entry) % 4)


def certificates(one):
    """A list of one certificate (EFI_SIGNATURE_LIST)."""
    return X509.bytes_le + struct.pack("<III", 28 + 16 + len(one), 0, 16 + len(one)) + GLOBAL.bytes_le + one


def firmware(folder, certificate):
    """QEMU's arguments for firmware that trusts a certificate (a PEM file) and keeps its variables in the folder."""
    place = fetch()
    own = subprocess.run(["openssl", "x509", "-in", certificate, "-outform", "DER"], capture_output=True, check=True).stdout
    store = bytearray((place / "OVMF_VARS_4M.fd").read_bytes())
    # Without a platform key (PK) nothing is checked.
    told = b"".join([variable("PK", GLOBAL, AUTHENTICATED, certificates(own)),
                     variable("KEK", GLOBAL, AUTHENTICATED, certificates(own)),
                     variable("db", IMAGE_SECURITY, AUTHENTICATED, certificates(own)),
                     variable("SecureBootEnable", ENABLE, KEPT, b"\1")])
    if set(store[STORE_BEGIN:STORE_BEGIN + len(told)]) != {0xff}:
        raise Failure(f"{place}/OVMF_VARS_4M.fd is not an empty store")
    store[STORE_BEGIN:STORE_BEGIN + len(told)] = told
    kept = pathlib.Path(folder) / "firmware-variables"
    kept.write_bytes(store)
    return ["-machine", "q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on",
            "-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={place}/OVMF_CODE_4M.secboot.fd",
            "-drive", f"if=pflash,unit=1,format=raw,file={kept}"]
