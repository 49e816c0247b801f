/* Members of archives, as they are, damaged, and made up. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/base/compress.h"
#include "server/source/zip_member.h"
#include "tests/support/made_archive.h"
#include "tests/support/test.h"

static enum source_outcome read_one(const struct made_archive *archive, const char *name,
                                    const char *wanted)
{
    const int fd = memfd_create("archive", MFD_CLOEXEC);
    char *text = NULL;
    size_t length = 0;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, archive->bytes, archive->count), archive->count);
    const enum source_outcome outcome = zip_member_read(fd, name, &text, &length);
    if (outcome == SOURCE_DONE && wanted) {
        assert_int_equal(length, strlen(wanted));
        assert_memory_equal(text, wanted, length);
    }
    free(text);
    close(fd);
    return outcome;
}

static const char words[] = "def work():\n    return 1\ndef work():\n    return 1\n";

static void make(struct made_archive *archive, const char *before, const char *comment)
{
    memset(archive, 0, sizeof *archive);
    archive->count = archive->start = strlen(before);
    memcpy(archive->bytes, before, archive->start);
    made_archive_add(archive, "__main__.py", "import mine\n", false);
    made_archive_add(archive, "pkg/mod.py", words, true);
    made_archive_add(archive, "twice.py", "first", false);
    made_archive_add(archive, "twice.py", "second", true);
    made_archive_add(archive, "empty.py", "", false);
    made_archive_finish(archive, comment);
}

static void members_are_read_as_python_reads_them(void **state)
{
    static const char *const around[][2] = {
        { "", "" },
        { "#!/usr/bin/env python3\n", "" },
        { "", "a comment with PK\x05\x06 in it, and more than 22 bytes behind that" },
    };
    struct made_archive archive;
    (void)state;
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        make(&archive, around[i][0], around[i][1]);
        assert_int_equal(read_one(&archive, "__main__.py", "import mine\n"), SOURCE_DONE);
        assert_int_equal(read_one(&archive, "pkg/mod.py", words), SOURCE_DONE);
        assert_int_equal(read_one(&archive, "twice.py", "second"), SOURCE_DONE);
        assert_int_equal(read_one(&archive, "empty.py", ""), SOURCE_DONE);
        assert_int_equal(read_one(&archive, "mod.py", NULL), SOURCE_MISSING);
        assert_int_equal(read_one(&archive, "pkg", NULL), SOURCE_MISSING);
        assert_int_equal(read_one(&archive, "", NULL), SOURCE_MISSING);
    }
}

/* Fields of the directory's entry of a file that is stored, by their offsets. */
static void what_an_archive_says_is_not_believed(void **state)
{
    static const struct {
        size_t at, bytes;
        uint64_t value;
        enum source_outcome outcome;
    } rows[] = {
        { 8, 2, 1, SOURCE_BAD_ARCHIVE },           /* encrypted */
        { 10, 2, 12, SOURCE_BAD_ARCHIVE },         /* another method */
        { 10, 2, 8, SOURCE_BAD_ARCHIVE },          /* not deflated */
        { 16, 4, 7, SOURCE_BAD_ARCHIVE },          /* another checksum */
        { 20, 4, 11, SOURCE_BAD_ARCHIVE },         /* shorter than the file */
        { 20, 4, UINT32_MAX, SOURCE_BAD_ARCHIVE }, /* Zip64 */
        { 24, 4, 1000, SOURCE_BAD_ARCHIVE },       /* longer than what is stored */
        { 24, 4, SOURCE_MAX_BYTES + 1, SOURCE_TOO_LARGE },
        { 24, 4, UINT32_MAX, SOURCE_TOO_LARGE },
        { 28, 2, UINT16_MAX, SOURCE_MISSING }, /* its name */
        { 32, 2, UINT16_MAX, SOURCE_MISSING }, /* its comment */
        { 42, 4, 1, SOURCE_BAD_ARCHIVE },      /* no file begins there */
        { 42, 4, UINT32_MAX, SOURCE_BAD_ARCHIVE },
    };
    struct made_archive archive;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&archive, 0, sizeof archive);
        made_archive_add(&archive, "one.py", "print('one')", false);
        made_archive_put(archive.directory + rows[i].at, rows[i].value, rows[i].bytes);
        made_archive_finish(&archive, "");
        assert_int_equal(read_one(&archive, "one.py", NULL), rows[i].outcome);
    }
}

static void a_small_member_that_grows_is_read_to_its_size_only(void **state)
{
    struct made_archive archive = { .count = 0 };
    char *const zeros = calloc(1, SOURCE_MAX_BYTES + 2);
    (void)state;
    assert_non_null(zeros);
    memset(zeros, 'x', SOURCE_MAX_BYTES + 1);
    made_archive_add(&archive, "large.py", zeros, true);
    made_archive_put(archive.directory + 24, 100, 4);
    made_archive_finish(&archive, "");
    assert_int_equal(read_one(&archive, "large.py", NULL), SOURCE_BAD_ARCHIVE);
    memset(&archive, 0, sizeof archive);
    made_archive_add(&archive, "large.py", zeros, true);
    made_archive_finish(&archive, "");
    assert_int_equal(read_one(&archive, "large.py", NULL), SOURCE_TOO_LARGE);
    memset(&archive, 0, sizeof archive);
    zeros[SOURCE_MAX_BYTES] = '\0';
    made_archive_add(&archive, "large.py", zeros, true);
    made_archive_finish(&archive, "");
    assert_int_equal(read_one(&archive, "large.py", zeros), SOURCE_DONE);
    free(zeros);
}

static void no_cut_and_no_wrong_end_is_read_beyond_the_file(void **state)
{
    struct made_archive archive;
    (void)state;
    make(&archive, "", "");
    const size_t whole = archive.count;
    while (archive.count > 0) {
        archive.count--;
        assert_int_not_equal(read_one(&archive, "pkg/mod.py", NULL), SOURCE_DONE);
    }
    for (size_t at = 12; at < 20; at++) {
        make(&archive, "", "");
        archive.bytes[whole - 22 + at] ^= 0x40;
        assert_int_not_equal(read_one(&archive, "pkg/mod.py", NULL), SOURCE_DONE);
    }
}

TEST_GROUP(cmocka_unit_test(members_are_read_as_python_reads_them),
           cmocka_unit_test(what_an_archive_says_is_not_believed),
           cmocka_unit_test(a_small_member_that_grows_is_read_to_its_size_only),
           cmocka_unit_test(no_cut_and_no_wrong_end_is_read_beyond_the_file))
