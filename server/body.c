#include "server/body.h"

#include <pthread.h>
#include <string.h>

#include <cjson/cJSON.h>

/* cJSON notes where it last failed in a global. */
static pthread_mutex_t parser_lock = PTHREAD_MUTEX_INITIALIZER;

static cJSON *parse(const char *data, size_t bytes, const char **end_out)
{
    if (bytes == 0)
        return NULL;
    pthread_mutex_lock(&parser_lock);
    cJSON *const root = cJSON_ParseWithLengthOpts(data, bytes, end_out, false);
    pthread_mutex_unlock(&parser_lock);
    return root;
}

static struct body_member *find(struct body_member *members, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

static enum err_code read_member(const cJSON *item, struct body_member *members, size_t count,
                                 struct err *err)
{
    struct body_member *const member = find(members, count, item->string);
    if (!member)
        return err_set(err, ERR_INVALID, "unknown member \"%.64s\"", item->string);
    if (member->is_present)
        return err_set(err, ERR_INVALID, "member \"%s\" is given twice", member->name);
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= sizeof member->text)
        return err_set(err, ERR_INVALID, "member \"%s\" must be a short text", member->name);
    memcpy(member->text, item->valuestring, strlen(item->valuestring) + 1);
    member->is_present = true;
    return ERR_OK;
}

/* cJSON leaves the end to us when it is told a length. */
static bool only_space_follows(const char *at, const char *end)
{
    while (at < end && *at != '\0' && strchr(" \t\r\n", *at))
        at++;
    return at == end;
}

enum err_code body_read(const char *data, size_t bytes, struct body_member *members,
                        size_t count, struct err *err)
{
    const char *end = NULL;
    enum err_code rc = ERR_OK;
    cJSON *const root = parse(data, bytes, &end);
    if (!root || !cJSON_IsObject(root) || !only_space_follows(end, data + bytes))
        rc = err_set(err, ERR_INVALID, "the body is not a JSON object");
    for (const cJSON *item = root ? root->child : NULL; item && rc == ERR_OK; item = item->next)
        rc = read_member(item, members, count, err);
    cJSON_Delete(root);
    return rc;
}
