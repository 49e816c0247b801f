#include "server/push/labels.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/utf8.h"
#include "sampler/session.h"
#include "server/wire/service_name.h"

/* Control characters become spaces, what is not UTF-8 becomes '?'. */
static void copy_value(const char *text, size_t length, char out[PUSH_MAX_LABEL_VALUE + 1])
{
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        const size_t n = utf8_char_length(text + i, length - i);
        const size_t step = n > 0 ? n : 1;
        if (used + step > PUSH_MAX_LABEL_VALUE)
            break;
        if (n == 0)
            out[used] = '?';
        else if (n == 1 && ((unsigned char)text[i] < 0x20 || text[i] == 0x7f))
            out[used] = ' ';
        else
            memcpy(out + used, text + i, n);
        used += step;
        i += step;
    }
    out[used] = '\0';
}

static struct push_label *find_label(struct push_labels *labels, const char *name)
{
    for (size_t i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i].name, name) == 0)
            return &labels->items[i];
    return NULL;
}

static void add_label(struct push_labels *labels, const char *name, const char *attribute,
                      const char *text, size_t length)
{
    if (length == 0 || labels->count == PUSH_MAX_LABELS)
        return;
    struct push_label *const label = &labels->items[labels->count++];
    snprintf(label->name, sizeof label->name, "%s", name);
    label->attribute = attribute;
    copy_value(text, length, label->value);
}

static void add_text(struct push_labels *labels, const char *name, const char *attribute,
                     const char *text)
{
    add_label(labels, name, attribute, text ? text : "", text ? strlen(text) : 0);
}

static int by_name(const void *left, const void *right)
{
    const struct push_label *const a = left;
    const struct push_label *const b = right;
    return strcmp(a->name, b->name);
}

void push_labels_of(const struct session_target *target, const char *host,
                    const struct push_settings *settings, struct push_labels *out)
{
    const struct session_service *const service = &target->service;
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)target->pid);
    memset(out, 0, sizeof *out);
    add_text(out, "service_name", "service.name", service_name_of(target));
    add_text(out, "service_namespace", "service.namespace", service->namespace);
    add_text(out, "service_version", "service.version", service->version);
    add_text(out, "container", "container.id", service->container);

    /* "NAMESPACE/NAME" */
    const char *const pod = target->pod;
    const char *const slash = pod ? strchr(pod, '/') : NULL;
    if (slash)
        add_label(out, "namespace", "k8s.namespace.name", pod, (size_t)(slash - pod));
    add_text(out, "pod", "k8s.pod.name", slash ? slash + 1 : pod);

    add_text(out, "hostname", "host.name", host);
    add_text(out, "process_id", "process.pid", pid);
    for (size_t i = 0; i < settings->label_count; i++) {
        const struct push_own_label *const own = &settings->labels[i];
        char name[PUSH_MAX_LABEL_NAME + 1], given[PUSH_MAX_LABEL_NAME + 1];
        snprintf(given, sizeof given, "%.*s", (int)own->name_length, own->name);
        snprintf(name, sizeof name, "%s", given);
        for (char *at = name; (at = strchr(at, '.')); at++)
            *at = '_';
        struct push_label *label = find_label(out, name);
        if (*own->value == '\0') {
            if (label)
                *label = out->items[--out->count];
            continue;
        }
        if (!label) {
            add_text(out, name, NULL, own->value);
            label = find_label(out, name);
        }
        if (!label)
            continue;
        snprintf(label->given, sizeof label->given, "%s", given);
        copy_value(own->value, strlen(own->value), label->value);
    }
    qsort(out->items, out->count, sizeof *out->items, by_name);
}

int push_labels_compare(const struct push_labels *a, const struct push_labels *b)
{
    int order = (a->count > b->count) - (a->count < b->count);
    for (size_t i = 0; i < a->count && order == 0; i++) {
        order = strcmp(a->items[i].name, b->items[i].name);
        if (order == 0)
            order = strcmp(a->items[i].value, b->items[i].value);
    }
    return order;
}

const char *push_label_attribute(const struct push_label *label)
{
    return label->attribute ? label->attribute : label->given;
}
