/*
 * profile_parts - the struct that the files of profile share: profile.c fills the tables and the open
 * window, profile_seal.c closes windows and merges old ones, profile_read.c is for readers.
 *
 * Private to profile.
 *
 * Depends on: history, quality, series, tables, tally.
 */
#ifndef SAMPLER_PROFILE_PROFILE_PARTS_H
#define SAMPLER_PROFILE_PROFILE_PARTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/profile/history.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/series.h"
#include "sampler/profile/tables.h"
#include "sampler/profile/tally.h"

/* What readers read, under the lock. */
struct published {
    uint32_t generation;
    struct profile_sizes sizes;
    struct quality quality;
    uint64_t end_ns;
    size_t table_bytes;
    struct history history;
    struct series series;
};

struct profile {
    /* Used by the writer only, except rows below published.sizes. */
    struct tables tables;
    struct tally open;
    struct tally open_spots; /* by spot_key */
    struct series_pending pending;
    uint64_t open_start_ns;
    bool is_timed;       /* samples of the open window stand for different times */
    uint64_t period_ns;  /* what a sample of the open window stands for */
    size_t memory_bytes; /* 0: no bound */
    bool is_closed;      /* the tables take no new rows for places */
    struct quality quality;
    struct profile_sizes sealed; /* sizes at the last generation, or at creation */

    pthread_mutex_t lock;
    struct published published;
};
/* Bytes held by windows and series.  The caller holds the lock, or no other thread has the profile. */
size_t profile_history_bytes(const struct profile *profile);

#endif /* SAMPLER_PROFILE_PROFILE_PARTS_H */
