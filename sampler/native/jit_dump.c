#include "sampler/native/jit_dump.h"

#include <stdint.h>
#include <string.h>

#include "sampler/native/perf_map.h"

/* "JiTD", as this machine writes numbers. */
enum { MAGIC = 0x4A695444, CODE_LOAD = 0 };

struct header {
    uint32_t magic, version, bytes, machine, padding, pid;
    uint64_t at_ns, flags;
};

struct record {
    uint32_t id, bytes;
    uint64_t at_ns;
};

/* Behind it come the name, with a NUL, and the code. */
struct code_load {
    struct record record;
    uint32_t pid, tid;
    uint64_t vma, start, bytes, index;
};

static void take_code(struct perf_map *map, const char *bytes, size_t count)
{
    struct code_load load;
    if (count <= sizeof load)
        return;
    memcpy(&load, bytes, sizeof load);
    const char *const name = bytes + sizeof load;
    const char *const end = memchr(name, '\0', count - sizeof load);
    if (end)
        perf_map_add(map, load.start, load.bytes, name, (size_t)(end - name));
}

/* Takes the header or the record there, and returns its bytes; 0: it is not whole, or
 * nonsense. */
static size_t take_one(struct perf_map *map, const char *bytes, size_t count)
{
    struct header header;
    struct record record;
    if (count >= sizeof header) {
        memcpy(&header, bytes, sizeof header);
        if (header.magic == MAGIC)
            return header.bytes >= sizeof header && header.bytes <= count ? header.bytes : 0;
    }
    if (count < sizeof record)
        return 0;
    memcpy(&record, bytes, sizeof record);
    if (record.bytes < sizeof record || record.bytes > count)
        return 0;
    if (record.id == CODE_LOAD)
        take_code(map, bytes, record.bytes);
    return record.bytes;
}

size_t jit_dump_take(struct perf_map *map, const char *bytes, size_t count)
{
    size_t at = 0, taken;
    while (at < count && (taken = take_one(map, bytes + at, count - at)) > 0)
        at += taken;
    perf_map_sort(map);
    return at;
}
