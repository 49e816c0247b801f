#define _GNU_SOURCE
#include "tests/support/test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void test_assert_ok(enum err_code code, const struct err *err, const char *call,
                    const char *file, int line)
{
    if (code == ERR_OK)
        return;
    print_error("%s: %s: %s\n", call, err_text(code), err ? err->message : "");
    _fail(file, line);
}

static size_t round_up(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

unsigned char *guard_alloc(size_t bytes)
{
    const size_t usable = round_up(bytes), page = round_up(1);
    unsigned char *const pages =
        mmap(NULL, usable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        fail_msg("no memory for %zu guarded bytes", bytes);
    assert_int_equal(mprotect(pages + usable, page, PROT_NONE), 0);
    return pages + usable - bytes;
}

unsigned char *guard_copy(const void *data, size_t bytes)
{
    unsigned char *const buffer = guard_alloc(bytes);
    if (bytes)
        memcpy(buffer, data, bytes);
    return buffer;
}

void guard_free(unsigned char *buffer, size_t bytes)
{
    const size_t usable = round_up(bytes);
    assert_int_equal(munmap(buffer + bytes - usable, usable + round_up(1)), 0);
}

char *temp_dir(void)
{
    const char *const parent = getenv("TMPDIR");
    char *path = NULL;
    assert_true(asprintf(&path, "%s/pyrometer-test.XXXXXX", parent ? parent : "/tmp") > 0);
    assert_non_null(mkdtemp(path));
    return path;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void temp_dir_remove(char *path)
{
    assert_int_equal(nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(path);
}

void temp_dir_put(const char *folder, const char *path, const char *text)
{
    char *whole;
    assert_true(asprintf(&whole, "%s%s", folder, path) > 0);
    for (char *at = whole + strlen(folder) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(whole, 0755);
    }
    FILE *const file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(whole);
}
