#define _GNU_SOURCE
#include "sampler/debug_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/base/read_at.h"
#include "sampler/base/scoped.h"
#include "sampler/native/debug_file.h"
#include "sampler/native/source_lines.h"
#include "sampler/process/elf.h"
#include "sampler/process/elf_tables.h"

bool debug_lines_are_supported(void)
{
    return source_lines_are_supported();
}

static bool has_lines(const struct elf *elf)
{
    const Elf64_Shdr *const lines = elf_section_named(elf, ".debug_line");
    return lines && lines->sh_type != SHT_NOBITS;
}

static bool is_build(const struct elf *elf, const char *build_id)
{
    unsigned char id[ELF_MAX_BUILD_ID_BYTES];
    char text[DEBUG_LINES_BUILD_ID_BYTES] = "";
    const size_t bytes = elf_build_id(elf, id);
    for (size_t i = 0; i < bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    return strcmp(text, build_id) == 0;
}

/* The library itself, or the file that was separated from it. */
static enum err_code choose_file(struct elf *elf, int library_fd,
                                 const struct debug_file_place *place, struct deadline deadline,
                                 struct debug_lines_file *out)
{
    struct elf *separate;
    uint64_t bytes = elf_file_bytes(elf);
    SCOPED_FD int fd = -1;
    if (has_lines(elf)) {
        fd = fcntl(library_fd, F_DUPFD_CLOEXEC, 0);
    } else if (debug_file_find(elf, place, deadline, &fd, &separate)) {
        const bool has = has_lines(separate);
        bytes = elf_file_bytes(separate);
        elf_close(separate);
        if (!has)
            return ERR_NOT_FOUND;
    }
    if (fd < 0)
        return ERR_NOT_FOUND;
    if (bytes > DEBUG_LINES_MAX_BYTES)
        return ERR_LIMIT;
    *out = (struct debug_lines_file){ scoped_take_fd(&fd), (size_t)bytes };
    return ERR_OK;
}

enum err_code debug_lines_open(int library_fd, int root_fd, const char *path,
                               const char *build_id, struct deadline deadline,
                               struct debug_lines_file *out)
{
    const struct debug_file_place place = { .root_fd = root_fd, .path = path };
    struct elf *elf;
    if (elf_open(library_fd, deadline, &elf, NULL))
        return ERR_GONE;
    const enum err_code rc = *build_id && !is_build(elf, build_id)
                                 ? ERR_GONE
                                 : choose_file(elf, library_fd, &place, deadline, out);
    elf_close(elf);
    return rc;
}

static enum err_code find_each(void *image, size_t bytes, const uint64_t *vaddrs, size_t count,
                               debug_lines_found *found, void *context)
{
    static struct debug_line line;
    struct source_lines *const lines = source_lines_open(image, bytes);
    if (!lines)
        return ERR_INVALID;
    bool goes_on = true;
    for (size_t i = 0; i < count && goes_on; i++) {
        const enum err_code rc =
            source_lines_find(lines, vaddrs[i], line.file, sizeof line.file, &line.line);
        goes_on = found(context, rc, &line);
    }
    source_lines_close(lines);
    return ERR_OK;
}

enum err_code debug_lines_find(const struct debug_lines_file *file, const uint64_t *vaddrs,
                               size_t count, debug_lines_found *found, void *context)
{
    if (!debug_lines_are_supported())
        return ERR_UNSUPPORTED;
    if (file->bytes == 0)
        return ERR_INVALID;
    void *const image =
        mmap(NULL, file->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image == MAP_FAILED)
        return ERR_NOMEM;
    /* A file that is mapped ends the process if it becomes shorter; so it is copied. */
    const enum err_code rc = read_at(file->fd, image, file->bytes, 0)
                                 ? find_each(image, file->bytes, vaddrs, count, found, context)
                                 : ERR_SYS;
    munmap(image, file->bytes);
    return rc;
}
