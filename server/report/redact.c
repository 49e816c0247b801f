#include "server/report/redact.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/reshape.h"
#include "server/report/redact_names.h"

static const char *const command[] = { "python", "[redacted]" };

static struct sampler_target redact_target(const struct sampler_target *target)
{
    return (struct sampler_target){ .pid = target->pid,
                                    .parent = target->parent,
                                    .argc = sizeof command / sizeof *command,
                                    .argv = command,
                                    .executable = "python",
                                    .python = target->python,
                                    .validated = target->validated,
                                    .from_ns = target->from_ns,
                                    .to_ns = target->to_ns };
}

/* It borrows the lists. */
static void redact_header(struct redacted *redacted, const struct report_header *from)
{
    redacted->header = *from;
    redacted->header.target = redacted->target;
    redacted->header.is_redacted = true;
}

static enum err_code redact_targets(struct redacted *redacted, const struct session_info *from,
                                    struct err *err)
{
    struct sampler_target target;
    size_t count = 0;
    while (session_target_at(from, count, &target))
        count++;
    redacted->targets.items = calloc(count + 1, sizeof *redacted->targets.items);
    if (!redacted->targets.items)
        return err_nomem(err);
    while (redacted->targets.count < count &&
           session_target_at(from, redacted->targets.count, &target))
        redacted->targets.items[redacted->targets.count++].target = redact_target(&target);
    return ERR_OK;
}

static enum err_code redact_session(struct redacted *redacted, const struct session_info *from,
                                    struct err *err)
{
    redacted->target = redact_target(from->target);
    redacted->session = (struct session_info){ .id = from->id,
                                               .epoch = from->epoch,
                                               .status = from->status,
                                               .target = &redacted->target,
                                               .targets = &redacted->targets,
                                               .options = from->options,
                                               .host = "[redacted]",
                                               .snapshot = &redacted->snapshot,
                                               .source = from->source,
                                               .is_redacted = true };
    redacted->session.status.reason[0] = '\0';
    return redact_targets(redacted, from, err);
}

/* The windows keep their times, so the range still means what it did; the rest of the query is
 * answered by what was copied. */
static enum err_code redact_profile(struct redacted *redacted, const struct report_source *from,
                                    struct err *err)
{
    struct redact_names texts = { .rc = ERR_OK };
    const struct reshape_names names = { .text = redact_names_text, .context = &texts };
    const struct reshape_settings settings = { .names = &names };
    enum err_code rc = profile_create(&redacted->profile, err);
    if (rc == ERR_OK)
        rc = reshape_windows(redacted->profile, from->snapshot, from->query, &settings, NULL,
                             err);
    if (rc == ERR_OK && texts.rc != ERR_OK)
        rc = err_set(err, texts.rc, "%s", texts.err.message);
    if (rc != ERR_OK)
        return rc;
    profile_extend(redacted->profile, from->snapshot->end_ns);
    redacted->query =
        (struct view_query){ .from_ns = from->query->from_ns, .to_ns = from->query->to_ns };
    return profile_snapshot(redacted->profile, &redacted->snapshot, err);
}

enum err_code redacted_init(struct redacted *redacted, const struct report_source *from,
                            struct err *err)
{
    memset(redacted, 0, sizeof *redacted);
    enum err_code rc = redact_profile(redacted, from, err);
    if (rc == ERR_OK)
        rc = redact_session(redacted, from->session, err);
    if (rc != ERR_OK) {
        redacted_deinit(redacted);
        return rc;
    }
    redact_header(redacted, from->header);
    redacted->source =
        (struct report_source){ .snapshot = &redacted->snapshot,
                                .query = &redacted->query,
                                .header = &redacted->header,
                                .session = &redacted->session,
                                .settings = from->settings,
                                .heat_of = from->heat_of ? from->heat_of : from->snapshot };
    redacted->source.settings.no_source = true;
    return ERR_OK;
}

void redacted_deinit(struct redacted *redacted)
{
    if (redacted->snapshot.profile)
        profile_snapshot_release(&redacted->snapshot);
    profile_destroy(redacted->profile);
    free(redacted->targets.items);
    memset(redacted, 0, sizeof *redacted);
}
