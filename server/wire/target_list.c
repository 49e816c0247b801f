#include "server/wire/target_list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/first_word.h"
#include "sampler/profile/profile.h"

enum err_code target_list_write(const struct session *session, struct target_list_texts *out,
                                struct err *err)
{
    struct session_target target;
    size_t starts[SESSION_MAX_LISTED];
    *out = (struct target_list_texts){ .count = 0 };
    for (; out->count < SESSION_MAX_LISTED && session_target_at(session, out->count, &target);
         out->count++) {
        starts[out->count] = out->text.length;
        target_record_encode(&target, TARGET_LIST_WORD_BYTES, &out->text);
    }
    const enum err_code rc = buffer_check(&out->text, err);
    if (rc)
        target_list_texts_deinit(out);
    for (size_t i = 0; i < out->count; i++)
        out->items[i] = out->text.data + starts[i];
    return rc;
}

void target_list_texts_deinit(struct target_list_texts *texts)
{
    buffer_deinit(&texts->text);
    texts->count = 0;
}

bool target_list_is_known(const struct capture_metadata *metadata)
{
    return metadata->targets.count || metadata->processes.count;
}

void target_list_hide_arguments(struct target_list *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct session_target *const target = &targets->items[i].target;
        /* The words are in the text of the item. */
        if (target->argc > 0)
            target->argc = first_word_keep(target->argc, (char *)(uintptr_t)target->argv[0]);
        target->service = (struct session_service){ 0 };
    }
}

static enum err_code reserve_targets(struct target_list *targets, size_t count, struct err *err)
{
    *targets = (struct target_list){ 0 };
    targets->items = calloc(count ? count : 1, sizeof *targets->items);
    return targets->items ? ERR_OK : err_nomem(err);
}

enum err_code target_list_read(const struct capture_metadata *metadata, struct target_list *out,
                               struct err *err)
{
    const bool is_old = !metadata->targets.count;
    const struct capture_texts *const texts =
        is_old ? &metadata->processes : &metadata->targets;
    const size_t most =
        texts->count < SESSION_MAX_LISTED ? texts->count : (size_t)SESSION_MAX_LISTED;
    enum err_code rc = reserve_targets(out, most, err);
    for (size_t i = 0; i < most && !rc; i++) {
        const bool has_service = i < metadata->services.count;
        const char *const service = has_service ? metadata->services.items[i] : "";
        rc = target_record_decode(texts->items[i], is_old ? service : NULL,
                                  &out->items[out->count], NULL);
        out->count += !rc;
        if (rc == ERR_CORRUPT)
            rc = ERR_OK;
    }
    if (!rc)
        return ERR_OK;
    target_list_deinit(out);
    return err_nomem(err);
}

enum err_code target_list_read_rows(const struct profile_snapshot *snapshot,
                                    struct target_list *out, struct err *err)
{
    const size_t rows = snapshot->sizes.processes;
    const size_t most = rows < SESSION_MAX_LISTED ? rows : (size_t)SESSION_MAX_LISTED;
    const enum err_code rc = reserve_targets(out, most, err);
    for (size_t i = 0; i < most && !rc; i++) {
        const struct profile_process row = profile_process_at(snapshot, (process_id)i);
        const struct strtab_string name = profile_string(snapshot, row.name);
        const char **const words = malloc(sizeof *words + strlen(name.text) + 1);
        if (!words) {
            target_list_deinit(out);
            return err_nomem(err);
        }
        words[0] = strcpy((char *)(words + 1), name.text);
        out->items[out->count++] = (struct target_record){ .memory = words,
                                                           .target = { .pid = row.pid,
                                                                       .argc = 1,
                                                                       .argv = words,
                                                                       .executable = "",
                                                                       .python = "",
                                                                       .validated = true } };
    }
    return rc;
}

void target_list_deinit(struct target_list *targets)
{
    for (size_t i = 0; i < targets->count; i++)
        target_record_deinit(&targets->items[i]);
    free(targets->items);
    *targets = (struct target_list){ 0 };
}
