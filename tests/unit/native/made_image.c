#include "tests/unit/native/made_image.h"

#include <elf.h>
#include <string.h>

#include "tests/support/test.h"

static void put(const struct made_image *image, uint32_t offset, const void *data, size_t bytes)
{
    fake_memory_put(image->fake, image->base + offset, data, bytes);
}

void made_image_put_u32(const struct made_image *image, uint32_t offset, uint32_t value)
{
    put(image, offset, &value, sizeof value);
}

static void put_headers(const struct made_image *image)
{
    Elf64_Ehdr header = { .e_type = ET_DYN,
                          .e_phoff = sizeof header,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_phnum = 4 };
    const Elf64_Phdr segments[] = {
        { .p_type = PT_LOAD, .p_memsz = MADE_CODE, .p_filesz = MADE_CODE },
        { .p_type = PT_LOAD,
          .p_flags = PF_X,
          .p_offset = MADE_CODE,
          .p_vaddr = MADE_CODE,
          .p_memsz = MADE_HEADER - MADE_CODE },
        { .p_type = PT_LOAD,
          .p_offset = MADE_HEADER,
          .p_vaddr = MADE_HEADER,
          .p_memsz = MADE_END - MADE_HEADER },
        { .p_type = PT_GNU_EH_FRAME,
          .p_offset = MADE_HEADER,
          .p_vaddr = MADE_HEADER,
          .p_memsz = MADE_FRAMES - MADE_HEADER },
    };
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    put(image, 0, &header, sizeof header);
    put(image, sizeof header, segments, sizeof segments);
}

void made_image_map(struct made_image *image, struct fake_memory *fake, remote_addr base)
{
    static const uint8_t header[] = { 1, 0x1b, 0x03, 0x3b };
    *image = (struct made_image){ .fake = fake, .base = base };
    fake_memory_map(fake, base, MADE_END);
    put_headers(image);
    put(image, MADE_HEADER, header, sizeof header);
    made_image_put_u32(image, MADE_HEADER + 4, MADE_FRAMES - (MADE_HEADER + 4));
}

/* An entry: its length, a field, its bytes. */
static uint32_t add_entry(struct made_image *image, uint32_t common, const uint8_t *data,
                          size_t bytes)
{
    const uint32_t at = MADE_FRAMES + (uint32_t)image->used;
    assert_true(at + bytes + 8 <= MADE_END);
    made_image_put_u32(image, at, (uint32_t)bytes + 4);
    made_image_put_u32(image, at + 4, common ? at + 4 - common : 0);
    put(image, at + 8, data, bytes);
    image->used += bytes + 8;
    return at;
}

uint32_t made_image_common(struct made_image *image, const char *letters,
                           const uint8_t *instructions, size_t bytes)
{
    uint8_t data[256];
    const size_t length = strlen(letters) + 1;
    size_t used = 0;
    data[used++] = 1;
    memcpy(data + used, letters, length);
    used += length;
    data[used++] = 1;    /* factor of code */
    data[used++] = 0x78; /* of data: -8 */
    data[used++] = MADE_RETURN_ADDRESS;
    if (*letters == 'z') {
        data[used++] = 1;
        data[used++] = 0x1b; /* addresses: 32 bits, relative to themselves */
    }
    memcpy(data + used, instructions, bytes);
    return add_entry(image, 0, data, used + bytes);
}

uint32_t made_image_function(struct made_image *image, uint32_t common, uint32_t start,
                             uint32_t code_bytes, const uint8_t *instructions, size_t bytes)
{
    uint8_t data[1024];
    const uint32_t at = MADE_FRAMES + (uint32_t)image->used,
                   pair = MADE_HEADER + 12 + image->count * 8;
    const uint32_t relative = start - (at + 8);
    assert_true(image->count < MADE_MAX_FUNCTIONS && bytes + 9 <= sizeof data);
    memcpy(data, &relative, 4);
    memcpy(data + 4, &code_bytes, 4);
    data[8] = 0;
    memcpy(data + 9, instructions, bytes);
    made_image_put_u32(image, pair, start - MADE_HEADER);
    made_image_put_u32(image, pair + 4, at - MADE_HEADER);
    made_image_put_u32(image, MADE_HEADER + 8, ++image->count);
    return add_entry(image, common, data, bytes + 9);
}

enum err_code made_image_open(const struct made_image *image, struct blocks *blocks,
                              struct cfi_tables *out)
{
    return cfi_open(blocks, image->base, image->base + MADE_END, image->base + MADE_HEADER,
                    MADE_FRAMES - MADE_HEADER, out);
}
