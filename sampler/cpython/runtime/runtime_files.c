#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "sampler/base/hash.h"
#include "sampler/cpython/runtime/runtime_search.h"
#include "sampler/process/dynamic_symbols.h"
#include "sampler/process/elf.h"
#include "sampler/process/mapped_file.h"

/* Time limits for a file, in a quick and in a thorough search.  A gigabyte of symbols that is not cached
 * takes some seconds. */
static const uint64_t QUICK_FILE_NS = NS_PER_S, THOROUGH_FILE_NS = 20 * NS_PER_S,
                      SECTION_NS = 2 * NS_PER_S;

static uint64_t file_ns(enum runtime_effort effort)
{
    return runtime_is_quick(effort) ? QUICK_FILE_NS : THOROUGH_FILE_NS;
}

/* The value of the symbol Py_Version (3.11 and later); 0: none. */
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

/* Excludes devices and named memory. */
static bool may_be_program(const struct mapping *mapping)
{
    static const char *const others[] = { "/dev/", "/memfd:", "/SYSV", "/anon_hugepage" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(mapping->path, others[i], strlen(others[i])) == 0)
            return false;
    return *mapping->path == '/';
}

struct opened {
    int fd;
    struct elf *elf;
};

/* OPENED with a NULL elf: the file is not an ELF file. */
static enum mapped_file open_elf(int pid, const struct mapping *mapping,
                                 const struct deadline *deadline, uint64_t file_ns,
                                 struct opened *out)
{
    const enum mapped_file state = mapped_file_open(pid, mapping, &out->fd);
    if (state != MAPPED_FILE_OPENED)
        return state;
    if (!elf_open(out->fd, deadline_within(deadline, file_ns), &out->elf, NULL))
        return state;
    close(out->fd);
    *out = (struct opened){ .fd = -1, .elf = NULL };
    return MAPPED_FILE_OPENED;
}

static void close_elf(const struct opened *opened)
{
    elf_close(opened->elf);
    if (opened->fd >= 0)
        close(opened->fd);
}

static bool search_file(struct search *search, const struct mapping *mapping)
{
    struct opened opened = { .fd = -1, .elf = NULL };
    struct elf_place place;
    uint64_t bias;
    const enum mapped_file state = open_elf(search->process->pid, mapping, &search->deadline,
                                            file_ns(search->effort), &opened);
    struct elf *const elf = opened.elf;
    search->has_closed_file =
        search->has_closed_file || (state != MAPPED_FILE_OPENED && may_be_program(mapping));
    if (!elf)
        return false;
    bool found = false;
    if (elf_load_bias(elf, mapping->start, mapping->offset, &bias)) {
        const bool is_section = elf_find_section(elf, ".PyRuntime", &place);
        if (is_section || elf_find_symbol(elf, "_PyRuntime", &place))
            found =
                runtime_try_place(search, bias + place.vaddr, read_version(search, elf, bias),
                                  is_section ? RUNTIME_BY_SECTION : RUNTIME_BY_SYMBOL);
        else if (search->effort != RUNTIME_QUICK &&
                 elf_find_symbol(elf, "rpython_startup_code", &place)) {
            /* PyPy has some symbols of CPython, but not its interpreter. */
            struct err why = { .code = ERR_OK };
            (void)!err_set(&why, ERR_UNSUPPORTED,
                           "PyPy is not supported: CPython 3.8 to 3.15 can be read");
            runtime_refuse(search, ERR_UNSUPPORTED, &why);
        } else if (search->effort != RUNTIME_QUICK &&
                   elf_find_symbol(elf, "Py_GetVersion", &place)) {
            /* Python 3.6 and older have no _PyRuntime. */
            struct err why = { .code = ERR_OK };
            (void)!err_set(
                &why, ERR_UNSUPPORTED,
                "a Python that is older than 3.7 is not supported: CPython 3.8 to 3.15 can be "
                "read");
            runtime_refuse(search, ERR_UNSUPPORTED, &why);
        } else if (mapping->inode == search->program_inode)
            search->has_hidden_file = !elf_has_symbols(elf);
    }
    search->is_unfinished = search->is_unfinished || elf_is_unfinished(elf);
    close_elf(&opened);
    return found;
}

enum runtime_presence runtime_in_file(int pid, const struct mapping *mapping,
                                      const struct deadline *deadline)
{
    struct opened opened = { .fd = -1, .elf = NULL };
    struct elf_place place;
    const enum mapped_file state =
        open_elf(pid, mapping, deadline, file_ns(RUNTIME_QUICK), &opened);
    if (state == MAPPED_FILE_BUSY)
        return RUNTIME_UNKNOWN;
    if (!opened.elf)
        return state == MAPPED_FILE_REFUSED && may_be_program(mapping) &&
                       mapping->inode == mapped_file_program_inode(pid)
                   ? RUNTIME_HIDDEN
                   : RUNTIME_ABSENT;
    enum runtime_presence presence = RUNTIME_ABSENT;
    if (elf_find_section(opened.elf, ".PyRuntime", &place) ||
        elf_find_symbol(opened.elf, "_PyRuntime", &place))
        presence = RUNTIME_PRESENT;
    else if (elf_is_unfinished(opened.elf))
        presence = RUNTIME_UNKNOWN;
    else if (mapping->inode == mapped_file_program_inode(pid) && !elf_has_symbols(opened.elf))
        presence = RUNTIME_HIDDEN;
    close_elf(&opened);
    return presence;
}

static bool find_section(int pid, const struct mapping *mapping, const char *name,
                         const struct deadline *deadline, remote_addr *out)
{
    struct opened opened = { .fd = -1, .elf = NULL };
    struct elf_place place;
    uint64_t bias;
    (void)open_elf(pid, mapping, deadline, file_ns(RUNTIME_QUICK), &opened);
    const bool is = opened.elf && elf_find_section(opened.elf, name, &place) &&
                    elf_load_bias(opened.elf, mapping->start, mapping->offset, &bias);
    if (is)
        *out = bias + place.vaddr;
    close_elf(&opened);
    return is;
}

static bool is_begin_of_file(const struct maps *maps, size_t index)
{
    return maps->items[index].inode &&
           (index == 0 || maps->items[index - 1].inode != maps->items[index].inode);
}

enum err_code runtime_find_section(int pid, const char *name, remote_addr *out)
{
    const struct deadline deadline = deadline_after(SECTION_NS);
    struct maps maps;
    enum err_code rc = maps_read(&maps, pid, NULL);
    if (rc)
        return rc;
    rc = ERR_NOT_FOUND;
    for (size_t i = 0; i < maps.count && rc && !deadline_is_over(&deadline); i++)
        if (is_begin_of_file(&maps, i) &&
            find_section(pid, &maps.items[i], name, &deadline, out))
            rc = ERR_OK;
    maps_deinit(&maps);
    return rc;
}

static uint32_t file_hash(const struct mapping *m)
{
    return hash_mix(m->inode, (uint64_t)m->device_major << 32 | m->device_minor);
}

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->device_major == b->device_major &&
           a->device_minor == b->device_minor;
}

bool runtime_search_files(struct search *search)
{
    for (uint32_t i = 0; i < search->maps.count; i++) {
        const struct mapping *const m = &search->maps.items[i];
        struct idmap_slot *at;
        if (!m->inode)
            continue;
        IDMAP_FIND(at, &search->files, file_hash(m),
                   is_same_file(&search->maps.items[at->id], m));
        if (at)
            continue;
        if (runtime_is_out_of_time(search))
            return false;
        if (idmap_add(&search->files, file_hash(m), i, NULL))
            return false;
        if (search_file(search, m))
            return true;
    }
    return false;
}

void runtime_search_exports(struct search *search)
{
    struct memory *const memory = &search->process->memory.memory;
    for (size_t i = 0; i < search->maps.count && !runtime_is_out_of_time(search); i++) {
        const struct mapping *const m = &search->maps.items[i];
        struct dynamic_symbols symbols;
        Elf64_Sym runtime, version;
        uint32_t number = 0;
        if (!m->inode || m->offset || !m->readable ||
            dynamic_symbols_open_file(memory, m->start, &symbols) ||
            dynamic_symbols_find(memory, &symbols, "_PyRuntime", &runtime))
            continue;
        if (dynamic_symbols_find(memory, &symbols, "Py_Version", &version) ||
            memory_read(memory, symbols.bias + version.st_value, &number, sizeof number))
            number = 0;
        (void)runtime_try_place(search, symbols.bias + runtime.st_value, number,
                                RUNTIME_BY_SYMBOL);
    }
}
