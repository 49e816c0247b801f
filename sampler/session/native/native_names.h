/*
 * native_names - the frames of the profile that native frames become: functions of libraries.
 *
 * A function has the name of its symbol, demangled and as Python writes it, if mypyc or Cython made it;
 * without a symbol <LIBRARY+OFFSET>, where the offset is that of the function in the file as linked.
 * Generated code has the name that a perf map gives, or one name for all.
 *
 * Symbols are read when a function of a library is met first, and functions are remembered.  Reading
 * symbols takes milliseconds, of libtorch_cpu.so half a second, and on a busy machine several times as
 * long.  So no thread may be stopped meanwhile, and there is a bound: after a first
 * NATIVE_NAMES_FIRST_NS, 1 / NATIVE_NAMES_COST_SHARE of the time.  A library that is met while there
 * is no time has functions without names.
 *
 * Ownership: native_names_init borrows everything; native_names_deinit accepts a zeroed struct.
 * Threads: the profile's writer.
 * Limits: NATIVE_NAMES_MAX functions, then all are looked up again; NATIVE_NAMES_MAX_LIBRARIES libraries
 * and NATIVE_NAMES_MAX_SYMBOL_BYTES of symbols, NATIVE_NAMES_MAX_ALL_BYTES of symbols and perf maps of all processes
 * together: the functions of further ones have no names.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_SESSION_NATIVE_NATIVE_NAMES_H
#define SAMPLER_SESSION_NATIVE_NATIVE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"
#include "sampler/native/perf_map.h"
#include "sampler/native/unwind.h"
#include "sampler/process/process.h"
#include "sampler/profile/profile.h"

#define NATIVE_NAMES_FIRST_NS    (4 * NS_PER_S)
#define NATIVE_NAMES_DEADLINE_NS (2 * NS_PER_S)

enum {
    NATIVE_NAMES_MAX = 1 << 17,
    NATIVE_NAMES_MAX_LIBRARIES = 4096,
    NATIVE_NAMES_MAX_SYMBOL_BYTES = 64 << 20,
    NATIVE_NAMES_MAX_ALL_BYTES = 256 << 20,
    NATIVE_NAMES_COST_SHARE = 50,
};

struct native_library;
struct origins;

/* The destination of functions. */
struct native_names_profile {
    struct profile *profile;
    struct origins *origins; /* of the session; NULL: functions have none */
    profile_origin origin;   /* of the process */
};

struct native_names {
    struct native_names_profile to;
    const struct process *process;
    struct unwinder *unwinder;
    remote_addr anchor;             /* in the data of the interpreter */
    int root_fd;                    /* -1: not open */
    struct perf_map_process writer; /* of the names of generated code */
    struct perf_map perf_map;
    struct native_library *libraries;
    size_t library_count, library_room;
    struct pool functions; /* of struct named_function */
    struct idmap by_addr;
    size_t held_bytes; /* of symbols and of the perf map */
    uint64_t begun_ns, spent_ns;
};

/* The name of a native frame, and what code it is. */
struct native_name {
    frame_id frame;
    bool is_evaluation;  /* the interpreter's evaluation function */
    bool is_interpreter; /* code of the interpreter's own library */
    bool is_call_step;   /* of the interpreter: only passes a call on */
    bool is_c_caller;    /* of the interpreter: calls the C function of a built-in */
    bool is_instruction; /* of the interpreter: executes an instruction */
    bool is_jit_entry;   /* of the interpreter: calls code of the JIT */
    bool is_wrapper;     /* of compiled Python code: only calls a function of the same name */
    bool is_generated;   /* made at run time, and nothing names it */
    bool is_trampoline;  /* generated code that only calls a Python function */
    bool
        is_start; /* of the C library, or the start of a program: if outermost, of no interest */
    bool is_main;                /* the function main of a program */
    bool is_coroutine_start;     /* what lies outside of it is another coroutine's */
    bool is_switcher, is_switch; /* as in enum native_role */
    bool is_gpu_wait;            /* returns when the GPU has done its work */
};

/* anchor: python_anchor. */
void native_names_init(struct native_names *names, struct native_names_profile to,
                       const struct process *process, struct unwinder *unwinder,
                       remote_addr anchor);
void native_names_deinit(struct native_names *names);
size_t native_names_bytes(const struct native_names *names);

/* ERR_NOMEM; ERR_LIMIT: the profile is full. */
MUST_CHECK enum err_code native_names_find(struct native_names *names,
                                           const struct native_frame *frame, uint64_t now_ns,
                                           struct native_name *out);

/* The frame of a gap: it counts as native code of an unknown library. */
MUST_CHECK enum err_code native_names_gap(struct native_names *names, frame_id *out);

#endif /* SAMPLER_SESSION_NATIVE_NATIVE_NAMES_H */
