#include "sampler/capture/target_record.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"

enum { SEPARATOR = 0x1f };

enum field {
    PID,
    PARENT,
    FROM,
    TO,
    VALIDATED,
    PYTHON,
    EXECUTABLE,
    REASON,
    NAME, /* the first of the other text of an older capture */
    NAMESPACE,
    VERSION,
    CONTAINER,
    AGE,
    POD, /* not in an older capture, like the next */
    WORDS,
    FIELDS
};

static void put_number(uint64_t number, struct buffer *out)
{
    buffer_char(out, SEPARATOR);
    buffer_uint(out, number);
}

static void put_text(const char *text, struct buffer *out)
{
    buffer_char(out, SEPARATOR);
    const size_t start = out->length;
    buffer_text(out, text ? text : "");
    for (size_t i = start; i < out->length; i++)
        if (out->data[i] == SEPARATOR)
            out->data[i] = '?';
}

void target_record_encode(const struct session_target *target, size_t word_bytes,
                          struct buffer *out)
{
    size_t words = 0;
    for (size_t bytes = 0; words < target->argc && words < TARGET_RECORD_MAX_WORDS; words++) {
        bytes += strlen(target->argv[words]) + 1;
        if (bytes > word_bytes)
            break;
    }
    buffer_uint(out, (uint64_t)target->pid);
    put_number((uint64_t)target->parent, out);
    put_number(target->from_ns, out);
    put_number(target->to_ns, out);
    put_number(target->validated, out);
    put_text(target->python, out);
    put_text(target->executable, out);
    put_text(target->reason, out);
    put_text(target->service.name, out);
    put_text(target->service.namespace, out);
    put_text(target->service.version, out);
    put_text(target->service.container, out);
    put_number(target->age_ns, out);
    put_text(target->pod, out);
    put_number(words, out);
    for (size_t i = 0; i < words; i++)
        put_text(target->argv[i], out);
    for (size_t i = 0; i < SESSION_WARNINGS; i++)
        put_text(target->warnings[i], out);
    buffer_char(out, '\0');
}

static size_t count_parts(const char *text)
{
    size_t count = 1;
    while ((text = strchr(text, SEPARATOR))) {
        count++;
        text++;
    }
    return count;
}

/* Cuts the text where its parts end, and returns how many there are. */
static size_t cut_parts(char *text, const char **parts)
{
    size_t count = 0;
    while (text) {
        parts[count++] = text;
        text = strchr(text, SEPARATOR);
        if (text)
            *text++ = '\0';
    }
    return count;
}

static pid_t pid_of(const char *text)
{
    const long pid = strtol(text, NULL, 10);
    return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

/* Text that is too long is no service's of ours. */
static void copy_name(const char *text, char out[SESSION_SERVICE_BYTES])
{
    const size_t length = strlen(text);
    if (length < SESSION_SERVICE_BYTES)
        memcpy(out, text, length + 1);
}

static void describe_target(const char *const fields[FIELDS], struct session_target *out)
{
    *out = (struct session_target){ .pid = pid_of(fields[PID]),
                                    .parent = pid_of(fields[PARENT]),
                                    .from_ns = strtoull(fields[FROM], NULL, 10),
                                    .to_ns = strtoull(fields[TO], NULL, 10),
                                    .validated = *fields[VALIDATED] == '1',
                                    .python = fields[PYTHON],
                                    .executable = fields[EXECUTABLE],
                                    .reason = text_or_null(fields[REASON]),
                                    .age_ns = strtoull(fields[AGE], NULL, 10),
                                    .pod = text_or_null(fields[POD]) };
    copy_name(fields[NAME], out->service.name);
    copy_name(fields[NAMESPACE], out->service.namespace);
    copy_name(fields[VERSION], out->service.version);
    copy_name(fields[CONTAINER], out->service.container);
}

enum err_code target_record_decode(const char *text, const char *service,
                                   struct target_record *out, struct err *err)
{
    const char *fields[FIELDS];
    const size_t bytes = strlen(text) + 1, more_bytes = service ? strlen(service) + 1 : 0;
    const size_t room = count_parts(text) + (service ? count_parts(service) : 0);
    const char **const parts = malloc(room * sizeof *parts + bytes + more_bytes);
    *out = (struct target_record){ .memory = parts };
    if (!parts)
        return err_nomem(err);
    char *const copy = (char *)(parts + room);
    memcpy(copy, text, bytes);
    const size_t count = cut_parts(copy, parts), fixed = service ? NAME : FIELDS;
    size_t words = count - fixed, warnings_at = room;
    for (size_t i = 0; i < FIELDS; i++)
        fields[i] = i < fixed && i < count ? parts[i] : "";
    if (service) {
        memcpy(copy + bytes, service, more_bytes);
        const size_t more = cut_parts(copy + bytes, parts + count);
        for (size_t i = 0; i < more && NAME + i < POD; i++)
            fields[NAME + i] = parts[count + i];
        warnings_at = count + (POD - NAME);
    } else if (count >= fixed) {
        words = strtoul(fields[WORDS], NULL, 10);
        warnings_at = fixed + words;
    }
    describe_target(fields, &out->target);
    if (count < fixed || words > count - fixed || words > TARGET_RECORD_MAX_WORDS ||
        !out->target.pid) {
        target_record_deinit(out);
        return err_set(err, ERR_CORRUPT, "what is said of a process is invalid");
    }
    out->target.argc = words;
    out->target.argv = parts + fixed;
    for (size_t i = 0; i < SESSION_WARNINGS && warnings_at + i < room; i++)
        out->target.warnings[i] = text_or_null(parts[warnings_at + i]);
    return ERR_OK;
}

/* Copies a text to where the next one begins. */
static const char *copy_text(const char *text, char **next)
{
    const size_t bytes = strlen(text) + 1;
    const char *const copy = memcpy(*next, text, bytes);
    *next += bytes;
    return copy;
}

enum err_code target_record_copy(const struct session_target *target, struct target_record *out,
                                 struct err *err)
{
    size_t bytes = strlen(target->executable) + strlen(target->python) + 2;
    bytes += target->pod ? strlen(target->pod) + 1 : 0;
    for (size_t i = 0; i < target->argc; i++)
        bytes += strlen(target->argv[i]) + 1;
    const char **const words = malloc((target->argc + 1) * sizeof *words + bytes);
    *out = (struct target_record){ .target = *target, .memory = words };
    if (!words)
        return err_nomem(err);
    char *next = (char *)(words + target->argc + 1);
    for (size_t i = 0; i < target->argc; i++)
        words[i] = copy_text(target->argv[i], &next);
    words[target->argc] = NULL;
    out->target.argv = words;
    out->target.executable = copy_text(target->executable, &next);
    out->target.python = copy_text(target->python, &next);
    out->target.pod = target->pod ? copy_text(target->pod, &next) : NULL;
    return ERR_OK;
}

void target_record_deinit(struct target_record *record)
{
    free(record->memory);
    *record = (struct target_record){ .memory = NULL };
}
