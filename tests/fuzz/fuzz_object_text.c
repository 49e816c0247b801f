/* Input: a version, then the memory of an object.  Types are at fixed addresses: the number of their kind, in pages, from TYPES on. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/utf8.h"
#include "sampler/cpython/locals/object_text.h"
#include "sampler/cpython/objects/object.h"
#include "tests/fuzz/any_memory.h"
#include "tests/fuzz/any_version.h"
#include "tests/fuzz/fuzz.h"

enum { TYPE_BYTES = 4096, NAME_AT = 1024, MAX_OBJECTS = 500, MAX_TEXT = 8 << 10 };

static const remote_addr TYPES = UINT64_C(0x70000000);
static const char *const names[] = { "object",
#define X(kind, name) name,
                                     OBJECT_KINDS(X)
#undef X
};
enum { TYPES_COUNT = sizeof names / sizeof *names };

/* The memory of the input, with the types in it. */
struct typed_memory {
    struct memory memory;
    struct any_memory any;
    const struct layout *layout;
};

static enum err_code read_typed(struct memory *memory, const struct memory_span *spans,
                                size_t count, size_t *bytes_out)
{
    struct typed_memory *const typed = (struct typed_memory *)memory;
    *bytes_out = 0;
    for (size_t i = 0; i < count; i++) {
        const remote_addr number = (spans[i].addr - TYPES) / TYPE_BYTES;
        unsigned char type[TYPE_BYTES] = { 0 };
        size_t arrived = spans[i].bytes;
        enum err_code rc = ERR_OK;
        if (spans[i].addr >= TYPES && number < TYPES_COUNT) {
            const size_t at = (size_t)(spans[i].addr - TYPES) % TYPE_BYTES;
            const uint64_t name = TYPES + number * TYPE_BYTES + NAME_AT;
            if (spans[i].bytes > TYPE_BYTES - at)
                return ERR_FAULT;
            memcpy(type + typed->layout->type_name, &name, sizeof name);
            memcpy(type + NAME_AT, names[number], strlen(names[number]));
            memcpy(spans[i].buffer, type + at, spans[i].bytes);
        } else {
            rc = memory_readv(&typed->any.memory, &spans[i], 1, &arrived);
        }
        *bytes_out += arrived;
        if (rc)
            return rc;
    }
    return ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct object_texts texts;
    struct typed_memory typed = { .memory = { .readv = read_typed } };
    struct buffer out = { 0 };
    if (size < 2)
        return 0;
    const struct layout layout = any_version_layout(data[0]);
    any_memory_init(&typed.any, data + 1, size - 1);
    typed.layout = &layout;
    object_texts_init(&texts, &typed.memory, &layout);
    object_texts_begin(&texts, MAX_OBJECTS, 0);
    /* A multiple of the size, so the object begins with the input. */
    object_texts_put(&texts, (remote_addr)(size - 1) * 4096, &out);
    fuzz_check(!out.failed && out.length > 0 && out.length < MAX_TEXT);
    fuzz_check(utf8_is_valid(out.data, out.length));
    for (size_t at = 0; at < out.length;) {
        const size_t bytes = utf8_char_length(out.data + at, out.length - at);
        fuzz_check(plain_text_shows(utf8_decode(out.data + at, bytes)));
        at += bytes;
    }
    buffer_deinit(&out);
    return 0;
}
