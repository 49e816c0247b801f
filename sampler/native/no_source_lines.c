#include "sampler/native/source_lines.h"

bool source_lines_are_supported(void)
{
    return false;
}

struct source_lines *source_lines_open(void *image, size_t bytes)
{
    (void)image;
    (void)bytes;
    return NULL;
}

void source_lines_close(struct source_lines *lines)
{
    (void)lines;
}

enum err_code source_lines_find(struct source_lines *lines, uint64_t vaddr, char *file,
                                size_t room, int32_t *line_out)
{
    (void)lines;
    (void)vaddr;
    (void)file;
    (void)room;
    (void)line_out;
    return ERR_UNSUPPORTED;
}
