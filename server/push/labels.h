/*
 * labels - what a process is labelled with: the service that it belongs to, where it runs, and the labels of
 * --label, which replace others of the same name.
 *
 * A label has a name for Pyroscope and Parca (service_name), and one for OpenTelemetry (service.name).
 * They are in the order of their names.  Values are UTF-8 without control characters.  Those of an anonymized profile name nothing of it.
 *
 * Ownership: the caller's storage.
 * Limits: PUSH_MAX_LABELS labels, of PUSH_MAX_LABEL_NAME and PUSH_MAX_LABEL_VALUE bytes.
 */
#ifndef SERVER_PUSH_LABELS_H
#define SERVER_PUSH_LABELS_H

#include <stddef.h>

#include "server/push/settings.h"

struct session_target;

enum { PUSH_MAX_LABELS = 28, PUSH_MAX_LABEL_NAME = 63, PUSH_MAX_LABEL_VALUE = 255 };

struct push_labels {
    size_t count;
    struct push_label {
        char name[PUSH_MAX_LABEL_NAME + 1];
        const char *attribute; /* of OpenTelemetry; NULL: the same as the name that was given */
        char given[PUSH_MAX_LABEL_NAME + 1];
        char value[PUSH_MAX_LABEL_VALUE + 1];
    } items[PUSH_MAX_LABELS];
};

/* host: NULL: it is not to be named. */
void push_labels_of(const struct session_target *target, const char *host,
                    const struct push_settings *settings, struct push_labels *out);

/* Their order; 0: equal. */
int push_labels_compare(const struct push_labels *a, const struct push_labels *b);

/* The name for OpenTelemetry. */
const char *push_label_attribute(const struct push_label *label);

#endif /* SERVER_PUSH_LABELS_H */
