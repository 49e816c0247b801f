/*
 * core_notes - what the notes of a core file say: the process, its threads and their registers, what ended it, which
 * files it had mapped.
 *
 * The kernel and gdb write the same notes.  The thread that a signal ended, or that gdb had selected, comes first.  A core
 * is a hostile file: nothing is allocated by a number in it, and notes that make no sense are skipped.
 *
 * Ownership: the caller's storage; core_notes_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: CORE_MAX_*; what is beyond them is ignored.
 * Source: elf(5), core(5), and the kernel's fs/binfmt_elf.c and include/linux/elfcore.h.
 */
#ifndef SAMPLER_PROCESS_CORE_NOTES_H
#define SAMPLER_PROCESS_CORE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/memory.h"

enum {
    CORE_MAX_THREADS = 1 << 16,
    CORE_MAX_NOTES = 1 << 20,
    CORE_MAX_NOTE_BYTES = 256 << 20, /* of all that are read */
    CORE_MAX_FILE_NOTE_BYTES = 16
                               << 20, /* the kernel's own limit is 4 MiB, unless it is raised */
    CORE_MAX_FILES = 1 << 17,
    CORE_MAX_VECTOR = 64, /* entries of the auxiliary vector; kernels write 20 to 25 */
    CORE_NAME_BYTES = 16,
    CORE_COMMAND_BYTES = 80,
    CORE_REGISTERS = 34, /* of aarch64; x86-64 has 27 */
    CORE_NO_CALL = -1,
};

struct core_thread {
    int32_t tid;
    int32_t signal; /* that it was being sent; 0: none */
    int32_t call;   /* the system call that it was in (aarch64); CORE_NO_CALL: unknown */
    uint64_t thread_pointer;            /* of aarch64 */
    uint64_t registers[CORE_REGISTERS]; /* as ptrace has them (PTRACE_GETREGSET) */
};

/* A part of a file that was mapped. */
struct core_mapped {
    remote_addr start, end;
    uint64_t offset;
    const char *path; /* of `paths` */
};

struct core_notes {
    int32_t pid; /* 0: no note says it */
    char name[CORE_NAME_BYTES + 1], command[CORE_COMMAND_BYTES + 1];
    bool is_by_debugger; /* which writes the process before its threads */
    bool has_signal;     /* the next four are known */
    int32_t signal, signal_code, sender;
    uint64_t fault_addr;
    int32_t first_tid;           /* of the thread that came first */
    struct core_thread *threads; /* by tid, once they are sorted */
    size_t thread_count, thread_room;
    struct core_mapped *mapped; /* by address */
    size_t mapped_count;
    char *paths;
    /* From the auxiliary vector; 0: unknown. */
    remote_addr program_headers, stack_start, vdso;
    size_t seen, read_bytes; /* notes, and what was read of them; for the limits */
    bool is_cut;             /* the file ends before its notes do */
};

/* Adds the notes of a segment. `limit`: the length of the file. */
MUST_CHECK enum err_code core_notes_read(struct core_notes *notes, int fd, uint64_t offset,
                                         uint64_t bytes, uint64_t limit);
/* The part of a file that was mapped at addr; NULL: none. */
const struct core_mapped *core_notes_find(const struct core_notes *notes, remote_addr addr);
/* To be called once all have been read. */
void core_notes_sort(struct core_notes *notes);
void core_notes_deinit(struct core_notes *notes);

#endif /* SAMPLER_PROCESS_CORE_NOTES_H */
