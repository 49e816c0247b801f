#define _GNU_SOURCE
#include "sampler/native/perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"
#include "sampler/process/file_below.h"

enum { MAX_DIGITS = 16 };

/* A wall clock that was set, and the granularity of times. */
static const uint64_t START_SLACK_NS = 2 * NS_PER_S;

void perf_map_deinit(struct perf_map *map)
{
    free(map->entries);
    free(map->text);
    *map = (struct perf_map){ 0 };
}

size_t perf_map_bytes(const struct perf_map *map)
{
    return map->room * sizeof *map->entries + map->text_room;
}

/* Reads digits up to a space.  NULL: there are none, or too many. */
static const char *take_number(const char *at, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    int digits = 0;
    if (end - at > 2 && at[0] == '0' && at[1] == 'x')
        at += 2;
    for (; at < end && *at != ' '; at++) {
        const char lower = (char)(*at | 0x20);
        const bool is_digit = *at >= '0' && *at <= '9';
        if ((!is_digit && (lower < 'a' || lower > 'f')) || ++digits > MAX_DIGITS)
            return NULL;
        value = value << 4 | (uint64_t)(is_digit ? *at - '0' : lower - 'a' + 10);
    }
    *out = value;
    return digits && at < end ? at + 1 : NULL;
}

/* The name takes effect with sort_names.  Code of no bytes, or of more than PERF_MAP_MAX_CODE_BYTES, and names with a
 * NUL are ignored. */
static void add_name(struct perf_map *map, uint64_t start, uint64_t bytes, const char *name,
                     size_t name_bytes)
{
    const struct perf_map_entry entry = { start, bytes, (uint32_t)map->text_bytes, map->names };
    const size_t length = name_bytes < PERF_MAP_MAX_NAME ? name_bytes : PERF_MAP_MAX_NAME;
    if (bytes == 0 || bytes > PERF_MAP_MAX_CODE_BYTES || start > UINT64_MAX - bytes ||
        name_bytes == 0 || memchr(name, '\0', name_bytes))
        return;
    if (map->count == PERF_MAP_MAX_ENTRIES ||
        !VEC_RESERVE(map->entries, map->room, map->count + 1) ||
        !VEC_RESERVE(map->text, map->text_room, map->text_bytes + length + 1)) {
        map->is_full = true;
        return;
    }
    memcpy(map->text + map->text_bytes, name, length);
    map->text[map->text_bytes + length] = '\0';
    map->text_bytes += length + 1;
    map->entries[map->count++] = entry;
    map->names++;
}

static int compare_entries(const void *a, const void *b)
{
    const struct perf_map_entry *const left = a, *const right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return (left->order < right->order) - (left->order > right->order);
}

/* `next` does not begin before `entry`. */
static bool entries_overlap(const struct perf_map_entry *entry,
                            const struct perf_map_entry *next)
{
    return next->start - entry->start < entry->bytes;
}

static void sort_names(struct perf_map *map)
{
    size_t kept = 0;
    if (map->count)
        qsort(map->entries, map->count, sizeof *map->entries, compare_entries);
    for (size_t i = 0; i < map->count; i++) {
        const struct perf_map_entry next = map->entries[i];
        while (kept && entries_overlap(&map->entries[kept - 1], &next) &&
               map->entries[kept - 1].order < next.order)
            kept--;
        if (kept == 0 || !entries_overlap(&map->entries[kept - 1], &next))
            map->entries[kept++] = next;
    }
    map->count = kept;
}

size_t perf_map_add_lines(struct perf_map *map, const char *lines, size_t bytes)
{
    const char *at = lines;
    const char *const end = lines + bytes;
    for (const char *newline; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            break;
        uint64_t start, code_bytes = 0;
        const char *name = take_number(at, newline, &start);
        name = name ? take_number(name, newline, &code_bytes) : NULL;
        if (name)
            add_name(map, start, code_bytes, name, (size_t)(newline - name));
    }
    sort_names(map);
    return (size_t)(at - lines);
}

/* "JiTD", as this machine writes numbers. */
enum { MAGIC = 0x4A695444, CODE_LOAD = 0 };

/* The header of a jitdump. */
struct dump_header {
    uint32_t magic, version, bytes, machine, padding, pid;
    uint64_t at_ns, flags;
};

struct dump_record {
    uint32_t id, bytes;
    uint64_t at_ns;
};

/* Behind it come the name, with a NUL, and the code. */
struct code_load {
    struct dump_record record;
    uint32_t pid, tid;
    uint64_t vma, start, bytes, index;
};

/* Takes the header or the record there, and returns its bytes; 0: it is not whole, or
 * nonsense. */
static size_t add_record(struct perf_map *map, const char *bytes, size_t count)
{
    struct dump_header header;
    struct dump_record record;
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
    if (record.id == CODE_LOAD) {
        struct code_load load;
        if (record.bytes > sizeof load) {
            memcpy(&load, bytes, sizeof load);
            const char *const name = bytes + sizeof load;
            const char *const end = memchr(name, '\0', record.bytes - sizeof load);
            if (end)
                add_name(map, load.start, load.bytes, name, (size_t)(end - name));
        }
    }
    return record.bytes;
}

size_t perf_map_add_records(struct perf_map *map, const char *bytes, size_t count)
{
    size_t at = 0, taken;
    while (at < count && (taken = add_record(map, bytes + at, count - at)) > 0)
        at += taken;
    sort_names(map);
    return at;
}

typedef size_t take_bytes(struct perf_map *map, const char *bytes, size_t count);

static bool update_file(struct perf_map *map, struct perf_map_file *file,
                        const struct perf_map_process *process, const char *path,
                        take_bytes *take)
{
    struct stat st;
    SCOPED_FD int fd = -1;
    if (file_below_open_plain(process->root_fd, path, &fd) != FILE_BELOW_OPENED ||
        fstat(fd, &st))
        return false;
    /* Written by this process, as far as that can be known. */
    const uint64_t changed_ns =
        (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
    if (st.st_uid != process->user || st.st_nlink != 1 || st.st_size < 0 ||
        changed_ns + START_SLACK_NS < process->started_ns)
        return false;
    const uint64_t size =
        st.st_size < PERF_MAP_MAX_BYTES ? (uint64_t)st.st_size : PERF_MAP_MAX_BYTES;
    const bool is_same = st.st_dev == file->device && st.st_ino == file->inode;
    if (file->inode && (!is_same || size < file->read_bytes)) {
        const uint64_t next_ns = map->next_ns;
        perf_map_deinit(map);
        map->next_ns = next_ns;
    }
    file->device = st.st_dev;
    file->inode = st.st_ino;
    if (size <= file->read_bytes || map->is_full)
        return false;

    /* Up to PERF_MAP_STEP_BYTES from where the last update ended. */
    const uint64_t left = size - file->read_bytes;
    const size_t wanted = left < PERF_MAP_STEP_BYTES ? (size_t)left : PERF_MAP_STEP_BYTES;
    SCOPED_FREE char *bytes = malloc(wanted);
    size_t count = 0;
    while (bytes && count < wanted) {
        const ssize_t n =
            pread(fd, bytes + count, wanted - count, (off_t)(file->read_bytes + count));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        count += (size_t)n;
    }
    const size_t used = bytes ? take(map, bytes, count) : 0;
    /* A line that is as long as a step never ends. */
    file->read_bytes += used == 0 && count == PERF_MAP_STEP_BYTES ? count : used;
    return used > 0;
}

bool perf_map_is_due(const struct perf_map *map, uint64_t now_ns)
{
    return now_ns >= map->next_ns;
}

bool perf_map_update(struct perf_map *map, const struct perf_map_process *process,
                     uint64_t now_ns)
{
    char lines[48], dump[48];
    if (!perf_map_is_due(map, now_ns))
        return false;
    map->next_ns = now_ns + PERF_MAP_INTERVAL_NS;
    snprintf(lines, sizeof lines, "/tmp/perf-%d.map", process->inner_pid);
    snprintf(dump, sizeof dump, "/tmp/jit-%d.dump", process->inner_pid);
    const bool has_lines = update_file(map, &map->lines, process, lines, perf_map_add_lines);
    const bool has_dump = update_file(map, &map->dump, process, dump, perf_map_add_records);
    return has_lines || has_dump;
}

bool perf_map_find(const struct perf_map *map, uint64_t address, struct perf_map_name *out)
{
    static const char mark[] = "py::";
    size_t past;
    LOWER_BOUND(past, map->count, map->entries[past].start <= address);
    if (past == 0)
        return false;
    const struct perf_map_entry *const entry = &map->entries[past - 1];
    if (address - entry->start >= entry->bytes)
        return false;
    const char *const name = map->text + entry->name;
    *out = (struct perf_map_name){
        .name = name, .name_bytes = strlen(name), .start = entry->start, .bytes = entry->bytes
    };
    /* "py::NAME:FILE": a name of Python has no colon. */
    if (strncmp(out->name, mark, sizeof mark - 1) == 0) {
        const char *const function = out->name + sizeof mark - 1;
        const char *const colon = strchr(function, ':');
        if (colon && colon != function) {
            out->name = function;
            out->name_bytes = (size_t)(colon - function);
            out->file = colon + 1;
        }
    }
    return true;
}
