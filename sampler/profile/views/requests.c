#include "sampler/profile/views/requests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"
#include "sampler/profile/cell_key.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view_function.h"
#include "sampler/profile/wait.h"
#include "sampler/profile/window.h"

/* A request is cut if it has a sample so many periods from an end of the recording. */
enum { CUT_PERIODS = 3 };

/* Threads wait like this between requests. */
static bool is_between_requests(enum wait_cause cause)
{
    return cause == WAIT_EVENT_LOOP || cause == WAIT_WORKER || cause == WAIT_THREADS ||
           cause == WAIT_TERMINAL;
}

/* A function as the mark of a context. */
struct listed_mark {
    function_id
        mark; /* of its request: itself, or the one with the name that is guessed; 0: it is no mark */
    unsigned char kind;
};

/* Makes the marks of one request one: samples before its name was known lack that. */
static enum err_code join_guessed(const struct profile_snapshot *snapshot,
                                  struct listed_mark *marks, struct err *err)
{
    enum err_code rc = ERR_OK;
    struct idmap map;
    idmap_init(&map);
    for (function_id id = 1; id < snapshot->sizes.functions && !rc; id++) {
        struct idmap_slot *at;
        struct context_text text, other;
        const size_t length = marks[id].mark && context_of_function(snapshot, id, &text)
                                  ? context_guessed_length(&text)
                                  : 0;
        if (!length)
            continue;
        const uint32_t hash = hash_mix(hash_bytes(text.value, length, HASH_SEED), 0);
        IDMAP_FIND(at, &map, hash,
                   context_of_function(snapshot, at->id, &other) &&
                       context_guessed_length(&other) == length &&
                       memcmp(text.value, other.value, length) == 0);
        if (!at) {
            rc = idmap_add(&map, hash, id, err);
        } else if (text.value_length > length) {
            marks[at->id].mark = id;
        } else {
            marks[id].mark = marks[at->id].mark;
        }
    }
    idmap_deinit(&map);
    return rc;
}

static enum err_code list_marks(const struct profile_snapshot *snapshot,
                                struct listed_mark **out, struct err *err)
{
    struct listed_mark *const marks =
        calloc((size_t)snapshot->sizes.functions + 1, sizeof *marks);
    if (!marks)
        return err_nomem(err);
    for (function_id id = 1; id < snapshot->sizes.functions; id++) {
        struct context_text text;
        if (context_of_function(snapshot, id, &text))
            marks[id] = (struct listed_mark){ id, (unsigned char)text.mark };
    }
    const enum err_code rc = join_guessed(snapshot, marks, err);
    if (rc)
        free(marks);
    else
        *out = marks;
    return rc;
}

/* By node: the mark of a context, or 0.  keeps: which kinds, a bit each. */
static enum err_code mark_nodes(const struct profile_snapshot *snapshot,
                                const struct listed_mark *listed, unsigned keeps,
                                function_id **out, struct err *err)
{
    function_id *const marks = calloc((size_t)snapshot->sizes.nodes + 1, sizeof *marks);
    if (!marks)
        return err_nomem(err);
    /* Only the mark of a wait stands below that of a context, and parents come first. */
    for (node_id id = 1; id < snapshot->sizes.nodes; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        const function_id function = profile_frame_at(snapshot, node.frame).function;
        const enum wait_cause cause = profile_cause_at(snapshot, id);
        if (listed[function].mark && keeps >> listed[function].kind & 1)
            marks[id] = listed[function].mark;
        else if (cause != WAIT_UNKNOWN && !is_between_requests(cause))
            marks[id] = marks[node.parent];
    }
    *out = marks;
    return ERR_OK;
}

enum err_code requests_by_node(const struct profile_snapshot *snapshot, function_id **out,
                               struct err *err)
{
    struct listed_mark *listed = NULL;
    enum err_code rc = list_marks(snapshot, &listed, err);
    if (!rc)
        rc = mark_nodes(snapshot, listed, 1U << CONTEXT_MARK_VALUE, out, err);
    free(listed);
    return rc;
}

struct collecting {
    const struct profile_snapshot *snapshot;
    struct listed_mark *listed; /* by function */
    function_id *marks;         /* by node */
    uint32_t *rows;             /* by function: the request plus 1 */
    size_t room;
    struct requests *out;
};

static struct request *request_of(struct collecting *all, function_id mark)
{
    struct requests *const out = all->out;
    if (!all->rows[mark]) {
        if (!VEC_RESERVE(out->items, all->room, out->count + 1))
            return NULL;
        out->items[out->count++] = (struct request){ .context = mark, .first_ns = UINT64_MAX };
        all->rows[mark] = (uint32_t)out->count;
    }
    return &out->items[all->rows[mark] - 1];
}

/* Samples of one cell, from the first to the last instant. */
static bool add_samples(struct collecting *all, const struct cell *cell, uint64_t ns,
                        uint64_t first_ns, uint64_t last_ns, uint64_t period_ns, bool is_rough)
{
    const function_id mark = all->marks[cell->node];
    enum part part;
    if (!is_between_requests(profile_cause_at(all->snapshot, cell->node)))
        all->out->samples_by_mark[all->listed[mark].kind] += cell->count;
    if (all->listed[mark].kind != CONTEXT_MARK_VALUE)
        return true;
    struct request *const request = request_of(all, mark);
    if (!request)
        return false;
    request->samples += cell->count;
    request->is_rough |= is_rough;
    if (first_ns < request->first_ns)
        request->first_ns = first_ns;
    if (last_ns > request->last_ns)
        request->last_ns = last_ns;
    if (period_ns > request->error_ns)
        request->error_ns = period_ns;
    if (profile_part_at(all->snapshot, cell->thread, cell->state, cell->node, &part))
        request->parts_ns[part] += ns;
    else
        request->awaits_ns += ns;
    return true;
}

static bool add_window(struct collecting *all, const struct window *window)
{
    if (!window_is_ordered(window)) {
        for (size_t i = 0; i < window->cell_count; i++)
            if (!add_samples(all, &window->cells[i], window_cell_ns(window, i),
                             window->start_ns, window->end_ns,
                             window->end_ns - window->start_ns, true))
                return false;
        return true;
    }
    for (size_t i = 0; i < window->run_count; i++) {
        const struct window_run *const run = &window->runs[i];
        const struct cell cell = window_run_cell(run);
        const uint64_t ns = window_run_ns(window, run);
        const uint64_t last_ns =
            run->first_ns + (run->count ? run->count - 1 : 0) * (run->step_us * NS_PER_US);
        if (run->count &&
            !add_samples(all, &cell, ns, run->first_ns, last_ns,
                         window->period_ns ? window->period_ns : ns / run->count, false))
            return false;
    }
    return true;
}

static int compare_requests(const void *left, const void *right)
{
    const struct request *const a = left, *const b = right;
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns > b->duration_ns ? -1 : 1;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    return (a->context > b->context) - (a->context < b->context);
}

static int compare_durations(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Sets what depends on which requests there are. */
static void count_requests(struct requests *requests)
{
    requests->cut = requests->rough = requests->whole = 0;
    for (size_t i = 0; i < requests->count; i++) {
        const struct request *const request = &requests->items[i];
        requests->cut += request->is_cut;
        requests->rough += request->is_rough;
        if (!request->is_cut && !request->is_rough)
            requests->whole_ns[requests->whole++] = request->duration_ns;
    }
    if (requests->whole)
        qsort(requests->whole_ns, requests->whole, sizeof *requests->whole_ns,
              compare_durations);
}

static enum err_code finish_requests(struct requests *requests,
                                     const struct profile_snapshot *snapshot, struct err *err)
{
    const uint64_t begin_ns = snapshot->window_count ? snapshot->windows[0]->start_ns : 0;
    requests->whole_ns = malloc((requests->count + 1) * sizeof *requests->whole_ns);
    if (!requests->whole_ns)
        return err_nomem(err);
    for (size_t i = 0; i < requests->count; i++) {
        struct request *const request = &requests->items[i];
        const uint64_t near_ns = request->is_rough ? 0 : CUT_PERIODS * request->error_ns;
        request->duration_ns =
            request->last_ns - request->first_ns + (request->is_rough ? 0 : request->error_ns);
        request->is_cut = request->first_ns <= begin_ns + near_ns ||
                          request->last_ns + near_ns >= snapshot->end_ns;
    }
    if (requests->count)
        qsort(requests->items, requests->count, sizeof *requests->items, compare_requests);
    count_requests(requests);
    return ERR_OK;
}

enum err_code requests_init(struct requests *requests, const struct profile_snapshot *snapshot,
                            struct err *err)
{
    struct collecting all = { .snapshot = snapshot, .out = requests };
    *requests = (struct requests){ 0 };
    enum err_code rc = list_marks(snapshot, &all.listed, err);
    if (!rc)
        rc = mark_nodes(snapshot, all.listed, ~0U, &all.marks, err);
    if (!rc) {
        all.rows = calloc((size_t)snapshot->sizes.functions + 1, sizeof *all.rows);
        rc = all.rows ? ERR_OK : err_nomem(err);
    }
    for (size_t i = 0; i < snapshot->window_count && !rc; i++)
        rc = add_window(&all, snapshot->windows[i]) ? ERR_OK : err_nomem(err);
    if (!rc)
        rc = finish_requests(requests, snapshot, err);
    free(all.listed);
    free(all.marks);
    free(all.rows);
    if (rc)
        requests_deinit(requests);
    return rc;
}

void requests_deinit(struct requests *requests)
{
    free(requests->items);
    free(requests->whole_ns);
    *requests = (struct requests){ 0 };
}

void requests_keep_range(struct requests *requests, uint64_t from_ns, uint64_t to_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < requests->count; i++)
        if (requests->items[i].last_ns >= from_ns &&
            (to_ns == 0 || requests->items[i].first_ns < to_ns))
            requests->items[kept++] = requests->items[i];
    requests->count = kept;
    count_requests(requests);
}

/* The chance that at most `most` of `count` requests are below the quantile. */
static double binomial_below(size_t count, double share, size_t most)
{
    double sum = 0;
    for (size_t i = 0; i <= most && i <= count; i++)
        sum += exp(lgamma((double)count + 1) - lgamma((double)i + 1) -
                   lgamma((double)(count - i) + 1) + (double)i * log(share) +
                   (double)(count - i) * log1p(-share));
    return sum;
}

bool requests_quantile(const struct requests *requests, double share,
                       struct requests_quantile *out)
{
    enum { EXACT_MOST = 2000 };
    static const double TAIL = 0.025, NORMAL = 1.959964;
    const size_t count = requests->whole;
    const double middle = (double)count * share;
    size_t low = 0, high = 0; /* ranks, from 1 on; low 0 and high above count: unknown */
    if (!count)
        return false;
    const size_t rank = (size_t)ceil(middle) > 0 ? (size_t)ceil(middle) : 1;
    if (count > EXACT_MOST) {
        const double away = NORMAL * sqrt(middle * (1 - share));
        low = middle > away ? (size_t)floor(middle - away) : 0;
        high = (size_t)ceil(middle + away) + 1;
    } else {
        /* The quantile is below the duration of rank r if fewer than r requests are below it. */
        while (low < count && binomial_below(count, share, low) <= TAIL)
            low++;
        high = low;
        while (high <= count &&
               (high == 0 || binomial_below(count, share, high - 1) < 1 - TAIL))
            high++;
    }
    *out = (struct requests_quantile){ .duration_ns = requests->whole_ns[rank - 1],
                                       .has_low = low >= 1,
                                       .has_high = high <= count };
    out->low_ns = out->has_low ? requests->whole_ns[low - 1] : 0;
    out->high_ns = out->has_high ? requests->whole_ns[high - 1] : 0;
    return true;
}

/* Time of a request at a frame, or in a view function. */
struct entry {
    uint32_t row, id;
    uint64_t ns;
};

static int compare_entries(const void *left, const void *right)
{
    const struct entry *const a = left, *const b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

struct entries {
    struct entry *items;
    size_t count, room;
};

static bool add_entry(struct entries *entries, uint32_t row, uint32_t id, uint64_t ns)
{
    if (!id)
        return true;
    if (!VEC_RESERVE(entries->items, entries->room, entries->count + 1))
        return false;
    entries->items[entries->count++] = (struct entry){ row, id, ns };
    return true;
}

/* By row, the id with most time. */
static void find_most(struct entries *entries, struct request_detail *details,
                      void (*set)(struct request_detail *detail, uint32_t id, uint64_t ns))
{
    uint64_t most = 0;
    if (entries->count)
        qsort(entries->items, entries->count, sizeof *entries->items, compare_entries);
    for (size_t i = 0, end = 0; i < entries->count; i = end) {
        const struct entry *const first = &entries->items[i];
        uint64_t ns = 0;
        if (i == 0 || first->row != entries->items[i - 1].row)
            most = 0;
        for (end = i; end < entries->count && entries->items[end].row == first->row &&
                      entries->items[end].id == first->id;)
            ns += entries->items[end++].ns;
        if (ns <= most)
            continue;
        most = ns;
        set(&details[first->row], first->id, ns);
    }
}

static void set_top(struct request_detail *detail, uint32_t id, uint64_t ns)
{
    detail->top = id;
    detail->top_ns = ns;
}

static void set_view(struct request_detail *detail, uint32_t id, uint64_t ns)
{
    (void)ns;
    detail->view = id;
}

/* The innermost frame of Python of a stack; 0: it has none. */
static frame_id innermost_line(const struct profile_snapshot *snapshot, node_id id)
{
    for (; id; id = profile_node_at(snapshot, id).parent) {
        const frame_id frame = profile_node_at(snapshot, id).frame;
        const struct profile_function function =
            profile_function_at(snapshot, profile_frame_at(snapshot, frame).function);
        if (!function.library && *profile_string(snapshot, function.file).text != '~')
            return frame;
    }
    return 0;
}

enum err_code requests_detail(const struct requests *requests,
                              const struct profile_snapshot *snapshot, size_t count,
                              struct request_detail *details, struct err *err)
{
    function_id *marks = NULL;
    struct entries tops = { 0 }, views = { 0 };
    uint32_t *const rows = calloc((size_t)snapshot->sizes.functions + 1, sizeof *rows);
    bool has_room = true;
    memset(details, 0, count * sizeof *details);
    enum err_code rc = rows ? requests_by_node(snapshot, &marks, err) : err_nomem(err);
    for (size_t i = 0; i < count && !rc; i++)
        rows[requests->items[i].context] = (uint32_t)i + 1;
    for (size_t i = 0; i < snapshot->window_count && !rc && has_room; i++) {
        const struct window *const window = snapshot->windows[i];
        for (size_t j = 0; j < window->cell_count && has_room; j++) {
            const struct cell *const cell = &window->cells[j];
            const uint32_t row = rows[marks[cell->node]];
            const uint64_t ns = window_cell_ns(window, j);
            enum part part;
            if (!row)
                continue;
            if (profile_part_at(snapshot, cell->thread, cell->state, cell->node, &part) &&
                part == PART_BLOCKED)
                details[row - 1].causes_ns[wait_cause_of(snapshot, cell->node, part)] += ns;
            has_room = add_entry(&tops, row - 1, innermost_line(snapshot, cell->node), ns) &&
                       add_entry(&views, row - 1, view_function_of(snapshot, cell->node), ns);
        }
    }
    if (!rc && !has_room)
        rc = err_nomem(err);
    if (!rc) {
        find_most(&tops, details, set_top);
        find_most(&views, details, set_view);
    }
    free(tops.items);
    free(views.items);
    free(rows);
    free(marks);
    return rc;
}

static bool goes_on(const struct request_piece *last, const struct request_piece *next,
                    uint64_t period_ns)
{
    return last->thread == next->thread && last->awaits == next->awaits &&
           last->part == next->part && last->cause == next->cause && last->top == next->top &&
           next->start_ns <= last->end_ns + period_ns;
}

static int compare_lengths(const void *left, const void *right)
{
    const struct request_piece *const a = left, *const b = right;
    const uint64_t a_ns = a->end_ns - a->start_ns, b_ns = b->end_ns - b->start_ns;
    return (a_ns < b_ns) - (a_ns > b_ns);
}

static int compare_starts(const void *left, const void *right)
{
    const struct request_piece *const a = left, *const b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

enum err_code request_pieces_init(struct request_pieces *pieces,
                                  const struct profile_snapshot *snapshot, function_id mark,
                                  size_t most, struct err *err)
{
    function_id *marks = NULL;
    size_t room = 0;
    *pieces = (struct request_pieces){ 0 };
    enum err_code rc = requests_by_node(snapshot, &marks, err);
    for (size_t i = 0; i < snapshot->window_count && !rc; i++) {
        const struct window *const window = snapshot->windows[i];
        for (size_t j = 0; j < window->run_count && !rc && window_is_ordered(window); j++) {
            const struct window_run *const run = &window->runs[j];
            if (!run->count || !mark || marks[cell_key_node(run->key)] != mark)
                continue;

            /* A piece begins a period before its first sample: in it the thread came there. */
            const node_id node = cell_key_node(run->key);
            const uint64_t last_ns =
                run->first_ns + (run->count - 1) * (run->step_us * NS_PER_US);
            struct request_piece piece = { .start_ns = run->first_ns > window->period_ns
                                                           ? run->first_ns - window->period_ns
                                                           : 0,
                                           .end_ns = last_ns,
                                           .thread = cell_key_thread(run->key),
                                           .top = innermost_line(snapshot, node) };
            piece.awaits = !profile_part_at(snapshot, piece.thread, cell_key_state(run->key),
                                            node, &piece.part);
            if (!piece.awaits && (piece.part == PART_BLOCKED || piece.part == PART_IDLE))
                piece.cause = wait_cause_of(snapshot, node, piece.part);

            struct request_piece *const last =
                pieces->count ? &pieces->items[pieces->count - 1] : NULL;
            if (last && goes_on(last, &piece, window->period_ns))
                last->end_ns = piece.end_ns;
            else if (VEC_RESERVE(pieces->items, room, pieces->count + 1))
                pieces->items[pieces->count++] = piece;
            else
                rc = err_nomem(err);
        }
    }
    free(marks);
    if (rc) {
        request_pieces_deinit(pieces);
        return rc;
    }
    if (pieces->count > most) {
        qsort(pieces->items, pieces->count, sizeof *pieces->items, compare_lengths);
        pieces->left_out = pieces->count - most;
        pieces->count = most;
    }
    if (pieces->count)
        qsort(pieces->items, pieces->count, sizeof *pieces->items, compare_starts);
    return ERR_OK;
}

void request_pieces_deinit(struct request_pieces *pieces)
{
    free(pieces->items);
    *pieces = (struct request_pieces){ 0 };
}
