/*
 * heat - bins of 20 ms by part of time, as columns (Heatmap of openapi.json).
 */
#ifndef SERVER_WIRE_HEAT_H
#define SERVER_WIRE_HEAT_H

#include <stdint.h>

struct json;
struct series;

/* Writes members of an object: `bins`, the seconds in [first, end) that have samples, and a column for
 * each part.  since: only seconds that changed after that generation. */
void heat_write_seconds(struct json *json, const struct series *series, uint64_t first,
                        uint64_t end, uint32_t since);

#endif /* SERVER_WIRE_HEAT_H */
