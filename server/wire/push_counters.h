/*
 * push_counters - how the push of profiles goes, by endpoint: written by its threads, read by anybody.
 */
#ifndef SERVER_WIRE_PUSH_COUNTERS_H
#define SERVER_WIRE_PUSH_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { PUSH_COUNTERS_MAX = 4 };

struct push_counters {
    size_t count;
    struct push_endpoint_counters {
        const char *endpoint;              /* its URL, without anything secret */
        _Atomic uint64_t sent, sent_bytes; /* requests that were accepted */
        _Atomic uint64_t retries;          /* requests that were sent again */
        _Atomic uint64_t refused;          /* requests that the receiver does not take */
        _Atomic uint64_t lost;   /* requests that found no room, or no time at the end */
        _Atomic uint64_t failed; /* windows that could not be encoded */
        _Atomic uint64_t waiting, memory_bytes, file_bytes; /* in the queue, now */
    } items[PUSH_COUNTERS_MAX];
};

#endif /* SERVER_WIRE_PUSH_COUNTERS_H */
