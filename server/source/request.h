/*
 * request - requests to the helper that reads source files, and its answers.
 *
 * A request is one message of the socket, with three descriptors: the pipe for the answer, a pidfd
 * of the process and its memory.  It names a source file, or a function of a library whose source file
 * the library's debug information names, or several such functions of which only the places are wanted.  The
 * answer in the pipe is a source_answer, the name of that source file, and the text.  The text of places is
 * a source_found_row for each function, followed by the name of its source file.  If the pipe ends without an answer, the reader was killed, which the owner of
 * the process may do.
 *
 * Private to the folder.
 */
#ifndef SERVER_SOURCE_REQUEST_H
#define SERVER_SOURCE_REQUEST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/debug_lines.h"
#include "sampler/owner.h"
#include "server/source/source.h"

/* Name, code, sentence. */
#define SOURCE_OUTCOMES(X)                                                               \
    X(DONE, OK, "")                                                                      \
    X(GONE, GONE, "the process has ended, or runs another program now")                  \
    X(OTHER_OWNER, PERM, "the process has changed its owner since it was first sampled") \
    X(MIXED_OWNER, PERM, "the process has the rights of several users")                  \
    X(NOT_OURS, PERM, "pyrometer may not read files as the owner of the process")        \
    X(MISSING, NOT_FOUND, "there is no such source file")                                \
    X(DENIED, PERM, "the owner of the process may not read the source file")             \
    X(NOT_REGULAR, INVALID, "the source file is not a regular file")                     \
    X(BAD_ARCHIVE, INVALID,                                                              \
      "the source file is in an archive that is damaged, or of a kind that is not read") \
    X(TOO_LARGE, LIMIT, "the source file is larger than 4 MiB")                          \
    X(BUSY, LIMIT, "another program holds the source file: try again")                   \
    X(CROWDED, LIMIT, "too many source files are being read: try again")                 \
    X(FAILED, SYS, "the source file cannot be read")
/* Outcomes for the library of a native function, whose name stands before the sentence. */
#define SOURCE_LIBRARY_OUTCOMES(X)                                                       \
    X(NO_DEBUG, NOT_FOUND, "has no debug information")                                   \
    X(NO_LINE, NOT_FOUND, "has no debug information about this function")                \
    X(LARGE_DEBUG, LIMIT, "has more than 256 MiB of debug information")                  \
    X(BAD_DEBUG, INVALID, "has debug information that cannot be read within the limits") \
    X(OTHER_LIBRARY, GONE, "is no longer the file that the process has mapped")

enum source_outcome {
#define X(name, code, text) SOURCE_##name,
    SOURCE_OUTCOMES(X) SOURCE_LIBRARY_OUTCOMES(X)
#undef X
        SOURCE_OUTCOME_COUNT
};

enum { SOURCE_DEADLINE_MS = 2000 };

enum source_descriptor {
    SOURCE_FD_ANSWER,
    SOURCE_FD_PROCESS,
    SOURCE_FD_SPACE,
    SOURCE_FD_COUNT
};

struct source_request {
    int32_t pid;
    uint64_t mapped_addr; /* an address that is mapped in the process */
    struct owner owner;   /* when it was first sampled */
    char path[PATH_MAX];  /* of the source file, or of the library; ends with a NUL */
    uint64_t entries[SOURCE_MAX_PLACES]; /* of functions of the library, as linked */
    uint32_t entry_count;                /* 0: path is a source file */
    bool wants_places;                   /* of all entries; otherwise the text of the first */
    bool wants_checkout;     /* the text of the answer is a source_checkout, that of the file */
    bool wants_distribution; /* the same, a source_distribution */
    char
        build_id[DEBUG_LINES_BUILD_ID_BYTES]; /* of the library; "": unknown; ends with a NUL */
};

struct source_answer {
    uint32_t outcome;
    uint32_t length; /* of the text */
    uint64_t changed_ns;
    uint32_t path_length; /* of the name of the source file that debug information names */
    int32_t line;         /* the same for the line; 0: not asked for, or unknown */
};

/* Without a name: the function's source is unknown.  Functions at the end may lack. */
struct source_found_row {
    int32_t line;
    uint32_t path_length;
};

#endif /* SERVER_SOURCE_REQUEST_H */
