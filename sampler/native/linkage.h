/*
 * linkage - where a stub of the procedure linkage table leads in a running process.
 *
 * Threads: that of the blocks.
 */
#ifndef SAMPLER_NATIVE_LINKAGE_H
#define SAMPLER_NATIVE_LINKAGE_H

#include "sampler/native/blocks.h"

/* The address that the stub jumps to, through a word; 0: it is no stub, or cannot be read. */
remote_addr linkage_target(struct blocks *blocks, remote_addr stub);

#endif /* SAMPLER_NATIVE_LINKAGE_H */
