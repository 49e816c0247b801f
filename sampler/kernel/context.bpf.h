/*
 * context - copies what leads from a thread to the value of a ContextVar, or to the span that it publishes.  A part of stacks.bpf.c.
 *
 * The thread state names its context, the context a trie (sampler/cpython/objects/hamt.h), in which the hash of the
 * variable leads to its value.  What is not there, or not as it should be, ends the walk: the profiler sees the same
 * bytes, and decides.
 */
#ifndef SAMPLER_KERNEL_CONTEXT_BPF_H
#define SAMPLER_KERNEL_CONTEXT_BPF_H

#include "sampler/kernel/area.bpf.h"
#include "sampler/kernel/span.bpf.h"

enum {
    TRIE_MAX_DEPTH = 8,
    TRIE_BITS = 5, /* of the hash, for each level */
    TRIE_BRANCHES = 1 << TRIE_BITS,
    NODE_HEAD_WORDS = 3, /* its type, its size, and a bitmap or a hash */
    VALUE_TEXT_BYTES = 64,
    VALUE_CHARACTERS = 64,
    VALUE_FIELD_BYTES = 32,             /* of an int */
    TYPE_HAS_LENGTH = 1 << 27 | 1 << 28 /* it is derived from bytes or str */
};

/* The value of an object: enough of it to say what it is, its type, and the name of that. */
__noinline int put_value(struct area *a, __u64 object)
{
    __u64 head[2] = { 0 };
    if (!a)
        return 0;
    const struct kernel_context *const context = &a->process.context;
    if (bpf_probe_read_user(head, sizeof head, (void *)(object + context->object_type)))
        return 0;
    const __u64 type = head[0];
    __u64 bytes = context->object_type + WORD + VALUE_FIELD_BYTES;
    if (!put(a, type + context->type_name, context->type_flags + WORD - context->type_name, 0))
        return 0;
    const __u64 at = a->last;
    const __u64 name = word_at(a, at);
    if (word_at(a, at + context->type_flags - context->type_name) & TYPE_HAS_LENGTH) {
        const __u64 count = head[1] < VALUE_CHARACTERS ? head[1] : VALUE_CHARACTERS;
        bytes = context->text_bytes + count * sizeof(__u32);
    }
    if (!put_reached(a, object, bytes))
        return 0;
    return put_reached(a, name, VALUE_TEXT_BYTES);
}

/* A step of the walk to a->key, in the node a->node: sets the next one, or the value.  true: the walk goes on. */
__noinline int put_node(struct area *a)
{
    if (!a)
        return 0;
    const struct kernel_context *const context = &a->process.context;
    const __u64 head = a->node + context->object_type;
    a->value = 0;
    if (!put(a, head, NODE_HEAD_WORDS * WORD, 0))
        return 0;
    const __u64 type = word_at(a, a->last);
    const __u64 size = word_at(a, a->last + WORD);
    const __u32 bits = word_at(a, a->last + 2 * WORD);
    const __u32 branch = a->hash & (TRIE_BRANCHES - 1), bit = 1U << branch;
    a->hash >>= TRIE_BITS;
    if (type && type == context->array) {
        if (!put(a, head + WORD + branch * WORD, WORD, 0))
            return 0;
        a->node = word_at(a, a->last);
        return a->node != 0;
    }
    if (type && type == context->bitmap) {
        const __u64 before = __builtin_popcount(bits & (bit - 1));
        if (!(bits & bit) || !put(a, head + (NODE_HEAD_WORDS + 2 * before) * WORD, 2 * WORD, 0))
            return 0;
        const __u64 key = word_at(a, a->last);
        a->node = word_at(a, a->last + WORD);
        if (key == a->key)
            a->value = a->node;
        return !key && a->node;
    }
    if (!type || type != context->collision || size > 2 * TRIE_BRANCHES ||
        !put(a, head + NODE_HEAD_WORDS * WORD, size * WORD, 0))
        return 0;
    for (__u64 i = 0; i < 2 * TRIE_BRANCHES && i < size; i += 2)
        if (word_at(a, a->last + i * WORD) == a->key)
            a->value = word_at(a, a->last + (i + 1) * WORD);
    return 0;
}

/* The variable, and what leads to its value, a->value, if it has one. */
__noinline int put_variable(struct area *a, __u64 root, __u64 addr, __u64 hash)
{
    if (!a)
        return 0;
    const struct kernel_context *const context = &a->process.context;
    if (!put(a, addr + context->object_type, context->variable_bytes, 0))
        return 0;
    __u32 folded = (__u32)hash ^ (__u32)(hash >> 32);
    if (folded == 0xffffffff)
        folded--;
    a->hash = folded;
    a->key = addr;
    a->node = root;
    a->value = 0;
    for (int depth = 0; depth < TRIE_MAX_DEPTH && put_node(a); depth++)
        continue;
    return a->value != 0;
}

/* Copies the way to the value; false: there is none. */
__noinline int find_context_value(struct area *a)
{
    if (!a)
        return 0;
    const struct kernel_context *const context = &a->process.context;
    if (!put(a, a->tstate + context->place, WORD, 0))
        return 0;
    const __u64 addr = word_at(a, a->last);
    /* Its type, the context around it, and its variables. */
    if (!addr || !put(a, addr + context->object_type, 3 * WORD, 0))
        return 0;
    const __u64 map = word_at(a, a->last + 2 * WORD);
    /* Its type, its root, weak references and its count. */
    if (!map || !put(a, map + context->object_type, 4 * WORD, 0))
        return 0;
    const __u64 root = word_at(a, a->last + WORD);
    for (__u64 i = 0; i < KERNEL_MAX_VARIABLES && i < context->variable_count; i++)
        if (put_variable(a, root, context->variables[i].addr, context->variables[i].hash))
            return 1;
    return 0;
}

/* Copies the way to the span that a thread publishes
 * (sampler/cpython/contexts/thread_contexts.h); false: to none that is valid. */
__noinline int put_published(struct area *a, __u64 pthread, __u64 index)
{
    enum {
        SLOT_BYTES = 16,
        TID_BYTES = 4,
        ALIGNMENT = 2,
        VALID_AT = 24,
        RECORD_BYTES,
        VALID = 1
    };
    if (!a)
        return 0;
    const struct kernel_published *const published =
        &a->process.context.published[index & (KERNEL_MAX_PUBLISHED - 1)];
    if (!put(a, published->slot, SLOT_BYTES, 0) ||
        !put(a, pthread + published->of_tid, TID_BYTES, 0) ||
        !put_word(a, pthread + published->place))
        return 0;
    const __u64 vector = word_at(a, a->last);
    if (published->of_block && (!put_word(a, vector + published->of_generation) ||
                                !put_word(a, vector + published->of_block) ||
                                !put_word(a, word_at(a, a->last) + published->offset)))
        return 0;
    const __u64 record = word_at(a, a->last);
    return record && record % ALIGNMENT == 0 && put(a, record, RECORD_BYTES, 0) &&
           (word_at(a, a->last + VALID_AT) & 0xff) == VALID;
}

static __always_inline int find_published(struct area *a, __u64 pthread)
{
    for (__u64 i = 0; i < KERNEL_MAX_PUBLISHED && i < a->process.context.published_count; i++)
        if (put_published(a, pthread, i))
            return 1;
    return 0;
}

/* A value that is not there is unknown; the stack is whole all the same.  Calls are at most 8 deep, so it is part of its
 * caller. */
static __always_inline void put_context(struct area *a, const struct kernel_thread *thread)
{
    const __u32 flags = a->record.flags;
    if (!find_published(a, thread->pthread) && a->process.context.place &&
        find_context_value(a)) {
        if (a->process.context.spans.is_wanted)
            put_span(a, a->value);
        else
            put_value(a, a->value);
    }
    a->record.flags = flags;
}

#endif /* SAMPLER_KERNEL_CONTEXT_BPF_H */
