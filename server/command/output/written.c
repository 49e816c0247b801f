#include "server/command/output/written.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/utf8.h"
#include "server/command/process/exit.h"

void written_add(struct written *written, const char *name, const char *note)
{
    if (written->count < WRITTEN_MAX) {
        char *const out = written->names[written->count];
        const size_t bytes = utf8_cut(name, strlen(name), WRITTEN_MAX_NAME - 1);
        memcpy(out, name, bytes);
        out[bytes] = '\0';
        written->notes[written->count] = note;
    }
    written->count++;
}

void written_put(const struct written *written, struct buffer *out)
{
    for (size_t i = 0; i < written->count && i < WRITTEN_MAX; i++) {
        buffer_text(out, i ? ", " : "wrote ");
        buffer_text(out, written->names[i]);
        buffer_text(out, written->notes[i]);
    }
    if (written->count > WRITTEN_MAX)
        buffer_printf(out, " and %zu more", written->count - WRITTEN_MAX);
}

void written_say(const struct written *written)
{
    struct buffer line = { 0 };
    written_put(written, &line);
    const char *const text = buffer_string(&line);
    if (written->count && text)
        say("%s", text);
    buffer_deinit(&line);
}
