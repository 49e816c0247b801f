/*
 * core_backings - the files that the process of a core had mapped, for what the core lacks of them: code and constants.
 *
 * A file is used if its first page is what the core has of it: the ELF header, the program headers and mostly the build id.
 * It is found by its path in the core, which is hostile, so it is opened with no more rights than the owner of the core has
 * (file_below.h); or it is the one that the user has named, which needs only the right name if the core lacks that page.  Files are looked for once, when they are needed.
 *
 * Ownership: the caller's storage; core_backings_deinit accepts a zeroed one whose mutex was initialized.  Borrows segments
 * and notes.
 * Threads: core_backings_fd and core_backings_count: any.
 */
#ifndef SAMPLER_PROCESS_CORE_BACKINGS_H
#define SAMPLER_PROCESS_CORE_BACKINGS_H

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/process/core_notes.h"
#include "sampler/process/core_segments.h"

enum core_backing_state {
    CORE_BACKING_UNTRIED,
    CORE_BACKING_OPEN,
    CORE_BACKING_ABSENT, /* cannot be opened, or not by the owner of the core */
    CORE_BACKING_OTHER,  /* another file is there now */
    CORE_BACKING_DATA,   /* no program: nobody asks for it */
    CORE_BACKING_UNKNOWN /* the core has nothing to compare it with */
};

struct core_backing {
    const char *path;
    remote_addr start; /* where its first page was; 0: nowhere */
    enum core_backing_state state;
    int fd;
};

struct core_backings {
    const struct core_segments *segments;
    const struct core_notes *notes;
    uid_t owner; /* of the core */
    struct core_backing *items;
    size_t count;
    uint32_t *of_mapped; /* by index of notes->mapped */
    size_t program;      /* index of the one that the process ran; `count`: unknown */
    int given_fd;        /* the file that the user has named; -1: none */
    char given_name[NAME_MAX + 1];
    pthread_mutex_t mutex; /* of the state of items */
};

MUST_CHECK enum err_code core_backings_init(struct core_backings *backings,
                                            const struct core_segments *segments,
                                            const struct core_notes *notes, uid_t owner,
                                            struct err *err);
void core_backings_deinit(struct core_backings *backings);

/* From now on the file at this path is used, too; name: of the core.  ERR_INVALID: the process had not mapped it. */
MUST_CHECK enum err_code core_backings_give(struct core_backings *backings, const char *path,
                                            const char *name, struct err *err);

/* Opens a regular file that the user has named, and nothing else.  flags: O_NOFOLLOW, or 0. */
struct stat;
MUST_CHECK enum err_code core_backings_open_named(const char *path, int flags, int *fd_out,
                                                  struct stat *st, struct err *err);

/* Index of the file of a mapping. */
size_t core_backings_index(const struct core_backings *backings,
                           const struct core_mapped *mapped);
/* A descriptor, which stays owned here; -1: the file cannot be used. */
int core_backings_fd(struct core_backings *backings, const struct core_mapped *mapped);
/* How many files are in this state; *first_out is the path of one of them. */
size_t core_backings_count(struct core_backings *backings, enum core_backing_state state,
                           const char **first_out);

#endif /* SAMPLER_PROCESS_CORE_BACKINGS_H */
