/*
 * runtime - finds the interpreter inside a process.
 *
 * Never by file name: every file mapped into the process is looked at for the section .PyRuntime
 * and the symbol _PyRuntime, opened through the process's own view of the file system, so that
 * containers, renamed and deleted binaries work; then writable memory is scanned, the data of mapped
 * files first: for the cookie of 3.13 and later, and for pointers from the list of interpreters to a
 * thread and back, where the data also says which version of 3.8 to 3.12 it is.  A place is
 * accepted only when the interpreter and thread found from it point back at each other; the first that
 * a stack of code objects is found in is the one.  An interpreter that runs nothing is taken where
 * there is no other.
 *
 * A process that nobody has named is looked at quickly: of its memory only the data of mapped files is
 * scanned, and that only where one of the files cannot be opened; or that of the program, where it has
 * no symbols.
 *
 * Limits: 4 GiB of memory are scanned; an error says how much was not.  RUNTIME_LIST_MAX interpreters.
 * A process takes 2 s where nobody has named it, 60 s otherwise, a file of it half and a third of that;
 * process->is_cancelled ends a search at once.
 * Threads: any; files and memory of a process may keep a call waiting for as long as that process likes.
 * Depends on: base, process, maps, mapped_file, elf, layout, evidence.
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

/* HIDDEN_ONLY: as quick as QUICK, for a program that runtime_in_file says may hide one.
 * EXHAUSTIVE: does not stop at the first. */
enum runtime_effort {
    RUNTIME_QUICK,
    RUNTIME_THOROUGH,
    RUNTIME_EXHAUSTIVE,
    RUNTIME_HIDDEN_ONLY
};

/* ERR_NOT_PYTHON: no interpreter in it (or none that has started yet), ERR_PERM,
 * ERR_UNSUPPORTED: a version we cannot read, ERR_GONE, ERR_LIMIT: there was no time for all of it. */
MUST_CHECK enum err_code runtime_find(struct process *process, enum runtime_effort effort,
                                      struct runtime *out, struct err *err);
/* All there are, in the order in which they are found. */
MUST_CHECK enum err_code runtime_find_all(struct process *process, struct runtime_list *out,
                                          struct err *err);
/* "its section .PyRuntime" */
const char *runtime_way_text(enum runtime_way way);

/* HIDDEN: it is the program itself and has no symbols, or cannot be opened.  UNKNOWN: it is leased, or has more than can be
 * read in time: later.  ABSENT also where it cannot be opened. */
enum runtime_presence { RUNTIME_ABSENT, RUNTIME_PRESENT, RUNTIME_HIDDEN, RUNTIME_UNKNOWN };
enum runtime_presence runtime_in_file(int pid, const struct mapping *mapping,
                                      const struct deadline *deadline);

/* Where a section of any file that is mapped lies in the process.  ERR_NOT_FOUND: no file has it, or
 * none that can be opened. */
MUST_CHECK enum err_code runtime_find_section(int pid, const char *name, remote_addr *out);

/* Does the chain runtime -> interpreter -> thread -> interpreter close, and for which of the
 * interpreters? */
enum { RUNTIME_MAX_INTERPRETERS = 256 };
MUST_CHECK enum err_code runtime_confirm(struct memory *memory, const struct runtime *runtime,
                                         remote_addr *interp_out);

#endif /* SAMPLER_CPYTHON_RUNTIME_RUNTIME_H */
