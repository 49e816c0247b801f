/* Input: a file, of any foreign format or none.  What can be read of it is a capture that can be loaded. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/capture/reader.h"
#include "sampler/foreign/foreign.h"
#include "sampler/profile/profile.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader *reader = NULL;
    int capture_fd = -1;
    const int fd = memfd_create("foreign", MFD_CLOEXEC);
    fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    const enum err_code rc = foreign_convert(fd, MEMORY_BYTES, &capture_fd, NULL);
    if (rc == ERR_OK && capture_fd != fd) {
        struct profile_snapshot snapshot;
        fuzz_check(reader_open_fd(capture_fd, &reader, NULL) == ERR_OK);
        fuzz_check(reader_load(reader, MEMORY_BYTES, NULL) == ERR_OK);
        fuzz_check(reader_missing(reader) == NULL);
        fuzz_check(profile_snapshot(reader_profile(reader), &snapshot, NULL) == ERR_OK);
        fuzz_check(snapshot.window_count > 0);
        profile_snapshot_release(&snapshot);
        reader_close(reader);
    }
    if (capture_fd >= 0 && capture_fd != fd)
        close(capture_fd);
    close(fd);
    return 0;
}
