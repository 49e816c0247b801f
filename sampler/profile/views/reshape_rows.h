/*
 * reshape_rows - copies rows of tables into another profile when they are first needed, with other texts and places.
 *
 * Private to reshape, except what replaces texts and places.
 *
 * Ownership: the caller's storage, with `into`, `from` and `names` set; reshape_rows_deinit accepts one
 * whose init failed.
 * Threads: the writer of `into`, on its own snapshot of another profile.
 */
#ifndef SAMPLER_PROFILE_VIEWS_RESHAPE_ROWS_H
#define SAMPLER_PROFILE_VIEWS_RESHAPE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "sampler/profile/profile.h"

enum reshape_text {
    RESHAPE_NAME, /* of a function */
    RESHAPE_FILE, /* of a function */
    RESHAPE_THREAD,
    RESHAPE_PROCESS,
    RESHAPE_NATIVE_NAME, /* of a function of a library */
    RESHAPE_NATIVE_FILE, /* of a function of a library: a source file, or the path of the library */
    RESHAPE_LIBRARY,     /* the path */
    RESHAPE_BUILD_ID     /* of a library */
};

/* Replaces texts.  The result is good until the next call; `file` is that of the function, or the path
 * of the library, else empty. */
struct reshape_names {
    struct strtab_string (*text)(void *context, enum reshape_text what,
                                 struct strtab_string text, struct strtab_string file);
    void *context;
};

/* Gives functions of `from` another source file and first line; false: they stay.  The file is good until
 * the next call. */
struct reshape_places {
    bool (*place)(void *context, function_id function, struct strtab_string *file_out,
                  int32_t *line_out);
    void *context;
};

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
