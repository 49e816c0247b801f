/*
 * thread_locals - a thread-local variable that native code exports, read in any thread of a process from outside.
 *
 * The C library gives each file with thread-local variables a number, and each thread a vector of its blocks of variables by
 * these numbers.  Blocks of files that were there at the start, and of some others, are at a fixed distance from what
 * pthread_self returns.  Where all this lies the C library describes for debuggers, in symbols that it exports.  So this
 * works with glibc 2.34 and later, which export them; with musl and older versions of glibc no variable is found.
 *
 * A file may be loaded or unloaded at any time.  thread_locals_refresh finds what is new: it reads the list of numbers,
 * and the symbols of files that were not in it.  A reading of a variable reads also whether its file is still there.
 * Variables of one name may be in several files; each is one of its own.
 *
 * All of it is the target's: what is damaged has no variable.
 *
 * Ownership: the caller's storage; thread_locals_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: THREAD_LOCALS_MAX variables; THREAD_LOCALS_MAX_MODULES files, in THREAD_LOCALS_MAX_LISTS lists;
 * THREAD_LOCALS_MAX_EXAMINED new files at each refresh, others at the next ones.  The search for the C library takes at
 * most THREAD_LOCALS_SEARCH_NS of CPU time, refreshes 1 / THREAD_LOCALS_COST_SHARE of the time.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 * Source: nptl_db/structs.def and elf/dl-tls.c of glibc 2.36, 2.41 and 2.43; the ELF Handling For Thread-Local Storage.
 */
#ifndef SAMPLER_PROCESS_THREAD_LOCALS_H
#define SAMPLER_PROCESS_THREAD_LOCALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"
#include "sampler/process/memory.h"

struct maps;

#define THREAD_LOCALS_SEARCH_NS (50 * NS_PER_MS)

enum {
    THREAD_LOCALS_MAX = 4,
    THREAD_LOCALS_MAX_MODULES = 4096,
    THREAD_LOCALS_MAX_LISTS = 64,
    THREAD_LOCALS_MAX_EXAMINED = 64,
    THREAD_LOCALS_COST_SHARE = 100,
    THREAD_LOCALS_SLOT_BYTES = 2 * sizeof(uint64_t),
};

/* X(field, the symbol that describes it, its size in bits).  Only offsets differ between versions and processors. */
#define THREAD_LOCALS_FIELDS(X)                                                             \
    X(of_list, "rtld_global__dl_tls_dtv_slotinfo_list", 64) /* in _rtld_global */           \
    X(list_length, "dtv_slotinfo_list_len", 64)                                             \
    X(list_next, "dtv_slotinfo_list_next", 64)                                              \
    X(list_slots, "dtv_slotinfo_list_slotinfo", 128)                                        \
    X(slot_generation, "dtv_slotinfo_gen", 64)                                              \
    X(slot_map, "dtv_slotinfo_map", 64)                                                     \
    X(map_distance, "link_map_l_tls_offset", 64) /* of the block from the thread pointer */ \
    X(of_vector, "pthread_dtvp", 64)             /* in what pthread_self returns */         \
    X(of_tid, "pthread_tid", 32)                 /* likewise; 0: the thread has ended */    \
    X(entries, "dtv_dtv", 128)                                                              \
    X(entry_generation, "dtv_t_counter", 64) /* of the vector, in its first entry */        \
    X(entry_block, "dtv_t_pointer_val", 64)

struct thread_locals_layout {
#define X(field, symbol, bits) uint32_t field;
    THREAD_LOCALS_FIELDS(X)
#undef X
};

/* The module that a number stands for: `map` describes the file that is loaded, 0: none; no two
 * of a number have one generation. */
struct thread_locals_module {
    uint64_t generation;
    remote_addr map;
};

struct thread_local_variable {
    struct thread_locals_module module;
    uint64_t number;
    remote_addr slot;  /* the module is there as long as this place says so */
    uint64_t offset;   /* in the block */
    uint64_t distance; /* of the block; 0: it is not fixed */
};

struct thread_locals {
    struct memory *memory;
    const char *name;
    size_t bytes;
    remote_addr linker; /* _rtld_global; 0: variables cannot be found in this process */
    struct thread_locals_layout layout;
    struct thread_locals_module *modules; /* by number, as they were last seen */
    size_t module_count, module_room;
    struct thread_local_variable items[THREAD_LOCALS_MAX];
    size_t count;
    uint64_t next_ns; /* when modules may be read again */
};

/* Variables of this name and size.  Borrows the memory, and the name. */
void thread_locals_init(struct thread_locals *locals, const struct maps *maps,
                        struct memory *memory, const char *name, size_t bytes);
void thread_locals_deinit(struct thread_locals *locals);

/* Finds the variables of files that were loaded since the last call, if it is time.  true: items have changed. */
bool thread_locals_refresh(struct thread_locals *locals, uint64_t now_ns);

/* The memory that leads to a variable in a thread.  Each place has 8 bytes, but the slot THREAD_LOCALS_SLOT_BYTES and the
 * thread's number 4. */
struct thread_local_trail {
    remote_addr slot;
    uint32_t of_tid; /* the thread's number, from what pthread_self returns */
    /* From there too: the variable if it is fixed, otherwise the address of the thread's vector. */
    bool is_fixed;
    int64_t place;
    uint64_t of_generation,
        of_block;    /* in the vector: its generation, the address of the block */
    uint64_t offset; /* in the block */
};

void thread_locals_trail(const struct thread_locals *locals, size_t item,
                         struct thread_local_trail *out);

/* Reads a variable of 8 bytes in the thread whose pthread_self returns this.  ERR_NOT_FOUND: the thread has none yet, or
 * the file is no longer there. */
MUST_CHECK enum err_code thread_locals_read_u64(const struct thread_locals *locals, size_t item,
                                                struct memory *memory, uint64_t pthread,
                                                uint64_t *out);

#endif /* SAMPLER_PROCESS_THREAD_LOCALS_H */
