#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/native/images.h"
#include "tests/support/fake_memory.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_image.h"

enum { A = 0x10000, B = 0x20000 };

static bool update(struct images *images, const char *text)
{
    struct maps maps;
    struct err err = { 0 };
    bool has_changed;
    assert_ok(maps_parse(&maps, text, &err), &err);
    assert_int_equal(images_update(images, &maps, &has_changed), ERR_OK);
    maps_deinit(&maps);
    return has_changed;
}

static uint32_t id_at(const struct images *images, remote_addr addr)
{
    const struct image *const image = images_find(images, addr);
    return image ? image->id : 0;
}

static void an_image_is_an_executable_mapping(void **state)
{
    struct images images;
    (void)state;
    images_init(&images, 0);
    assert_true(update(&images, MADE_MAPS("1", "/a") MADE_MAPS("2", "/b")));
    assert_int_equal(images.count, 2);
    assert_null(images_find(&images, A + MADE_CODE - 1));
    assert_null(images_find(&images, A + MADE_HEADER));
    const struct image *const image = images_find(&images, B + MADE_CODE);
    assert_string_equal(image->path, "/b");
    assert_ptr_equal(image, images_find(&images, B + MADE_HEADER - 1));
    assert_int_equal(image->low, B);
    assert_int_equal(image->high, B + MADE_END);
    images_deinit(&images);
}

static void an_image_keeps_its_id_while_it_is_mapped(void **state)
{
    struct images images;
    (void)state;
    images_init(&images, 0);
    update(&images, MADE_MAPS("1", "/a") MADE_MAPS("2", "/b"));
    const uint32_t a = id_at(&images, A + MADE_CODE), b = id_at(&images, B + MADE_CODE);
    assert_true(a && b && a != b);
    assert_false(update(&images, MADE_MAPS("1", "/a") MADE_MAPS("2", "/b")));
    assert_int_equal(id_at(&images, A + MADE_CODE), a);
    assert_true(update(&images, MADE_MAPS("2", "/b")));
    assert_int_equal(id_at(&images, A + MADE_CODE), 0);
    assert_int_equal(id_at(&images, B + MADE_CODE), b);
    assert_true(update(&images, MADE_MAPS("1", "/c") MADE_MAPS("2", "/b")));
    const uint32_t c = id_at(&images, A + MADE_CODE);
    assert_true(c && c != a && c != b);
    assert_true(update(&images, MADE_MAPS("1", "/a") MADE_MAPS("2", "/b")));
    assert_int_not_equal(id_at(&images, A + MADE_CODE), a);
    assert_int_not_equal(id_at(&images, A + MADE_CODE), c);
    images_deinit(&images);
}

static void code_without_a_file_is_known(void **state)
{
    struct images images;
    (void)state;
    images_init(&images, 0);
    update(&images, "10000-11000 rwxp 00000000 00:00 0 \n"
                    "20000-21000 r-xp 00000000 00:00 0                  [vdso]\n"
                    "30000-31000 --xp 00000000 00:00 0                  [vsyscall]\n"
                    "40000-41000 r-xp 00000000 00:01 9 /memfd:code (deleted)\n");
    assert_int_equal(images_find(&images, 0x10000)->state, IMAGE_ANONYMOUS);
    assert_int_equal(images_find(&images, 0x20000)->state, IMAGE_NEW);
    assert_int_equal(images_find(&images, 0x30000)->state, IMAGE_OTHER);
    assert_int_equal(images_find(&images, 0x40000)->state, IMAGE_NEW);
    images_deinit(&images);
}

static void a_file_that_is_mapped_twice_is_two_images(void **state)
{
    struct images images;
    (void)state;
    images_init(&images, 0);
    update(&images,
           MADE_MAPS("1", "/a") "18000-19000 rw-p 00000000 00:00 0 \n"
                                "19000-1a000 r--p 00000000 fd:00 7 /a\n" MADE_MAPS("2", "/a"));
    assert_int_equal(images.count, 2);
    assert_int_equal(images_find(&images, A + MADE_CODE)->low, A);
    assert_int_equal(images_find(&images, A + MADE_CODE)->high, A + MADE_END);
    assert_int_equal(images_find(&images, B + MADE_CODE)->low, B);
    images_deinit(&images);
}

/* The state of the image at A after its header was changed. */
static int state_with(size_t offset, uint64_t value, size_t bytes)
{
    struct fake_memory fake;
    struct made_image made;
    struct images images;
    struct blocks blocks;
    fake_memory_init(&fake);
    made_image_map(&made, &fake, A);
    fake_memory_put(&fake, A + offset, &value, bytes);
    images_init(&images, 0);
    update(&images, MADE_MAPS("1", "/a"));
    assert_int_equal(blocks_init(&blocks, &fake.memory, NULL), ERR_OK);
    struct image *const image = images_find(&images, A + MADE_CODE);
    images_examine(image, &blocks);
    const int result = (int)image->state;
    if (result == IMAGE_ELF)
        assert_int_equal(image->load_bias, A);
    else
        assert_false(image->has_tables);
    blocks_deinit(&blocks);
    images_deinit(&images);
    fake_memory_deinit(&fake);
    return result;
}

static void hostile_headers_make_no_image(void **state)
{
    const size_t code = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
    (void)state;
    assert_int_equal(state_with(0, 0x7f, 1), IMAGE_ELF);
    assert_int_equal(state_with(0, 0x7e, 1), IMAGE_OTHER);
    assert_int_equal(state_with(EI_CLASS, ELFCLASS32, 1), IMAGE_OTHER);
    assert_int_equal(state_with(offsetof(Elf64_Ehdr, e_phoff), MADE_END - 8, 8), IMAGE_OTHER);
    assert_int_equal(state_with(offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8, 8), IMAGE_OTHER);
    assert_int_equal(state_with(offsetof(Elf64_Ehdr, e_phnum), 0xffff, 2), IMAGE_OTHER);
    assert_int_equal(state_with(offsetof(Elf64_Ehdr, e_phnum), 0, 2), IMAGE_OTHER);
    assert_int_equal(state_with(offsetof(Elf64_Ehdr, e_phentsize), 8, 2), IMAGE_OTHER);
    /* No segment explains where the code is. */
    assert_int_equal(state_with(code + offsetof(Elf64_Phdr, p_vaddr), 0x1234, 8), IMAGE_OTHER);
    assert_int_equal(state_with(sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_vaddr), 0x5000, 8),
                     IMAGE_OTHER);
}

static void tables_outside_the_image_are_not_used(void **state)
{
    const size_t tables = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
    struct fake_memory fake;
    struct made_image made;
    struct images images;
    struct blocks blocks;
    (void)state;
    fake_memory_init(&fake);
    made_image_map(&made, &fake, A);
    fake_memory_map(&fake, A + MADE_END, 0x1000);
    fake_memory_put(&fake, A + MADE_END, fake_memory_at(&fake, A + MADE_HEADER, 64), 64);
    fake_memory_put_u64(&fake, A + tables + offsetof(Elf64_Phdr, p_vaddr), MADE_END);
    images_init(&images, 0);
    update(&images, MADE_MAPS("1", "/a"));
    assert_int_equal(blocks_init(&blocks, &fake.memory, NULL), ERR_OK);
    struct image *const image = images_find(&images, A + MADE_CODE);
    images_examine(image, &blocks);
    assert_int_equal(image->state, IMAGE_ELF);
    assert_false(image->has_tables);
    blocks_deinit(&blocks);
    images_deinit(&images);
    fake_memory_deinit(&fake);
}

static int check_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct images *const images = ((void **)context)[0];
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const remote_addr addr = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X))
            continue;
        struct image *const image = images_find(images, addr);
        assert_non_null(image);
        images_examine(image, ((void **)context)[1]);
        assert_int_equal(image->state, IMAGE_ELF);
        assert_int_equal(image->load_bias, info->dlpi_addr);
        assert_true(image->has_tables);
    }
    return 0;
}

static void all_code_of_this_process_is_found(void **state)
{
    struct images images;
    struct blocks blocks;
    struct process_memory memory;
    bool has_changed;
    (void)state;
    images_init(&images, getpid());
    process_memory_init(&memory, getpid());
    assert_int_equal(blocks_init(&blocks, &memory.memory, NULL), ERR_OK);
    assert_int_equal(images_refresh(&images, clock_now_ns(), true, &has_changed), ERR_OK);
    assert_true(has_changed);
    assert_true(dl_iterate_phdr(check_loaded, (void *[]){ &images, &blocks }) == 0);
    blocks_deinit(&blocks);
    images_deinit(&images);
}

static void the_list_is_not_read_again_too_soon(void **state)
{
    struct images images;
    bool has_changed;
    (void)state;
    images_init(&images, getpid());
    assert_int_equal(images_refresh(&images, 1000 * NS_PER_S, false, &has_changed), ERR_OK);
    assert_int_equal(images.refreshes, 1);
    assert_true(images.next_ns >= 1000 * NS_PER_S + IMAGES_MIN_INTERVAL_NS);
    assert_int_equal(images_refresh(&images, images.next_ns - 1, true, &has_changed), ERR_OK);
    assert_int_equal(images.refreshes, 1);
    assert_false(has_changed);
    assert_int_equal(images_refresh(&images, images.next_ns, true, &has_changed), ERR_OK);
    assert_int_equal(images.refreshes, 2);
    assert_int_equal(
        images_refresh(&images, images.read_ns + IMAGES_MAX_AGE_NS - 1, false, &has_changed),
        ERR_OK);
    assert_int_equal(images.refreshes, 2);
    const uint64_t old_ns = images.read_ns + IMAGES_MAX_AGE_NS;
    assert_int_equal(images_refresh(&images, old_ns > images.next_ns ? old_ns : images.next_ns,
                                    false, &has_changed),
                     ERR_OK);
    assert_int_equal(images.refreshes, 3);
    images_deinit(&images);
}

static void no_more_images_are_kept_than_promised(void **state)
{
    enum { LINE = 64 };
    struct images images;
    char *const text = malloc((size_t)LINE * (IMAGES_MAX + 2) + 1);
    size_t used = 0;
    (void)state;
    assert_non_null(text);
    for (unsigned i = 0; i < IMAGES_MAX + 2; i++)
        used += (size_t)snprintf(text + used, LINE, "%x000-%x000 r-xp 00000000 00:00 0\n",
                                 i + 1, i + 2);
    images_init(&images, 0);
    update(&images, text);
    assert_int_equal(images.count, IMAGES_MAX);
    assert_false(update(&images, text));
    images_deinit(&images);
    free(text);
}

TEST_GROUP(cmocka_unit_test(an_image_is_an_executable_mapping),
           cmocka_unit_test(an_image_keeps_its_id_while_it_is_mapped),
           cmocka_unit_test(code_without_a_file_is_known),
           cmocka_unit_test(a_file_that_is_mapped_twice_is_two_images),
           cmocka_unit_test(hostile_headers_make_no_image),
           cmocka_unit_test(tables_outside_the_image_are_not_used),
           cmocka_unit_test(all_code_of_this_process_is_found),
           cmocka_unit_test(the_list_is_not_read_again_too_soon),
           cmocka_unit_test(no_more_images_are_kept_than_promised))
