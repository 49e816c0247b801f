/*
 * retention - the Retention document of openapi.json: how long data is kept, and how fine.
 */
#ifndef SERVER_WIRE_RETENTION_H
#define SERVER_WIRE_RETENTION_H

struct json;
struct profile_snapshot;

void retention_write(struct json *json, const struct profile_snapshot *snapshot);

#endif /* SERVER_WIRE_RETENTION_H */
