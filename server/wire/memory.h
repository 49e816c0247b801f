/*
 * memory - the memory and page faults of processes along time, as columns (Memory of openapi.json).
 */
#ifndef SERVER_WIRE_MEMORY_H
#define SERVER_WIRE_MEMORY_H

struct json;
struct memory_slots;
struct profile_snapshot;

/* Writes members of an object. */
void memory_write_slots(struct json *json, const struct memory_slots *memory,
                        const struct profile_snapshot *snapshot);

#endif /* SERVER_WIRE_MEMORY_H */
