/*
 * profile_rows - the rows of a profile's tables, their ids and limits, and what a reader has of a profile.
 *
 * Units: times are nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_PROFILE_ROWS_H
#define SAMPLER_PROFILE_PROFILE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/strtab.h"
#include "sampler/profile/measure.h"
#include "sampler/profile/part.h"
#include "sampler/profile/quality.h"
#include "sampler/profile/state.h"

typedef uint32_t library_id;  /* 0: none */
typedef uint32_t function_id; /* 0: the root's, without a name */
typedef uint32_t frame_id;    /* 0: the root's */
typedef uint32_t node_id;     /* 0: the root, its own parent */
typedef uint32_t thread_id;
typedef uint32_t process_id;
typedef uint32_t spot_id;

#define PROFILE_NO_SPOT UINT32_MAX

enum {
    PROFILE_MAX_LIBRARIES = 1 << 16,
    PROFILE_MAX_FUNCTIONS = 1 << 22,
    PROFILE_MAX_FRAMES = 1 << 23,
    PROFILE_MAX_NODES = 1 << 24,
    PROFILE_MAX_THREADS = 1 << 20,
    PROFILE_MAX_PROCESSES = 1 << 16,
    PROFILE_MAX_SPOTS = 1 << 23,
    PROFILE_MAX_CELLS = 1 << 22, /* of one window, and as many of spots */
};

/* A process that a function was sampled in, numbered by the writer. */
typedef uint64_t profile_origin;

#define PROFILE_ORIGIN_NONE    ((profile_origin)0) /* not set */
#define PROFILE_ORIGIN_SEVERAL UINT64_MAX          /* of several owners, or an unknown one */

enum {
    PROFILE_LIBRARY_INTERPRETER = 1 << 0, /* it holds the interpreter itself */
    PROFILE_LIBRARY_KERNEL = 1 << 1,      /* it is the kernel of the host */
    PROFILE_LIBRARY_FLAGS = PROFILE_LIBRARY_INTERPRETER | PROFILE_LIBRARY_KERNEL,
};

/* The path of the kernel, whose functions have no file.  A file may be called so too: the flag decides. */
#define PROFILE_KERNEL_PATH "[kernel]"

/* A file of native code: a shared library, or the executable. */
struct profile_library {
    str_id path;     /* as the process sees it; "[vdso]" and the like for code without a file */
    str_id build_id; /* hexadecimal digits; 0: unknown */
    uint32_t flags;  /* PROFILE_LIBRARY_* */
};

struct profile_function {
    str_id name; /* qualified; of native code demangled */
    str_id file; /* "~": synthetic; native code whose source file is unknown: its library */
    int32_t first_line; /* 0: unknown */
    library_id library; /* 0: Python code, or synthetic */
    enum wait_cause
        waits; /* of a mark that says why a thread waits (wait.h); by the rest of the row */
    profile_origin origin; /* the newest one in every snapshot; equal rows may differ in it */
    uint64_t
        entry; /* native code: where it begins in its library, as linked; likewise; 0: unknown */
};

struct profile_frame {
    function_id function;
    int32_t line; /* 0: unknown */
};

struct profile_node {
    node_id parent;
    frame_id frame;
};

struct profile_thread {
    process_id process;
    int32_t tid;    /* native, as this host sees it; 0: unknown */
    uint64_t ident; /* threading.get_ident() */
    str_id name;
    bool is_main;
};

/* The waiting tasks of a process share one pseudo-thread of this name, whose ids are 0.  It never
 * has the GIL or a CPU. */
#define PROFILE_WAITING_TASKS "waiting tasks"

struct profile_process {
    int32_t pid;
    str_id name;
};

/* A place in a function, the instruction executed there, and the spot of the caller. */
struct profile_spot {
    function_id function;
    int32_t line, end_line;     /* 0: unknown */
    int32_t column, end_column; /* UTF-8 bytes from the start of the line, -1: unknown */
    str_id opcode;              /* name of the instruction's form, 0: unknown */
    str_id base;                /* name of the instruction without specialization */
    uint32_t caller;            /* the spot of the calling frame plus 1, 0: none, or unknown */
};

/* Rows of each table that readers may read. */
struct profile_sizes {
    uint32_t strings, libraries, functions, frames, nodes, threads, processes, spots;
};

struct profile;
struct window;

struct profile_snapshot {
    struct profile *profile;
    uint32_t generation; /* 0: nothing was sealed */
    struct profile_sizes sizes;
    struct quality quality;
    uint64_t end_ns;      /* when the last window was sealed */
    size_t bytes;         /* held by tables, windows and series */
    size_t memory_bytes;  /* they may take; 0: no bound */
    enum measure measure; /* of the windows */
    measure_set measures; /* that have samples */
    measure_set beside;   /* of these, what copies and files of several measures have too */
    uint64_t sums[MEASURE_COUNT]; /* of each measure, in its unit: all that was counted */
    struct window **windows;      /* oldest first */
    size_t window_count;
};

#endif /* SAMPLER_PROFILE_PROFILE_ROWS_H */
