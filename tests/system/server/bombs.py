"""Captures that are small on the disk and large in memory, or take long to read."""

import ctypes
import struct
import zlib

PREAMBLE, HEAD = 16, 20
MAX_BLOCK = 1 << 23


def pack(data):
    library = ctypes.CDLL("libzstd.so.1")
    for name in ("ZSTD_compress", "ZSTD_compressBound"):
        getattr(library, name).restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    done = library.ZSTD_compress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 3)
    return room.raw[:done]


def block(kind, packed, raw_bytes):
    """A block whose head says that it unpacks to so much; the checksums are right."""
    head = struct.pack("<4B3I", ord(kind), 1, 0, 0, raw_bytes, len(packed), zlib.crc32(packed))
    return head + struct.pack("<I", zlib.crc32(head)) + packed


def start_of(capture):
    """Its preamble and its facts."""
    return capture[:PREAMBLE + HEAD + struct.unpack_from("<I", capture, PREAMBLE + 8)[0]]


def number(value):
    """LEB128."""
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def known_rows():
    """Rows that are known already, again and again: string 0, which is empty."""
    row = bytes([0]) + number(0) + number(1) + number(0)
    return row * (MAX_BLOCK // len(row))


def no_rows():
    row = bytes([0]) + number(0) + number(0)
    return row * (MAX_BLOCK // len(row))


def long_to_read(capture, blocks, raw):
    """As many blocks of rows that mean nothing."""
    return start_of(capture) + block("R", pack(raw), len(raw)) * blocks


def liars(capture):
    """Blocks that unpack to more than they say, or say more than they may."""
    start, gigabyte = start_of(capture), pack(bytes(1 << 28)) * 4
    yield "more than it says", start + block("R", gigabyte, 100)
    yield "as much as is allowed, and more follows", start + block("R", gigabyte, MAX_BLOCK)
    yield "gigabytes", start + block("R", gigabyte, 1 << 30)
    yield "all of memory", start + block("R", gigabyte, (1 << 32) - 1)
    yield "facts", capture[:PREAMBLE] + block("F", gigabyte, MAX_BLOCK)
    yield "the end", start + block("E", gigabyte, MAX_BLOCK) + struct.pack("<Q", len(start)) + capture[:8]
