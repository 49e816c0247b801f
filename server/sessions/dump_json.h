/*
 * dump_json - a dump as JSON: the schema Dump of openapi.json.
 */
#ifndef SERVER_SESSIONS_DUMP_JSON_H
#define SERVER_SESSIONS_DUMP_JSON_H

#include <stdbool.h>

#include "server/sessions/dump.h"
#include "server/wire/json.h"

void dump_write_json(struct json *json, const struct dump *dump, bool wants_tasks);

#endif /* SERVER_SESSIONS_DUMP_JSON_H */
