/* Activity of the host's processes in the last minutes. */
#include "sampler/base/buffer.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/http/response.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/last_activity.h"

enum err_code api_get_activity(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    struct dashboard *dashboard = NULL;
    struct buffer document = { 0 };
    uint32_t number = 0;
    enum err_code rc = handler_dashboard(handler, &dashboard, err);
    if (rc == ERR_OK)
        rc = last_activity_get(dashboard->activity, handler->sessions,
                               dashboard->not_continuous, &document, &number, err);
    if (rc == ERR_OK && !handler_is_fresh(handler, response, "activity", number, 0))
        rc = response_take_buffer(response, MIME_JSON, &document, err);
    buffer_deinit(&document);
    return rc;
}
