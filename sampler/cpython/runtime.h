/*
 * runtime - finds the interpreter inside a process.
 *
 * Never by file name: every file mapped into the process is looked at for the section .PyRuntime
 * and the symbol _PyRuntime, opened through the process's own view of the file system, so that
 * containers, renamed and deleted binaries work; then writable memory is scanned for the cookie
 * of 3.13 and later, the data of mapped files first.  A place is accepted only when the
 * interpreter and thread found from it point back at each other.
 *
 * A process that nobody has named is looked at quickly: of its memory only the data of mapped files is
 * scanned, and that only where one of the files cannot be opened.
 *
 * Limits: 4 GiB of memory are scanned; an error says how much was not.
 * Depends on: base, process, maps, elf, layout, object.
 */
#ifndef SAMPLER_CPYTHON_RUNTIME_H
#define SAMPLER_CPYTHON_RUNTIME_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/cpython/layout.h"
#include "sampler/target/process.h"

struct mapping;

struct runtime {
    remote_addr addr; /* of _PyRuntime */
    struct layout layout;
};

enum runtime_effort { RUNTIME_QUICK, RUNTIME_THOROUGH };

/* ERR_NOT_PYTHON: no interpreter in it (or none that has started yet), ERR_PERM,
 * ERR_UNSUPPORTED: a version we cannot read, ERR_GONE. */
MUST_CHECK enum err_code runtime_find(struct process *process, enum runtime_effort effort,
                                      struct runtime *out, struct err *err);

/* Does the mapped file hold an interpreter?  false also where it cannot be opened. */
bool runtime_is_in_file(int pid, const struct mapping *mapping);

/* Does the chain runtime -> interpreter -> thread -> interpreter close? */
MUST_CHECK enum err_code runtime_confirm(struct memory *memory, const struct runtime *runtime);

#endif /* SAMPLER_CPYTHON_RUNTIME_H */
