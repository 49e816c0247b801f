/*
 * settings - what --push and its relatives say: where profiles go, and what they are labelled with.
 *
 * An endpoint is SCHEME://HOST[:PORT][/PATH].  The scheme names the protocol; with "+https" TLS is used.
 * Names and passwords do not belong into it, because others can read a command line: they are
 * headers, in a file.
 *
 * Ownership: texts are borrowed from the command line.
 * Limits: PUSH_MAX_ENDPOINTS, PUSH_MAX_OWN_LABELS.
 */
#ifndef SERVER_PUSH_SETTINGS_H
#define SERVER_PUSH_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct push_protocol;

enum { PUSH_MAX_ENDPOINTS = 4, PUSH_MAX_OWN_LABELS = 16, PUSH_MAX_URL = 1024 };

#define PUSH_BATCH_NS    15000000000ull
#define PUSH_SPOOL_BYTES (64ull << 20)

/* Labels of the samples of a push. */
#define PUSH_SAMPLE_LABELS(X) \
    X(NONE, "none")           \
    X(THREAD, "thread")       \
    X(STATE, "state")         \
    X(THREAD_STATE, "thread,state")

enum push_sample_labels {
#define X(name, text) PUSH_SAMPLES_##name,
    PUSH_SAMPLE_LABELS(X)
#undef X
};

struct push_endpoint_setting {
    const struct push_protocol *protocol;
    bool is_tls;
    const char *rest;         /* HOST[:PORT][/PATH] */
    const char *headers_file; /* NULL: none */
    const char *ca_file;      /* certificates to trust; NULL: those of the system */
};

struct push_settings {
    struct push_endpoint_setting endpoints[PUSH_MAX_ENDPOINTS];
    size_t endpoint_count;
    struct push_own_label {
        const char *name, *value; /* the name ends at '='; an empty value removes the label */
        size_t name_length;
    } labels[PUSH_MAX_OWN_LABELS];
    size_t label_count;
    enum push_sample_labels sample_labels;
    uint64_t batch_ns, spool_bytes; /* of each endpoint */
    bool anonymizes;
};

#endif /* SERVER_PUSH_SETTINGS_H */
