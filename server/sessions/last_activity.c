#include "server/sessions/last_activity.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/views/activity.h"
#include "sampler/profile/wait.h"
#include "sampler/session.h"
#include "server/sessions/sessions.h"
#include "server/wire/json.h"

/* Longer names and paths are cut; the page shows less of them. */
enum { MAX_NAME_BYTES = 512, MAX_PATH_BYTES = 4096, DECIMALS = 2 };
#define REST_NS  900000000ull
#define SLOT_NS  (LAST_ACTIVITY_RANGE_NS / LAST_ACTIVITY_SLOTS)
#define CENTI_NS (NS_PER_S / 100)

struct last_activity {
    pthread_mutex_t lock; /* guards what follows */
    struct own_marks marks;
    char epoch[17]; /* of the session that the marks and the document are of */
    struct buffer document;
    uint32_t number;
    uint64_t made_ns;
};

enum err_code last_activity_create(struct last_activity **out, struct err *err)
{
    struct last_activity *const last = calloc(1, sizeof *last);
    if (!last)
        return err_nomem(err);
    pthread_mutex_init(&last->lock, NULL);
    /* So that numbers of an earlier run do not come back. */
    last->number = (uint32_t)(clock_now_ns() >> 20);
    *out = last;
    return ERR_OK;
}

void last_activity_destroy(struct last_activity *last)
{
    if (!last)
        return;
    own_marks_deinit(&last->marks);
    buffer_deinit(&last->document);
    pthread_mutex_destroy(&last->lock);
    free(last);
}

/* The continuous session that samples; while one takes over from another, the older.  NULL: none. */
static struct session_entry *find_session(struct sessions *sessions)
{
    struct session_entry *entry = NULL;
    for (size_t i = 0; (entry = sessions_at(sessions, i)); i++) {
        const enum session_state state = session_entry_state(entry);
        if (entry->source == SESSION_CONTINUOUS && entry->session &&
            (state == SESSION_RUNNING || state == SESSION_PAUSED))
            return entry;
        session_release(entry);
    }
    return NULL;
}

static void put_text(struct json *json, const char *key, struct strtab_string text, size_t most)
{
    size_t length = text.length < most ? text.length : most;
    while (length < text.length && length > 0 && (text.text[length] & 0xc0) == 0x80)
        length--;
    json_key(json, key);
    json_string(json, text.text, length);
}

static void put_seconds(struct json *json, const char *key, uint64_t ns)
{
    json_member_decimal(json, key, (ns + CENTI_NS / 2) / CENTI_NS, DECIMALS);
}

static void put_place(struct json *json, const struct profile_snapshot *snapshot,
                      const struct activity_place *place)
{
    const struct profile_function function = profile_function_at(snapshot, place->function);
    put_text(json, "name", profile_string(snapshot, function.name), MAX_NAME_BYTES);
    put_text(json, "file", profile_string(snapshot, function.file), MAX_PATH_BYTES);
    json_member_uint(json, "line", place->line > 0 ? (uint64_t)place->line : 0);
    json_member_bool(json, "own", place->is_own);
    put_seconds(json, "seconds", place->ns);
}

static int by_activity(const void *left, const void *right)
{
    const struct activity_process *const a = left, *const b = right;
    if (a->is_present != b->is_present)
        return b->is_present - a->is_present;
    const uint64_t one = a->parts_ns[PART_RUNNING], other = b->parts_ns[PART_RUNNING];
    if (one != other)
        return one < other ? 1 : -1;
    return (a->process < b->process) - (a->process > b->process);
}

/* The threads that run most, of those that are there. */
static void put_processes(struct json *json, const struct profile_snapshot *snapshot,
                          struct activity *activity)
{
    size_t present = 0;
    qsort(activity->processes, activity->count, sizeof *activity->processes, by_activity);
    json_member_array(json, "processes");
    for (; present < activity->count && activity->processes[present].is_present; present++)
        if (present < LAST_ACTIVITY_MAX_PROCESSES) {
            const struct activity_process *const row = &activity->processes[present];
            json_object(json);
            json_member_int(json, "pid", profile_process_at(snapshot, row->process).pid);
            json_member_object(json, "parts");
            for (enum part part = 0; part < PART_COUNT; part++)
                put_seconds(json, part_text(part), row->parts_ns[part]);
            json_end(json);

            json_member_array(json, "running");
            for (size_t i = 0; i < activity->slots; i++) {
                const uint64_t start_ns = activity->from_ns + i * activity->slot_ns;
                const uint64_t left_ns = activity->to_ns - start_ns;
                const uint64_t ns = left_ns < activity->slot_ns ? left_ns : activity->slot_ns;
                const double threads = ns ? (double)row->running[i] / (double)ns : 0;
                json_decimal(json, (uint64_t)(threads * 100 + 0.5), DECIMALS);
            }
            json_end(json);

            if (json_member_if(json, "hottest", row->hottest.function != 0)) {
                json_object(json);
                put_place(json, snapshot, &row->hottest);
                json_end(json);
            }
            const struct activity_wait *const waits = &row->waits;
            struct activity_place place = waits->place;
            struct wait_text wait;
            if (json_member_if(json, "waits", place.function != 0)) {
                const bool is_known =
                    waits->mark && wait_of_function(snapshot, waits->mark, &wait);
                place.ns = waits->ns;
                json_object(json);
                put_place(json, snapshot, &place);
                json_member_text(json, "cause", is_known ? wait_cause_text(wait.cause) : NULL);
                if (json_member_if(json, "idle", is_known))
                    json_bool(json, wait_cause_is_idle(wait.cause));
                if (json_member_if(json, "peer", is_known && wait.detail_length > 0))
                    json_string(json, wait.detail, wait.detail_length);
                json_end(json);
            }

            json_end(json);
        }
    json_end(json);
    json_member_uint(json, "total", present);
}

static enum err_code write_session(struct last_activity *last, struct json *json,
                                   const struct session_entry *entry, struct err *err)
{
    struct profile_snapshot snapshot;
    struct activity activity;
    if (strcmp(last->epoch, entry->epoch) != 0)
        own_marks_deinit(&last->marks);
    memcpy(last->epoch, entry->epoch, sizeof last->epoch);
    enum err_code rc = profile_snapshot(session_entry_profile(entry), &snapshot, err);
    if (rc)
        return rc;
    rc = activity_init(&activity, &snapshot, &last->marks, SLOT_NS, LAST_ACTIVITY_SLOTS, err);
    if (!rc) {
        struct session_processes processes;
        session_processes(entry->session, &processes);
        json_member_text(json, "session", entry->id);
        json_member_null(json, "reason");
        put_seconds(json, "from_s", activity.from_ns);
        put_seconds(json, "to_s", activity.to_ns);
        put_seconds(json, "slot_s", activity.slot_ns);
        put_seconds(json, "running_s", activity.running_ns);
        json_member_uint(json, "left_out", processes.over);

        json_member_array(json, "functions");
        for (size_t i = 0; i < activity.function_count; i++) {
            const struct activity_function *const function = &activity.functions[i];
            json_object(json);
            put_place(json, &snapshot, &function->place);
            json_member_int(json, "pid", profile_process_at(&snapshot, function->process).pid);
            json_member_uint(json, "processes", function->processes);
            json_end(json);
        }
        json_end(json);

        put_processes(json, &snapshot, &activity);

        activity_deinit(&activity);
    }
    profile_snapshot_release(&snapshot);
    return rc;
}

static enum err_code make_document(struct last_activity *last, struct sessions *sessions,
                                   const char *off, struct err *err)
{
    struct session_entry *const entry = find_session(sessions);
    struct json json;
    enum err_code rc = ERR_OK;
    buffer_clear(&last->document);
    json_init(&json, &last->document);
    json_object(&json);
    if (entry)
        rc = write_session(last, &json, entry, err);
    else {
        static const char *const keys[] = { "from_s", "to_s", "slot_s", "running_s",
                                            "left_out" };
        json_member_null(&json, "session");
        json_member_text(&json, "reason", *off ? off : NULL);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            json_member_uint(&json, keys[i], 0);
        }
        json_member_array(&json, "functions");
        json_end(&json);
        json_member_array(&json, "processes");
        json_end(&json);
        json_member_uint(&json, "total", 0);
    }
    json_end(&json);
    session_release(entry);
    return rc ? rc : json_finish(&json, err);
}

enum err_code last_activity_get(struct last_activity *last, struct sessions *sessions,
                                const char *off, struct buffer *out, uint32_t *number,
                                struct err *err)
{
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&last->lock);
    const uint64_t now_ns = clock_now_ns();
    if (last->made_ns == 0 || now_ns - last->made_ns > REST_NS) {
        rc = make_document(last, sessions, off, err);
        last->made_ns = !rc ? now_ns : 0;
        last->number++;
    }
    if (!rc)
        buffer_append(out, last->document.data, last->document.length);
    *number = last->number;
    pthread_mutex_unlock(&last->lock);
    return rc;
}
