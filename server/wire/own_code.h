/*
 * own_code - the OwnCode document of openapi.json: what counts as your code.
 */
#ifndef SERVER_WIRE_OWN_CODE_H
#define SERVER_WIRE_OWN_CODE_H

struct json;
struct own_code_level;

void own_code_write(struct json *json, const struct own_code_level *level);

#endif /* SERVER_WIRE_OWN_CODE_H */
