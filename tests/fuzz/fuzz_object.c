/* Input: a version, then the memory of the object. */
#include <string.h>

#include "sampler/base/utf8.h"
#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/object.h"
#include "tests/fuzz/any_memory.h"
#include "tests/fuzz/any_version.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct any_memory any;
    struct object_bytes bytes = { 0 };
    struct dict_entries entries;
    remote_addr found;
    if (size < 2)
        return 0;
    const struct layout layout = any_version_layout(data[0]);
    any_memory_init(&any, data + 1, size - 1);
    /* A multiple of the size, so the object begins with the input. */
    const remote_addr addr = (remote_addr)(size - 1) * 4096;
    if (!object_read_str(&any.memory, &layout, addr, &bytes)) {
        fuzz_check(bytes.count <= OBJECT_MAX_CHARACTERS * 4);
        fuzz_check(utf8_is_valid((const char *)bytes.bytes, bytes.count));
    }
    if (!object_read_bytes(&any.memory, &layout, addr, &bytes))
        fuzz_check(bytes.count <= OBJECT_MAX_BYTES);
    object_bytes_deinit(&bytes);
    any_memory_init(&any, data + 1, size - 1);
    if (!dict_read(&any.memory, &layout, addr, 0, &entries)) {
        fuzz_check(entries.count <= DICT_MAX_ENTRIES);
        dict_entries_deinit(&entries);
    }
    any_memory_init(&any, data + 1, size - 1);
    (void)!object_attribute(&any.memory, &layout, addr, "_name", &found);
    (void)object_type_is(&any.memory, &layout, addr, "code");
    return 0;
}
