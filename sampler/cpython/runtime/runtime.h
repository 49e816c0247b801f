/*
 * runtime - finds the interpreter inside a process.
 *
 * File names play no part.  Every mapped file is searched for the section .PyRuntime and the symbol
 * _PyRuntime.  Files are opened through the process's own view of the file system, so containers and
 * renamed or deleted binaries work.  Then writable memory is scanned, the data of mapped files
 * first: for the cookie of 3.13 and later; and, where the data names a version from 3.8 to 3.12, for
 * pointers from the list of interpreters to a thread and back.
 *
 * An address is accepted only if its interpreter and thread point back at each other.  The search
 * ends at the first interpreter that has a stack of code objects.  An interpreter that runs nothing
 * is taken only if no other is found.
 *
 * A quick search scans less: only the data of mapped files, and only if one of them cannot be opened;
 * or the data of the program, if that has no symbols.
 *
 * Limits: 4 GiB of memory are scanned; an error says how much was left out.  RUNTIME_LIST_MAX
 * interpreters.  A quick search takes at most 2 s for a process and 1 s for a file, others 60 s and
 * 20 s.  process->is_cancelled ends a search at once.
 * Threads: any; a hostile process can block a read of its files and memory for as long as it likes.
 */
#ifndef SAMPLER_CPYTHON_RUNTIME_RUNTIME_H
#define SAMPLER_CPYTHON_RUNTIME_RUNTIME_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/runtime/evidence.h"
#include "sampler/process/process.h"

struct deadline;
struct mapping;

enum { RUNTIME_LIST_MAX = 8 };

#define RUNTIME_WAYS(X)                  \
    X(SECTION, "its section .PyRuntime") \
    X(SYMBOL, "the symbol _PyRuntime")   \
    X(COOKIE, "its cookie in memory")    \
    X(POINTERS, "its pointers in memory")

enum runtime_way {
#define X(name, text) RUNTIME_BY_##name,
    RUNTIME_WAYS(X)
#undef X
};

struct runtime {
    remote_addr addr; /* of _PyRuntime */
    struct layout layout;
    enum runtime_way way; /* how it was found */
    struct evidence evidence;
};

struct runtime_list {
    struct runtime items[RUNTIME_LIST_MAX];
    size_t count;
};

/* HIDDEN_ONLY: quick, for a program for which runtime_in_file returned RUNTIME_HIDDEN.
 * EXHAUSTIVE: does not stop at the first interpreter. */
enum runtime_effort {
    RUNTIME_QUICK,
    RUNTIME_THOROUGH,
    RUNTIME_EXHAUSTIVE,
    RUNTIME_HIDDEN_ONLY
};

/* ERR_NOT_PYTHON: no interpreter, or none that has started yet.  ERR_UNSUPPORTED: a version we
 * cannot read.  ERR_LIMIT: the time was over before all was searched.  ERR_PERM.  ERR_GONE. */
MUST_CHECK enum err_code runtime_find(struct process *process, enum runtime_effort effort,
                                      struct runtime *out, struct err *err);
/* All interpreters of the process, in the order in which they are found. */
MUST_CHECK enum err_code runtime_find_all(struct process *process, struct runtime_list *out,
                                          struct err *err);
/* Interpreters besides the one at `chosen` whose file exports its runtime, as libraries do.  Takes a few reads for each
 * file that is mapped, and ends early after some milliseconds. */
MUST_CHECK enum err_code runtime_find_others(struct process *process, remote_addr chosen,
                                             struct runtime_list *out, struct err *err);
/* "its section .PyRuntime" */
const char *runtime_way_text(enum runtime_way way);

/* HIDDEN: the file is the program itself, and has no symbols or cannot be opened.  UNKNOWN: the file
 * is leased, or too large to read in time: retry later.  ABSENT also: another file that cannot be
 * opened. */
enum runtime_presence { RUNTIME_ABSENT, RUNTIME_PRESENT, RUNTIME_HIDDEN, RUNTIME_UNKNOWN };
enum runtime_presence runtime_in_file(int pid, const struct mapping *mapping,
                                      const struct deadline *deadline);

/* The address in the process of a section of any mapped file.  ERR_NOT_FOUND: no file that can be
 * opened has it. */
MUST_CHECK enum err_code runtime_find_section(int pid, const char *name, remote_addr *out);

/* Checks that the chain runtime -> interpreter -> thread -> interpreter closes, and returns the
 * interpreter for which it does. */
enum { RUNTIME_MAX_INTERPRETERS = 256 };
MUST_CHECK enum err_code runtime_confirm(struct memory *memory, const struct runtime *runtime,
                                         remote_addr *interp_out);

#endif /* SAMPLER_CPYTHON_RUNTIME_RUNTIME_H */
