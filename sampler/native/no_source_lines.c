#include "sampler/native/source_lines.h"

bool source_lines_are_supported(void)
{
    return false;
}

enum err_code source_lines_find(void *image, size_t bytes, uint64_t vaddr, char *file,
                                size_t room, int32_t *line_out)
{
    (void)image;
    (void)bytes;
    (void)vaddr;
    (void)file;
    (void)room;
    (void)line_out;
    return ERR_UNSUPPORTED;
}
