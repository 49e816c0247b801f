/*
 * dump_json - a dump as JSON: the schema Dump of openapi.json.
 */
#ifndef SERVER_SESSIONS_DUMP_JSON_H
#define SERVER_SESSIONS_DUMP_JSON_H

#include <stdbool.h>

#include "server/sessions/dump.h"
#include "server/sessions/dump_text.h"
#include "server/wire/json.h"

void dump_write_json(struct json *json, const struct dump *dump, bool wants_tasks);
/* With what the command line asks for besides. */
void dump_write_json_with(struct json *json, const struct dump *dump, bool wants_tasks,
                          const struct dump_view *view, const struct process_facts *facts);
/* A process that is no Python process. */
void dump_write_json_facts(struct json *json, pid_t pid, const struct process_facts *facts);

#endif /* SERVER_SESSIONS_DUMP_JSON_H */
