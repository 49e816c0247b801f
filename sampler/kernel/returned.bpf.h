/*
 * returned - memory that a thread gives back: by how many pages its process shrinks in a call that unmaps.  A part of
 * stacks.bpf.c.
 *
 * The kernel counts the resident pages of a process by kind: what its processors have in common, and on each one a
 * small number that is not added to that yet.  Its tracepoint comes right after each change, in the thread and on the processor
 * that made it, so what both have changed by since the last call there is that change.  A large change, or one that makes
 * the small number large, is added to the common one, and then the small one is 0.
 * Before 6.2 the common number comes with the tracepoint, and there is no other.
 *
 * Pages of swap are none of the process.  What the kernel takes away for want of memory, which it may do in any other call
 * and at a fault, nobody has given back.
 */
#ifndef SAMPLER_KERNEL_RETURNED_BPF_H
#define SAMPLER_KERNEL_RETURNED_BPF_H

#include "sampler/kernel/area.bpf.h"
#include "sampler/kernel/pace.bpf.h"
#include "sampler/kernel/task.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, KERNEL_MAX_PROCESSES);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct kernel_resident);
} residents SEC(".maps");

/* Has this kernel a part of the count on each processor?  (That a type is missing would be searched in all modules, which takes
 * more rights than loading.) */
static __always_inline int has_parts(void)
{
    return bpf_core_field_exists(((struct mm_struct___counters *)0)->rss_stat[0].counters);
}

/* The part of the count that a processor had at the last change there. */
struct resident_part {
    int pages[KERNEL_RESIDENT_KINDS];
    unsigned int is_known; /* bits, by kind */
    __u64 addr;            /* a pointer on its way to a number */
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
    __uint(max_entries, KERNEL_MAX_PROCESSES);
    __type(key, __u32);
    __type(value, struct resident_part);
} resident_parts SEC(".maps");

/* Calls that unmap memory, or put other memory in its place. */
enum {
    X86_CALL_MMAP = 9,
    X86_CALL_MUNMAP = 11,
    X86_CALL_BRK = 12,
    X86_CALL_MREMAP = 25,
    X86_CALL_MADVISE = 28,
    AARCH64_CALL_BRK = 214,
    AARCH64_CALL_MUNMAP = 215,
    AARCH64_CALL_MREMAP = 216,
    AARCH64_CALL_MMAP = 222,
    AARCH64_CALL_MADVISE = 233
};

static __always_inline int is_in_unmapping_call(struct task_struct *task)
{
    void *const found = (void *)bpf_task_pt_regs(task);
    if (bpf_core_field_exists(struct pt_regs, orig_ax)) {
        const int call = (int)((struct pt_regs *)found)->orig_ax;
        return call == X86_CALL_MUNMAP || call == X86_CALL_MADVISE || call == X86_CALL_BRK ||
               call == X86_CALL_MREMAP || call == X86_CALL_MMAP;
    }
    if (bpf_core_field_exists(struct pt_regs___aarch64, syscallno)) {
        const int call = ((struct pt_regs___aarch64 *)found)->syscallno;
        return call == AARCH64_CALL_MUNMAP || call == AARCH64_CALL_MADVISE ||
               call == AARCH64_CALL_BRK || call == AARCH64_CALL_MREMAP ||
               call == AARCH64_CALL_MMAP;
    }
    return 0;
}

/* A pointer as a number, which the verifier lets us reckon with. */
static __always_inline __u64 number_of_pointer(struct resident_part *part, const void *pointer)
{
    *(volatile __u64 *)&part->addr = (__u64)pointer;
    return *(volatile __u64 *)&part->addr;
}

/* How far variables of this processor lie from where the kernel says that they are.  The symbols that have it are not in all
 * kernels; a map of ours has values of each processor, too. */
static __always_inline __u64 place_of_processor(struct resident_part *part)
{
    const __u32 first = 0;
    const __u64 map = number_of_pointer(part, &counters);
    const __u64 here = number_of_pointer(part, bpf_map_lookup_elem(&counters, &first));
    __u64 said = 0;
    bpf_probe_read_kernel(&said, sizeof said,
                          (void *)(map + bpf_core_field_offset(struct bpf_array, pptrs)));
    return here - said;
}

/* The difference of the common number from the last call. */
static __always_inline __s64 common_change(struct kernel_resident *resident, __u64 kind,
                                           __s64 common)
{
    const __u32 bit = 1u << kind;
    const __s64 change = common - resident->common[kind];
    if (!(resident->is_known & bit)) {
        resident->is_known |= bit;
        resident->common[kind] = common;
        return 0;
    }
    /* Two processors that see one change at once take it twice, and the next one has it less. */
    if (change)
        __sync_fetch_and_add(&resident->common[kind], change);
    return change;
}

/* The pages by which this kind of the process has changed; `count`: the common number, before 6.2. */
static __noinline __s64 resident_change(struct mm_struct *mm, __u64 kind, __u64 pid,
                                        __s64 count)
{
    const __u32 id = pid;
    struct kernel_resident *const resident = bpf_map_lookup_elem(&residents, &id);
    if (!resident || kind >= KERNEL_RESIDENT_KINDS || kind == KERNEL_SWAPPED)
        return 0;
    /* For the verifier, to which the compiler would not show the bound. */
    asm volatile("" : "+r"(kind));
    kind &= KERNEL_RESIDENT_KINDS - 1;
    if (!has_parts())
        return common_change(resident, kind, count);
    struct resident_part *part = bpf_map_lookup_elem(&resident_parts, &id);
    if (!part) {
        const struct resident_part none = { .is_known = 0 };
        bpf_map_update_elem(&resident_parts, &id, &none, BPF_ANY);
        part = bpf_map_lookup_elem(&resident_parts, &id);
        if (!part)
            return 0;
    }
    const __u64 counter = (__u64)mm +
                          bpf_core_field_offset(struct mm_struct___counters, rss_stat) +
                          kind * bpf_core_type_size(struct percpu_counter);
    __s64 common = 0;
    __u64 place = 0;
    int own = 0;
    bpf_probe_read_kernel(
        &common, sizeof common,
        (void *)(counter + bpf_core_field_offset(struct percpu_counter, count)));
    bpf_probe_read_kernel(
        &place, sizeof place,
        (void *)(counter + bpf_core_field_offset(struct percpu_counter, counters)));
    bpf_probe_read_kernel(&own, sizeof own, (void *)(place + place_of_processor(part)));
    const __u32 bit = 1u << kind;
    __s64 change = part->is_known & bit ? own - part->pages[kind] : 0;
    if (!own || !(resident->is_known & bit))
        change += common_change(resident, kind, common);
    part->is_known |= bit;
    part->pages[kind] = own;
    return change;
}

#endif /* SAMPLER_KERNEL_RETURNED_BPF_H */
