/*
 * tree - the Tree document of openapi.json: the append-only tables as columns.
 *
 * A stored frame is a function and a line; on the wire a node carries both itself.  Ids are those of the snapshot: where only some rows
 * are kept, the others are there with zeros and without texts, and so are packages that no kept row is of.
 *
 * Cost: proportional to the rows added since.
 */
#ifndef SERVER_WIRE_TREE_H
#define SERVER_WIRE_TREE_H

#include <stdint.h>

struct json;
struct kept_rows;
struct profile_snapshot;

/* since: a generation of this snapshot; rows it already had are left out.  kept: NULL: all rows. */
void tree_write(struct json *json, const struct profile_snapshot *snapshot, const char *epoch,
                uint32_t since, const struct kept_rows *kept);
/* The members after `generation`, into an open object. */
void tree_write_tables(struct json *json, const struct profile_snapshot *snapshot,
                       uint32_t since, const struct kept_rows *kept);

#endif /* SERVER_WIRE_TREE_H */
