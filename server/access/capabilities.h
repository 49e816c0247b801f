/*
 * capabilities - what the kernel lets the calling thread do, as bits of its capabilities.
 *
 * Threads: capabilities belong to a thread; threads that are there already keep theirs.
 * Depends on: libc.
 */
#ifndef SERVER_ACCESS_CAPABILITIES_H
#define SERVER_ACCESS_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

/* Those that are permitted.  false, with errno: the kernel refuses. */
bool capabilities_held(uint64_t *out);

/* Keeps these, of those that are permitted, and makes them effective.  false as above. */
bool capabilities_keep(uint64_t kept);

/* Takes all others out of the bounding set, as far as CAP_SETPCAP is held, and empties the ambient
 * set. */
void capabilities_bound(uint64_t kept);

#endif /* SERVER_ACCESS_CAPABILITIES_H */
