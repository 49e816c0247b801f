#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/files/files.h"
#include "server/http/response.h"
#include "server/http/spool.h"
#include "tests/support/test.h"

enum { CHUNK = 1 << 12 };

/* The contents of the n-th chunk of an answer. */
static void make_chunk(unsigned char *chunk, size_t n)
{
    memset(chunk, (int)(n % 251), CHUNK);
    memcpy(chunk, &n, sizeof n);
}

static enum err_code spool_bytes(size_t bytes, enum err_code written, struct response *response,
                                 struct err *err)
{
    unsigned char chunk[CHUNK];
    struct spool spool;
    struct buffer out;
    spool_begin(&spool, &out);
    for (size_t at = 0; at < bytes; at += CHUNK) {
        make_chunk(chunk, at / CHUNK);
        buffer_append(&out, chunk, bytes - at < CHUNK ? bytes - at : CHUNK);
    }
    if (written == ERR_OK)
        written = buffer_check(&out, NULL);
    return spool_end(&spool, &out, written, "text/x-made", response, err);
}

static void expect_bytes(const struct response *response, size_t bytes)
{
    unsigned char wanted[CHUNK], given[CHUNK];
    assert_int_equal(response->body_bytes, bytes);
    assert_string_equal(response->mime, "text/x-made");
    for (size_t at = 0; at < bytes; at += CHUNK) {
        const size_t part = bytes - at < CHUNK ? bytes - at : CHUNK;
        make_chunk(wanted, at / CHUNK);
        if (response->file_fd >= 0)
            assert_int_equal(pread(response->file_fd, given, part, (off_t)at), part);
        else
            memcpy(given, (const char *)response->body + at, part);
        assert_memory_equal(given, wanted, part);
    }
}

static void what_memory_may_hold_stays_there(void **state)
{
    static const size_t sizes[] = { 1, BUFFER_DRAIN_BYTES + 1, SPOOL_MEMORY_BYTES };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct response response;
        struct err err = { 0 };
        response_init(&response);
        assert_ok(spool_bytes(sizes[i], ERR_OK, &response, &err), &err);
        assert_int_equal(response.file_fd, -1);
        expect_bytes(&response, sizes[i]);
        response_deinit(&response);
    }
}

static void what_is_larger_is_a_file_without_a_name(void **state)
{
    struct response response, again;
    struct err err = { 0 };
    const size_t bytes = SPOOL_MEMORY_BYTES + 1234567;
    char *const folder = temp_dir();
    (void)state;
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    response_init(&response);
    response_init(&again);
    assert_ok(spool_bytes(bytes, ERR_OK, &response, &err), &err);
    assert_true(response.file_fd >= 0);
    expect_bytes(&response, bytes);
    assert_int_equal(rmdir(folder), 0); /* there is nothing in it */
    /* Another folder is used if that one is gone; the same content has the same tag. */
    assert_ok(spool_bytes(bytes, ERR_OK, &again, &err), &err);
    assert_string_equal(response.tag, again.tag);
    assert_int_equal(strlen(again.tag), 16);
    response_deinit(&response);
    response_deinit(&again);
    unsetenv("TMPDIR");
    free(folder);
}

static void what_the_writer_says_is_passed_on(void **state)
{
    struct response response;
    struct err err = { 0 };
    (void)state;
    response_init(&response);
    assert_int_equal(spool_bytes(3, ERR_INVALID, &response, &err), ERR_INVALID);
    assert_int_equal(spool_bytes(SPOOL_MEMORY_BYTES * 2, ERR_CORRUPT, &response, &err),
                     ERR_CORRUPT);
    assert_int_equal(response.file_fd, -1);
    assert_int_equal(response.body_bytes, 0);
    response_deinit(&response);
}

/* A file that may not grow is as good as a full disk. */
static void a_full_disk_is_named(void **state)
{
    struct response response;
    struct err err = { 0 };
    struct rlimit usual, small;
    (void)state;
    response_init(&response);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    small = (struct rlimit){ .rlim_cur = SPOOL_MEMORY_BYTES / 2, .rlim_max = usual.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const enum err_code rc = spool_bytes(SPOOL_MEMORY_BYTES * 2, ERR_OK, &response, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    assert_int_equal(rc, ERR_SYS);
    assert_non_null(strstr(err.message, "does not fit on the disk: File too large"));
    response_error(&response, &err);
    assert_int_equal(response.status, 507);
    response_deinit(&response);
}

static void an_answer_takes_no_more_of_the_disk_than_it_leaves(void **state)
{
    struct response response;
    struct err err = { 0 };
    char *const folder = temp_dir();
    char size[32];
    (void)state;
    snprintf(size, sizeof size, "size=%d", SPOOL_MEMORY_BYTES * 3);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, size) != 0)
        skip();
    const struct files_folder disk = { open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), -1 };
    spool_use(&disk);
    response_init(&response);
    assert_ok(spool_bytes(SPOOL_MEMORY_BYTES + CHUNK, ERR_OK, &response, &err), &err);
    response_deinit(&response);
    response_init(&response);
    assert_int_equal(spool_bytes(SPOOL_MEMORY_BYTES * 2, ERR_OK, &response, &err), ERR_SYS);
    assert_non_null(strstr(err.message, "does not fit on the disk: No space left"));
    response_deinit(&response);
    spool_use(NULL);
    close(disk.fd);
    assert_int_equal(umount(folder), 0);
    temp_dir_remove(folder);
}

TEST_GROUP(cmocka_unit_test(what_memory_may_hold_stays_there),
           cmocka_unit_test(what_is_larger_is_a_file_without_a_name),
           cmocka_unit_test(what_the_writer_says_is_passed_on),
           cmocka_unit_test(a_full_disk_is_named),
           cmocka_unit_test(an_answer_takes_no_more_of_the_disk_than_it_leaves))
