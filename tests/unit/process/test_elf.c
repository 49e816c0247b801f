#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/process/elf.h"
#include "sampler/process/maps.h"
#include "tests/support/test.h"
#include "tests/unit/process/elf_file.h"

/* The test finds it in its own symbol table. */
uint64_t pyrometer_test_landmark = 1;
__attribute__((section(".pyrometer"))) uint64_t pyrometer_test_section = 2;

int pyrometer_test_code(void);
__attribute__((noinline, used)) int pyrometer_test_code(void)
{
    return (int)pyrometer_test_landmark;
}

static const struct deadline never = { .at_ns = UINT64_MAX };

static struct elf *open_self(int *fd)
{
    struct elf *elf;
    struct err err = { 0 };
    *fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(*fd >= 0);
    assert_ok(elf_open(*fd, never, &elf, &err), &err);
    return elf;
}

/* The lowest mapping of the file that is mapped at `there`. */
static const struct mapping *first_mapping(const struct maps *maps, const void *there)
{
    const struct mapping *const m = maps_find(maps, (remote_addr)(uintptr_t)there);
    assert_non_null(m);
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *const first = &maps->items[i];
        if (first->inode == m->inode && first->device_major == m->device_major &&
            first->device_minor == m->device_minor)
            return first;
    }
    fail();
    return NULL;
}

static uint64_t own_bias(struct elf *elf, const void *there)
{
    struct maps maps;
    uint64_t bias;
    assert_int_equal(maps_read(&maps, getpid(), NULL), ERR_OK);
    const struct mapping *const m = first_mapping(&maps, there);
    assert_true(elf_load_bias(elf, m->start, m->offset, &bias));
    maps_deinit(&maps);
    return bias;
}

static void a_symbol_leads_to_its_variable(void **state)
{
    struct elf_place place;
    int fd;
    (void)state;
    struct elf *const elf = open_self(&fd);
    assert_true(elf_find_symbol(elf, "pyrometer_test_landmark", &place));
    /* A sanitizer may add some behind it. */
    assert_in_range(place.bytes, sizeof pyrometer_test_landmark,
                    PYROMETER_IS_SANITIZED ? SIZE_MAX : sizeof pyrometer_test_landmark);
    assert_int_equal(own_bias(elf, &pyrometer_test_landmark) + place.vaddr,
                     (uintptr_t)&pyrometer_test_landmark);
    elf_close(elf);
    close(fd);
}

static void a_section_leads_to_its_memory(void **state)
{
    struct elf_place place;
    int fd;
    (void)state;
    struct elf *const elf = open_self(&fd);
    assert_true(elf_find_section(elf, ".pyrometer", &place));
    const uint64_t at = own_bias(elf, &pyrometer_test_section) + place.vaddr;
    assert_true((uintptr_t)&pyrometer_test_section >= at);
    assert_true((uintptr_t)&pyrometer_test_section < at + place.bytes);
    elf_close(elf);
    close(fd);
}

static void the_first_mapping_gives_the_bias_of_code_and_of_data(void **state)
{
    struct elf_place code, data;
    int fd;
    (void)state;
    struct elf *const elf = open_self(&fd);
    assert_true(elf_find_symbol(elf, "pyrometer_test_code", &code));
    assert_true(elf_find_symbol(elf, "pyrometer_test_landmark", &data));
    assert_int_equal(own_bias(elf, &pyrometer_test_landmark) + code.vaddr,
                     (uintptr_t)pyrometer_test_code);
    assert_int_equal(own_bias(elf, &pyrometer_test_landmark) + data.vaddr,
                     (uintptr_t)&pyrometer_test_landmark);
    elf_close(elf);
    close(fd);
}

static void an_absent_name_is_not_found(void **state)
{
    struct elf_place place = { 7, 7 };
    uint64_t bias = 7;
    int fd;
    (void)state;
    struct elf *const elf = open_self(&fd);
    assert_false(elf_find_section(elf, ".PyRuntime", &place));
    assert_false(elf_find_symbol(elf, "_PyRuntime", &place));
    assert_false(elf_load_bias(elf, 0x1000, UINT64_MAX - 4095, &bias));
    assert_int_equal(place.vaddr, 7);
    assert_int_equal(bias, 7);
    elf_close(elf);
    close(fd);
}

/* An ELF file of these segments and nothing else. */
static struct elf *elf_of(const Elf64_Phdr *segments, size_t count, int *fd_out)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segments[8];
    } file = { .header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                        ELFDATA2LSB, EV_CURRENT },
                           .e_type = ET_DYN,
                           .e_version = EV_CURRENT,
                           .e_phoff = sizeof(Elf64_Ehdr),
                           .e_ehsize = sizeof(Elf64_Ehdr),
                           .e_phentsize = sizeof(Elf64_Phdr),
                           .e_phnum = (Elf64_Half)count } };
    struct elf *elf;
    struct err err = { 0 };
    assert_true(count <= sizeof file.segments / sizeof *file.segments);
    memcpy(file.segments, segments, count * sizeof *segments);
    *fd_out = elf_file(&file, sizeof file);
    assert_ok(elf_open(*fd_out, never, &elf, &err), &err);
    return elf;
}

#define LOAD(offset, vaddr, bytes)                                                        \
    {                                                                                     \
        .p_type = PT_LOAD, .p_offset = (offset), .p_vaddr = (vaddr), .p_filesz = (bytes), \
        .p_memsz = (bytes), .p_align = 0x1000,                                            \
    }

/* Linkers lay out a short read-only segment before RELRO data like this. */
static const Elf64_Phdr sharing[] = {
    LOAD(0, 0, 0x600), LOAD(0x1000, 0x1000, 0x1800),
    LOAD(0x3000, 0x3000, 0x200),  /* its only page in the file is ... */
    LOAD(0x3200, 0x4200, 0x2000), /* ... the first of this one */
};

static void the_first_mapping_gives_the_bias_when_two_segments_share_a_page(void **state)
{
    uint64_t bias = 0;
    int fd;
    (void)state;
    struct elf *const elf = elf_of(sharing, sizeof sharing / sizeof *sharing, &fd);
    assert_true(elf_load_bias(elf, 0x7f0000000000, 0, &bias));
    assert_int_equal(bias, 0x7f0000000000);
    elf_close(elf);
    close(fd);
}

/* The lowest segment is the one with the lowest address, wherever it is in the table, also if it
 * shares a page with another. */
static void the_first_mapping_is_the_lowest_segments(void **state)
{
    static const Elf64_Phdr segments[] = {
        LOAD(0x800, 0x403800, 0x400),
        LOAD(0, 0x400000, 0x700),
        { .p_type = PT_NOTE, .p_vaddr = 0x1000, .p_filesz = 0x100 },
        LOAD(0x900, 0x3000, 0), /* holds no bytes of the file */
    };
    uint64_t bias = 7;
    int fd;
    (void)state;
    struct elf *const elf = elf_of(segments, sizeof segments / sizeof *segments, &fd);
    assert_true(elf_load_bias(elf, 0x400000, 0, &bias));
    assert_int_equal(bias, 0);
    elf_close(elf);
    close(fd);
}

/* After a program has replaced its lowest segments, the lowest mapping shows another segment. */
static void without_its_lowest_segment_a_page_of_one_segment_gives_the_bias(void **state)
{
    uint64_t bias = 0;
    int fd;
    (void)state;
    struct elf *const elf = elf_of(sharing, sizeof sharing / sizeof *sharing, &fd);
    assert_true(elf_load_bias(elf, 0x50002000, 0x2000, &bias));
    assert_int_equal(bias, 0x50000000);
    assert_true(elf_load_bias(elf, 0x50005000, 0x4000, &bias));
    assert_int_equal(bias, 0x50000000);
    bias = 7;
    assert_false(elf_load_bias(elf, 0x50004000, 0x3000, &bias));
    assert_false(elf_load_bias(elf, 0x50009000, 0x6000, &bias));
    assert_int_equal(bias, 7);
    elf_close(elf);
    close(fd);
}

static void a_file_without_segments_has_no_bias(void **state)
{
    uint64_t bias = 7;
    int fd;
    (void)state;
    struct elf *const elf = elf_of(sharing, 0, &fd);
    assert_false(elf_load_bias(elf, 0x10000, 0, &bias));
    assert_int_equal(bias, 7);
    elf_close(elf);
    close(fd);
}

TEST_GROUP(cmocka_unit_test(a_symbol_leads_to_its_variable),
           cmocka_unit_test(a_section_leads_to_its_memory),
           cmocka_unit_test(the_first_mapping_gives_the_bias_of_code_and_of_data),
           cmocka_unit_test(the_first_mapping_gives_the_bias_when_two_segments_share_a_page),
           cmocka_unit_test(the_first_mapping_is_the_lowest_segments),
           cmocka_unit_test(without_its_lowest_segment_a_page_of_one_segment_gives_the_bias),
           cmocka_unit_test(a_file_without_segments_has_no_bias),
           cmocka_unit_test(an_absent_name_is_not_found))
