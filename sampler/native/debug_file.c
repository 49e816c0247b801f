#include "sampler/native/debug_file.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/compress.h"
#include "sampler/base/scoped.h"
#include "sampler/process/elf.h"
#include "sampler/process/elf_tables.h"
#include "sampler/process/file_below.h"

enum { CRC_BLOCK_BYTES = 1 << 20 };

/* The stripped file's description of the one with its symbols. */
struct wanted {
    size_t id_bytes; /* 0: the file has no build id */
    unsigned char id[ELF_MAX_BUILD_ID_BYTES];
    bool has_link;
    char link[ELF_MAX_LINK_NAME_BYTES];
    uint32_t crc;
};

static bool has_crc(struct elf *elf, uint32_t wanted)
{
    const uint64_t bytes = elf_file_bytes(elf);
    SCOPED_FREE unsigned char *block = malloc(CRC_BLOCK_BYTES);
    uint32_t crc = 0;
    if (!block || bytes > DEBUG_FILE_MAX_CRC_BYTES)
        return false;
    for (uint64_t at = 0; at < bytes;) {
        const size_t count =
            elf_has_time(elf) ? elf_read_some(elf, at, block, CRC_BLOCK_BYTES) : 0;
        if (count == 0)
            return false;
        crc = compress_crc32_add(crc, block, count);
        at += count;
    }
    return crc == wanted;
}

static bool try_path(const char *path, const struct debug_file_place *place,
                     const struct wanted *wanted, struct deadline deadline, int *fd_out,
                     struct elf **out)
{
    SCOPED_FD int fd = -1;
    struct elf *elf;
    if (file_below_open(place->root_fd, path, place->user, &fd) != FILE_BELOW_OPENED ||
        elf_open(fd, deadline, &elf, NULL))
        return false;
    /* Two files of the same build have the same id.  Only where one of them has none the CRC decides. */
    unsigned char id[ELF_MAX_BUILD_ID_BYTES];
    const size_t id_bytes = elf_build_id(elf, id);
    const bool is_wanted =
        elf_has_symbols(elf) &&
        (id_bytes && wanted->id_bytes
             ? id_bytes == wanted->id_bytes && memcmp(id, wanted->id, id_bytes) == 0
             : wanted->has_link && has_crc(elf, wanted->crc));
    if (!is_wanted) {
        elf_close(elf);
        return false;
    }
    *fd_out = scoped_take_fd(&fd);
    *out = elf;
    return true;
}

static bool try_links(const struct debug_file_place *place, const struct wanted *wanted,
                      struct deadline deadline, int *fd_out, struct elf **out)
{
    char path[PATH_MAX];
    const char *const slash = strrchr(place->path, '/');
    if (!wanted->has_link || !slash)
        return false;
    const struct {
        const char *before, *between;
    } forms[] = { { "", "/" }, { "", "/.debug/" }, { "/usr/lib/debug", "/" } };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const int length =
            snprintf(path, sizeof path, "%s%.*s%s%s", forms[i].before,
                     (int)(slash - place->path), place->path, forms[i].between, wanted->link);
        if (length > 0 && (size_t)length < sizeof path &&
            try_path(path, place, wanted, deadline, fd_out, out))
            return true;
    }
    return false;
}

bool debug_file_find(struct elf *elf, const struct debug_file_place *place,
                     struct deadline deadline, int *fd_out, struct elf **out)
{
    struct wanted wanted = { 0 };
    wanted.id_bytes = elf_build_id(elf, wanted.id);
    wanted.has_link = elf_debug_link(elf, wanted.link, &wanted.crc);
    if (wanted.id_bytes >= 2) {
        char path[PATH_MAX];
        size_t at =
            (size_t)snprintf(path, PATH_MAX, "/usr/lib/debug/.build-id/%02x/", wanted.id[0]);
        for (size_t i = 1; i < wanted.id_bytes; i++)
            at += (size_t)snprintf(path + at, PATH_MAX - at, "%02x", wanted.id[i]);
        snprintf(path + at, PATH_MAX - at, ".debug");
        if (try_path(path, place, &wanted, deadline, fd_out, out))
            return true;
    }
    return try_links(place, &wanted, deadline, fd_out, out);
}
