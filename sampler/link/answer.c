#include "sampler/link/answer.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "sampler/capture/bytes.h"
#include "sampler/link/request.h"

static void write_all(int fd, const struct bytes *bytes)
{
    size_t done = 0;
    while (done < bytes->count) {
        const ssize_t n = write(fd, bytes->data + done, bytes->count - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        done += (size_t)n;
    }
}

void answer_send(int fd, enum err_code code, const struct bytes *contents,
                 const struct err *err)
{
    struct bytes why = { 0 }, whole = { 0 };
    if (!code && contents->is_short)
        code = ERR_NOMEM;
    if (!code && contents->count > LINK_MAX_ANSWER_BYTES)
        code = ERR_LIMIT;
    if (code)
        link_err_encode(err, &why);
    const struct bytes *const sent = code ? &why : contents;
    link_head_encode(code, sent->count, &whole);
    bytes_put(&whole, sent->data, sent->count);
    if (!whole.is_short)
        write_all(fd, &whole);
    bytes_deinit(&why);
    bytes_deinit(&whole);
}
