/*
 * history - what a long session costs: a made week of windows, the memory it takes, the time of
 * a seal and of views.
 *
 *     history [SECONDS [PLACES [MEMORY_MIB [WINDOW_MS]]]]
 *
 * Each window has samples of a few of PLACES stacks, by four threads, most of them the same from
 * window to window and some that change with the hour, as programs are.  Prints a table.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/timeline.h"
#include "sampler/profile/views/view.h"

enum { THREADS = 4, STACKS_PER_WINDOW = 40, DEPTH = 30, ROUNDS = 20 };

struct session_entry {
    struct profile *profile;
    node_id *places;
    unsigned place_count;
    thread_id threads[THREADS];
    uint64_t random;
};

static void must(enum err_code rc, const struct err *err)
{
    if (!rc)
        return;
    fprintf(stderr, "history: %s\n", err->message);
    exit(1);
}

static unsigned pick(struct session_entry *session, unsigned below)
{
    session->random = session->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((session->random >> 33) % below);
}

static str_id text(struct session_entry *session, const char *what, unsigned number)
{
    char name[32];
    str_id id;
    struct err err = { 0 };
    const int length = snprintf(name, sizeof name, "%s%u", what, number);
    must(strtab_intern(profile_strings(session->profile), name, (size_t)length, &id, &err),
         &err);
    return id;
}

static node_id make_place(struct session_entry *session, unsigned number)
{
    struct err err = { 0 };
    node_id node = 0;
    for (unsigned depth = 0; depth < DEPTH; depth++) {
        /* Callers are shared, the deeper the less. */
        const unsigned name = depth + 1 < DEPTH ? number * depth / (DEPTH * DEPTH) : number;
        function_id function;
        frame_id frame;
        must(profile_function(session->profile, text(session, "function", name * DEPTH + depth),
                              text(session, "file", name % 50), 1, &function, &err),
             &err);
        must(profile_frame(session->profile, function, 1, &frame, &err), &err);
        must(profile_node(session->profile, node, frame, &node, &err), &err);
    }
    return node;
}

static void make_session(struct session_entry *session, unsigned places, size_t memory_bytes)
{
    struct err err = { 0 };
    must(profile_create(&session->profile, &err), &err);
    profile_set_memory(session->profile, memory_bytes);
    profile_set_period(session->profile, NS_PER_MS);
    session->place_count = places;
    session->places = calloc(places, sizeof *session->places);
    for (unsigned i = 0; i < places; i++)
        session->places[i] = make_place(session, i);
    struct profile_thread row = { .is_main = true };
    must(profile_process(session->profile, 1, 0, &row.process, &err), &err);
    for (int32_t i = 0; i < THREADS; i++) {
        row.tid = i + 1;
        must(profile_thread(session->profile, &row, &session->threads[i], &err), &err);
    }
}

/* Most samples are of the first places, the rest of those of the hour. */
static unsigned place_of(struct session_entry *session, uint64_t now_ns)
{
    const unsigned common = session->place_count / 10 + 1;
    const unsigned hour = (unsigned)(now_ns / (3600 * NS_PER_S));
    if (pick(session, 10) < 8)
        return pick(session, common);
    return (hour * 37 + pick(session, common)) % session->place_count;
}

static void fill_window(struct session_entry *session, uint64_t now_ns)
{
    struct err err = { 0 };
    for (unsigned i = 0; i < STACKS_PER_WINDOW; i++) {
        const unsigned thread = pick(session, THREADS);
        const state_bits state = pick(session, 2) ? STATE_ON_CPU | STATE_HAS_GIL : 0;
        must(profile_add(session->profile, session->threads[thread], state,
                         session->places[place_of(session, now_ns)], 25, &err),
             &err);
    }
}

/* Returns the longest seal. */
static uint64_t record(struct session_entry *session, uint64_t seconds, uint64_t window_ns)
{
    struct err err = { 0 };
    uint64_t longest_ns = 0;
    for (uint64_t now_ns = window_ns; now_ns <= seconds * NS_PER_S; now_ns += window_ns) {
        fill_window(session, now_ns);
        const uint64_t before_ns = clock_now_ns();
        must(profile_seal(session->profile, now_ns, &err), &err);
        const uint64_t took_ns = clock_now_ns() - before_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    return longest_ns;
}

static double best_view_ms(const struct profile_snapshot *snapshot,
                           const struct view_query *query, uint64_t *total_out)
{
    uint64_t best_ns = UINT64_MAX;
    struct err err = { 0 };
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct view view;
        const uint64_t before_ns = clock_now_ns();
        must(view_init(&view, snapshot, query, &err), &err);
        const uint64_t took_ns = clock_now_ns() - before_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        *total_out = view.total;
        view_deinit(&view);
    }
    return (double)best_ns / 1e6;
}

static double timeline_ms(const struct profile_snapshot *snapshot)
{
    struct err err = { 0 };
    struct timeline_slots slots;
    const uint64_t before_ns = clock_now_ns();
    must(timeline_slots_init(&slots, snapshot, &(struct view_query){ 0 }, TIMELINE_USUAL_SLOTS,
                             &err),
         &err);
    const double ms = (double)(clock_now_ns() - before_ns) / 1e6;
    timeline_slots_deinit(&slots);
    return ms;
}

static void report(struct session_entry *session, uint64_t seconds)
{
    struct profile_snapshot snapshot;
    struct err err = { 0 };
    uint64_t all, some, last;
    const uint64_t before_ns = clock_now_ns();
    must(profile_snapshot(session->profile, &snapshot, &err), &err);
    const double snapshot_ms = (double)(clock_now_ns() - before_ns) / 1e6;
    const double all_ms = best_view_ms(&snapshot, &(struct view_query){ 0 }, &all);
    const double some_ms = best_view_ms(&snapshot,
                                        &(struct view_query){ .states.require = STATE_ON_CPU,
                                                              .threads = session->threads,
                                                              .thread_count = 2 },
                                        &some);
    const double last_ms = best_view_ms(
        &snapshot, &(struct view_query){ .from_ns = (seconds - seconds / 100) * NS_PER_S },
        &last);
    printf("windows            %zu\nnodes              %u\nbytes              %zu\n",
           snapshot.window_count, snapshot.sizes.nodes, snapshot.bytes);
    printf("snapshot           %.3f ms\n", snapshot_ms);
    printf("view of all        %.3f ms  (%llu samples)\n", all_ms, (unsigned long long)all);
    printf("two threads on CPU %.3f ms  (%llu samples)\n", some_ms, (unsigned long long)some);
    printf("last hundredth     %.3f ms  (%llu samples)\n", last_ms, (unsigned long long)last);
    printf("timeline of all    %.3f ms\n", timeline_ms(&snapshot));
    profile_snapshot_release(&snapshot);
}

static uint64_t argument(int argc, char **argv, int index, uint64_t usual)
{
    return argc > index ? strtoull(argv[index], NULL, 10) : usual;
}

int main(int argc, char **argv)
{
    const uint64_t seconds = argument(argc, argv, 1, 7 * 86400);
    const unsigned places = (unsigned)argument(argc, argv, 2, 5000);
    const uint64_t memory_mib = argument(argc, argv, 3, 256);
    const uint64_t window_ms = argument(argc, argv, 4, 1000);
    struct session_entry session = { .random = 1 };
    make_session(&session, places ? places : 1, (size_t)memory_mib << 20);
    const uint64_t before_ns = clock_now_ns();
    const uint64_t longest_ns =
        record(&session, seconds, (window_ms ? window_ms : 1) * NS_PER_MS);
    printf("recorded in        %.3f s\nlongest seal       %.3f ms\n",
           (double)(clock_now_ns() - before_ns) / 1e9, (double)longest_ns / 1e6);
    report(&session, seconds);
    profile_destroy(session.profile);
    free(session.places);
    return 0;
}
