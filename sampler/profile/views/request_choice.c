#include "sampler/profile/views/request_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/pattern.h"
#include "sampler/profile/views/requests.h"

static enum err_code open_pattern(struct pattern *pattern, const char *text, struct err *err)
{
    char whole[PATTERN_MAX_MATCHED];
    if ((size_t)snprintf(whole, sizeof whole, "context:%s", text) >= sizeof whole)
        return err_set(err, ERR_INVALID, "the pattern is too long");
    return pattern_init(pattern, whole, err);
}

enum err_code request_choice_check(const struct request_choice *choice, struct err *err)
{
    struct pattern pattern = { 0 };
    if (choice->faster_ns && choice->faster_ns <= choice->slower_ns)
        return err_set(err, ERR_INVALID, "no request is both slower and faster than that");
    const enum err_code rc =
        choice->pattern ? open_pattern(&pattern, choice->pattern, err) : ERR_OK;
    pattern_deinit(&pattern);
    return rc;
}

uint64_t request_choice_hash(const struct request_choice *choice, uint64_t hash)
{
    hash = hash_bytes(&choice->slower_ns, sizeof choice->slower_ns, hash);
    hash = hash_bytes(&choice->faster_ns, sizeof choice->faster_ns, hash);
    hash = hash_bytes(&choice->slowest, sizeof choice->slowest, hash);
    hash = hash_bytes(&choice->is_rest, sizeof choice->is_rest, hash);
    return choice->pattern ? hash_bytes(choice->pattern, strlen(choice->pattern) + 1, hash)
                           : hash;
}

static enum err_code matches_value(const struct profile_snapshot *snapshot,
                                   const struct pattern *pattern, function_id mark, bool *out,
                                   struct err *err)
{
    const struct profile_function row = profile_function_at(snapshot, mark);
    const struct pattern_subject subject = { .name = profile_string(snapshot, row.name).text,
                                             .file = "~" };
    return pattern_matches(pattern, &subject, out, err);
}

/* Marks the functions of the requests that are chosen.  The slowest are a part of those whose value matches. */
static enum err_code choose_requests(struct request_set *set,
                                     const struct profile_snapshot *snapshot,
                                     const struct request_choice *choice,
                                     const struct requests *requests, struct err *err)
{
    const bool has_duration = choice->slower_ns || choice->faster_ns || choice->slowest > 0;
    const bool wants_others = choice->is_rest && !has_duration;
    struct pattern pattern = { 0 };
    enum err_code rc = choice->pattern ? open_pattern(&pattern, choice->pattern, err) : ERR_OK;
    for (size_t i = 0; i < requests->count && !rc; i++) {
        bool matches = true;
        if (choice->pattern)
            rc = matches_value(snapshot, &pattern, requests->items[i].context, &matches, err);
        set->functions[requests->items[i].context] = matches != wants_others;
        set->requests += matches != wants_others;
    }
    pattern_deinit(&pattern);

    const size_t most = choice->slowest > 0
                            ? (size_t)ceil((double)set->requests * choice->slowest / 100)
                            : set->requests;
    for (size_t i = 0, rank = 0; i < requests->count && !rc; i++) {
        const struct request *const request = &requests->items[i];
        unsigned char *const is_chosen = &set->functions[request->context];
        if (*is_chosen) {
            const bool is_slow =
                rank++ < most && request->duration_ns >= choice->slower_ns &&
                (!choice->faster_ns || request->duration_ns < choice->faster_ns);
            *is_chosen = is_slow != (choice->is_rest && has_duration);
        }
        struct context_text text;
        set->are_guessed =
            set->are_guessed || (context_of_function(snapshot, request->context, &text) &&
                                 context_guessed_length(&text) > 0);
        set->samples += request->samples;
        set->kept += *is_chosen;
        set->kept_samples += *is_chosen ? request->samples : 0;
    }
    set->requests = requests->count;
    set->other_samples = requests->samples_by_mark[CONTEXT_MARK_OTHER];
    return rc;
}

enum err_code request_set_init(struct request_set *set, const struct profile_snapshot *snapshot,
                               const struct request_choice *choice, struct err *err)
{
    const struct profile_sizes *const sizes = &snapshot->sizes;
    struct requests requests = { 0 };
    function_id *marks = NULL;
    *set = (struct request_set){ .node_count = sizes->nodes,
                                 .nodes = calloc((size_t)sizes->nodes + 1, 1),
                                 .function_count = sizes->functions,
                                 .functions = calloc((size_t)sizes->functions + 1, 1) };
    enum err_code rc = set->functions && set->nodes ? ERR_OK : err_nomem(err);
    if (!rc)
        rc = requests_init(&requests, snapshot, err);
    if (!rc)
        rc = choose_requests(set, snapshot, choice, &requests, err);
    if (!rc)
        rc = requests_by_node(snapshot, &marks, err);
    for (node_id id = 0; !rc && id < sizes->nodes; id++)
        set->nodes[id] = set->functions[marks[id]];
    requests_deinit(&requests);
    free(marks);
    if (rc)
        request_set_deinit(set);
    return rc;
}

void request_set_deinit(struct request_set *set)
{
    free(set->nodes);
    free(set->functions);
    *set = (struct request_set){ 0 };
}
