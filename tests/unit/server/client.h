/*
 * client - a blocking HTTP client for tests: one request, one reply, bytes as they came.
 */
#ifndef TESTS_UNIT_SERVER_CLIENT_H
#define TESTS_UNIT_SERVER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct reply {
    int status;    /* 0: the connection was closed without an answer */
    char *head;    /* status line and headers */
    char *body;    /* NUL-terminated */
    size_t length; /* of the body */
};

/* Loopback; -1: refused. */
int client_connect(unsigned port);
void client_send(int fd, const char *data, size_t bytes);
void client_read(int fd, bool has_body, struct reply *reply);

/* headers: whole lines, each with its \r\n; Host is added unless one is there. */
void client_request(unsigned port, const char *method, const char *target, const char *headers,
                    const char *body, struct reply *reply);
void reply_deinit(struct reply *reply);

/* "": absent. */
void reply_header(const struct reply *reply, const char *name, char *out, size_t bytes);
/* Undoes Content-Encoding in place. */
void reply_decode(struct reply *reply);

#endif /* TESTS_UNIT_SERVER_CLIENT_H */
