/*
 * dump_locks - the text of a dump about locks: what each thread and task waits for, what it holds, and deadlocks.
 */
#ifndef SERVER_SESSIONS_DUMP_LOCKS_H
#define SERVER_SESSIONS_DUMP_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/profile/profile.h"

struct buffer;
struct dump;
struct session_task;

/* Writes a text of the profile as plain text. */
void dump_put_text(struct buffer *out, const struct profile_snapshot *snapshot, str_id id);
/* Writes the name of a task; its number if it has none. */
void dump_put_task_name(struct buffer *out, const struct dump *dump, str_id name,
                        uint64_t number);

/* Writes what a thread, or a task of it, waits for, and what it holds that others wait for, a line each.  task: its address; 0: the thread. */
void dump_locks_put(struct buffer *out, const struct dump *dump, int32_t tid, uint64_t task,
                    bool has_address);
/* Writes a line for each cycle of threads and tasks that wait for each other for ever. */
void dump_locks_put_deadlocks(struct buffer *out, const struct dump *dump);
/* Does the task wait for a lock that somebody holds, or for ever, or hold one that is waited for? */
bool dump_locks_has_trouble(const struct dump *dump, const struct session_task *task);

#endif /* SERVER_SESSIONS_DUMP_LOCKS_H */
