#include "sampler/process/unxz.h"

#include <lzma.h>
#include <stdlib.h>

#include "sampler/base/vec.h"

/* The most bytes that are decoded between two readings of the clock: those that go in, and
 * those that come out. */
enum { FIRST_BYTES = 64 << 10, STEP_IN_BYTES = 64 << 10, STEP_OUT_BYTES = 1 << 20 };

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum err_code decode_stream(lzma_stream *stream, size_t bytes, size_t max_bytes,
                                   const struct deadline *deadline, unsigned char **buffer)
{
    size_t room = 0;
    lzma_ret ret = LZMA_OK;
    while (ret == LZMA_OK) {
        const size_t used = (size_t)stream->total_out, taken = (size_t)stream->total_in;
        if (deadline_is_over(deadline))
            return ERR_LIMIT;
        if (used >= max_bytes)
            return ERR_LIMIT;
        if (used == room && !VEC_RESERVE(*buffer, room, room ? room + 1 : FIRST_BYTES))
            return ERR_NOMEM;
        stream->next_out = *buffer + used;
        stream->avail_out = least_of(least_of(room, max_bytes) - used, STEP_OUT_BYTES);
        stream->avail_in = least_of(bytes - taken, STEP_IN_BYTES);
        ret = lzma_code(stream, taken + stream->avail_in == bytes ? LZMA_FINISH : LZMA_RUN);
    }
    return ret == LZMA_STREAM_END ? ERR_OK : ret == LZMA_MEM_ERROR ? ERR_NOMEM : ERR_CORRUPT;
}

enum err_code unxz(const void *data, size_t bytes, size_t max_bytes,
                   const struct deadline *deadline, unsigned char **out, size_t *out_bytes)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    unsigned char *buffer = NULL;
    if (lzma_stream_decoder(&stream, UNXZ_MAX_MEMORY_BYTES, 0) != LZMA_OK)
        return ERR_NOMEM;
    stream.next_in = data;
    /* The end is not seen until there is room for more. */
    enum err_code rc = decode_stream(&stream, bytes, max_bytes + 1, deadline, &buffer);
    if (!rc && stream.total_out > max_bytes)
        rc = ERR_LIMIT;
    if (rc) {
        free(buffer);
    } else {
        *out = buffer;
        *out_bytes = (size_t)stream.total_out;
    }
    lzma_end(&stream);
    return rc;
}
