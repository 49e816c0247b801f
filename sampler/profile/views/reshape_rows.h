/*
 * reshape_rows - copies rows of tables into another profile when they are first needed.
 *
 * Private to reshape.
 *
 * Ownership: the caller's storage, with `into`, `from` and `names` set; reshape_rows_deinit accepts one
 * whose init failed.
 * Threads: the writer of `into`, on its own snapshot of another profile.
 */
#ifndef SAMPLER_PROFILE_VIEWS_RESHAPE_ROWS_H
#define SAMPLER_PROFILE_VIEWS_RESHAPE_ROWS_H

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/reshape.h"

struct reshape_rows {
    struct profile *into;
    const struct profile_snapshot *from;
    const struct reshape_names *names;                  /* NULL: names stay */
    const struct reshape_places *places;                /* NULL: places stay */
    uint32_t *libraries, *functions, *frames, *threads; /* of `into`, by those of `from` */
    str_id *library_paths;                              /* of `into` */
};

MUST_CHECK enum err_code reshape_rows_init(struct reshape_rows *rows, struct err *err);
void reshape_rows_deinit(struct reshape_rows *rows);

MUST_CHECK enum err_code reshape_rows_string(const struct reshape_rows *rows, str_id id,
                                             str_id *out, struct err *err);
MUST_CHECK enum err_code reshape_rows_function(struct reshape_rows *rows, function_id id,
                                               function_id *out, struct err *err);
MUST_CHECK enum err_code reshape_rows_frame(struct reshape_rows *rows, frame_id id,
                                            frame_id *out, struct err *err);
/* The frame that stands for a library, and that library. */
MUST_CHECK enum err_code reshape_rows_library_frame(struct reshape_rows *rows,
                                                    library_id library, library_id *library_out,
                                                    frame_id *out, struct err *err);
MUST_CHECK enum err_code reshape_rows_thread(struct reshape_rows *rows, thread_id id,
                                             thread_id *out, struct err *err);

#endif /* SAMPLER_PROFILE_VIEWS_RESHAPE_ROWS_H */
