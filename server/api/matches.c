#include "sampler/profile/views/matches.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/http/json_body.h"
#include "server/http/request.h"
#include "server/sessions/sessions.h"

/* Runs of ids, first and last of each; as many as a body has room for. */
enum { MAX_NUMBERS = 16384 };

/* Whole numbers that ascend, so that no id is marked twice. */
static bool are_runs(const double *numbers, size_t count)
{
    if (count % 2 != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        const bool is_last = i % 2 != 0;
        if (!(numbers[i] >= 0 && numbers[i] <= UINT32_MAX) ||
            numbers[i] > (double)(uint32_t)numbers[i])
            return false;
        if (i > 0 && (is_last ? numbers[i] < numbers[i - 1] : numbers[i] <= numbers[i - 1]))
            return false;
    }
    return true;
}

/* An id that is not there yet matches nothing. */
static enum err_code mark_functions(const struct request *request, unsigned char *wanted,
                                    uint32_t functions, double *numbers, struct err *err)
{
    struct body_member member = {
        .name = "functions", .kind = BODY_NUMBERS, .numbers = numbers, .room = MAX_NUMBERS
    };
    const enum err_code rc = body_read(request->body, request->body_bytes, &member, 1, err);
    if (rc)
        return rc;
    if (!member.is_present || !are_runs(numbers, member.count))
        return err_set(
            err, ERR_INVALID,
            "member \"functions\" must be ascending runs of ids: first and last of each");
    for (size_t i = 0; i < member.count; i += 2)
        for (uint64_t id = (uint64_t)numbers[i];
             id <= (uint64_t)numbers[i + 1] && id < functions; id++)
            wanted[id] = 1;
    return ERR_OK;
}

static uint64_t slot_samples(const struct match_slot *slot)
{
    return slot->samples;
}

static uint64_t slot_matching(const struct match_slot *slot)
{
    return slot->matching;
}

static uint64_t slot_start(const struct match_slot *slot)
{
    return slot->start_ns;
}

static uint64_t slot_end(const struct match_slot *slot)
{
    return slot->end_ns;
}

static void write_column(struct json *json, const char *name, const struct matches *matches,
                         uint64_t (*value)(const struct match_slot *slot), unsigned decimals)
{
    json_member_array(json, name);
    for (size_t i = 0; i < matches->count; i++)
        json_decimal(json, value(&matches->slots[i]), decimals);
    json_end(json);
}

enum err_code api_find_matches(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    struct session_request asked;
    enum err_code rc =
        session_request_begin(&asked, handler, QUERY_FROM | QUERY_TO | QUERY_STATE, err);
    if (rc)
        return rc;

    const struct view_query *const query = &asked.query.view;
    const uint32_t functions = asked.snapshot.sizes.functions;
    unsigned char *const wanted = calloc((size_t)functions + 1, 1);
    double *const numbers = malloc(MAX_NUMBERS * sizeof *numbers);
    struct matches matches = { 0 };
    rc = wanted && numbers ? mark_functions(handler->request, wanted, functions, numbers, err)
                           : err_nomem(err);
    if (!rc)
        rc = matches_init(&matches, &asked.snapshot, query, wanted, err);
    if (!rc) {
        struct document document;
        document_begin(&document);
        json_object(&document.json);
        json_member_text(&document.json, "epoch", asked.epoch);
        json_member_uint(&document.json, "generation", asked.snapshot.generation);
        write_column(&document.json, "start", &matches, slot_start, NS_DECIMALS);
        write_column(&document.json, "end", &matches, slot_end, NS_DECIMALS);
        write_column(&document.json, "samples", &matches, slot_samples, 0);
        write_column(&document.json, "matching", &matches, slot_matching, 0);
        json_end(&document.json);
        rc = document_send(&document, response, err);
    }
    matches_deinit(&matches);
    free(numbers);
    free(wanted);

    session_request_end(&asked);
    return rc;
}
