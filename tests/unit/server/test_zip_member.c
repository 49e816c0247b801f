/* Members of archives, as they are, damaged, and made up. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/base/compress.h"
#include "server/source/zip_member.h"
#include "tests/support/test.h"

enum { GZIP_HEADER_BYTES = 10, GZIP_TRAILER_BYTES = 8, LOCAL_BYTES = 30, ENTRY_BYTES = 46 };
enum { ARCHIVE_BYTES = 1 << 16 };

struct archive {
    unsigned char bytes[ARCHIVE_BYTES];
    size_t count, start, entries;
    unsigned char directory[1 << 12];
    size_t directory_bytes;
};

static void put(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static void add(struct archive *archive, const char *name, const char *text, bool deflated)
{
    const size_t name_bytes = strlen(name), bytes = strlen(text);
    unsigned char *packed = NULL;
    size_t packed_bytes = bytes;
    const void *data = text;
    struct err err = { 0 };
    if (deflated) {
        assert_ok(compress_gzip(text, bytes, 6, &packed, &packed_bytes, &err), &err);
        packed_bytes -= GZIP_HEADER_BYTES + GZIP_TRAILER_BYTES;
        data = packed + GZIP_HEADER_BYTES;
    }
    unsigned char *const entry = archive->directory + archive->directory_bytes;
    unsigned char *const local = archive->bytes + archive->count;
    memset(entry, 0, ENTRY_BYTES);
    memset(local, 0, LOCAL_BYTES);
    put(entry, 0x02014b50, 4);
    put(entry + 10, deflated ? 8 : 0, 2);
    put(entry + 16, compress_crc32(text, bytes), 4);
    put(entry + 20, packed_bytes, 4);
    put(entry + 24, bytes, 4);
    put(entry + 28, name_bytes, 2);
    put(entry + 42, archive->count - archive->start, 4);
    memcpy(entry + ENTRY_BYTES, name, name_bytes);
    archive->directory_bytes += ENTRY_BYTES + name_bytes;
    put(local, 0x04034b50, 4);
    put(local + 26, name_bytes, 2);
    memcpy(local + LOCAL_BYTES, name, name_bytes);
    memcpy(local + LOCAL_BYTES + name_bytes, data, packed_bytes);
    archive->count += LOCAL_BYTES + name_bytes + packed_bytes;
    archive->entries++;
    free(packed);
}

static unsigned char *finish(struct archive *archive, const char *comment)
{
    unsigned char *const at = archive->bytes + archive->count;
    unsigned char *const end = at + archive->directory_bytes;
    memcpy(at, archive->directory, archive->directory_bytes);
    memset(end, 0, 22);
    put(end, 0x06054b50, 4);
    put(end + 8, archive->entries, 2);
    put(end + 10, archive->entries, 2);
    put(end + 12, archive->directory_bytes, 4);
    put(end + 16, archive->count - archive->start, 4);
    put(end + 20, strlen(comment), 2);
    memcpy(end + 22, comment, strlen(comment));
    archive->count += archive->directory_bytes + 22 + strlen(comment);
    return end;
}

static enum source_outcome read_one(const struct archive *archive, const char *name,
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

static void make(struct archive *archive, const char *before, const char *comment)
{
    memset(archive, 0, sizeof *archive);
    archive->count = archive->start = strlen(before);
    memcpy(archive->bytes, before, archive->start);
    add(archive, "__main__.py", "import mine\n", false);
    add(archive, "pkg/mod.py", words, true);
    add(archive, "twice.py", "first", false);
    add(archive, "twice.py", "second", true);
    add(archive, "empty.py", "", false);
    finish(archive, comment);
}

static void members_are_read_as_python_reads_them(void **state)
{
    static const char *const around[][2] = {
        { "", "" },
        { "#!/usr/bin/env python3\n", "" },
        { "", "a comment with PK\x05\x06 in it, and more than 22 bytes behind that" },
    };
    struct archive archive;
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
    struct archive archive;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&archive, 0, sizeof archive);
        add(&archive, "one.py", "print('one')", false);
        put(archive.directory + rows[i].at, rows[i].value, rows[i].bytes);
        finish(&archive, "");
        assert_int_equal(read_one(&archive, "one.py", NULL), rows[i].outcome);
    }
}

static void a_small_member_that_grows_is_read_to_its_size_only(void **state)
{
    struct archive archive = { .count = 0 };
    char *const zeros = calloc(1, SOURCE_MAX_BYTES + 2);
    (void)state;
    assert_non_null(zeros);
    memset(zeros, 'x', SOURCE_MAX_BYTES + 1);
    add(&archive, "large.py", zeros, true);
    put(archive.directory + 24, 100, 4);
    finish(&archive, "");
    assert_int_equal(read_one(&archive, "large.py", NULL), SOURCE_BAD_ARCHIVE);
    memset(&archive, 0, sizeof archive);
    add(&archive, "large.py", zeros, true);
    finish(&archive, "");
    assert_int_equal(read_one(&archive, "large.py", NULL), SOURCE_TOO_LARGE);
    memset(&archive, 0, sizeof archive);
    zeros[SOURCE_MAX_BYTES] = '\0';
    add(&archive, "large.py", zeros, true);
    finish(&archive, "");
    assert_int_equal(read_one(&archive, "large.py", zeros), SOURCE_DONE);
    free(zeros);
}

static void no_cut_and_no_wrong_end_is_read_beyond_the_file(void **state)
{
    struct archive archive;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_read_as_python_reads_them),
        cmocka_unit_test(what_an_archive_says_is_not_believed),
        cmocka_unit_test(a_small_member_that_grows_is_read_to_its_size_only),
        cmocka_unit_test(no_cut_and_no_wrong_end_is_read_beyond_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
