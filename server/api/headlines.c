#include "server/api/headlines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "server/api/report_source.h"
#include "server/api/session_request.h"
#include "server/report/source_links.h"
#include "server/sessions/last_activity.h"
#include "server/sessions/sessions.h"

/* Making all of them takes at most one part of so many of the time, and after a pause at once what it may take in a second. */
enum { LEAST_REST = 50 };
#define PAUSE_NS NS_PER_S
/* A headline that is younger is not made again. */
#define FRESH_NS (3 * NS_PER_S)

void headlines_init(struct headlines *headlines)
{
    *headlines = (struct headlines){ .items = NULL };
    pthread_mutex_init(&headlines->making, NULL);
    pthread_mutex_init(&headlines->lock, NULL);
}

static void forget_items(struct headline *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(items[i].text);
    free(items);
}

void headlines_deinit(struct headlines *headlines)
{
    forget_items(headlines->items, headlines->count);
    headlines->items = NULL;
    headlines->count = 0;
    pthread_mutex_destroy(&headlines->making);
    pthread_mutex_destroy(&headlines->lock);
}

uint64_t headlines_key(const char *session, pid_t pid)
{
    return strtoull(session, NULL, 10) << 32 | (uint32_t)pid;
}

static int by_key(const void *left, const void *right)
{
    const struct headline *const a = left, *const b = right;
    return (a->key > b->key) - (a->key < b->key);
}

/* Exactly these keys, with what is known of them. */
static bool keep_keys(struct headlines *headlines, const uint64_t *keys, size_t count)
{
    struct headline *const items = calloc(count ? count : 1, sizeof *items);
    struct headline *const old = headlines->items;
    const size_t old_count = headlines->count;
    if (!items)
        return false;
    for (size_t i = 0; i < count; i++)
        items[i].key = keys[i];
    qsort(items, count, sizeof *items, by_key);
    pthread_mutex_lock(&headlines->lock);
    for (size_t i = 0, at = 0; i < count; i++) {
        while (at < old_count && old[at].key < items[i].key)
            at++;
        if (at == old_count || old[at].key > items[i].key)
            continue;
        items[i] = old[at];
        old[at++].text = NULL;
    }
    headlines->items = items;
    headlines->count = count;
    pthread_mutex_unlock(&headlines->lock);
    forget_items(old, old_count);
    return true;
}

static enum err_code take_headline(const struct report_source *source, void *context,
                                   struct err *err)
{
    struct summary summary;
    const enum err_code rc = summary_init(&summary, source, err);
    if (!rc && summary.samples > 0)
        memcpy(context, summary.headline, sizeof summary.headline);
    return rc;
}

/* false: it stays as it is. */
static bool make_text(const struct headline *item, struct session_entry *entry,
                      const struct profile_snapshot *snapshot, char out[SUMMARY_HEADLINE_BYTES])
{
    static const struct source_links no_links;
    struct session_request asked = { .entry = entry,
                                     .snapshot = *snapshot,
                                     .links = &no_links };
    /* The newest one of that number; it may have no samples yet. */
    const pid_t pid = (pid_t)(uint32_t)item->key;
    process_id process = snapshot->sizes.processes;
    while (process > 0 && profile_process_at(snapshot, process - 1).pid != pid)
        process--;
    if (process-- == 0 || (item->text && item->generation == snapshot->generation))
        return false;
    if (snapshot->sizes.processes > 1) {
        asked.query.view.processes = &process;
        asked.query.view.process_count = 1;
    }
    if (entry->source == SESSION_CONTINUOUS && snapshot->end_ns > LAST_ACTIVITY_RANGE_NS)
        asked.query.view.from_ns = snapshot->end_ns - LAST_ACTIVITY_RANGE_NS;
    asked.query.filters = entry->filters;
    asked.query.filters.waits = WAIT_MARKS_SHOWN;
    *out = '\0';
    return !report_source_use(&asked, NULL, take_headline, out, NULL) && *out;
}

static void make_item(struct headlines *headlines, struct headline *item,
                      struct sessions *sessions)
{
    char id[24], text[SUMMARY_HEADLINE_BYTES];
    struct profile_snapshot snapshot;
    snprintf(id, sizeof id, "%" PRIu64, item->key >> 32);
    struct session_entry *const entry = sessions_find(sessions, id);
    if (!entry || profile_snapshot(session_entry_profile(entry), &snapshot, NULL)) {
        session_release(entry);
        return;
    }
    char *const made = make_text(item, entry, &snapshot, text) ? strdup(text) : NULL;
    if (made) {
        pthread_mutex_lock(&headlines->lock);
        free(item->text);
        item->text = made;
        item->generation = snapshot.generation;
        pthread_mutex_unlock(&headlines->lock);
    }
    profile_snapshot_release(&snapshot);
    session_release(entry);
}

/* false: none is due. */
static bool make_oldest(struct headlines *headlines, struct sessions *sessions)
{
    const uint64_t now_ns = clock_now_ns();
    struct headline *oldest = NULL;
    for (size_t i = 0; i < headlines->count; i++)
        if (!oldest || headlines->items[i].made_ns < oldest->made_ns)
            oldest = &headlines->items[i];
    if (!oldest || now_ns < headlines->free_ns ||
        (oldest->made_ns && now_ns - oldest->made_ns < FRESH_NS))
        return false;
    make_item(headlines, oldest, sessions);
    oldest->made_ns = clock_now_ns();
    if (headlines->free_ns + PAUSE_NS < oldest->made_ns)
        headlines->free_ns = oldest->made_ns - PAUSE_NS;
    headlines->free_ns += LEAST_REST * (oldest->made_ns - now_ns);
    return true;
}

void headlines_renew(struct headlines *headlines, struct sessions *sessions,
                     const uint64_t *keys, size_t count)
{
    if (pthread_mutex_trylock(&headlines->making) != 0)
        return;
    if (keep_keys(headlines, keys, count))
        while (make_oldest(headlines, sessions))
            ;
    pthread_mutex_unlock(&headlines->making);
}

bool headlines_find(struct headlines *headlines, uint64_t key, char out[SUMMARY_HEADLINE_BYTES])
{
    const struct headline wanted = { .key = key };
    pthread_mutex_lock(&headlines->lock);
    const struct headline *const found =
        headlines->count ? bsearch(&wanted, headlines->items, headlines->count,
                                   sizeof *headlines->items, by_key)
                         : NULL;
    const bool has = found && found->text;
    if (has)
        snprintf(out, SUMMARY_HEADLINE_BYTES, "%s", found->text);
    pthread_mutex_unlock(&headlines->lock);
    return has;
}
