#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "sampler/base/compress.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

typedef enum err_code packer(const void *data, size_t bytes, int level, unsigned char **out,
                             size_t *bytes_out, struct err *err);
/* Takes the packed bytes apart; fails the test unless that gives exactly `bytes`. */
typedef void expander(unsigned char *packed, size_t packed_bytes, unsigned char *out,
                      size_t bytes);

static void expand_gzip(unsigned char *packed, size_t packed_bytes, unsigned char *out,
                        size_t bytes)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = packed;
    z.avail_in = (uInt)packed_bytes;
    z.next_out = out;
    z.avail_out = (uInt)bytes;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, bytes);
    assert_int_equal(z.avail_in, 0);
    inflateEnd(&z);
}

static void expand_zstd(unsigned char *packed, size_t packed_bytes, unsigned char *out,
                        size_t bytes)
{
    assert_int_equal(ZSTD_decompress(out, bytes, packed, packed_bytes), bytes);
}

static void pack(packer *function, const void *data, size_t bytes, int level,
                 unsigned char **out, size_t *bytes_out)
{
    struct err err = { 0 };
    assert_ok(function(data, bytes, level, out, bytes_out, &err), &err);
}

static void expect_round_trip(packer *to, expander *from, const unsigned char *data,
                              size_t bytes, int level)
{
    unsigned char *packed, *const back = malloc(bytes + 1);
    size_t packed_bytes;
    pack(to, data, bytes, level, &packed, &packed_bytes);
    from(packed, packed_bytes, back, bytes);
    if (bytes)
        assert_memory_equal(back, data, bytes);
    free(back);
    free(packed);
}

/* Half of it repeats, half of it is noise. */
static unsigned char *made_data(size_t bytes)
{
    unsigned char *const data = malloc(bytes + 1);
    uint32_t noise = 1;
    for (size_t i = 0; i < bytes; i++) {
        noise = noise * 1664525 + 1013904223;
        data[i] = (unsigned char)(i & 1024 ? noise >> 24 : i % 17);
    }
    return data;
}

static void expect_round_trips(packer *to, expander *from)
{
    static const size_t sizes[] = { 0, 1, 100, 65536, 1000000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *const data = made_data(sizes[i]);
        for (int level = 0; level <= 9; level += 3)
            expect_round_trip(to, from, data, sizes[i], level);
        free(data);
    }
}

static void gzip_gives_back_what_it_was_given(void **state)
{
    (void)state;
    expect_round_trips(compress_gzip, expand_gzip);
}

static void zstd_gives_back_what_it_was_given(void **state)
{
    (void)state;
    expect_round_trips(compress_zstd, expand_zstd);
}

static void nothing_at_all_can_be_compressed(void **state)
{
    unsigned char *packed;
    size_t bytes;
    (void)state;
    pack(compress_gzip, NULL, 0, 6, &packed, &bytes);
    expand_gzip(packed, bytes, (unsigned char[1]){ 0 }, 0);
    free(packed);
    pack(compress_zstd, NULL, 0, 3, &packed, &bytes);
    expand_zstd(packed, bytes, NULL, 0);
    free(packed);
}

static void text_that_repeats_gets_smaller(void **state)
{
    enum { BYTES = 100000 };
    unsigned char *const data = malloc(BYTES), *packed;
    size_t bytes;
    (void)state;
    memset(data, 'a', BYTES);
    pack(compress_gzip, data, BYTES, 6, &packed, &bytes);
    assert_in_range(bytes, 1, BYTES / 100);
    free(packed);
    pack(compress_zstd, data, BYTES, 3, &packed, &bytes);
    assert_in_range(bytes, 1, BYTES / 100);
    free(packed);
    free(data);
}

/* A report made twice is the same file. */
static void the_same_input_gives_the_same_bytes(void **state)
{
    unsigned char *const data = made_data(10000), *first, *second;
    size_t first_bytes, second_bytes;
    (void)state;
    pack(compress_gzip, data, 10000, 6, &first, &first_bytes);
    pack(compress_gzip, data, 10000, 6, &second, &second_bytes);
    assert_int_equal(first_bytes, second_bytes);
    assert_memory_equal(first, second, first_bytes);
    free(first);
    free(second);
    free(data);
}

static void what_gzip_cannot_do_is_said(void **state)
{
    unsigned char *packed = NULL;
    size_t bytes = 7;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(compress_gzip("x", 1, 99, &packed, &bytes, &err), ERR_INVALID);
    assert_string_equal(err.message, "there is no gzip level 99");
    assert_int_equal(compress_gzip("x", UINT_MAX, 6, &packed, &bytes, &err), ERR_LIMIT);
    assert_null(packed);
    assert_int_equal(bytes, 7);
}

static void gzip_is_undone(void **state)
{
    enum { BYTES = 10000 };
    unsigned char *const data = made_data(BYTES), *packed, *back = NULL;
    size_t packed_bytes, bytes = 0;
    struct err err = { 0 };
    (void)state;
    for (size_t given = 0; given <= BYTES; given += BYTES / 2) {
        pack(compress_gzip, data, given, 6, &packed, &packed_bytes);
        assert_ok(compress_gunzip(packed, packed_bytes, &back, &bytes, &err), &err);
        assert_int_equal(bytes, given);
        assert_memory_equal(back, data, given);
        free(back);
        free(packed);
    }
    free(data);
}

static void what_gzip_did_not_make_is_corrupt(void **state)
{
    unsigned char *const data = made_data(1000), *packed, *back = NULL;
    size_t packed_bytes, bytes = 7;
    (void)state;
    pack(compress_gzip, data, 1000, 6, &packed, &packed_bytes);
    for (size_t left = 0; left < packed_bytes; left++)
        assert_int_equal(compress_gunzip(packed, left, &back, &bytes, NULL), ERR_CORRUPT);
    /* Its end: the checksum, and how long the data were. */
    for (size_t at = packed_bytes - 8; at < packed_bytes - 2; at++) {
        packed[at] ^= 1;
        assert_int_equal(compress_gunzip(packed, packed_bytes, &back, &bytes, NULL),
                         ERR_CORRUPT);
        packed[at] ^= 1;
    }
    assert_null(back);
    assert_int_equal(bytes, 7);
    free(packed);
    free(data);
}

static void without_memory_there_is_an_error_and_no_output(void **state)
{
    unsigned char *packed = NULL;
    size_t bytes = 7;
    (void)state;
    failing_alloc_at(0);
    assert_int_equal(compress_gzip("x", 1, 6, &packed, &bytes, NULL), ERR_NOMEM);
    failing_alloc_at(0);
    assert_int_equal(compress_zstd("x", 1, 3, &packed, &bytes, NULL), ERR_NOMEM);
    failing_alloc_never();
    assert_null(packed);
    assert_int_equal(bytes, 7);
}

enum { PIECES = 40, PIECE_BYTES = 5000 };

/* Piece n: much like the others. */
static void make_piece(unsigned n, unsigned char piece[PIECE_BYTES])
{
    for (unsigned i = 0; i < PIECE_BYTES; i++)
        piece[i] = (unsigned char)(i * i / 7 + (i % 97 == n % 97 ? n : 0));
}

static void pieces_of_a_stream_come_back_one_by_one(void **state)
{
    unsigned char piece[PIECE_BYTES], back[PIECE_BYTES];
    struct zstd_writer *writer = NULL;
    struct zstd_reader *reader = NULL;
    struct err err = { 0 };
    size_t first_bytes = 0;
    (void)state;
    assert_ok(zstd_writer_create(&writer, &err), &err);
    assert_ok(zstd_reader_create(&reader, &err), &err);
    for (unsigned i = 0; i < PIECES; i++) {
        const bool is_first = i % 20 == 0;
        unsigned char *packed = NULL;
        size_t bytes = 0;
        make_piece(i, piece);
        assert_ok(zstd_writer_add(writer, is_first ? i ? 16 : 3 : 0, piece, sizeof piece,
                                  &packed, &bytes, &err),
                  &err);
        assert_ok(zstd_reader_add(reader, is_first, packed, bytes, back, sizeof back, &err),
                  &err);
        assert_memory_equal(back, piece, sizeof back);
        if (is_first)
            first_bytes = bytes;
        else
            assert_in_range(bytes, 1, first_bytes);
        free(packed);
    }
    zstd_writer_destroy(writer);
    zstd_reader_destroy(reader);
    zstd_writer_destroy(NULL);
    zstd_reader_destroy(NULL);
}

static void a_piece_that_is_none_is_corrupt(void **state)
{
    unsigned char piece[PIECE_BYTES], back[PIECE_BYTES];
    struct zstd_writer *writer = NULL;
    struct zstd_reader *reader = NULL;
    struct err err = { 0 };
    unsigned char *packed = NULL;
    size_t bytes = 0;
    (void)state;
    make_piece(1, piece);
    assert_ok(zstd_writer_create(&writer, &err), &err);
    assert_ok(zstd_reader_create(&reader, &err), &err);
    assert_ok(zstd_writer_add(writer, 9, piece, sizeof piece, &packed, &bytes, &err), &err);
    /* Shorter, longer, cut, and nonsense. */
    assert_int_equal(zstd_reader_add(reader, true, packed, bytes, back, sizeof back - 1, NULL),
                     ERR_CORRUPT);
    assert_int_equal(zstd_reader_add(reader, true, packed, bytes / 2, back, sizeof back, NULL),
                     ERR_CORRUPT);
    assert_int_equal(zstd_reader_add(reader, true, "nonsense", 8, back, sizeof back, NULL),
                     ERR_CORRUPT);
    assert_int_equal(zstd_reader_add(reader, true, "", 0, back, sizeof back, NULL),
                     ERR_CORRUPT);
    assert_ok(zstd_reader_add(reader, true, packed, bytes, back, sizeof back, &err), &err);
    free(packed);
    zstd_writer_destroy(writer);
    zstd_reader_destroy(reader);
}

TEST_GROUP(cmocka_unit_test(gzip_gives_back_what_it_was_given),
           cmocka_unit_test(zstd_gives_back_what_it_was_given),
           cmocka_unit_test(pieces_of_a_stream_come_back_one_by_one),
           cmocka_unit_test(a_piece_that_is_none_is_corrupt),
           cmocka_unit_test(nothing_at_all_can_be_compressed),
           cmocka_unit_test(text_that_repeats_gets_smaller),
           cmocka_unit_test(the_same_input_gives_the_same_bytes),
           cmocka_unit_test(what_gzip_cannot_do_is_said), cmocka_unit_test(gzip_is_undone),
           cmocka_unit_test(what_gzip_did_not_make_is_corrupt),
           cmocka_unit_test(without_memory_there_is_an_error_and_no_output))
