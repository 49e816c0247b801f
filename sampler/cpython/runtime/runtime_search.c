#include "sampler/cpython/runtime/runtime_search.h"

void runtime_refuse(struct search *search, enum err_code code, const struct err *why)
{
    if (search->refusal == ERR_UNSUPPORTED || search->refusal == ERR_PERM)
        return;
    search->refusal = code;
    if (search->err)
        *search->err = *why;
}

bool runtime_is_out_of_time(struct search *search)
{
    search->is_unfinished = search->is_unfinished || deadline_is_over(&search->deadline);
    return search->is_unfinished;
}
