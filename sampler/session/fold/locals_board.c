#include "sampler/session/fold/locals_board.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

void locals_board_init(struct locals_board *board)
{
    *board = (struct locals_board){ .thread_room = 0 };
    pthread_mutex_init(&board->mutex, NULL);
}

void locals_board_deinit(struct locals_board *board)
{
    free(board->locals.threads);
    buffer_deinit(&board->bytes);
    pthread_mutex_destroy(&board->mutex);
}

enum err_code locals_board_add(struct locals_board *board, pid_t pid, int32_t tid,
                               const struct buffer *frames, uint32_t *row_out)
{
    struct session_locals *const locals = &board->locals;
    enum err_code rc = ERR_OK;
    *row_out = 0;
    pthread_mutex_lock(&board->mutex);
    if (locals->count == SESSION_MAX_LOCALS_THREADS ||
        frames->length > SESSION_MAX_LOCALS_BYTES - board->bytes.length)
        locals->left_out++;
    else if (!VEC_RESERVE(locals->threads, board->thread_room, locals->count + 1))
        rc = ERR_NOMEM;
    else {
        locals->threads[locals->count++] = (struct session_locals_thread){
            .pid = pid, .tid = tid, .from = board->bytes.length, .bytes = frames->length
        };
        *row_out = (uint32_t)locals->count;
        buffer_append(&board->bytes, frames->data, frames->length);
        rc = buffer_check(&board->bytes, NULL);
    }
    pthread_mutex_unlock(&board->mutex);
    return rc;
}

void locals_board_place(struct locals_board *board, uint32_t row, uint32_t node)
{
    pthread_mutex_lock(&board->mutex);
    board->locals.threads[row - 1].node = node;
    pthread_mutex_unlock(&board->mutex);
}

enum err_code locals_board_copy(struct locals_board *board, struct session_locals *out,
                                struct err *err)
{
    pthread_mutex_lock(&board->mutex);
    struct session_locals seen = board->locals;
    seen.frames = (unsigned char *)board->bytes.data;
    seen.frame_bytes = board->bytes.length;
    const enum err_code rc = session_locals_copy(&seen, out, err);
    pthread_mutex_unlock(&board->mutex);
    return rc;
}
