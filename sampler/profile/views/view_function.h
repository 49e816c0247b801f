/*
 * view_function - the function of a program that its web framework or task queue called for a request.
 *
 * It is found by the names of the framework's own functions on the stack, so it is a guess: Flask, Django, Starlette and
 * FastAPI, aiohttp, Celery.
 *
 * Threads: any, each on its own snapshot.
 */
#ifndef SAMPLER_PROFILE_VIEWS_VIEW_FUNCTION_H
#define SAMPLER_PROFILE_VIEWS_VIEW_FUNCTION_H

#include "sampler/profile/profile.h"

/* The function of a stack; 0: the stack shows none. */
function_id view_function_of(const struct profile_snapshot *snapshot, node_id node);

#endif /* SAMPLER_PROFILE_VIEWS_VIEW_FUNCTION_H */
