/*
 * capabilities - what the kernel lets the calling thread do, as bits of its capabilities.
 *
 * Threads: capabilities belong to a thread; other existing threads keep theirs.
 */
#ifndef SERVER_ACCESS_CAPABILITIES_H
#define SERVER_ACCESS_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

/* The permitted capabilities.  false, with errno: the kernel refuses. */
bool capabilities_held(uint64_t *out);

/* Drops all permitted capabilities but these, and makes these effective.  false as above. */
bool capabilities_keep(uint64_t kept);

/* Removes all others from the bounding set if CAP_SETPCAP is held, and empties the ambient set. */
void capabilities_bound(uint64_t kept);

#endif /* SERVER_ACCESS_CAPABILITIES_H */
