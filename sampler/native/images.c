#include "sampler/native/images.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/vec.h"

enum {
    MAX_NEIGHBOURS = 64, /* mappings of one image; linkers make four to seven */
    MAX_SEGMENTS = 64,
};

void images_init(struct images *images, int pid)
{
    *images = (struct images){ .pid = pid };
}

static void free_items(struct image *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(items[i].path);
    free(items);
}

void images_deinit(struct images *images)
{
    free_items(images->items, images->count);
    memset(images, 0, sizeof *images);
}

struct image *images_find(const struct images *images, remote_addr addr)
{
    size_t at;
    LOWER_BOUND(at, images->count, images->items[at].end <= addr);
    return at < images->count && images->items[at].start <= addr ? &images->items[at] : NULL;
}

static bool has_same_file(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->device_major == b->device_major &&
           a->device_minor == b->device_minor;
}

/* Appends the image of a mapping; one that was there already keeps what is known about it. */
static bool append_image(struct images *images, const struct maps *maps, size_t at,
                         struct image *items, size_t *count, bool *has_changed)
{
    const struct mapping *const mapping = &maps->items[at];
    struct image image = {
        .start = mapping->start,
        .end = mapping->end,
        .offset = mapping->offset,
        .inode = mapping->inode,
        .device_major = mapping->device_major,
        .device_minor = mapping->device_minor,
        .path = mapping->path,
    };
    if (mapping->inode == 0 && strcmp(mapping->path, "[vsyscall]") == 0)
        image.state = IMAGE_OTHER;
    else if (mapping->inode == 0 && strcmp(mapping->path, "[vdso]") != 0)
        image.state = IMAGE_ANONYMOUS;

    const struct mapping *const code = &maps->items[at];
    image.low = code->start;
    image.high = code->end;
    if (code->inode != 0) {
        for (size_t i = at, steps = 0; steps < MAX_NEIGHBOURS; i--, steps++) {
            const struct mapping *const below = &maps->items[i];
            /* Between them there may be memory without a file, for example pages that were changed. */
            if (below->inode != 0 && !has_same_file(below, code))
                break;
            if (below->inode != 0)
                image.low = below->start;
            if ((below->inode != 0 && below->offset == 0) || i == 0)
                break;
        }
        for (size_t i = at + 1; i < maps->count && i - at < MAX_NEIGHBOURS; i++) {
            if (!has_same_file(&maps->items[i], code) || maps->items[i].offset == 0)
                break;
            image.high = maps->items[i].end;
        }
    }

    const struct image *const old = images_find(images, image.start);
    const bool is_old = old && old->end == image.end && old->offset == image.offset &&
                        old->inode == image.inode && old->device_major == image.device_major &&
                        old->device_minor == image.device_minor && old->low == image.low &&
                        old->high == image.high && strcmp(old->path, image.path) == 0;
    char *const path = strdup(image.path);
    if (!path)
        return false;
    if (is_old)
        image = *old;
    else
        image.id = ++images->last_id;
    *has_changed = *has_changed || !is_old;
    image.path = path;
    items[(*count)++] = image;
    return true;
}

enum err_code images_update(struct images *images, const struct maps *maps,
                            bool *has_changed_out)
{
    size_t wanted = 0, count = 0;
    bool has_changed = false;
    for (size_t i = 0; i < maps->count && wanted < IMAGES_MAX; i++)
        wanted += maps->items[i].executable;
    struct image *const items = calloc(wanted ? wanted : 1, sizeof *items);
    if (!items)
        return ERR_NOMEM;
    for (size_t i = 0; i < maps->count && count < wanted; i++)
        if (maps->items[i].executable &&
            !append_image(images, maps, i, items, &count, &has_changed)) {
            free_items(items, count);
            return ERR_NOMEM;
        }
    *has_changed_out = has_changed || count != images->count;
    free_items(images->items, images->count);
    images->items = items;
    images->count = count;
    return ERR_OK;
}

enum err_code images_refresh(struct images *images, uint64_t now_ns, bool is_wanted,
                             bool *has_changed_out)
{
    struct maps maps;
    *has_changed_out = false;
    if (images->pid == 0 || now_ns < images->next_ns ||
        (!is_wanted && images->refreshes && now_ns - images->read_ns < IMAGES_MAX_AGE_NS))
        return ERR_OK;
    const uint64_t began_ns = clock_thread_ns();
    enum err_code rc = maps_read(&maps, images->pid, NULL);
    if (!rc) {
        rc = images_update(images, &maps, has_changed_out);
        maps_deinit(&maps);
    }
    const uint64_t rest_ns = (clock_thread_ns() - began_ns) * IMAGES_COST_SHARE;
    images->next_ns =
        now_ns + (rest_ns > IMAGES_MIN_INTERVAL_NS ? rest_ns : IMAGES_MIN_INTERVAL_NS);
    images->read_ns = now_ns;
    images->refreshes++;
    return rc;
}

/* The program headers; *count_out of them. */
static enum err_code read_segments(const struct image *image, struct blocks *blocks,
                                   Elf64_Phdr segments[MAX_SEGMENTS], size_t *count_out)
{
    Elf64_Ehdr header;
    const uint64_t bytes = image->high - image->low;
    if (bytes < sizeof header)
        return ERR_CORRUPT;
    const enum err_code rc = blocks_read(blocks, image->low, &header, sizeof header);
    if (rc)
        return rc;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof *segments ||
        header.e_phnum > MAX_SEGMENTS || header.e_phoff > bytes ||
        header.e_phnum * sizeof *segments > bytes - header.e_phoff)
        return ERR_CORRUPT;
    *count_out = header.e_phnum;
    return blocks_read(blocks, image->low + header.e_phoff, segments,
                       header.e_phnum * sizeof *segments);
}

/* The bias puts the file's first page where it is mapped.  It must also explain where the code is. */
static bool find_bias(const struct image *image, const Elf64_Phdr *segments, size_t count,
                      uint64_t *bias_out)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t i = 0;
    while (i < count && (segments[i].p_type != PT_LOAD || segments[i].p_offset >= page))
        i++;
    if (i == count)
        return false;
    *bias_out = image->low - (segments[i].p_vaddr - segments[i].p_offset);
    for (i = 0; i < count; i++) {
        const uint64_t first = segments[i].p_offset - segments[i].p_offset % page;
        if (segments[i].p_type == PT_LOAD && image->offset >= first &&
            (image->offset <= segments[i].p_offset ||
             image->offset - segments[i].p_offset < segments[i].p_filesz) &&
            *bias_out + segments[i].p_vaddr - segments[i].p_offset + image->offset ==
                image->start)
            return true;
    }
    return false;
}

void images_examine(struct image *image, struct blocks *blocks)
{
    if (image->state != IMAGE_NEW)
        return;
    Elf64_Phdr segments[MAX_SEGMENTS];
    size_t count, at = 0;
    enum err_code rc = read_segments(image, blocks, segments, &count);
    if (!rc && !find_bias(image, segments, count, &image->load_bias))
        rc = ERR_CORRUPT;
    if (rc == ERR_FAULT || rc == ERR_CORRUPT)
        image->state = IMAGE_OTHER;
    if (rc)
        return;
    while (at < count && segments[at].p_type != PT_GNU_EH_FRAME)
        at++;
    if (at < count) {
        rc = cfi_open(blocks, image->low, image->high, image->load_bias + segments[at].p_vaddr,
                      segments[at].p_memsz, &image->tables);
        if (rc == ERR_LIMIT)
            return;
        image->has_tables = !rc;
    }
    image->state = IMAGE_ELF;
}

size_t images_bytes(const struct images *images)
{
    size_t bytes = images->count * sizeof *images->items;
    for (size_t i = 0; i < images->count; i++)
        bytes += strlen(images->items[i].path) + 1;
    return bytes;
}
