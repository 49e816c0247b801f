#include "sampler/link/answer.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "sampler/capture/bytes.h"
#include "sampler/link/request.h"

static bool write_all(int fd, const unsigned char *data, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const ssize_t n = write(fd, data + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

void answer_send(int fd, enum err_code code, const struct bytes *contents,
                 const struct err *err)
{
    unsigned char head[LINK_HEAD_BYTES];
    struct bytes why = { 0 };
    struct err own = { 0 };
    if (!code && contents->is_short)
        code = err_nomem(&own);
    if (!code && contents->count > LINK_MAX_ANSWER_BYTES)
        code = err_set(&own, ERR_LIMIT, "the answer has more than %d MiB",
                       LINK_MAX_ANSWER_BYTES >> 20);
    if (code)
        link_err_encode(own.code ? &own : err, &why);
    /* Without a sentence the code goes alone. */
    if (why.is_short)
        bytes_clear(&why);
    const struct bytes *const sent = code ? &why : contents;
    link_head_encode(code, sent->count, head);
    if (write_all(fd, head, sizeof head))
        (void)write_all(fd, sent->data, sent->count);
    bytes_deinit(&why);
}
