/* Input: a byte that chooses the decoder, and what it reads: a wish for a source file, or its answer. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/bytes.h"
#include "server/source/relay_codec.h"
#include "tests/fuzz/fuzz.h"

static void check_equal(struct strtab_string one, struct strtab_string other)
{
    fuzz_check(one.length == other.length && memcmp(one.text, other.text, one.length) == 0);
}

/* What has been understood is sent as it is. */
static void read_wish(const uint8_t *data, size_t size)
{
    struct relay_wish first, second;
    struct bytes again = { 0 };
    if (relay_wish_decode(data, size, &first, NULL) != ERR_OK)
        return;
    fuzz_check(first.wish.path.length < PATH_MAX);
    fuzz_check(first.wish.entry_count <= SOURCE_MAX_PLACES);
    relay_wish_encode(&first.wish, first.wants_place, &again);
    fuzz_check(bytes_check(&again, NULL) == ERR_OK);
    fuzz_check(relay_wish_decode(again.data, again.count, &second, NULL) == ERR_OK);
    check_equal(first.wish.path, second.wish.path);
    check_equal(first.wish.build_id, second.wish.build_id);
    fuzz_check(first.wants_place == second.wants_place &&
               first.wish.wants_places == second.wish.wants_places &&
               first.wish.wants_checkout == second.wish.wants_checkout);
    fuzz_check(first.wish.entry_count == second.wish.entry_count &&
               memcmp(first.entries, second.entries,
                      first.wish.entry_count * sizeof *first.entries) == 0);
    bytes_deinit(&again);
}

static void read_answer(const uint8_t *data, size_t size)
{
    struct buffer text = { 0 };
    struct source_place place = { .line = 0 };
    struct err err = { 0 };
    uint64_t changed_ns = 0;
    if (relay_answer_decode(data, size, &text, &changed_ns, &place, &err) == ERR_OK)
        fuzz_check(text.length <= SOURCE_MAX_BYTES && strlen(place.path) < sizeof place.path);
    else
        fuzz_check(strlen(err.message) < sizeof err.message);
    buffer_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    (data[0] & 1 ? read_answer : read_wish)(data + 1, size - 1);
    return 0;
}
