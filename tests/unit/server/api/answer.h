/*
 * answer - JSON that the server has sent, and what stands in it.  What is not there fails the test.
 */
#ifndef TESTS_UNIT_SERVER_API_ANSWER_H
#define TESTS_UNIT_SERVER_API_ANSWER_H

#include <cjson/cJSON.h>

struct server;

/* The caller deletes. */
cJSON *get_json(const struct server *server, const char *target);
const cJSON *member(const cJSON *json, const char *name);
double number(const cJSON *json, const char *name);
double item(const cJSON *array, int index);
double sum(const cJSON *array);

#endif /* TESTS_UNIT_SERVER_API_ANSWER_H */
