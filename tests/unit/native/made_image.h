/*
 * made_image - a loaded ELF file with unwinding tables, made of bytes in the test.
 *
 * Its first page has the headers, the second one code, the others tables.  Functions are added in the
 * order of their addresses.
 *
 * Ownership: the memory stays the caller's.
 * Limits: MADE_MAX_FUNCTIONS functions, and the bytes of the tables.
 */
#ifndef TESTS_UNIT_NATIVE_MADE_IMAGE_H
#define TESTS_UNIT_NATIVE_MADE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/native/unwind.h"
#include "tests/support/fake_memory.h"

enum {
    MADE_CODE = 0x1000, /* offsets in the image */
    MADE_HEADER = 0x2000,
    MADE_FRAMES = 0x2800,
    MADE_END = 0x8000,
    MADE_MAX_FUNCTIONS = 64,
    MADE_RETURN_ADDRESS = MACHINE_RETURN_BYTES ? 16 : 30, /* as tables number it */
};

struct made_image {
    struct fake_memory *fake;
    remote_addr base;
    size_t used; /* bytes of .eh_frame */
    uint32_t count;
};

/* First instructions of all functions: CFA = sp + 8, the return address below it. */
#define MADE_START 0x0c, 0x07, 0x08, 0x90, 0x01

void made_image_map(struct made_image *image, struct fake_memory *fake, remote_addr base);
/* Both return the offset of the entry in the image. */
uint32_t made_image_common(struct made_image *image, const char *letters,
                           const uint8_t *instructions, size_t bytes);
uint32_t made_image_function(struct made_image *image, uint32_t common, uint32_t start,
                             uint32_t code_bytes, const uint8_t *instructions, size_t bytes);
void made_image_put_u32(const struct made_image *image, uint32_t offset, uint32_t value);
/* The tables as cfi_open finds them. */
enum err_code made_image_open(const struct made_image *image, struct blocks *blocks,
                              struct cfi_tables *out);

/* The lines of /proc/PID/maps for it. */
#define MADE_MAPS(base, path)                                                   \
    base "0000-" base "1000 r--p 00000000 fd:00 7 " path "\n" base "1000-" base \
         "2000 r-xp 00001000 fd:00 7 " path "\n" base "2000-" base              \
         "8000 r--p 00002000 fd:00 7 " path "\n"

#endif /* TESTS_UNIT_NATIVE_MADE_IMAGE_H */
