/* Input: a byte that chooses the decoder, and what it reads: a request for source text, or its answer. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/source/relay_codec.h"
#include "tests/fuzz/fuzz.h"

/* A request that has been understood is encoded as it was. */
static void read_request(const uint8_t *data, size_t size)
{
    struct relay_request first, second;
    struct buffer again = { 0 };
    if (relay_request_decode(data, size, &first, NULL) != ERR_OK)
        return;
    fuzz_check(first.want < RELAY_WANTS);
    fuzz_check(first.count > 0 && first.count <= SOURCE_MAX_PLACES);
    relay_request_encode(&first, &again);
    fuzz_check(buffer_check(&again, NULL) == ERR_OK);
    fuzz_check(relay_request_decode(again.data, again.length, &second, NULL) == ERR_OK);
    fuzz_check(
        first.want == second.want && first.count == second.count &&
        memcmp(first.functions, second.functions, first.count * sizeof *first.functions) == 0);
    buffer_deinit(&again);
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
    (data[0] & 1 ? read_answer : read_request)(data + 1, size - 1);
    return 0;
}
