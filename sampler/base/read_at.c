#include "sampler/base/read_at.h"

#include <errno.h>
#include <unistd.h>

bool read_at(int fd, void *out, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = pread(fd, (char *)out + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = 0;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}
