/*
 * profile_parts - shared by the files of profile: profile.c is the writer's part, snapshot.c that of readers, foreign_measures.c
 * has what files of other tools count.
 *
 * Private to the folder.
 *
 * Threads: as profile.h says.
 */
#ifndef SAMPLER_PROFILE_PROFILE_PARTS_H
#define SAMPLER_PROFILE_PROFILE_PARTS_H

#include <stdatomic.h>

#include "sampler/profile/open_window.h"
#include "sampler/profile/packages.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/publication.h"
#include "sampler/profile/tables.h"

struct profile {
    /* Used by the writer only, except rows below published.sizes. */
    struct tables tables;
    struct open_window open;                     /* of time */
    struct open_window *measured[MEASURE_COUNT]; /* of other measures; NULL: never used */
    bool has_measured; /* a window of one of them was added since the last generation */
    struct series_pending pending;
    size_t memory_bytes;   /* 0: no bound */
    atomic_bool is_closed; /* the tables take no new rows for places */
    bool is_kept_open;     /* they always do */
    bool drops_samples;    /* no windows and no series */
    struct quality quality;
    struct profile_sizes sealed; /* sizes at the last generation, or at creation */

    struct publication published;
    struct packages packages;
    struct foreign_measure {
        char name[MEASURE_NAME_BYTES], type[MEASURE_NAME_BYTES], unit[MEASURE_NAME_BYTES];
        struct measure_facts facts; /* of these texts */
    } foreign[MEASURE_MOST_FOREIGN];
    uint32_t foreign_count;
};

#endif /* SAMPLER_PROFILE_PROFILE_PARTS_H */
