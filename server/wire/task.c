#include "server/wire/task.h"

#include <stdio.h>

#include "server/wire/json.h"

const char *task_state_text(const struct session_task *task)
{
    return task->is_running ? "running" : task->is_moving ? "moving" : "waiting";
}

/* The board is a little ahead of the snapshot: what is not in it yet is left empty. */
void task_write_name(struct json *json, const struct profile_snapshot *snapshot,
                     const struct session_task *task)
{
    char number[32];
    if (task->name && task->name < snapshot->sizes.strings) {
        const struct strtab_string name = profile_string(snapshot, task->name);
        json_string(json, name.text, name.length);
    } else if (task->number) {
        snprintf(number, sizeof number, "Task-%llu", (unsigned long long)task->number);
        json_text(json, number);
    } else {
        json_text(json, "");
    }
}

void task_write_awaiters(struct json *json, const struct session_tasks *tasks,
                         const struct session_task *task)
{
    json_array(json);
    for (uint32_t i = 0; i < task->awaiter_count; i++)
        json_uint(json, tasks->awaiters[task->first_awaiter + i]);
    json_end(json);
}
