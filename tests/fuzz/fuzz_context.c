/* Input: a version, a choice, then the memory of a mapping of variables or of a value, or what a process says of its service. */
#include <string.h>

#include "sampler/base/utf8.h"
#include "sampler/cpython/contexts/value.h"
#include "sampler/cpython/objects/hamt.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/process/service_context.h"
#include "tests/fuzz/any_memory.h"
#include "tests/fuzz/any_version.h"
#include "tests/fuzz/fuzz.h"

static const remote_addr KEY = 0x1000;

static void read_mapping(struct any_memory *any, const struct layout *layout, remote_addr addr)
{
    static struct hamt_pair pairs[HAMT_MAX_PAIRS];
    /* The types are known: all that such an input needs is the form of nodes. */
    struct hamt_types types = { 0 };
    struct hamt map = { addr, 0 };
    remote_addr found = 0;
    size_t count = 0;
    memcpy(&types.bitmap, any->data,
           any->size < sizeof types.bitmap ? any->size : sizeof types.bitmap);
    types.array = types.bitmap + 1;
    types.collision = types.bitmap + 2;
    (void)!hamt_open(&any->memory, layout, &types, addr, &map);
    if (hamt_list(&any->memory, layout, &types, map.root, pairs, HAMT_MAX_PAIRS, &count) ==
        ERR_OK)
        fuzz_check(count <= HAMT_MAX_PAIRS);
    (void)!hamt_find(&any->memory, layout, &types, map.root, KEY, KEY, &found);
}

static void read_value(struct any_memory *any, const struct layout *layout, remote_addr addr)
{
    struct object_bytes scratch = { 0 };
    char text[VALUE_MAX_TEXT];
    if (value_read(&any->memory, layout, addr, &scratch, text) == ERR_OK)
        fuzz_check(memchr(text, '\0', sizeof text) && utf8_is_valid(text, strlen(text)));
    if (value_read_span(&any->memory, layout, addr, &scratch, text) == ERR_OK)
        fuzz_check(strlen(text) == 32 + 1 + 16);
    object_bytes_deinit(&scratch);
}

static void read_service(struct any_memory *any, const struct layout *layout, remote_addr addr)
{
    struct service service = { 0 };
    (void)layout;
    service_parse_context(any->data, any->size, &service);
    service_read_header(&any->memory, addr, &service);
    fuzz_check(memchr(service.name, '\0', sizeof service.name) &&
               memchr(service.version, '\0', sizeof service.version));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(struct any_memory * any, const struct layout *layout,
                                   remote_addr addr) = { read_mapping, read_value,
                                                         read_service };
    struct any_memory any;
    if (size < 3)
        return 0;
    const struct layout layout = any_version_layout(data[0]);
    any_memory_init(&any, data + 2, size - 2);
    /* A multiple of the size, so what is read begins with the input. */
    readers[data[1] % (sizeof readers / sizeof *readers)](&any, &layout,
                                                          (remote_addr)(size - 2) * 4096);
    return 0;
}
