"""Reads protocol buffers without their definitions: the values of each field by its number."""

import collections
import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def message(data):
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif key & 7 == 2:
            length, at = varint(data, at)
            assert at + length <= len(data), "a message is cut"
            value, at = data[at:at + length], at + length
        else:
            raise AssertionError("wire type %d" % (key & 7))
        fields[key >> 3].append(value)
    return fields


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def labels_of(profile):
    """{key: texts} of all samples of a profile.proto."""
    found = collections.defaultdict(set)
    fields = message(profile)
    texts = [text.decode() for text in fields[6]]
    for label in (message(data) for sample in fields[2] for data in message(sample)[3]):
        if label[2]:
            found[texts[label[1][0]]].add(texts[label[2][0]])
    return found
