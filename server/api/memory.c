#include "server/wire/memory.h"

#include "sampler/profile/profile.h"
#include "sampler/profile/views/memory_slots.h"
#include "sampler/profile/views/timeline.h"
#include "server/api/api.h"
#include "server/api/session_request.h"
#include "server/http/document.h"

static enum err_code write_memory(const struct session_request *asked, struct json *json,
                                  struct err *err)
{
    const size_t slots = asked->query.slots ? asked->query.slots : TIMELINE_USUAL_SLOTS;
    struct memory_slots memory;
    const enum err_code rc =
        memory_slots_init(&memory, &asked->snapshot, &asked->query.view, slots, err);
    if (rc)
        return rc;
    memory_write_slots(json, &memory, &asked->snapshot);
    memory_slots_deinit(&memory);
    return ERR_OK;
}

enum err_code api_get_memory(const struct handler_context *handler, struct response *response,
                             struct err *err)
{
    return session_request_answer(handler, QUERY_FROM | QUERY_TO | QUERY_PROCESS | QUERY_SLOTS,
                                  write_memory, response, err);
}
