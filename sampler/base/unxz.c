#include "sampler/base/unxz.h"

#include <lzma.h>
#include <stdlib.h>

enum { FIRST_BYTES = 64 << 10 };

/* The buffer twice as large, at most what may come out. */
static enum err_code grow(unsigned char **buffer, size_t *room, size_t max_bytes)
{
    if (*room >= max_bytes)
        return ERR_LIMIT;
    size_t more = *room ? *room * 2 : FIRST_BYTES;
    if (more > max_bytes)
        more = max_bytes;
    unsigned char *const moved = realloc(*buffer, more);
    if (!moved)
        return ERR_NOMEM;
    *buffer = moved;
    *room = more;
    return ERR_OK;
}

static enum err_code decode(lzma_stream *stream, size_t max_bytes, unsigned char **buffer)
{
    size_t room = 0;
    lzma_ret ret = LZMA_OK;
    while (ret == LZMA_OK) {
        if (stream->avail_out == 0) {
            const size_t used = room;
            const enum err_code rc = grow(buffer, &room, max_bytes);
            if (rc)
                return rc;
            stream->next_out = *buffer + used;
            stream->avail_out = room - used;
        }
        ret = lzma_code(stream, LZMA_FINISH);
    }
    return ret == LZMA_STREAM_END ? ERR_OK : ret == LZMA_MEM_ERROR ? ERR_NOMEM : ERR_CORRUPT;
}

enum err_code unxz(const void *data, size_t bytes, size_t max_bytes, unsigned char **out,
                   size_t *out_bytes)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    unsigned char *buffer = NULL;
    if (lzma_stream_decoder(&stream, UNXZ_MAX_MEMORY_BYTES, 0) != LZMA_OK)
        return ERR_NOMEM;
    stream.next_in = data;
    stream.avail_in = bytes;
    /* The end is not seen until there is room for more. */
    enum err_code rc = decode(&stream, max_bytes + 1, &buffer);
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
