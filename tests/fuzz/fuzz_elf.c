/* Input: an ELF file. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/native/symbols.h"
#include "sampler/process/elf.h"
#include "tests/fuzz/fuzz.h"

/* A file that takes longer to read is a finding. */
static const uint64_t MOST_NS = NS_PER_S;

static int file_of(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) != (ssize_t)size) {
        close(fd);
        return -1;
    }
    return fd;
}

static void search_everywhere(struct elf *elf)
{
    static const char *const symbols[] = { "_PyRuntime", "Py_Version", "x" };
    static const uint64_t offsets[] = { 0, 0x1000, 0x3000, UINT64_MAX - 0xfff };
    struct elf_place place, again;
    uint64_t bias;
    (void)elf_find_section(elf, ".PyRuntime", &place);
    (void)elf_has_symbols(elf);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (elf_find_symbol(elf, symbols[i], &place)) {
            fuzz_check(elf_find_symbol(elf, symbols[i], &again) || elf_is_unfinished(elf));
            fuzz_check(elf_is_unfinished(elf) || place.vaddr == again.vaddr);
        }
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        (void)elf_load_bias(elf, 0x10000, offsets[i], &bias);
}

/* Functions and their names. */
static void load_symbols(struct elf *elf)
{
    const struct symbols_options options = { .deadline = deadline_after(MOST_NS) };
    struct symbols *symbols;
    struct symbol symbol;
    char name[SYMBOL_NAME_BYTES];
    if (symbols_load(elf, &options, &symbols, NULL))
        return;
    for (uint32_t id = 0; id < symbols_count(symbols); id++) {
        const struct symbol at = symbols_at(symbols, id);
        fuzz_check(at.bytes == 0 || symbols_find(symbols, at.vaddr, &symbol));
        fuzz_check(symbols_name(symbols, id, name) == strlen(name));
    }
    symbols_destroy(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf *elf;
    const int fd = file_of(data, size);
    if (fd < 0)
        return 0;
    if (!elf_open(fd, deadline_after(MOST_NS), &elf, NULL)) {
        search_everywhere(elf);
        load_symbols(elf);
        elf_close(elf);
    }
    close(fd);
    return 0;
}
