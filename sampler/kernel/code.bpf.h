/*
 * code - describes the code objects of frames, and notices when another has taken the place of one.  See
 * record.h.  A part of stacks.bpf.c.
 */
#ifndef SAMPLER_KERNEL_CODE_BPF_H
#define SAMPLER_KERNEL_CODE_BPF_H

#include "sampler/kernel/area.bpf.h"

enum {
    SERIAL_SHIFT = 48,
    AGAIN_NS = 1 << 22, /* the code of the innermost frames is checked again */
    TEXT_BYTES = 256,
    SHORT_TEXT_BYTES = 64,
    MAX_TABLE_BYTES = 4096
};

/* A known code object: its fingerprint, and the generation in which it was read. */
struct known_code {
    __u64 fingerprint, generation;
};

/* By address and serial number of the process. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, KERNEL_MAX_CODES);
    __type(key, __u64);
    __type(value, struct known_code);
} codes SEC(".maps");

/* Appends a span to the description. */
static __noinline int add_part(struct area *a, __u64 addr, __u64 bytes)
{
    if (!a)
        return 0;
    const __u64 at = a->code.bytes & (KERNEL_CODE_BYTES - 1);
    struct kernel_span *const span = (struct kernel_span *)(a->code_bytes + at);
    if (bytes > MAX_TABLE_BYTES || at + bytes + 2 * sizeof *span > KERNEL_CODE_BYTES ||
        bpf_probe_read_user(a->code_bytes + at + sizeof *span,
                            bytes & (2 * MAX_TABLE_BYTES - 1), (void *)addr))
        return 0;
    span->addr = addr;
    span->bytes = bytes;
    span->is_padded = 0;
    a->code.bytes = at + sizeof *span + ((bytes + WORD - 1) & ~(WORD - 1));
    return 1;
}

/* Text objects are seldom longer; the memory behind a short one may not be there. */
static void add_text(struct area *a, __u64 addr)
{
    if (!add_part(a, addr, TEXT_BYTES))
        add_part(a, addr, SHORT_TEXT_BYTES);
}

/* A pointer in the code object that the description begins with. */
static __always_inline __u64 pointer_at(const struct area *a, __u64 field)
{
    const __u64 at = (sizeof(struct kernel_span) + field) & (KERNEL_CODE_BYTES - 1);
    return *(const __u64 *)(a->code_bytes + at);
}

/* Describes the code object; false: it is not there. */
static __noinline int describe(struct area *a, __u64 addr)
{
    __u64 bytes = 0;
    if (!a)
        return 0;
    const struct kernel_code_layout *const layout = &a->process.code;
    a->code.kind = KERNEL_CODE;
    a->code.flags = 0;
    a->code.pid = a->record.pid;
    a->code.tid = a->record.tid;
    a->code.time_ns = a->record.time_ns;
    a->code.left_ns = a->code.same_ns = 0;
    a->code.system_call = -1;
    a->code.bytes = 0;
    if (!add_part(a, addr, layout->bytes))
        return 0;
    add_text(a, pointer_at(a, layout->name));
    add_text(a, pointer_at(a, layout->file));
    if (layout->instructions)
        add_part(a, pointer_at(a, layout->instructions), layout->data);
    const __u64 table = pointer_at(a, layout->line_table);
    if (bpf_probe_read_user(&bytes, sizeof bytes, (void *)(table + layout->length)) == 0)
        add_part(a, table, layout->data + bytes);
    bytes = sizeof a->code + (a->code.bytes & (2 * KERNEL_CODE_BYTES - 1));
    return bpf_ringbuf_output(&ring, &a->code, bytes, BPF_RB_NO_WAKEUP) == 0;
}

/* A number for the bytes that tell a code object from another at its address; 0: they are not there. */
static __noinline __u64 fingerprint_of(struct area *a, __u64 addr)
{
    if (!a)
        return 0;
    const struct kernel_code_layout *const layout = &a->process.code;
    __u64 value = 0;
    __builtin_memset(a->fingerprint, 0, sizeof a->fingerprint);
    const __u64 bytes = layout->fingerprint_bytes;
    if (bytes > FINGERPRINT_WORDS * WORD ||
        bpf_probe_read_user(a->fingerprint, bytes & (2 * FINGERPRINT_WORDS * WORD - 1),
                            (void *)(addr + layout->fingerprint)))
        return 0;
    if (layout->name_hash) {
        const __u64 at =
            (layout->name - layout->fingerprint) & (FINGERPRINT_WORDS * WORD - WORD);
        const __u64 name = *(__u64 *)((unsigned char *)a->fingerprint + at);
        if (bpf_probe_read_user(a->fingerprint + FINGERPRINT_WORDS, NAME_WORDS * WORD,
                                (void *)(name + layout->name_hash)))
            return 0;
    }
    for (int i = 0; i < FINGERPRINT_WORDS + NAME_WORDS; i++)
        value = (value ^ a->fingerprint[i]) * 0x9e3779b97f4a7c15 + (value >> 29);
    return value | 1;
}

static __always_inline __u64 key_of(const struct area *a, __u64 addr)
{
    return addr ^ (__u64)a->process.serial << SERIAL_SHIFT;
}

static __always_inline struct recent_code *recent_at(struct area *a, __u64 addr)
{
    return &a->recent[addr / 16 & (RECENT - 1)];
}

/* Was it met in this generation, and is that enough? */
static __always_inline int is_recent(struct area *a, __u64 addr, __u32 depth)
{
    const struct recent_code *const recent = recent_at(a, addr);
    return recent->key == key_of(a, addr) && recent->generation == a->generation &&
           (depth >= a->innermost || a->record.time_ns - recent->met_ns < AGAIN_NS);
}

/* Describes the code object of a frame, unless the profiler knows it. */
__noinline int meet(struct area *a, __u64 addr, __u32 depth)
{
    if (!a || !addr)
        return 0;
    const __u64 key = key_of(a, addr);
    const __u64 generation = a->generation;
    struct known_code *const known = bpf_map_lookup_elem(&codes, &key);
    if (!known || depth < a->innermost || known->generation != generation) {
        const struct known_code now = { fingerprint_of(a, addr), generation };
        if (!now.fingerprint)
            return 0;
        if (known && known->fingerprint == now.fingerprint) {
            known->generation = generation;
        } else {
            /* Older kernels take no key that an argument points to. */
            const __u32 pid = a->record.pid;
            struct kernel_process *const process = bpf_map_lookup_elem(&processes, &pid);
            if (known && process)
                process->changed_ns = a->record.time_ns;
            if (process)
                __sync_fetch_and_add(&process->descriptions, 1);
            /* A code object that was not described is met again. */
            if (!describe(a, addr)) {
                bpf_map_delete_elem(&codes, &key);
                return 0;
            }
            bpf_map_update_elem(&codes, &key, &now, BPF_ANY);
        }
    }
    struct recent_code *const recent = recent_at(a, addr);
    recent->key = key;
    recent->generation = generation;
    recent->met_ns = a->record.time_ns;
    return 1;
}

#endif /* SAMPLER_KERNEL_CODE_BPF_H */
