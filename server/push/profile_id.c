#include "server/push/profile_id.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/random.h"

void profile_id_make(unsigned char out[PROFILE_ID_BYTES])
{
    struct random random;
    random_init_any(&random);
    for (size_t i = 0; i < PROFILE_ID_BYTES; i += sizeof(uint64_t)) {
        const uint64_t number = random_u64(&random);
        memcpy(out + i, &number, sizeof number);
    }
    out[6] = (unsigned char)((out[6] & 0x0f) | 0x40);
    out[8] = (unsigned char)((out[8] & 0x3f) | 0x80);
}

void profile_id_format(const unsigned char id[PROFILE_ID_BYTES], char out[PROFILE_ID_TEXT + 1])
{
    snprintf(out, PROFILE_ID_TEXT + 1,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0],
             id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11],
             id[12], id[13], id[14], id[15]);
}
