/*
 * profile_id - a random number for each profile that is pushed, by which a receiver can recognize one that it
 * gets twice.
 *
 * Depends on: libc.
 */
#ifndef SERVER_PUSH_PROFILE_ID_H
#define SERVER_PUSH_PROFILE_ID_H

enum { PROFILE_ID_BYTES = 16, PROFILE_ID_TEXT = 36 };

void profile_id_make(unsigned char out[PROFILE_ID_BYTES]);
/* As a UUID of RFC 9562, version 4. */
void profile_id_format(const unsigned char id[PROFILE_ID_BYTES], char out[PROFILE_ID_TEXT + 1]);

#endif /* SERVER_PUSH_PROFILE_ID_H */
