/*
 * program - the BPF program (stacks.bpf.c), as the kernel runs it.
 *
 * Its object file is part of the profiler, compressed; scripts/bpf makes it.  Maps and programs are found in it by
 * name, and their values have the sizes that this build gives them: an object file of other sources is refused.
 *
 * Ownership: the caller's storage.  program_unload frees what program_load has made, and may be called after it failed,
 * or of zeros.
 * Threads: none.
 */
#ifndef SAMPLER_KERNEL_PROGRAM_H
#define SAMPLER_KERNEL_PROGRAM_H

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/kernel/record.h"

struct program {
    struct bpf_object *object;
    struct bpf_program *on_tick, *on_fault; /* to be attached to perf events */
    struct bpf_link *links[2];
    struct bpf_link *resident; /* NULL: on_resident is not attached */
    struct bpf_map *processes, *threads, *ring, *counters, *areas, *residents;
    struct kernel_switches *switches; /* which the program reads at any time */
};

/* Loads the program and attaches it to the scheduler's tracepoints.  lender: shares its areas; NULL: none.  The errors
 * are those of kernel_open. */
MUST_CHECK enum err_code program_load(struct program *program, const struct program *lender,
                                      size_t processors, struct err *err);
void program_unload(struct program *program);

/* Attaches the program to changes of resident memory, or detaches it: at each page fault of the host it costs something
 * even where it does nothing. */
MUST_CHECK enum err_code program_follow_memory(struct program *program, struct err *err);
void program_leave_memory(struct program *program);

#endif /* SAMPLER_KERNEL_PROGRAM_H */
