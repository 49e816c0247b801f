#include "server/api/session_request.h"

#include "sampler/base/buffer.h"
#include "sampler/session.h"
#include "server/api/handler_context.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"

/* Takes a snapshot of the measure that was asked for, or of the first one. */
static enum err_code choose_measure(struct session_request *asked, struct err *err)
{
    const char *const name = asked->query.measure;
    struct session_info info;
    session_entry_describe(asked->entry, &asked->snapshot, &info);
    const measure_set measures = session_info_measures(&info);
    const enum measure found = name ? profile_find_measure(&asked->snapshot, measures, name)
                                    : measure_set_main(measures);
    if (found == MEASURE_COUNT) {
        struct buffer names = { 0 };
        profile_put_measures(&asked->snapshot, measures, &names);
        err_set(err, ERR_INVALID,
                "invalid parameter \"measure\" (\"%.64s\"): the session has %s", name,
                buffer_string(&names));
        buffer_deinit(&names);
        return ERR_INVALID;
    }
    return session_request_count(asked, found, err);
}

enum err_code session_request_count(struct session_request *asked, enum measure measure,
                                    struct err *err)
{
    struct profile *const profile = asked->snapshot.profile;
    if (asked->snapshot.measure == measure)
        return ERR_OK;
    profile_snapshot_release(&asked->snapshot);
    return profile_snapshot_measured(profile, measure, &asked->snapshot, err);
}

enum err_code session_request_begin(struct session_request *asked,
                                    const struct handler_context *handler, unsigned accepted,
                                    struct err *err)
{
    asked->requests = (struct request_set){ 0 };
    enum err_code rc = handler_session(handler, &asked->entry, err);
    if (!rc)
        rc = query_read(handler->request, accepted, &asked->query, err);
    if (!rc)
        rc = profile_snapshot(session_entry_profile(asked->entry), &asked->snapshot, err);
    if (!rc)
        session_entry_epoch(asked->entry, asked->snapshot.profile, asked->epoch);
    asked->links = handler->links;
    if (rc)
        return rc;
    if (accepted & QUERY_MEASURE)
        rc = choose_measure(asked, err);
    const bool chooses = request_choice_is_set(&asked->query.requests);
    if (chooses || asked->query.view.since > asked->snapshot.generation)
        asked->query.view.since = 0;
    if (!rc && chooses)
        rc = request_set_init(&asked->requests, &asked->snapshot, &asked->query.requests, err);
    if (rc)
        profile_snapshot_release(&asked->snapshot);
    else if (chooses)
        asked->query.view.requests = &asked->requests;
    return rc;
}

void session_request_end(struct session_request *asked)
{
    request_set_deinit(&asked->requests);
    profile_snapshot_release(&asked->snapshot);
}

bool session_request_is_fresh(const struct session_request *asked,
                              const struct handler_context *handler, struct response *response)
{
    return handler_is_fresh(handler, response, asked->epoch, asked->snapshot.generation,
                            query_hash(&asked->query));
}

enum err_code session_request_finish(struct session_request *asked,
                                     const struct handler_context *handler,
                                     session_request_write *write, struct response *response,
                                     struct err *err)
{
    struct document document;
    enum err_code rc = ERR_OK;
    if (!session_request_is_fresh(asked, handler, response)) {
        document_begin(&document);
        json_object(&document.json);
        json_member_text(&document.json, "epoch", asked->epoch);
        json_member_uint(&document.json, "generation", asked->snapshot.generation);
        rc = write(asked, &document.json, err);
        json_end(&document.json);
        rc = document_send_or_drop(&document, rc, response, err);
    }
    session_request_end(asked);
    return rc;
}

enum err_code session_request_answer(const struct handler_context *handler, unsigned accepted,
                                     session_request_write *write, struct response *response,
                                     struct err *err)
{
    struct session_request asked;
    const enum err_code rc = session_request_begin(&asked, handler, accepted, err);
    return rc ? rc : session_request_finish(&asked, handler, write, response, err);
}
