"""Looks for a planted word in whatever the program gives away, unpacked as far as it can be."""

import base64
import binascii
import ctypes
import json
import os
import re
import urllib.parse
import zlib

from harness import ROOT

# In arguments, and in the names of a program's own code as well.
ARGUMENT, NAME = re.compile(rb"PLANTED"), re.compile(rb"planted", re.IGNORECASE)
ZSTD = b"\x28\xb5\x2f\xfd"
GZIP = b"\x1f\x8b\x08"
BASE64 = re.compile(rb"[A-Za-z0-9+/]{64,}={0,2}")
# The depth of packed data in packed data.
DEPTH = 4


def parts_of(data, depth=DEPTH):
    """The bytes, and what is packed in them."""
    yield data
    if depth == 0:
        return
    for packed in list(frames_in(data)) + list(streams_in(data)) + list(texts_in(data)):
        yield from parts_of(packed, depth - 1)


def places(data, magic):
    at = data.find(magic)
    while at >= 0:
        yield at
        at = data.find(magic, at + 1)


def streams_in(data):
    for at in places(data, GZIP):
        try:
            yield zlib.decompressobj(31).decompress(data[at:])
        except zlib.error:
            pass


def frames_in(data):
    library = ctypes.CDLL("libzstd.so.1")
    for name in ("ZSTD_findFrameCompressedSize", "ZSTD_decompress"):
        getattr(library, name).restype = ctypes.c_size_t
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    for at in places(data, ZSTD):
        rest = data[at:]
        bytes_in = library.ZSTD_findFrameCompressedSize(rest, ctypes.c_size_t(len(rest)))
        size = library.ZSTD_getFrameContentSize(rest, ctypes.c_size_t(len(rest)))
        if library.ZSTD_isError(bytes_in) or size > 1 << 28:
            continue
        room = ctypes.create_string_buffer(max(size, 1))
        done = library.ZSTD_decompress(room, ctypes.c_size_t(size), rest, ctypes.c_size_t(bytes_in))
        if not library.ZSTD_isError(done):
            yield room.raw[:done]


def texts_in(data):
    for match in BASE64.finditer(data):
        text = match.group()
        try:
            yield base64.b64decode(text[:len(text) // 4 * 4])
        except binascii.Error:
            pass


def found_in(data, word):
    """The text around the word; None: it is nowhere."""
    for part in parts_of(data):
        match = word.search(part)
        if match:
            return part[max(0, match.start() - 60):match.end() + 60]
    return None


def files_with(word, folder):
    """The files below the folder that have it in their name or their content."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                where = found_in(os.fsencode(name), word) or found_in(file.read(), word)
            if where:
                found[os.path.relpath(os.path.join(path, name), folder)] = where
    return found


class Description:
    """Every address that server/openapi.json describes."""

    def __init__(self):
        with open(os.path.join(ROOT, "server", "openapi.json"), encoding="utf-8") as file:
            self.document = json.load(file)

    def parameters(self, path, operation):
        described = self.document["paths"][path]
        for parameter in described.get("parameters", []) + operation.get("parameters", []):
            if "$ref" in parameter:
                parameter = self.document["components"]["parameters"].get(parameter["$ref"].rpartition("/")[2])
            if parameter:
                yield parameter

    def targets(self, method, values, always=None):
        """The addresses of that method.  `values` has lists by the name of a parameter, or by "PATH NAME" for one path: what
        is in the path or required takes each of them, what is optional takes each by itself; `always` is given wherever it
        may be."""
        for path, operations in self.document["paths"].items():
            if method not in operations:
                continue
            rows, optional = [(path, {})], []
            for parameter in self.parameters(path, operations[method]):
                name = parameter["name"]
                known = [str(value) for value in values.get(path + " " + name, values.get(name, []))]
                if parameter["in"] == "path":
                    rows = [(to.replace("{%s}" % name, value), query) for to, query in rows for value in known]
                elif parameter["in"] == "query" and parameter.get("required"):
                    assert known, "%s needs a value of %s" % (path, name)
                    rows = [(to, dict(query, **{name: value})) for to, query in rows for value in known]
                elif parameter["in"] == "query" and name in (always or {}):
                    rows = [(to, dict(query, **{name: always[name]})) for to, query in rows]
                elif parameter["in"] == "query":
                    optional += [{name: value} for value in known]
            for to, query in rows:
                for extra in [{}] + optional:
                    words = urllib.parse.urlencode({**query, **extra})
                    yield to + ("?" + words if words else "")
