/*
 * task - an asyncio task as JSON.
 */
#ifndef SERVER_WIRE_TASK_H
#define SERVER_WIRE_TASK_H

#include "sampler/profile/profile.h"
#include "sampler/session.h"

struct json;

/* "running", "waiting" or "moving". */
const char *task_state_text(const struct session_task *task);
/* The name of the task, or the one from asyncio, such as "Task-3"; "": unknown. */
void task_write_name(struct json *json, const struct profile_snapshot *snapshot,
                     const struct session_task *task);
/* An array of indices of tasks. */
void task_write_awaiters(struct json *json, const struct session_tasks *tasks,
                         const struct session_task *task);

#endif /* SERVER_WIRE_TASK_H */
