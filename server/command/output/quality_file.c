#include "server/command/output/quality_file.h"

#include "sampler/base/buffer.h"
#include "server/command/output/output.h"
#include "server/wire/json.h"
#include "server/wire/quality.h"

enum err_code quality_file_write(struct output *output, const struct session_info *info,
                                 const struct state_sums *sums, const struct usage *usage,
                                 const struct quality_capture *capture, struct err *err)
{
    struct buffer text = { 0 };
    struct json json;
    json_init(&json, &text);
    quality_write(&json, info, sums, usage, capture);
    enum err_code rc = json_finish(&json, err);
    buffer_char(&text, '\n');
    if (!rc)
        rc = buffer_check(&text, err);
    if (!rc)
        rc = output_finish(output, text.data, text.length, err);
    buffer_deinit(&text);
    return rc;
}
