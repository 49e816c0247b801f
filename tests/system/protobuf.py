"""Reads protocol buffers as far as the tests need it."""

import collections


def fields(message):
    """(number, value) of a protocol buffer; a value is a number or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        value = varint()
        if key & 7 == 2:
            at += value
            yield key >> 3, message[at - value:at]
        else:
            yield key >> 3, value


def labels_of(profile):
    """{key: texts} of all samples of a profile.proto."""
    found = collections.defaultdict(set)
    texts = [value.decode() for number, value in fields(profile) if number == 6]
    for sample in (value for number, value in fields(profile) if number == 2):
        for label in (dict(fields(value)) for number, value in fields(sample) if number == 3):
            if 2 in label:
                found[texts[label[1]]].add(texts[label[2]])
    return found
