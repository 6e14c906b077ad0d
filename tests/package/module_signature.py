# SPDX-License-Identifier: GPL-2.0-only
"""The signature at the end of a module, checked by openssl."""
import struct
import subprocess

MAGIC = b"~Module signature appended~\n"
# The kernel's struct module_signature: five bytes, three unused, the length. Of the five only the type, PKCS #7, is not 0.
TRAILER = struct.Struct(">5B3xI")


def signature(module):
    """The signed content, and the signature."""
    data = module.read_bytes()
    assert data.endswith(MAGIC)
    at = len(data) - len(MAGIC) - TRAILER.size
    *kinds, length = TRAILER.unpack_from(data, at)
    assert kinds == [0, 0, 2, 0, 0]
    return data[:at - length], data[at - length:at]


def verify(content, signed, certificate, folder):
    (folder / "content").write_bytes(content)
    (folder / "signature").write_bytes(signed)
    # Like the kernel: checks that this key made it, no matter who signed the certificate.
    return subprocess.run(["openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", folder / "signature", "-content", folder / "content",
                           "-certfile", certificate, "-nointern", "-noverify", "-out", "/dev/null"], capture_output=True, text=True)
