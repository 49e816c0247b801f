#include "sampler/process/core_segments.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/read_at.h"
#include "sampler/base/vec.h"

#if defined __aarch64__
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_X86_64 };
#endif

static enum err_code check_header(const Elf64_Ehdr *header, const char *name, struct err *err)
{
    static const char *const kinds[] = { [ET_REL] = "an object file",
                                         [ET_EXEC] = "a program",
                                         [ET_DYN] = "a program or a library" };
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, ERR_INVALID,
                       "%s is not a core file: name one that the kernel, gcore or "
                       "systemd-coredump has written",
                       name);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return err_set(err, ERR_INVALID,
                       "%s is of a 32-bit or big-endian program: only 64-bit little-endian "
                       "ones can be read",
                       name);
    if (header->e_type != ET_CORE)
        return err_set(err, ERR_INVALID,
                       "%s is not a core file but %s: name the core, and "
                       "the program with --executable",
                       name,
                       header->e_type >= ET_REL && header->e_type <= ET_DYN
                           ? kinds[header->e_type]
                           : "another ELF file");
    if (header->e_machine != OUR_MACHINE)
        return err_set(err, ERR_INVALID,
                       "%s is of a processor of %s: read it on such a machine", name,
                       header->e_machine == EM_X86_64    ? "x86-64"
                       : header->e_machine == EM_AARCH64 ? "aarch64"
                                                         : "another kind");
    return ERR_OK;
}

static enum err_code refuse_cut(const char *name, struct err *err)
{
    return err_set(err, ERR_CORRUPT,
                   "%s is truncated before its list of threads: nothing can be read from it "
                   "(was the disk full, or its size limited by ulimit -c?)",
                   name);
}

/* The first section has the number where it is too large for the header. */
static enum err_code count_segments(const struct core_segments *segments,
                                    const Elf64_Ehdr *header, const char *name, uint64_t *out,
                                    struct err *err)
{
    Elf64_Shdr section;
    *out = header->e_phnum;
    if (header->e_phnum == PN_XNUM) {
        if (!read_at(segments->fd, &section, sizeof section, header->e_shoff))
            return refuse_cut(name, err);
        *out = section.sh_info;
    }
    if (*out > CORE_MAX_SEGMENTS)
        return err_set(err, ERR_LIMIT, "%s has %" PRIu64 " segments: at most %d can be read",
                       name, *out, CORE_MAX_SEGMENTS);
    if (header->e_phentsize != sizeof(Elf64_Phdr))
        return err_set(err, ERR_CORRUPT, "%s makes no sense: its table of segments is damaged",
                       name);
    if (header->e_phoff > segments->bytes ||
        *out > (segments->bytes - header->e_phoff) / sizeof(Elf64_Phdr))
        return refuse_cut(name, err);
    return ERR_OK;
}

static void add_segment(struct core_segments *segments, const Elf64_Phdr *segment)
{
    const uint64_t at = segment->p_offset, bytes = segment->p_filesz;
    if (!segment->p_memsz || segment->p_vaddr > UINT64_MAX - segment->p_memsz ||
        at > INT64_MAX || bytes > INT64_MAX - at)
        return;
    const uint64_t there = at >= segments->bytes ? 0 : segments->bytes - at;
    if (at + bytes > segments->bytes && at + bytes - segments->bytes > segments->cut_bytes)
        segments->cut_bytes = at + bytes - segments->bytes;
    const uint64_t present = bytes < there ? bytes : there;
    segments->items[segments->count++] = (struct core_segment){
        .start = segment->p_vaddr,
        .end = segment->p_vaddr + segment->p_memsz,
        .file_offset = at,
        .file_bytes = present < segment->p_memsz ? present : segment->p_memsz,
        .flags = segment->p_flags,
    };
}

static int by_start(const void *a, const void *b)
{
    const struct core_segment *const x = a, *const y = b;
    return (x->start > y->start) - (x->start < y->start);
}

enum err_code core_segments_read(struct core_segments *segments, struct core_notes *notes,
                                 int fd, const char *name, struct err *err)
{
    Elf64_Ehdr header = { .e_ident = { 0 } };
    struct stat st;
    *segments = (struct core_segments){ .fd = fd };
    if (fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot read %s", name);
    segments->bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
    if (pread(fd, &header, sizeof header, 0) < (ssize_t)sizeof header &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
        return refuse_cut(name, err);
    enum err_code rc = check_header(&header, name, err);
    if (rc)
        return rc;

    uint64_t count;
    rc = count_segments(segments, &header, name, &count, err);
    if (rc)
        return rc;
    segments->items = calloc((size_t)count + 1, sizeof *segments->items);
    if (!segments->items)
        return err_nomem(err);
    for (uint64_t i = 0; i < count && !rc; i++) {
        Elf64_Phdr segment;
        if (!read_at(segments->fd, &segment, sizeof segment,
                     header.e_phoff + i * sizeof segment))
            return refuse_cut(name, err);
        if (segment.p_type == PT_LOAD)
            add_segment(segments, &segment);
        else if (segment.p_type == PT_NOTE && segment.p_offset <= UINT64_MAX - segment.p_filesz)
            rc = core_notes_read(notes, segments->fd, segment.p_offset, segment.p_filesz,
                                 segments->bytes);
    }
    if (rc)
        return err_nomem(err);
    /* Overlapping segments make no sense: the first one counts. */
    size_t kept = 0;
    qsort(segments->items, segments->count, sizeof *segments->items, by_start);
    for (size_t i = 0; i < segments->count; i++)
        if (!kept || segments->items[kept - 1].end <= segments->items[i].start)
            segments->items[kept++] = segments->items[i];
    segments->count = kept;
    core_notes_sort(notes);
    if (notes->thread_count)
        return ERR_OK;
    return notes->is_cut
               ? refuse_cut(name, err)
               : err_set(err, ERR_CORRUPT,
                         "%s lists no threads: it is not the core of a process", name);
}

void core_segments_deinit(struct core_segments *segments)
{
    free(segments->items);
    *segments = (struct core_segments){ .fd = -1 };
}

const struct core_segment *core_segments_find(const struct core_segments *segments,
                                              remote_addr addr)
{
    size_t at;
    LOWER_BOUND(at, segments->count, segments->items[at].end <= addr);
    return at < segments->count && segments->items[at].start <= addr ? &segments->items[at]
                                                                     : NULL;
}

size_t core_segments_copy(const struct core_segments *segments, remote_addr addr, void *out,
                          size_t bytes)
{
    const struct core_segment *const segment = core_segments_find(segments, addr);
    const uint64_t at = segment ? addr - segment->start : 0;
    if (!segment || at >= segment->file_bytes)
        return 0;
    const uint64_t left = segment->file_bytes - at;
    const size_t wanted = left < bytes ? (size_t)left : bytes;
    return read_at(segments->fd, out, wanted, segment->file_offset + at) ? wanted : 0;
}
