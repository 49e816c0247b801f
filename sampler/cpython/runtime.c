#define _GNU_SOURCE
#include "sampler/cpython/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "sampler/base/idmap.h"
#include "sampler/base/scoped.h"
#include "sampler/cpython/object.h"
#include "sampler/cpython/version_text.h"
#include "sampler/target/elf.h"
#include "sampler/target/maps.h"
#include "sampler/target/permission.h"

enum { SCAN_BLOCK_BYTES = 1 << 20, COOKIE_ALIGNMENT = 8 };
/* Of all writable memory, and of one mapping of a file's data: more is a file that the program
 * writes to. */
static const uint64_t SCAN_MAX_BYTES = 4ull << 30, DATA_MAX_BYTES = 64ull << 20;

struct search {
    struct process *process;
    struct maps maps;
    struct idmap files; /* the first mapping of each, by index */
    uint64_t scanned_bytes, skipped_bytes;
    enum runtime_effort effort;
    bool has_closed_file; /* one that may hold an interpreter and cannot be opened */
    struct runtime *out;
    enum err_code refusal; /* the most telling reason so far why a place was not accepted */
    struct err *err;
};

enum err_code runtime_confirm(struct memory *memory, const struct runtime *runtime)
{
    const struct layout *const layout = &runtime->layout;
    uint64_t interp, tstate, back;
    enum err_code rc =
        memory_read_u64(memory, runtime->addr + layout->runtime_interpreters_head, &interp);
    if (!rc && interp == 0)
        rc = ERR_NOT_PYTHON;
    if (!rc)
        rc = memory_read_u64(memory, interp + layout->interp_threads_head, &tstate);
    if (!rc && tstate == 0)
        rc = ERR_NOT_PYTHON;
    if (!rc)
        rc = memory_read_u64(memory, tstate + layout->tstate_interp, &back);
    if (!rc && back != interp)
        rc = ERR_NOT_PYTHON;
    return rc;
}

/* Keeps what tells the user most: a version we cannot read says more than "not Python". */
static void refuse(struct search *search, enum err_code code, const struct err *why)
{
    if (search->refusal == ERR_UNSUPPORTED || search->refusal == ERR_PERM)
        return;
    search->refusal = code;
    if (search->err)
        *search->err = *why;
}

/* Until 3.6 there was no place where all of an interpreter is found. */
static void refuse_old(struct search *search)
{
    struct err why = { .code = ERR_OK };
    (void)!err_set(
        &why, ERR_UNSUPPORTED,
        "a Python that is older than 3.7 is not supported: CPython 3.8 to 3.15 can be "
        "read");
    refuse(search, ERR_UNSUPPORTED, &why);
}

static bool try_place(struct search *search, remote_addr addr, uint32_t version)
{
    unsigned char bytes[LAYOUT_DEBUG_OFFSETS_BYTES];
    struct memory *const memory = &search->process->memory.memory;
    struct runtime runtime = { .addr = addr };
    struct err why = { .code = ERR_OK };
    enum err_code rc = memory_read(memory, addr, bytes, sizeof bytes);
    if (rc)
        err_set(&why, rc, "its _PyRuntime at %#" PRIx64 " cannot be read: %s", addr,
                err_text(rc));
    else
        rc = layout_of_debug_offsets(bytes, sizeof bytes, &runtime.layout, &why);
    if (rc == ERR_NOT_FOUND && !version)
        version = version_text_find(memory, &search->maps, addr);
    if (rc == ERR_NOT_FOUND)
        rc = version
                 ? layout_of_version(version, &runtime.layout, &why)
                 : err_set(&why, ERR_UNSUPPORTED,
                           "a Python that does not say its version, or is older than 3.8, is "
                           "not supported: CPython 3.8 to 3.15 can be read");
    if (!rc) {
        rc = runtime_confirm(memory, &runtime);
        if (rc)
            err_set(&why, rc, "its Python interpreter has not started or is ending");
    }
    if (rc) {
        refuse(search, rc, &why);
        return false;
    }
    *search->out = runtime;
    return true;
}

static bool is_file_of(int fd, const struct mapping *mapping)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == mapping->inode;
}

/* The mapped file, as the process sees it: the mapping itself, then its path under the
 * process's root, then its executable.  -1: none of them is that file. */
static int open_mapped_file(int pid, const struct mapping *mapping)
{
    char path[PATH_MAX];
    const struct mapping *const m = mapping;
    snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
             m->end);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 &&
        snprintf(path, sizeof path, "/proc/%d/root%s", pid, m->path) < (int)sizeof path)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && is_file_of(fd, mapping))
        return fd;
    if (fd >= 0)
        close(fd);
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && is_file_of(fd, mapping))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The number behind the symbol Py_Version (3.11 and later), 0: there is none. */
static uint32_t read_version(struct search *search, struct elf *elf, uint64_t bias)
{
    struct elf_place place;
    uint64_t version;
    if (!elf_find_symbol(elf, "Py_Version", &place) ||
        memory_read_u64(&search->process->memory.memory, bias + place.vaddr, &version) ||
        version > UINT32_MAX)
        return 0;
    return (uint32_t)version;
}

/* Not a device, nor memory that has a name. */
static bool may_be_program(const struct mapping *mapping)
{
    static const char *const others[] = { "/dev/", "/memfd:", "/SYSV", "/anon_hugepage" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(mapping->path, others[i], strlen(others[i])) == 0)
            return false;
    return *mapping->path == '/';
}

static bool search_file(struct search *search, const struct mapping *mapping)
{
    struct elf *elf;
    struct elf_place place;
    uint64_t bias;
    SCOPED_FD int fd = open_mapped_file(search->process->pid, mapping);
    search->has_closed_file = search->has_closed_file || (fd < 0 && may_be_program(mapping));
    if (fd < 0 || elf_open(fd, &elf, NULL))
        return false;
    bool found = false;
    if (elf_load_bias(elf, mapping->start, mapping->offset, &bias)) {
        if (elf_find_section(elf, ".PyRuntime", &place) ||
            elf_find_symbol(elf, "_PyRuntime", &place))
            found = try_place(search, bias + place.vaddr, read_version(search, elf, bias));
        else if (search->effort == RUNTIME_THOROUGH &&
                 elf_find_symbol(elf, "Py_GetVersion", &place))
            refuse_old(search);
    }
    elf_close(elf);
    return found;
}

bool runtime_is_in_file(int pid, const struct mapping *mapping)
{
    struct elf *elf;
    struct elf_place place;
    SCOPED_FD int fd = open_mapped_file(pid, mapping);
    if (fd < 0 || elf_open(fd, &elf, NULL))
        return false;
    const bool is = elf_find_section(elf, ".PyRuntime", &place) ||
                    elf_find_symbol(elf, "_PyRuntime", &place);
    elf_close(elf);
    return is;
}

static uint32_t file_hash(const struct mapping *m)
{
    return idmap_mix(m->inode, (uint64_t)m->device_major << 32 | m->device_minor);
}

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->device_major == b->device_major &&
           a->device_minor == b->device_minor;
}

static bool is_known_file(const struct search *search, const struct mapping *m)
{
    const uint32_t hash = file_hash(m);
    uint32_t index;
    for (uint32_t slot = idmap_first(&search->files, hash);
         (index = idmap_id(&search->files, slot)) != IDMAP_NONE;
         slot = idmap_next(&search->files, slot))
        if (idmap_hash(&search->files, slot) == hash &&
            is_same_file(&search->maps.items[index], m))
            return true;
    return false;
}

/* Each file at its first mapping; libraries are mapped in several pieces. */
static bool search_files(struct search *search)
{
    for (uint32_t i = 0; i < search->maps.count; i++) {
        const struct mapping *const m = &search->maps.items[i];
        if (!m->inode || is_known_file(search, m))
            continue;
        if (idmap_add(&search->files, file_hash(m), i, NULL))
            return false;
        if (search_file(search, m))
            return true;
    }
    return false;
}

static bool scan_block(struct search *search, remote_addr addr, unsigned char *block,
                       size_t bytes)
{
    static const char cookie[] = { 'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y' };
    size_t arrived;
    const struct memory_span span = { addr, block, bytes };
    (void)!memory_readv(&search->process->memory.memory, &span, 1, &arrived);
    const unsigned char *const end = block + arrived;
    for (const unsigned char *at = block; at < end; at++) {
        at = memmem(at, (size_t)(end - at), cookie, sizeof cookie);
        if (!at)
            return false;
        const size_t offset = (size_t)(at - block);
        if (offset % COOKIE_ALIGNMENT == 0 && try_place(search, addr + offset, 0))
            return true;
    }
    return false;
}

static bool scan_mapping(struct search *search, const struct mapping *m, unsigned char *block)
{
    for (remote_addr at = m->start; at < m->end; at += SCAN_BLOCK_BYTES) {
        const uint64_t left = m->end - at;
        const size_t bytes = left < SCAN_BLOCK_BYTES ? (size_t)left : SCAN_BLOCK_BYTES;
        if (bytes > SCAN_MAX_BYTES - search->scanned_bytes) {
            search->skipped_bytes += left;
            return false;
        }
        search->scanned_bytes += bytes;
        if (scan_block(search, at, block, bytes))
            return true;
    }
    return false;
}

/* Is it the initialised data of a file or the zeroed data behind it?  *end: where data of a file
 * has ended that may go on. */
static bool is_data(const struct mapping *m, remote_addr *end)
{
    const bool is_of_file = m->inode || m->start == *end;
    if (is_of_file)
        *end = m->end;
    return is_of_file && m->readable && m->writable && m->end - m->start <= DATA_MAX_BYTES;
}

/* The last resort, for files we may not open and for stripped static ones: first where
 * interpreters have their state, then everywhere. */
static bool scan_memory(struct search *search)
{
    const bool is_quick = search->effort == RUNTIME_QUICK;
    const int passes = is_quick ? search->has_closed_file : 2;
    SCOPED_FREE unsigned char *block = malloc(SCAN_BLOCK_BYTES);
    bool found = false;
    for (int pass = 0; block && pass < passes && !found; pass++) {
        remote_addr end = 0;
        for (size_t i = 0; i < search->maps.count && !found; i++) {
            const struct mapping *const m = &search->maps.items[i];
            const bool is_first = is_data(m, &end);
            if (m->readable && m->writable && is_first == (pass == 0))
                found = scan_mapping(search, m, block);
        }
    }
    return found;
}

/* One byte of the program itself: may we read it at all? */
static enum err_code probe(struct search *search)
{
    unsigned char byte;
    for (size_t i = 0; i < search->maps.count; i++) {
        const struct mapping *const m = &search->maps.items[i];
        if (!m->readable || !m->inode)
            continue;
        return memory_read(&search->process->memory.memory, m->start, &byte, 1);
    }
    return ERR_OK;
}

static enum err_code not_found(const struct search *search)
{
    const struct process *const process = search->process;
    const uint64_t mib = 1 << 20;
    if (search->skipped_bytes == 0)
        return err_set(search->err, ERR_NOT_PYTHON, "process %d (%s) is not a Python process",
                       process->pid, process->executable);
    return err_set(search->err, ERR_NOT_PYTHON,
                   "process %d (%s) is not a Python process, as far as was searched: %" PRIu64
                   " MiB of its memory, and not the other %" PRIu64 " MiB",
                   process->pid, process->executable, search->scanned_bytes / mib,
                   search->skipped_bytes / mib);
}

static enum err_code find(struct search *search)
{
    const int pid = search->process->pid;
    struct err *const err = search->err;
    enum err_code rc = maps_read(&search->maps, pid, err);
    if (rc == ERR_PERM)
        return permission_explain(pid, err);
    if (rc)
        return rc;
    if (search->maps.count == 0)
        return err_set(err, ERR_NOT_PYTHON,
                       "process %d is not a Python process (it has no memory of its own: a "
                       "kernel thread, or it is just ending)",
                       pid);
    rc = probe(search);
    if (rc == ERR_PERM)
        return permission_explain(pid, err);
    if (search_files(search) || scan_memory(search))
        return ERR_OK;
    if (search->refusal)
        return err_wrap(err, search->refusal, "process %d", pid);
    return not_found(search);
}

enum err_code runtime_find(struct process *process, enum runtime_effort effort,
                           struct runtime *out, struct err *err)
{
    struct search search = { .process = process, .effort = effort, .out = out, .err = err };
    idmap_init(&search.files);
    const enum err_code rc = find(&search);
    idmap_deinit(&search.files);
    maps_deinit(&search.maps);
    return rc;
}
