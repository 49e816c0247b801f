#include "server/wire/target_list.h"

#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/first_word.h"
#include "sampler/profile/profile.h"

#define SEPARATOR "\x1f"

enum { PID, PARENT, FROM, TO, VALIDATED, PYTHON, EXECUTABLE, REASON, FIXED };

static char *text_of(const struct sampler_target *target)
{
    char text[TARGET_LIST_MAX_BYTES];
    size_t length =
        (size_t)snprintf(text, sizeof text,
                         "%d" SEPARATOR "%d" SEPARATOR "%" PRIu64 SEPARATOR "%" PRIu64 SEPARATOR
                         "%d" SEPARATOR "%.100s" SEPARATOR "%.2000s" SEPARATOR "%.300s",
                         (int)target->pid, (int)target->parent, target->from_ns, target->to_ns,
                         target->validated, target->python, target->executable,
                         target->reason ? target->reason : "");
    for (size_t i = 0; i < target->argc && length < sizeof text; i++) {
        const size_t room = sizeof text - length;
        const size_t more = 1 + strlen(target->argv[i]);
        if (more >= room)
            break;
        length += (size_t)snprintf(text + length, room, SEPARATOR "%s", target->argv[i]);
    }
    return strdup(text);
}

static char *service_text(const struct sampler_target *target)
{
    const struct sampler_service *const service = &target->service;
    char text[4 * SAMPLER_SERVICE_BYTES + SAMPLER_WARNINGS * SAMPLER_WARNING_BYTES + 32];
    size_t length = (size_t)snprintf(
        text, sizeof text,
        "%s" SEPARATOR "%s" SEPARATOR "%s" SEPARATOR "%s" SEPARATOR "%" PRIu64, service->name,
        service->namespace, service->version, service->container, target->age_ns);
    for (size_t i = 0; i < SAMPLER_WARNINGS; i++) {
        char *const warning = text + length + 1;
        length += (size_t)snprintf(text + length, sizeof text - length, SEPARATOR "%.*s",
                                   SAMPLER_WARNING_BYTES - 1,
                                   target->warnings[i] ? target->warnings[i] : "");
        /* The path of a file may have any character. */
        for (char *at = warning; (at = strchr(at, *SEPARATOR)); at++)
            *at = '?';
    }
    return strdup(text);
}

enum err_code target_list_write(const struct sampler *sampler, struct target_list_texts *out,
                                struct err *err)
{
    struct sampler_target target;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < SAMPLER_MAX_LISTED && sampler_target_at(sampler, i, &target); i++) {
        out->items[i] = text_of(&target);
        out->services[i] = service_text(&target);
        if (!out->items[i] || !out->services[i]) {
            out->count++;
            target_list_texts_deinit(out);
            return err_nomem(err);
        }
        out->count++;
    }
    return ERR_OK;
}

void target_list_texts_deinit(struct target_list_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(texts->items[i]);
        free(texts->services[i]);
    }
    texts->count = 0;
}

/* Cuts the text where its parts end. */
static size_t part(char *text, const char **parts, size_t room)
{
    size_t count = 0;
    for (char *at = text; at && count < room;) {
        parts[count++] = at;
        at = strchr(at, *SEPARATOR);
        if (at)
            *at++ = '\0';
    }
    return count;
}

static pid_t pid_of(const char *text)
{
    const long pid = strtol(text, NULL, 10);
    return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

static void describe(struct target_list_item *item, size_t count)
{
    const char **const words = item->words;
    item->target = (struct sampler_target){ .pid = pid_of(words[PID]),
                                            .parent = pid_of(words[PARENT]),
                                            .from_ns = strtoull(words[FROM], NULL, 10),
                                            .to_ns = strtoull(words[TO], NULL, 10),
                                            .validated = *words[VALIDATED] == '1',
                                            .python = words[PYTHON],
                                            .executable = words[EXECUTABLE],
                                            .reason = *words[REASON] ? words[REASON] : NULL,
                                            .argc = count - FIXED,
                                            .argv = words + FIXED };
}

/* Reads the warnings behind the age; the last of them ends with the text. */
static void read_warnings(char *text, struct sampler_target *target)
{
    for (size_t i = 0; i < SAMPLER_WARNINGS && text; i++) {
        char *const next = i + 1 < SAMPLER_WARNINGS ? strchr(text, *SEPARATOR) : NULL;
        if (next)
            *next = '\0';
        target->warnings[i] = *text ? text : NULL;
        text = next ? next + 1 : NULL;
    }
}

/* Text that is too long is no service's of ours. */
static void read_service(char *text, struct sampler_target *target)
{
    struct sampler_service *const out = &target->service;
    char *const parts[] = { out->name, out->namespace, out->version, out->container };
    enum { PARTS = sizeof parts / sizeof *parts };
    for (size_t i = 0; i < PARTS && *text; i++) {
        const size_t length = strcspn(text, SEPARATOR);
        if (length < SAMPLER_SERVICE_BYTES)
            memcpy(parts[i], text, length);
        text += length + (text[length] != '\0');
    }
    target->age_ns = strtoull(text, &text, 10);
    if (*text == *SEPARATOR)
        read_warnings(text + 1, target);
}

static bool read_item(struct target_list_item *item)
{
    size_t room = 1;
    for (const char *at = item->text; (at = strchr(at, *SEPARATOR)); at++)
        room++;
    item->words = calloc(room, sizeof *item->words);
    if (!item->words)
        return false;
    const size_t count = part(item->text, item->words, room);
    if (count >= FIXED)
        describe(item, count);
    return true;
}

void target_list_hide_arguments(struct target_list *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct sampler_target *const target = &targets->items[i].target;
        /* The words are in the text of the item. */
        if (target->argc > 0)
            target->argc = first_word_keep(target->argc, (char *)(uintptr_t)target->argv[0]);
        target->service = (struct sampler_service){ 0 };
    }
}

static enum err_code reserve(struct target_list *targets, size_t count, struct err *err)
{
    *targets = (struct target_list){ 0 };
    targets->items = calloc(count ? count : 1, sizeof *targets->items);
    return targets->items ? ERR_OK : err_nomem(err);
}

static void forget(struct target_list_item *item)
{
    free(item->words);
    free(item->text);
    free(item->service);
    *item = (struct target_list_item){ 0 };
}

enum err_code target_list_read(const struct capture_texts *texts,
                               const struct capture_texts *services, struct target_list *out,
                               struct err *err)
{
    const size_t most =
        texts->count < SAMPLER_MAX_LISTED ? texts->count : (size_t)SAMPLER_MAX_LISTED;
    const enum err_code rc = reserve(out, most, err);
    for (size_t i = 0; i < most && !rc; i++) {
        struct target_list_item *const item = &out->items[out->count];
        item->text = strdup(texts->items[i]);
        if (!item->text || !read_item(item)) {
            forget(item);
            target_list_deinit(out);
            return err_nomem(err);
        }
        if (item->target.pid && i < services->count) {
            item->service = strdup(services->items[i]);
            if (!item->service) {
                forget(item);
                target_list_deinit(out);
                return err_nomem(err);
            }
            read_service(item->service, &item->target);
        }
        if (item->target.pid)
            out->count++;
        else
            forget(item);
    }
    return rc;
}

enum err_code target_list_read_rows(const struct profile_snapshot *snapshot,
                                    struct target_list *out, struct err *err)
{
    const size_t rows = snapshot->sizes.processes;
    const size_t most = rows < SAMPLER_MAX_LISTED ? rows : (size_t)SAMPLER_MAX_LISTED;
    const enum err_code rc = reserve(out, most, err);
    for (size_t i = 0; i < most && !rc; i++) {
        struct target_list_item *const item = &out->items[i];
        const struct profile_process row = profile_process_at(snapshot, (process_id)i);
        const struct strtab_string name = profile_string(snapshot, row.name);
        item->text = strdup(name.text);
        item->words = calloc(1, sizeof *item->words);
        out->count++;
        if (!item->text || !item->words) {
            target_list_deinit(out);
            return err_nomem(err);
        }
        item->words[0] = item->text;
        item->target = (struct sampler_target){ .pid = row.pid,
                                                .argc = 1,
                                                .argv = item->words,
                                                .executable = "",
                                                .python = "",
                                                .validated = true };
    }
    return rc;
}

void target_list_deinit(struct target_list *targets)
{
    for (size_t i = 0; i < targets->count; i++)
        forget(&targets->items[i]);
    free(targets->items);
    *targets = (struct target_list){ 0 };
}
