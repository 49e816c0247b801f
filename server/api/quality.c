#include "server/wire/quality.h"

#include "sampler/profile/views/states.h"
#include "sampler/profile/views/view.h"
#include "server/api/api.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"
#include "server/wire/session.h"
#include "server/wire/usage.h"

enum err_code api_get_quality(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct session_request asked;
    enum err_code rc = session_request_begin(&asked, handler, 0, err);
    if (rc)
        return rc;

    const struct view_query everything = { 0 };
    struct document document;
    struct session_info info;
    struct states states;
    struct usage usage;
    rc = states_init(&states, &asked.snapshot, &everything, err);
    if (!rc) {
        session_entry_describe(asked.entry, &asked.snapshot, &info);
        document_begin(&document);
        usage_read(&usage);
        quality_write(&document.json, &info, &states.all, &usage, NULL);
        states_deinit(&states);
        rc = document_send(&document, response, err);
    }

    session_request_end(&asked);
    return rc;
}
