#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/compress.h"
#include "sampler/capture/block.h"
#include "sampler/capture/format.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

enum { BLOCKS = 3, SAMPLES_OF_A_BLOCK = 10 };

/* A block per second, each with its own stack. */
static void make_blocks(struct made_capture *capture)
{
    static const char *const stacks[BLOCKS] = { "main", "main;work", "main;work;leaf" };
    made_capture_begin(capture);
    const thread_id thread = made_thread(capture->profile, 1, 1);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        made_run(capture, thread, STATE_ON_CPU, stacks[i], SAMPLES_OF_A_BLOCK, i * 1000);
        made_capture_seal(capture, i + 1);
        made_capture_flush(capture);
    }
    made_capture_end(capture);
}

/* Opens a file of these bytes.  The message of an error is one line that is not empty. */
static enum err_code open_bytes(const struct made_capture *capture, const void *data,
                                size_t bytes, uint64_t *samples_out, bool *missing_out)
{
    struct reader *reader = NULL;
    struct err err = { 0 };
    made_file(capture, data, bytes);
    enum err_code rc = reader_open(capture->path, &reader, &err);
    if (!rc)
        rc = reader_load(reader, 1 << 20, &err);
    if (!rc) {
        *samples_out = made_samples(reader);
        *missing_out = reader_missing(reader) != NULL;
    } else {
        assert_true(strlen(err.message) > 10);
        assert_null(strchr(err.message, '\n'));
    }
    reader_close(reader);
    return rc;
}

static void a_capture_cut_at_any_byte_opens_up_to_its_last_whole_block(void **state)
{
    struct made_capture capture;
    uint64_t samples = 0, before = 0;
    bool missing = false;
    size_t opened = 0;
    (void)state;
    make_blocks(&capture);
    const size_t whole = capture.file.length;
    for (size_t cut = 0; cut < whole; cut++) {
        const enum err_code rc =
            open_bytes(&capture, capture.file.data, cut, &samples, &missing);
        assert_int_equal(rc, opened ? ERR_OK : rc == ERR_OK ? ERR_OK : ERR_CORRUPT);
        if (rc)
            continue;
        opened++;
        assert_true(samples >= before && samples % SAMPLES_OF_A_BLOCK == 0);
        /* Only a cut trailer is not reported. */
        assert_int_equal(missing, cut < whole - CAPTURE_TRAILER_BYTES);
        before = samples;
    }
    assert_int_equal(before, (uint64_t)BLOCKS * SAMPLES_OF_A_BLOCK);
    made_capture_free(&capture);
}

static void a_changed_byte_is_noticed_wherever_it_is(void **state)
{
    struct made_capture capture;
    (void)state;
    make_blocks(&capture);
    const size_t whole = capture.file.length - CAPTURE_TRAILER_BYTES;
    for (size_t at = 0; at < whole; at++) {
        uint64_t samples = 0;
        bool missing = false;
        /* The minor version and reserved bytes may be anything. */
        if (at >= 10 && at < CAPTURE_PREAMBLE_BYTES)
            continue;
        capture.file.data[at] ^= 0x10;
        const enum err_code rc =
            open_bytes(&capture, capture.file.data, capture.file.length, &samples, &missing);
        assert_true(rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED);
        capture.file.data[at] ^= 0x10;
    }
    made_capture_free(&capture);
}

static void a_wrong_trailer_does_no_harm(void **state)
{
    struct made_capture capture;
    (void)state;
    make_blocks(&capture);
    for (size_t i = 1; i <= CAPTURE_TRAILER_BYTES; i++) {
        uint64_t samples = 0;
        bool missing = true;
        capture.file.data[capture.file.length - i] ^= 0x41;
        assert_int_equal(
            open_bytes(&capture, capture.file.data, capture.file.length, &samples, &missing),
            ERR_OK);
        assert_int_equal(samples, BLOCKS * SAMPLES_OF_A_BLOCK);
        assert_false(missing);
        capture.file.data[capture.file.length - i] ^= 0x41;
    }
    made_capture_free(&capture);
}

static void zeros_at_the_end_are_what_a_power_cut_left(void **state)
{
    struct made_capture capture;
    uint64_t samples = 0;
    bool missing = false;
    (void)state;
    made_capture_begin(&capture);
    made_run(&capture, made_thread(capture.profile, 1, 1), 0, "main", 10, 0);
    made_capture_seal(&capture, 1);
    made_capture_flush(&capture);
    for (unsigned i = 0; i < 100; i++)
        buffer_u8(&capture.file, 0);
    assert_int_equal(
        open_bytes(&capture, capture.file.data, capture.file.length, &samples, &missing),
        ERR_OK);
    assert_int_equal(samples, 10);
    assert_true(missing);
    made_capture_free(&capture);
}

static void a_later_version_is_refused_and_says_so(void **state)
{
    struct made_capture capture;
    struct reader *reader = NULL;
    struct err err = { 0 };
    (void)state;
    make_blocks(&capture);
    capture.file.data[8] = CAPTURE_MAJOR + 1;
    made_file(&capture, capture.file.data, capture.file.length);
    assert_int_equal(reader_open(capture.path, &reader, &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "format is 5."));
    capture.file.data[8] = CAPTURE_MAJOR;
    capture.file.data[10] = CAPTURE_MINOR + 5;
    uint64_t samples = 0;
    bool missing = true;
    assert_int_equal(
        open_bytes(&capture, capture.file.data, capture.file.length, &samples, &missing),
        ERR_OK);
    assert_int_equal(samples, BLOCKS * SAMPLES_OF_A_BLOCK);
    made_capture_free(&capture);
}

/* Puts a block behind the metadata of a capture without samples; with a chain: as its next piece. */
static enum err_code open_with_piece(struct block_chain *chain, unsigned kind, const void *data,
                                     size_t bytes)
{
    struct made_capture capture;
    struct buffer raw = { 0 };
    struct err err = { 0 };
    uint64_t samples = 0;
    bool missing = false;
    made_capture_begin(&capture);
    buffer_append(&raw, data, bytes);
    if (chain)
        assert_ok(block_chain_encode(chain, (enum capture_kind)kind, &raw, &capture.file, &err),
                  &err);
    else
        assert_ok(block_encode((enum capture_kind)kind, &raw, &capture.file, &err), &err);
    const enum err_code rc =
        open_bytes(&capture, capture.file.data, capture.file.length, &samples, &missing);
    buffer_deinit(&raw);
    made_capture_free(&capture);
    return rc;
}

static enum err_code read_block_head(unsigned kind, const void *data, size_t bytes)
{
    return open_with_piece(NULL, kind, data, bytes);
}

/* Counters, lost, known places, new ones, spots, windows, runs: none of them. */
static const char empty_piece[] = "\x00\x00\x00\x00\x00\x00\x00";
enum { PIECE_BYTES = sizeof empty_piece - 1 };

static void a_piece_needs_those_before_it(void **state)
{
    struct block_chain chain = { 0 };
    (void)state;
    assert_int_equal(open_with_piece(&chain, CAPTURE_WINDOWS, empty_piece, PIECE_BYTES),
                     ERR_OK);
    assert_int_equal(chain.pieces, 1);
    assert_int_equal(open_with_piece(&chain, CAPTURE_WINDOWS, empty_piece, PIECE_BYTES),
                     ERR_CORRUPT);
    block_chain_break(&chain);
    assert_int_equal(open_with_piece(&chain, CAPTURE_WINDOWS, empty_piece, PIECE_BYTES),
                     ERR_OK);
    block_chain_deinit(&chain);
}

static void a_piece_that_knows_other_places_is_an_error(void **state)
{
    struct block_chain chain = { 0 };
    (void)state;
    assert_int_equal(
        open_with_piece(&chain, CAPTURE_WINDOWS, "\x00\x00\x05\x00\x00\x00\x00", 7),
        ERR_CORRUPT);
    block_chain_break(&chain);
    assert_int_equal(open_with_piece(&chain, CAPTURE_WINDOWS, "\x00\x00\x00\xff\xff\x7f", 6),
                     ERR_CORRUPT);
    block_chain_deinit(&chain);
}

static void kinds_of_later_versions_are_skipped_or_refused(void **state)
{
    (void)state;
    assert_int_equal(read_block_head('x', "anything", 8), ERR_OK);
    assert_int_equal(read_block_head('X', "anything", 8), ERR_UNSUPPORTED);
    assert_int_equal(read_block_head(CAPTURE_METADATA, "\0", 1), ERR_CORRUPT);
}

static void rows_that_make_no_sense_are_an_error(void **state)
{
    static const struct {
        const char *what;
        size_t bytes;
        const char *data;
    } blocks[] = {
        { "a table that is none", 3, "\x63\x01\x01" },
        { "a first row that is not the next", 4, "\x00\x05\x01\x00" },
        { "more rows than bytes", 4, "\x00\x01\xff\x7f" },
        { "a text longer than the block", 5, "\x00\x01\x01\x20x" },
        { "a text that is there already", 4, "\x00\x01\x01\x00" },
        { "a function without a name", 6, "\x01\x01\x01\x0a\x00\x00" },
        { "a node that is its own parent", 5, "\x03\x01\x01\x02\x00" },
        { "a frame of no function", 5, "\x02\x01\x01\x0a\x02" },
        { "a thread of no process", 8, "\x05\x00\x01\x00\x00\x00\x00\x00" },
        { "a spot of no function", 11, "\x07\x00\x01\x14\x00\x00\x00\x00\x00\x00\x00" },
        { "a spot that called itself", 11, "\x07\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        assert_int_equal(read_block_head(CAPTURE_ROWS, blocks[i].data, blocks[i].bytes),
                         ERR_CORRUPT);
}

static void samples_that_make_no_sense_are_an_error(void **state)
{
    static const struct {
        const char *what;
        size_t bytes;
        const char *data;
    } blocks[] = {
        { "nothing at all", 0, "" },
        { "more counters than there may be", 2, "\xff\x7f" },
        /* counters, lost, places (state, node), no spots, windows ... */
        { "a place at a node that is none", 6, "\x00\x00\x01\x00\x08\x00" },
        { "a thread that is none", 18,
          "\x00\x00\x01\x00\x00\x00\x01\x00\x01\x00\x00\x01\x00\x01\x01\x00\x00\x00" },
        { "more windows than bytes", 7, "\x00\x00\x00\x00\xff\xff\x03" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        assert_int_equal(read_block_head(CAPTURE_WINDOWS, blocks[i].data, blocks[i].bytes),
                         ERR_CORRUPT);
}

static void what_is_no_capture_is_refused(void **state)
{
    struct made_capture capture;
    struct reader *reader = NULL;
    struct err err = { 0 };
    (void)state;
    made_capture_begin(&capture);
    made_file(&capture, "#!/usr/bin/python3\n", 19);
    assert_int_equal(reader_open(capture.path, &reader, &err), ERR_UNSUPPORTED);
    made_file(&capture, "", 0);
    assert_int_equal(reader_open(capture.path, &reader, &err), ERR_CORRUPT);
    assert_int_equal(reader_open("/nowhere/x.pyro", &reader, &err), ERR_SYS);
    assert_int_equal(reader_open("/dev/zero", &reader, &err), ERR_UNSUPPORTED);
    assert_int_equal(reader_open(capture.folder, &reader, &err), ERR_UNSUPPORTED);
    made_capture_free(&capture);
}

/* A few bytes that become eight megabytes of texts, again and again. */
static void tables_that_swell_meet_a_bound(void **state)
{
    struct made_capture capture;
    struct buffer raw = { 0 };
    struct reader *reader = NULL;
    struct err err = { 0 };
    static char text[60000];
    (void)state;
    made_capture_begin(&capture);
    memset(text, 'x', sizeof text);
    buffer_u8(&raw, 0);
    buffer_number(&raw, 1);
    buffer_number(&raw, 100);
    for (unsigned i = 0; i < 100; i++)
        buffer_number(&raw, sizeof text);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(text, 8, "%07u", i);
        buffer_append(&raw, text, sizeof text);
    }
    assert_ok(block_encode(CAPTURE_ROWS, &raw, &capture.file, &err), &err);
    made_file(&capture, capture.file.data, capture.file.length);
    assert_true(capture.file.length < 20000);
    assert_ok(reader_open(capture.path, &reader, &err), &err);
    assert_int_equal(reader_load(reader, 4 << 20, &err), ERR_LIMIT);
    assert_non_null(strstr(err.message, "--memory"));
    reader_close(reader);
    buffer_deinit(&raw);
    made_capture_free(&capture);
}

static void a_head_that_promises_too_much_is_refused(void **state)
{
    unsigned char head[CAPTURE_BLOCK_HEAD_BYTES];
    struct buffer bytes = { 0 };
    struct block_head out;
    (void)state;
    buffer_u32(&bytes, CAPTURE_ROWS | 1 << 8);
    buffer_u32(&bytes, CAPTURE_MAX_BLOCK_BYTES + 1);
    buffer_u32(&bytes, 10);
    buffer_u32(&bytes, 0);
    buffer_u32(&bytes, compress_crc32(bytes.data, 16));
    memcpy(head, bytes.data, sizeof head);
    assert_int_equal(block_head_decode(head, &out, NULL), ERR_CORRUPT);
    buffer_deinit(&bytes);
}

TEST_GROUP(cmocka_unit_test(a_capture_cut_at_any_byte_opens_up_to_its_last_whole_block),
           cmocka_unit_test(a_changed_byte_is_noticed_wherever_it_is),
           cmocka_unit_test(a_wrong_trailer_does_no_harm),
           cmocka_unit_test(zeros_at_the_end_are_what_a_power_cut_left),
           cmocka_unit_test(a_later_version_is_refused_and_says_so),
           cmocka_unit_test(a_piece_needs_those_before_it),
           cmocka_unit_test(a_piece_that_knows_other_places_is_an_error),
           cmocka_unit_test(kinds_of_later_versions_are_skipped_or_refused),
           cmocka_unit_test(rows_that_make_no_sense_are_an_error),
           cmocka_unit_test(samples_that_make_no_sense_are_an_error),
           cmocka_unit_test(what_is_no_capture_is_refused),
           cmocka_unit_test(tables_that_swell_meet_a_bound),
           cmocka_unit_test(a_head_that_promises_too_much_is_refused))
