/*
 * span - copies what leads from an OpenTelemetry context to the ids of its span.  A part of stacks.bpf.c.
 *
 * As sampler/cpython/contexts/value.c reads it: a dictionary, in it a span, whose attribute _context is a tuple of the
 * ids.
 */
#ifndef SAMPLER_KERNEL_SPAN_BPF_H
#define SAMPLER_KERNEL_SPAN_BPF_H

#include "sampler/kernel/area.bpf.h"

enum {
    DICT_MAX_ENTRIES = 64,
    CONTEXT_MAX_KEYS = 16, /* of an OpenTelemetry context */
    SPAN_MAX_KEYS = 32,    /* attributes */
    KEY_BYTES = 48,        /* of its characters, at most */
    VALUES_WORDS_BEFORE = 4,
    TYPE_MANAGES_DICT = 1 << 4,
    ID_DIGIT_BYTES = 24
};

static const __u64 CURRENT = 0x2d746e6572727563;   /* "current-" */
static const __u32 SPAN = 0x6e617073;              /* "span" */
static const __u64 ATTRIBUTE = 0x747865746e6f635f; /* "_context" */

/* As put, but the memory may end sooner, at the end of a page. */
__noinline int put_reached(struct area *a, __u64 addr, __u64 bytes)
{
    if (!a)
        return 0;
    return put(a, addr, bytes, 0) || put(a, addr, reach_up(addr, addr + bytes) - addr, 1);
}

__noinline int put_word(struct area *a, __u64 addr)
{
    return a && addr && put(a, addr, WORD, 0);
}

/* The keys of a dictionary, and its values, if they are elsewhere. */
__noinline int put_entries(struct area *a, __u64 keys, __u64 values)
{
    enum { OLD_HEAD_WORDS = 5, HEAD_WORDS = 4 };
    if (!a || !keys)
        return 0;
    __u64 entries;
    a->values_at = 0;
    if (a->process.context.spans.has_plain_keys) {
        if (!put(a, keys, OLD_HEAD_WORDS * WORD, 0))
            return 0;
        const __u64 size = word_at(a, a->last + WORD);
        a->entry_words = 3;
        a->entry_count = word_at(a, a->last + 4 * WORD);
        entries = keys + OLD_HEAD_WORDS * WORD +
                  size * (size <= 0xff     ? 1
                          : size <= 0xffff ? 2
                                           : 4);
    } else {
        if (!put(a, keys, HEAD_WORDS * WORD, 0))
            return 0;
        /* Its second byte is a logarithm, its third a kind: 0 has hashes. */
        const __u64 head = word_at(a, a->last + WORD);
        a->entry_words = head >> 16 & 0xff ? 2 : 3;
        a->entry_count = word_at(a, a->last + 3 * WORD);
        entries = keys + HEAD_WORDS * WORD + (1ULL << (head >> 8 & 31));
    }
    const __u64 count = a->entry_count;
    if (!count || count > DICT_MAX_ENTRIES ||
        !put(a, entries, count * a->entry_words * WORD, 0))
        return 0;
    a->entries_at = a->last;
    if (!values)
        return 1;
    if (!put(a, values, count * WORD, 0))
        return 0;
    a->values_at = a->last;
    return 1;
}

__noinline int put_dict(struct area *a, __u64 dict)
{
    if (!a || !dict || !put_word(a, dict + a->process.context.spans.dict_keys))
        return 0;
    const __u64 keys = word_at(a, a->last);
    if (!put_word(a, dict + a->process.context.spans.dict_values))
        return 0;
    const __u64 values = word_at(a, a->last);
    return put_entries(a, keys, values ? values + a->process.context.spans.values_bytes : 0);
}

__noinline __u64 entry_key(struct area *a, __u64 i)
{
    if (!a)
        return 0;
    return word_at(a, a->entries_at + (i * a->entry_words + a->entry_words - 2) * WORD);
}

__noinline __u64 entry_value(struct area *a, __u64 i)
{
    if (!a)
        return 0;
    return a->values_at
               ? word_at(a, a->values_at + i * WORD)
               : word_at(a, a->entries_at + (i * a->entry_words + a->entry_words - 1) * WORD);
}

/* The type of an object, and what it is; the type is what was copied last but one. */
__noinline __u64 put_type(struct area *a, __u64 object)
{
    if (!a || !put_word(a, object + a->process.context.object_type))
        return 0;
    const __u64 type = word_at(a, a->last);
    return put_word(a, type + a->process.context.type_flags) ? type : 0;
}

/* The span of a context; 0: none. */
__noinline __u64 find_span(struct area *a)
{
    if (!a)
        return 0;
    const __u64 at = a->process.context.spans.ascii_bytes;
    for (__u64 i = 0; i < CONTEXT_MAX_KEYS && i < a->entry_count; i++) {
        const __u64 key = entry_key(a, i), value = entry_value(a, i);
        if (!key || !value)
            continue;
        if (!put_reached(a, key, a->process.context.text_bytes + KEY_BYTES))
            return 0;
        if (word_at(a, a->last + at) == CURRENT &&
            (__u32)word_at(a, a->last + at + WORD) == SPAN)
            return value;
    }
    return 0;
}

/* The attribute of a span whose entries have been copied. */
__noinline __u64 find_attribute(struct area *a)
{
    if (!a)
        return 0;
    const struct kernel_span_layout *const layout = &a->process.context.spans;
    const __u64 at = layout->ascii_bytes - layout->length;
    for (__u64 i = 0; i < SPAN_MAX_KEYS && i < a->entry_count; i++) {
        const __u64 key = entry_key(a, i), value = entry_value(a, i);
        if (!key || !value)
            continue;
        if (!put(a, key + layout->length, at + sizeof ATTRIBUTE, 0))
            return 0;
        if (word_at(a, a->last) == sizeof ATTRIBUTE && word_at(a, a->last + at) == ATTRIBUTE)
            return value;
    }
    return 0;
}

/* Copies the attributes of an object. */
__noinline int put_attributes(struct area *a, __u64 object)
{
    if (!a)
        return 0;
    const struct kernel_span_layout *const layout = &a->process.context.spans;
    const __u64 type = put_type(a, object);
    __u64 dict = 0, values = 0;
    if (!type)
        return 0;
    if (layout->has_managed_dicts && (word_at(a, a->last) & TYPE_MANAGES_DICT)) {
        if (!put_word(a, object - layout->words_before * WORD))
            return 0;
        dict = word_at(a, a->last);
        if (layout->has_values_pointer) {
            if (!put_word(a, object - VALUES_WORDS_BEFORE * WORD))
                return 0;
            values = word_at(a, a->last);
        }
        if (layout->has_tagged_values && (dict & 1)) {
            values = dict + 1;
            dict = 0;
        }
        if (layout->has_inline_values && !dict) {
            if (!put_word(a, type + layout->type_size))
                return 0;
            values = object + word_at(a, a->last);
        }
    } else {
        if (!put_word(a, type + layout->type_dict))
            return 0;
        if (!put_word(a, object + word_at(a, a->last)))
            return 0;
        dict = word_at(a, a->last);
    }
    if (dict)
        return put_dict(a, dict);
    if (!values || !put_word(a, type + layout->type_keys))
        return 0;
    return put_entries(a, word_at(a, a->last), values + layout->values_bytes);
}

__noinline int put_ids(struct area *a, __u64 tuple)
{
    if (!a || !put_type(a, tuple) || !put(a, tuple + a->process.context.spans.ids, 2 * WORD, 0))
        return 0;
    const __u64 trace = word_at(a, a->last), span = word_at(a, a->last + WORD);
    const __u64 fields = a->process.context.object_type + WORD;
    if (!put_type(a, trace) || !put_reached(a, trace + fields, WORD + ID_DIGIT_BYTES) ||
        !put_type(a, span))
        return 0;
    return put_reached(a, span + fields, WORD + ID_DIGIT_BYTES);
}

__noinline int put_span(struct area *a, __u64 object)
{
    if (!a || !put_type(a, object) || !put_dict(a, object))
        return 0;
    const __u64 span = find_span(a);
    if (!span || !put_attributes(a, span))
        return 0;
    const __u64 ids = find_attribute(a);
    return ids && put_ids(a, ids);
}

#endif /* SAMPLER_KERNEL_SPAN_BPF_H */
