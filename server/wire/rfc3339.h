/*
 * rfc3339 - a time on the wire: RFC 3339, in UTC.
 */
#ifndef SERVER_WIRE_RFC3339_H
#define SERVER_WIRE_RFC3339_H

#include <stdint.h>

struct json;

/* Writes a member; wall_ns: since 1970; 0: null. */
void rfc3339_write(struct json *json, const char *key, uint64_t wall_ns);
/* Writes the time with milliseconds. */
void rfc3339_write_ms(struct json *json, const char *key, uint64_t wall_ns);

#endif /* SERVER_WIRE_RFC3339_H */
