/*
 * shared_cases - cases that the server's half and the page's half must answer alike: tests/NAME.json.
 *
 * A file has "functions" {key: [name, file, first line, path of a library where it has one]}, "patterns"
 * [[pattern, keys that match]], "stacks" [["key;key", samples]], where metadata say something of them "packages"
 * {path: package} and "own_code", as in /tree, and the cases of its test.
 */
#ifndef TESTS_SUPPORT_SHARED_CASES_H
#define TESTS_SUPPORT_SHARED_CASES_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "sampler/profile/profile.h"

struct frame_filters;

/* The cases of the file `name` in tests/; freed by cJSON_Delete. */
cJSON *shared_cases_read(const char *name);

/* An item of a list; NULL: the list is shorter, or it is no text. */
const char *shared_cases_text(const cJSON *list, int index);
bool shared_cases_has(const cJSON *list, const char *text);

/* Fails unless every pattern matches the functions that it names, and no other. */
void shared_cases_check_patterns(const cJSON *cases);

function_id shared_cases_function(const cJSON *cases, struct profile *profile, const char *key);
/* The node of "key;key", outermost first. */
node_id shared_cases_node(const cJSON *cases, struct profile *profile, const char *stack);
/* Has the stacks, all of one thread on CPU, in a sealed window. */
struct profile *shared_cases_profile(const cJSON *cases);

/* Adds terms such as "show-from function:a". */
void shared_cases_add_terms(struct frame_filters *filters, const cJSON *terms);
/* Fails unless the stacks, filtered, are `lines`: "key;key 6", or the name where a frame has no key. */
void shared_cases_check(const cJSON *cases, const struct frame_filters *filters,
                        const cJSON *lines);

#endif /* TESTS_SUPPORT_SHARED_CASES_H */
