/*
 * target_record - a process of a session, and all that is known of it as one text: the sampling process sends it, and captures
 * keep it.
 *
 * The text is numbers and texts with a unit separator (0x1f) between them: pid, parent, from_ns, to_ns, validated, version of
 * Python, executable, reason, the service's name, namespace, version and container, age_ns, pod, the number of words of the
 * command line, these words, and the warnings.  A separator within a text becomes '?'.
 *
 * Captures before 4.3 have two texts: the words follow the reason, and the other one is the service, age_ns and the
 * warnings; the pod is unknown.
 *
 * Ownership: target_record_deinit frees what target_record_decode or target_record_copy has made, and accepts a zeroed one.
 * Limits: TARGET_RECORD_MAX_WORDS.
 */
#ifndef SAMPLER_CAPTURE_TARGET_RECORD_H
#define SAMPLER_CAPTURE_TARGET_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"

struct buffer;

enum { SESSION_SERVICE_BYTES = 128 };

/* The service that a process belongs to, as OpenTelemetry's variables in its environment say, and the id of
 * its container; "": not known.  One that has written a title over its command line has a name in any case: that of the
 * script, module or program that it was started as. */
struct session_service {
    char name[SESSION_SERVICE_BYTES], namespace[SESSION_SERVICE_BYTES];
    char version[SESSION_SERVICE_BYTES], container[SESSION_SERVICE_BYTES];
};

/* Warnings for readers of the profile about a process: parts that are not sampled although
 * they run Python, or that may be wrong. Captures have them in this order: add new ones at
 * the end. */
enum session_warning {
    SESSION_WARNING_INTERPRETERS, /* sub-interpreters that the engine does not follow */
    SESSION_WARNING_ANOTHER,      /* another interpreter */
    SESSION_WARNING_VERSION,      /* newer than any release that was tested */
    SESSION_WARNING_OPCODES,      /* and with other instructions */
    SESSION_WARNINGS
};
enum { SESSION_WARNING_BYTES = 320 };

/* One process of a session.  Strings live as long as the session. */
struct session_target {
    pid_t pid;
    pid_t parent; /* if it is a target too; 0: none */
    size_t argc;
    const char *const *argv;
    const char *executable;
    const char *python; /* "3.11.2" */
    const char *pod;    /* of Kubernetes, "NAMESPACE/NAME"; NULL: in none, or not known */
    struct session_service service; /* not known of a capture that was cut off */
    bool validated;                 /* false: a version newer than any we know */
    uint64_t from_ns;               /* when sampling began, since the start of the session */
    uint64_t age_ns;                /* how long it had run then */
    uint64_t to_ns;                 /* when it ended; 0: not yet */
    const char *reason;             /* a sentence once it has ended, else NULL */
    const char *warnings[SESSION_WARNINGS]; /* sentences; NULL: not seen, or not yet */
};

enum { TARGET_RECORD_MAX_WORDS = 1 << 16 };

struct target_record {
    struct session_target target; /* its texts are in the memory */
    void *memory;
};

/* Appends the text, with a NUL.  Words of the command line that need more than word_bytes are left out. */
void target_record_encode(const struct session_target *target, size_t word_bytes,
                          struct buffer *out);
/* service: the other text of an older capture; NULL: there is only one.  ERR_CORRUPT: it is no such text. */
MUST_CHECK enum err_code target_record_decode(const char *text, const char *service,
                                              struct target_record *out, struct err *err);
/* Copies the target with its texts; reason and warnings stay the caller's. */
MUST_CHECK enum err_code target_record_copy(const struct session_target *target,
                                            struct target_record *out, struct err *err);
void target_record_deinit(struct target_record *record);

#endif /* SAMPLER_CAPTURE_TARGET_RECORD_H */
