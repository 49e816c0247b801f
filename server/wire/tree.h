/*
 * tree - the Tree document of openapi.json: the append-only tables as columns.
 *
 * A stored frame is a function and a line; on the wire a node carries both itself.
 *
 * Cost: proportional to the rows added since.
 */
#ifndef SERVER_WIRE_TREE_H
#define SERVER_WIRE_TREE_H

#include <stdint.h>

struct json;
struct profile_snapshot;

/* since: a generation of this snapshot; rows it already had are left out. */
void tree_write(struct json *json, const struct profile_snapshot *snapshot, const char *epoch,
                uint32_t since);
/* The members after `generation`, into an open object. */
void tree_write_tables(struct json *json, const struct profile_snapshot *snapshot,
                       uint32_t since);

#endif /* SERVER_WIRE_TREE_H */
