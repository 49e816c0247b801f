#include "server/report/anonymize.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/reshape.h"
#include "server/report/anonymize_names.h"

static const char *const command[] = { "python", "[anonymized]" };

static struct session_target anonymize_target(const struct session_target *target)
{
    return (struct session_target){ .pid = target->pid,
                                    .parent = target->parent,
                                    .argc = sizeof command / sizeof *command,
                                    .argv = command,
                                    .executable = "python",
                                    .python = target->python,
                                    .validated = target->validated,
                                    .from_ns = target->from_ns,
                                    .to_ns = target->to_ns };
}

static enum err_code anonymize_session(struct anonymized *anonymized,
                                       const struct session_info *from, struct err *err)
{
    anonymized->target = anonymize_target(from->target);
    anonymized->session = (struct session_info){ .id = from->id,
                                                 .status = from->status,
                                                 .target = &anonymized->target,
                                                 .targets = &anonymized->targets,
                                                 .options = from->options,
                                                 .host = "[anonymized]",
                                                 .snapshot = &anonymized->snapshot,
                                                 .source = from->source,
                                                 .is_anonymized = true };
    memcpy(anonymized->session.epoch, from->epoch, sizeof from->epoch);
    memcpy(anonymized->session.run, from->run, sizeof from->run);
    anonymized->session.status.reason[0] = '\0';

    struct session_target target;
    size_t count = 0;
    while (session_info_target_at(from, count, &target))
        count++;
    anonymized->targets.items = calloc(count + 1, sizeof *anonymized->targets.items);
    if (!anonymized->targets.items)
        return err_nomem(err);
    while (anonymized->targets.count < count &&
           session_info_target_at(from, anonymized->targets.count, &target))
        anonymized->targets.items[anonymized->targets.count++].target =
            anonymize_target(&target);
    return ERR_OK;
}

enum err_code anonymized_init(struct anonymized *anonymized, const struct report_source *from,
                              struct err *err)
{
    memset(anonymized, 0, sizeof *anonymized);

    /* The windows keep their times, so the range still means what it did; the rest of the query is
     * answered by what was copied. */
    struct anonymize_names texts = { .packages = profile_packages(from->snapshot->profile) };
    const struct reshape_names names = { .text = anonymize_names_text, .context = &texts };
    const struct reshape_settings settings = { .names = &names };
    enum err_code rc = profile_create(&anonymized->profile, err);
    if (!rc)
        rc = reshape_windows(anonymized->profile, from->snapshot, from->query, &settings, NULL,
                             err);
    if (!rc && texts.rc)
        rc = err_set(err, texts.rc, "%s", texts.err.message);
    if (!rc) {
        profile_extend(anonymized->profile, from->snapshot->end_ns);
        anonymized->query =
            (struct view_query){ .from_ns = from->query->from_ns, .to_ns = from->query->to_ns };
        rc = profile_snapshot(anonymized->profile, &anonymized->snapshot, err);
        profile_snapshot_count_as(&anonymized->snapshot, from->snapshot);
    }

    if (!rc)
        rc = anonymize_session(anonymized, from->session, err);
    if (rc) {
        anonymized_deinit(anonymized);
        return rc;
    }
    anonymized->header = *from->header;
    anonymized->header.target = anonymized->target;
    anonymized->header.is_anonymized = true;
    anonymized->source =
        (struct report_source){ .snapshot = &anonymized->snapshot,
                                .query = &anonymized->query,
                                .header = &anonymized->header,
                                .session = &anonymized->session,
                                .settings = from->settings,
                                .heat_of = from->heat_of ? from->heat_of : from->snapshot };
    anonymized->source.settings.no_source = true;
    return ERR_OK;
}

void anonymized_deinit(struct anonymized *anonymized)
{
    if (anonymized->snapshot.profile)
        profile_snapshot_release(&anonymized->snapshot);
    profile_destroy(anonymized->profile);
    free(anonymized->targets.items);
    memset(anonymized, 0, sizeof *anonymized);
}
