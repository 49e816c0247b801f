/* Any file, read as an archive that holds a module. */
#include <stdio.h>

#include "server/source/zip_member.h"
#include "tests/fuzz/fuzz.h"

/* Reads each byte of the name. */
static void add_name(void *context, const char *name, size_t length)
{
    size_t *const sum = context;
    for (size_t i = 0; i < length; i++)
        *sum += (unsigned char)name[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "__main__.py", "pkg/mod.py", "" };
    FILE *const file = tmpfile();
    if (!file)
        return 0;
    size_t sum = 0;
    if (fwrite(data, 1, size, file) == size && fflush(file) == 0) {
        (void)!zip_member_list(fileno(file), add_name, &sum);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char *text = NULL;
            size_t length = 0;
            const enum source_outcome outcome =
                zip_member_read(fileno(file), names[i], &text, &length);
            fuzz_check((outcome == SOURCE_DONE) == (text != NULL));
            fuzz_check(length <= SOURCE_MAX_BYTES);
            free(text);
        }
    }
    fclose(file);
    return 0;
}
