/*
 * runtime_search - what the files of runtime share while they search one process.
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
    bool is_unfinished;     /* of a file, or of all, the deadline has passed */
    bool has_closed_file;   /* one that may hold an interpreter and cannot be opened */
    bool has_hidden_file;   /* the program itself has no symbols */
    uint64_t program_inode; /* of the file that the process runs */
    struct runtime_list *out;
    enum err_code refusal; /* the most telling reason so far why a place was not accepted */
    struct err *err;
};

/* Takes a place that holds together.  `version`: as PY_VERSION_HEX, for those that do not describe
 * themselves; 0: unknown.  true: the search is over. */
bool runtime_try_place(struct search *search, remote_addr addr, uint32_t version,
                       enum runtime_way way);

/* Keeps what tells the user most: a version we cannot read says more than "not Python". */
void runtime_refuse(struct search *search, enum err_code code, const struct err *why);

/* To be asked before every step whose number the process chooses. */
bool runtime_is_out_of_time(struct search *search);

/* The last resort, for files that may not be opened and for those without symbols.  true: the search
 * is over. */
bool runtime_scan(struct search *search);

/* Interpreters that do not describe themselves, in the data of a file that begins in this mapping: by
 * pointers that lead back to each other.  true: the search is over. */
bool runtime_scan_pointers(struct search *search, const struct mapping *m);

#endif /* SAMPLER_CPYTHON_RUNTIME_RUNTIME_SEARCH_H */
