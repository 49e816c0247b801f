/*
 * runtime_search - the state of one search, shared by the files of runtime: runtime_find.c searches a process,
 * runtime_files.c its files, runtime_scan.c its memory, runtime_pointers.c for pointers that match, and
 * runtime_place.c examines an address.
 */
#ifndef SAMPLER_CPYTHON_RUNTIME_RUNTIME_SEARCH_H
#define SAMPLER_CPYTHON_RUNTIME_RUNTIME_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/clock.h"
#include "sampler/base/idmap.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/process/maps.h"

struct search {
    struct process *process;
    struct maps maps;
    struct idmap files; /* the first mapping of each, by index */
    uint64_t scanned_bytes, skipped_bytes;
    enum runtime_effort effort;
    struct deadline deadline;
    bool is_unfinished;     /* the deadline of a file or of the search has passed */
    bool has_closed_file;   /* a file that may hold an interpreter cannot be opened */
    bool has_hidden_file;   /* the program itself has no symbols */
    uint64_t program_inode; /* of the file that the process runs */
    struct runtime_list *out;
    enum err_code refusal; /* the most specific reason so far why an address was not accepted */
    struct err *err;
};

static inline bool runtime_is_quick(enum runtime_effort effort)
{
    return effort == RUNTIME_QUICK || effort == RUNTIME_HIDDEN_ONLY;
}

/* Adds the interpreter at addr if its pointers are consistent.  `version`: PY_VERSION_HEX for
 * versions that do not describe themselves; 0: unknown.  true: the search is over. */
bool runtime_try_place(struct search *search, remote_addr addr, uint32_t version,
                       enum runtime_way way);

/* Stores the most specific reason: "unsupported version" is more specific than "not Python". */
void runtime_refuse(struct search *search, enum err_code code, const struct err *why);

/* Check this before every step of a loop whose length the process chooses. */
bool runtime_is_out_of_time(struct search *search);

/* Searches each file at its first mapping; libraries have several mappings.  true: the search is over. */
bool runtime_search_files(struct search *search);

/* Searches what each file exports, in its memory; no file is opened. */
void runtime_search_exports(struct search *search);

/* The last resort, for files that cannot be opened or have no symbols.  true: the search is over. */
bool runtime_scan(struct search *search);

/* Searches the data of a file, which begins in this mapping, for interpreters that do not describe
 * themselves: by pointers that point back at each other.  true: the search is over. */
bool runtime_scan_pointers(struct search *search, const struct mapping *m);

#endif /* SAMPLER_CPYTHON_RUNTIME_RUNTIME_SEARCH_H */
