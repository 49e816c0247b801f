#include "tests/unit/process/elf_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/test.h"

int elf_file(const void *bytes, size_t count)
{
    const int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
    return fd;
}
