/*
 * encoders - a function for each protocol, which turns a batch into the bodies of requests.
 *
 * A batch whose profiles are too large for one request becomes several.  Sizes are those that the
 * receivers accept with their default limits.
 */
#ifndef SERVER_PUSH_ENCODERS_H
#define SERVER_PUSH_ENCODERS_H

#include "sampler/base/err.h"

struct buffer;
struct push_batch;

enum {
    PUSH_PROFILE_SAMPLES = 16000,           /* Pyroscope: of one profile */
    PUSH_PROFILE_BYTES = 1 << 20,           /* before compression */
    PUSH_REQUEST_BYTES = (2 << 20) - 65536, /* Pyroscope: a burst, before compression */
    PUSH_BODY_BYTES = 4 << 20,              /* larger bodies are not sent */
    PUSH_DEPTH = 1000,                      /* Pyroscope: frames of a stack */
    PUSH_GZIP_LEVEL = 6
};

/* Takes the body of a request. */
typedef enum err_code push_take(void *to, const struct buffer *body, struct err *err);

enum err_code push_encode_pyroscope(const struct push_batch *batch, push_take *take, void *to,
                                    struct err *err);
enum err_code push_encode_parca(const struct push_batch *batch, push_take *take, void *to,
                                struct err *err);
enum err_code push_encode_otlp(const struct push_batch *batch, push_take *take, void *to,
                               struct err *err);

#endif /* SERVER_PUSH_ENCODERS_H */
