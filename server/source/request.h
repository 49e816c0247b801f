/*
 * request - requests to the helper that reads source files, and its answers.
 *
 * A request is one message of the socket, with three descriptors: the pipe for the answer, a pidfd
 * of the process and its memory.  The answer in the pipe is a source_answer and the text.  If
 * the pipe ends without an answer, the reader was killed, which the owner of the process may do.
 *
 * Private to the folder.
 *
 * Depends on: owner.
 */
#ifndef SERVER_SOURCE_REQUEST_H
#define SERVER_SOURCE_REQUEST_H

#include <limits.h>
#include <stdint.h>

#include "sampler/owner.h"

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
    X(TOO_LARGE, LIMIT, "the source file is larger than 4 MiB")                          \
    X(BUSY, LIMIT, "another program holds the source file: try again")                   \
    X(CROWDED, LIMIT, "too many source files are being read: try again")                 \
    X(FAILED, SYS, "the source file cannot be read")

enum source_outcome {
#define X(name, code, text) SOURCE_##name,
    SOURCE_OUTCOMES(X)
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
    char path[PATH_MAX];  /* ends with a NUL */
};

struct source_answer {
    uint32_t outcome;
    uint32_t length; /* of the text that follows */
    uint64_t changed_ns;
};

#endif /* SERVER_SOURCE_REQUEST_H */
