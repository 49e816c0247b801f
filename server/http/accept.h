/*
 * accept - which of several media types an answer gets, by the Accept header.
 */
#ifndef SERVER_HTTP_ACCEPT_H
#define SERVER_HTTP_ACCEPT_H

#include <stddef.h>

/* The index of the type with the highest weight; of equal ones the first.  types: in lower case, as in
 * "text/plain".  accept NULL, or none of them accepted: 0. */
size_t accept_choose(const char *accept, const char *const types[], size_t count);

#endif /* SERVER_HTTP_ACCEPT_H */
