# SPDX-License-Identifier: GPL-2.0-only
"""Commands to a device that are not block layer IO."""
import ctypes
import fcntl

IDENTIFY, READ = 6, 2
NVME_BLOCK = 512


class NvmeCommand(ctypes.Structure):
    """struct nvme_passthru_cmd of include/uapi/linux/nvme_ioctl.h"""
    _fields_ = [("opcode", ctypes.c_uint8), ("flags", ctypes.c_uint8), ("rsvd1", ctypes.c_uint16),
                ("nsid", ctypes.c_uint32), ("cdw2", ctypes.c_uint32), ("cdw3", ctypes.c_uint32),
                ("metadata", ctypes.c_uint64), ("addr", ctypes.c_uint64), ("metadata_len", ctypes.c_uint32),
                ("data_len", ctypes.c_uint32)] + [(f"cdw{n}", ctypes.c_uint32) for n in range(10, 16)] + [
                    ("timeout_ms", ctypes.c_uint32), ("result", ctypes.c_uint32)]


def nvme_number(n):
    return 3 << 30 | ctypes.sizeof(NvmeCommand) << 16 | ord("N") << 8 | n


def nvme_command(fd, number, size, **fields):
    buffer = ctypes.create_string_buffer(size)
    command = NvmeCommand(nsid=1, addr=ctypes.addressof(buffer), data_len=size, **fields)
    assert fcntl.ioctl(fd, nvme_number(number), command) == 0


def nvme_read(fd, block, size):
    nvme_command(fd, 0x43, size, opcode=READ, cdw10=block, cdw12=size // NVME_BLOCK - 1)


def nvme_identify(fd):
    nvme_command(fd, 0x41, 4096, opcode=IDENTIFY, cdw10=1)


class SgHeader(ctypes.Structure):
    """struct sg_io_hdr of include/scsi/sg.h"""
    _fields_ = [("interface_id", ctypes.c_int), ("dxfer_direction", ctypes.c_int), ("cmd_len", ctypes.c_ubyte),
                ("mx_sb_len", ctypes.c_ubyte), ("iovec_count", ctypes.c_ushort), ("dxfer_len", ctypes.c_uint),
                ("dxferp", ctypes.c_void_p), ("cmdp", ctypes.c_void_p), ("sbp", ctypes.c_void_p),
                ("timeout", ctypes.c_uint), ("flags", ctypes.c_uint), ("pack_id", ctypes.c_int),
                ("usr_ptr", ctypes.c_void_p), ("status", ctypes.c_ubyte), ("masked_status", ctypes.c_ubyte),
                ("msg_status", ctypes.c_ubyte), ("sb_len_wr", ctypes.c_ubyte), ("host_status", ctypes.c_ushort),
                ("driver_status", ctypes.c_ushort), ("resid", ctypes.c_int), ("duration", ctypes.c_uint),
                ("info", ctypes.c_uint)]


SG_IO, NO_DATA = 0x2285, -1


def scsi_ready(fd):
    """TEST UNIT READY"""
    command = ctypes.create_string_buffer(6)
    header = SgHeader(interface_id=ord("S"), dxfer_direction=NO_DATA, cmd_len=6, cmdp=ctypes.addressof(command),
                      timeout=5000)
    fcntl.ioctl(fd, SG_IO, header)
    assert (header.status, header.host_status, header.driver_status) == (0, 0, 0)
