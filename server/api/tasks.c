#include "sampler/session.h"
#include "server/api/api.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"
#include "server/wire/task.h"

static const double SECONDS = 1e-9;

/* The columns of a task. */
enum column { PROCESS, THREAD, NAME, STATE, NODE, SEEN, SINCE, AWAITED_BY, COLUMNS };

static const char *const column_names[COLUMNS] = {
    "process",           "thread",    "name", "state", "node", "first_seen_s",
    "unchanged_since_s", "awaited_by"
};

static enum err_code write_tasks(const struct session_request *asked, struct json *json,
                                 struct err *err)
{
    struct session *const session = atomic_load(&asked->entry->session);
    struct session_tasks tasks = { 0 };
    const enum err_code rc = session ? session_tasks(session, &tasks, err) : ERR_OK;
    if (rc)
        return rc;
    json_member_number(json, "sampled_s", (double)tasks.at_ns * SECONDS);
    json_member_bool(json, "limit_reached", tasks.is_cut);
    for (enum column column = 0; column < COLUMNS; column++) {
        json_member_array(json, column_names[column]);
        for (size_t i = 0; i < tasks.count; i++) {
            const struct session_task *const task = &tasks.items[i];
            switch (column) {
            case PROCESS: json_int(json, task->pid); break;
            case THREAD: json_int(json, task->tid); break;
            case NAME: task_write_name(json, &asked->snapshot, task); break;
            case STATE: json_text(json, task_state_text(task)); break;
            case NODE:
                json_uint(json, task->node < asked->snapshot.sizes.nodes ? task->node : 0);
                break;
            case SEEN: json_number(json, (double)task->seen_ns * SECONDS); break;
            case SINCE: json_number(json, (double)task->since_ns * SECONDS); break;
            case AWAITED_BY: task_write_awaiters(json, &tasks, task); break;
            case COLUMNS: break;
            }
        }
        json_end(json);
    }
    session_tasks_deinit(&tasks);
    return ERR_OK;
}

enum err_code api_get_tasks(const struct handler_context *handler, struct response *response,
                            struct err *err)
{
    return session_request_answer(handler, 0, write_tasks, response, err);
}
