#include "sampler/session/engine.h"

#include <stdlib.h>

enum err_code engine_create(const struct engine_ops *ops, const struct engine_session *session,
                            struct engine **out, struct err *err)
{
    struct engine *const engine = calloc(1, ops->bytes);
    if (!engine)
        return err_nomem(err);
    *engine = (struct engine){ ops, session };
    const enum err_code rc = ops->init(engine, err);
    if (rc)
        engine_destroy(engine);
    else
        *out = engine;
    return rc;
}

void engine_destroy(struct engine *engine)
{
    if (!engine)
        return;
    engine->ops->deinit(engine);
    free(engine);
}
