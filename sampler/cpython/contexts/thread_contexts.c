#include "sampler/cpython/contexts/thread_contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/objects/recorded_reads.h"

static const char VARIABLE[] = "otel_thread_ctx_v1";

enum { TRACE_BYTES = 16, SPAN_BYTES = 8, VALID = 1, ATTEMPTS = 2 };

struct record {
    unsigned char trace_id[TRACE_BYTES], span_id[SPAN_BYTES], valid;
};

/* The value that a thread had, and the bytes that led to it. */
struct kept {
    uint64_t ident;
    struct recorded_copy copy;
    bool is_valid;
    struct context_value value;
};

struct thread_contexts {
    struct thread_locals locals;
    struct recorded_reads reads;
    struct context_value unknown;
    struct kept kept[THREAD_CONTEXTS_KEPT];
};

enum err_code thread_contexts_create(const struct maps *maps, struct memory *memory,
                                     uint64_t now_ns, struct thread_contexts **out)
{
    struct thread_locals locals;
    *out = NULL;
    thread_locals_init(&locals, maps, memory, VARIABLE, sizeof(uint64_t));
    if (!locals.linker)
        return ERR_OK;
    struct thread_contexts *const contexts = calloc(1, sizeof *contexts);
    if (!contexts)
        return ERR_NOMEM;
    contexts->locals = locals;
    thread_contexts_refresh(contexts, now_ns);
    *out = contexts;
    return ERR_OK;
}

static void forget_all(struct thread_contexts *contexts)
{
    for (size_t i = 0; i < THREAD_CONTEXTS_KEPT; i++) {
        struct kept *const kept = &contexts->kept[i];
        recorded_copy_deinit(&kept->copy);
        *kept = (struct kept){ 0 };
    }
}

void thread_contexts_destroy(struct thread_contexts *contexts)
{
    if (!contexts)
        return;
    forget_all(contexts);
    thread_locals_deinit(&contexts->locals);
    free(contexts);
}

void thread_contexts_refresh(struct thread_contexts *contexts, uint64_t now_ns)
{
    if (thread_locals_refresh(&contexts->locals, now_ns))
        forget_all(contexts);
}

size_t thread_contexts_trails(const struct thread_contexts *contexts,
                              struct thread_local_trail out[THREAD_LOCALS_MAX])
{
    for (size_t i = 0; i < contexts->locals.count; i++)
        thread_locals_trail(&contexts->locals, i, &out[i]);
    return contexts->locals.count;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

static char *put_hex(const unsigned char *bytes, size_t count, char *out)
{
    for (size_t i = 0; i < count; i++, out += 2)
        snprintf(out, 3, "%02x", bytes[i]);
    return out;
}

/* As value_read_span writes it. */
static void put_span(const struct record *record, struct context_value *out)
{
    /* One id without the other names no span. */
    if (is_zero(record->trace_id, TRACE_BYTES) || is_zero(record->span_id, SPAN_BYTES)) {
        out->kind = CONTEXT_UNSET;
        return;
    }
    char *const at = put_hex(record->trace_id, TRACE_BYTES, out->text);
    *at = ' ';
    put_hex(record->span_id, SPAN_BYTES, at + 1);
    out->kind = CONTEXT_SET;
}

/* ERR_NOT_FOUND: there is no valid record. */
static enum err_code read_record(struct memory *memory, remote_addr addr,
                                 struct context_value *out)
{
    enum { ALIGNMENT = 2 };
    struct record record;
    if (!addr || addr % ALIGNMENT)
        return ERR_NOT_FOUND;
    const enum err_code rc = memory_read(memory, addr, &record, sizeof record);
    if (rc)
        return rc;
    if (record.valid != VALID)
        return ERR_NOT_FOUND;
    put_span(&record, out);
    return ERR_OK;
}

/* The first valid record, by way of contexts->reads.  ERR_NOT_FOUND: the thread has none. */
static enum err_code read_any(struct thread_contexts *contexts, uint64_t ident,
                              struct context_value *out)
{
    struct memory *const memory = &contexts->reads.memory;
    enum err_code rc = ERR_NOT_FOUND;
    for (size_t i = 0; i < contexts->locals.count; i++) {
        uint64_t addr;
        enum err_code one = thread_locals_read_u64(&contexts->locals, i, memory, ident, &addr);
        if (!one)
            one = read_record(memory, addr, out);
        if (!one)
            return ERR_OK;
        rc = one == ERR_NOT_FOUND ? rc : one;
    }
    return rc;
}

struct context_value *thread_contexts_read(struct thread_contexts *contexts, uint64_t ident,
                                           struct memory *memory)
{
    struct recorded_reads *const reads = &contexts->reads;
    struct kept *const kept = &contexts->kept[hash_mix(ident, 0) % THREAD_CONTEXTS_KEPT];
    if (!contexts->locals.count || !ident)
        return NULL;
    if (kept->ident == ident && recorded_copy_is_same(&kept->copy, 0, 0, memory))
        return kept->is_valid ? &kept->value : NULL;
    bool has_changed = false;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        struct context_value value = { .kind = CONTEXT_UNKNOWN };
        recorded_reads_begin(reads, memory);
        const enum err_code rc = read_any(contexts, ident, &value);
        has_changed = !rc || rc == ERR_NOT_FOUND;
        /* A record may have been freed meanwhile. */
        if (!has_changed ||
            !recorded_reads_is_same(reads->spans, reads->count, reads->data, 0, 0, memory))
            continue;

        const bool is_valid = !rc;
        /* An equal value is not new to the caller. */
        const uint32_t tag = kept->ident == ident && kept->value.kind == value.kind &&
                                     strcmp(kept->value.text, value.text) == 0
                                 ? kept->value.tag
                                 : 0;
        const bool has_copy = recorded_copy_take(&kept->copy, reads);
        kept->ident = has_copy ? ident : 0;
        kept->is_valid = is_valid;
        kept->value = value;
        kept->value.tag = tag;
        return rc ? NULL : &kept->value;
    }
    return has_changed ? &contexts->unknown : NULL;
}
