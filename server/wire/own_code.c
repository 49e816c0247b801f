#include "server/wire/own_code.h"

#include "sampler/profile/views/own_code.h"
#include "server/wire/json.h"

void own_code_write(struct json *json, const struct own_code_level *level)
{
    json_object(json);
    json_member_text(json, "kind", own_code_kind_texts[level->kind]);
    json_member_array(json, "packages");
    for (size_t i = 0; i < level->package_count; i++)
        json_string(json, level->packages[i].name, level->packages[i].length);
    json_end(json);
    json_end(json);
}
