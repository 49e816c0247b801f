/*
 * capture_item - one file of the folder of captures: its description, as read from the file.
 *
 * Ownership: the capture store allocates it with calloc; captures_item_destroy frees it and all it owns.
 */
#ifndef SERVER_SESSIONS_CAPTURE_ITEM_H
#define SERVER_SESSIONS_CAPTURE_ITEM_H

#include <sys/types.h>

#include "server/sessions/capture_entry.h"

struct captures_item {
    struct capture_entry entry;
    ino_t inode;
    uint64_t words_changed_ns; /* of what was read */
    uint64_t words_seen_ns;    /* of what is there; 0: nothing */
    char *texts;               /* of the entry */
    const char **argv;
    char fault[240];
    char failure[SESSION_MAX_FAULT +
                 1]; /* why writing ended early, if that is known; "": it is not */
    bool has_end, is_seen;
};

/* NULL is fine. */
void captures_item_destroy(struct captures_item *item);
/* Reads the start and the end of the file.  If that fails, the fault of the entry says why. */
void capture_item_read(struct captures_item *item, int fd, bool hides_arguments);

#endif /* SERVER_SESSIONS_CAPTURE_ITEM_H */
