/*
 * A process whose files and memory are made to keep its readers busy, and that is no Python:
 *
 *     maps_files FILE...           maps the files
 *     maps_files --lease FILE...   and holds a lease on each, which nobody may open meanwhile
 *     maps_files --stuck           has memory that never comes to whoever reads it
 *     maps_files --many FILE       maps the file 30,000 times
 *
 * Says READY, or SKIPPED where the kernel does not let it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, STUCK_BYTES = 1 << 20, MANY = 30000 };

static int map_file(const char *path, int is_leased, int times)
{
    const int fd = open(path, is_leased ? O_RDWR : O_RDONLY);
    if (fd < 0)
        return -1;
    for (int i = 0; i < times; i++)
        /* Neighbours that differ stay apart. */
        if (mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
            MAP_FAILED)
            return -1;
    return is_leased ? fcntl(fd, F_SETLEASE, F_WRLCK) : 0;
}

/* Pages that are missing until this process brings them, which it does not. */
static int make_stuck(void)
{
    struct uffdio_api api = { .api = UFFD_API };
    const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    void *const at =
        mmap(NULL, STUCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = { .range = { (unsigned long)at, STUCK_BYTES },
                                     .mode = UFFDIO_REGISTER_MODE_MISSING };
    return fd < 0 || at == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
           ioctl(fd, UFFDIO_REGISTER, &range);
}

int main(int argc, char **argv)
{
    const int is_stuck = argc > 1 && strcmp(argv[1], "--stuck") == 0;
    const int is_leased = argc > 1 && strcmp(argv[1], "--lease") == 0;
    const int is_many = argc > 1 && strcmp(argv[1], "--many") == 0;
    int failed = is_stuck ? make_stuck() : 0;
    signal(SIGIO, SIG_IGN);
    for (int i = 1 + (is_stuck | is_leased | is_many); i < argc && !failed; i++)
        failed = map_file(argv[i], is_leased, is_many ? MANY : 1);
    puts(failed ? "SKIPPED" : "READY");
    fflush(stdout);
    /* It ends by itself, whatever becomes of who started it. */
    alarm(120);
    if (failed)
        return 77;
    for (;;)
        pause();
}
