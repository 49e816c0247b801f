#include "server/wire/range_notes.h"

#include <stdio.h>
#include <string.h>

#include "server/wire/json.h"
#include "server/wire/json_value.h"

/* The longest session in seconds; more is no time of it. */
#define MOST_S 1e9

enum err_code range_notes_add(struct range_notes *notes, double from_s, double to_s,
                              const char *text, struct range_note *out, struct err *err)
{
    size_t at = notes->count;
    if (!(from_s >= 0 && to_s > from_s && to_s <= MOST_S))
        return err_set(err, ERR_INVALID,
                       "\"from_s\" must be at least 0, and \"to_s\" later than \"from_s\"");
    if ((text[strspn(text, " \t\r\n")] == '\0') || strlen(text) > RANGE_NOTE_MAX_TEXT)
        return err_set(err, ERR_INVALID,
                       "\"text\" must have 1 to %d bytes, and not only spaces",
                       RANGE_NOTE_MAX_TEXT);
    if (notes->count == RANGE_NOTES_MAX)
        return err_set(err, ERR_LIMIT, "a session has at most %d notes: remove one first",
                       RANGE_NOTES_MAX);
    while (at > 0 && notes->items[at - 1].from_s > from_s)
        at--;
    memmove(&notes->items[at + 1], &notes->items[at],
            (notes->count - at) * sizeof *notes->items);
    notes->items[at] =
        (struct range_note){ .id = ++notes->last_id, .from_s = from_s, .to_s = to_s };
    snprintf(notes->items[at].text, sizeof notes->items[at].text, "%s", text);
    notes->count++;
    *out = notes->items[at];
    return ERR_OK;
}

bool range_notes_remove(struct range_notes *notes, uint32_t id)
{
    size_t at = 0;
    while (at < notes->count && notes->items[at].id != id)
        at++;
    if (at == notes->count)
        return false;
    notes->count--;
    memmove(&notes->items[at], &notes->items[at + 1],
            (notes->count - at) * sizeof *notes->items);
    return true;
}

void range_note_write(struct json *json, const struct range_note *note)
{
    json_object(json);
    json_member_uint(json, "id", note->id);
    json_member_number(json, "from_s", note->from_s);
    json_member_number(json, "to_s", note->to_s);
    json_member_text(json, "text", note->text);
    json_end(json);
}

void range_notes_write(struct json *json, const struct range_notes *notes)
{
    json_array(json);
    for (size_t i = 0; i < notes->count; i++)
        range_note_write(json, &notes->items[i]);
    json_end(json);
}

void range_notes_read(const char *data, size_t bytes, struct range_notes *out)
{
    struct json_value *root = NULL;
    struct range_note note;
    *out = (struct range_notes){ 0 };
    if (!json_value_parse(data, bytes, &root, NULL) && json_value_type(root) == JSON_ARRAY)
        for (const struct json_value *item = json_value_first(root); item;
             item = json_value_next(item)) {
            const char *const text = json_value_text(json_value_member(item, "text"));
            if (text)
                (void)!range_notes_add(
                    out, json_value_number(json_value_member(item, "from_s")),
                    json_value_number(json_value_member(item, "to_s")), text, &note, NULL);
        }
    json_value_destroy(root);
}
