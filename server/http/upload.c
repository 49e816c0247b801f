#include "server/http/upload.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/http/spool.h"

enum { TOO_LARGE = 413, BROKEN = 500, NO_SPACE = 507 };

void upload_init(struct upload *upload)
{
    *upload = (struct upload){ .file_fd = -1 };
}

void upload_close(struct upload *upload)
{
    if (upload->file_fd >= 0)
        close(upload->file_fd);
    upload->file_fd = -1;
}

void upload_deinit(struct upload *upload)
{
    upload_close(upload);
    buffer_deinit(&upload->data);
}

bool upload_announce(struct upload *upload, const char *length)
{
    const size_t most = upload->file_fd >= 0 ? upload->file_left : REQUEST_MAX_BODY;
    if (!length || strtoull(length, NULL, 10) <= most + UPLOAD_DISCARD_MAX)
        return true;
    upload->refusal = TOO_LARGE;
    return false;
}

bool upload_take(struct upload *upload, const char *data, size_t bytes)
{
    const bool is_file = upload->file_fd >= 0;
    const size_t room = is_file ? upload->file_left : REQUEST_MAX_BODY - upload->data.length;
    if (bytes > room) {
        upload->refusal = TOO_LARGE;
        upload->discarded += bytes;
    } else if (is_file) {
        upload->file_left -= bytes;
        if (!upload->refusal && (!spool_has_room(upload->file_fd, bytes, 0) ||
                                 !channel_write(upload->file_fd, data, bytes)))
            upload->refusal = response_is_full(errno) ? NO_SPACE : BROKEN;
    } else {
        buffer_append(&upload->data, data, bytes);
    }
    return upload->discarded <= UPLOAD_DISCARD_MAX && !upload->data.failed;
}
