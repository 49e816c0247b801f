#include "server/sessions/kernel_stacks.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "sampler/base/channel.h"

struct request {
    int32_t pid, tid;
};

/* The text ends with a zero byte. */
struct answer {
    int32_t code;
    char text[PROCESS_TREE_STACK_BYTES];
};

static struct {
    pthread_mutex_t lock; /* held until the answer has come */
    int socket;           /* -1: there is no process to ask */
} asked = { PTHREAD_MUTEX_INITIALIZER, -1 };

void kernel_stacks_use(int socket)
{
    asked.socket = socket;
}

enum err_code kernel_stacks_read(pid_t pid, pid_t tid, char out[PROCESS_TREE_STACK_BYTES])
{
    const struct request request = { pid, tid };
    struct answer answer = { .code = ERR_PERM };
    if (asked.socket < 0)
        return process_kernel_stack(pid, tid, out);
    pthread_mutex_lock(&asked.lock);
    const bool has_answer =
        send(asked.socket, &request, sizeof request, MSG_NOSIGNAL) == sizeof request &&
        channel_read(asked.socket, (char *)&answer, sizeof answer) == sizeof answer;
    pthread_mutex_unlock(&asked.lock);
    if (!has_answer)
        return process_kernel_stack(pid, tid, out);
    answer.text[PROCESS_TREE_STACK_BYTES - 1] = '\0';
    strcpy(out, answer.text);
    return answer.code ? ERR_PERM : ERR_OK;
}

bool kernel_stacks_answer(int socket)
{
    struct request request;
    struct answer answer = { 0 };
    if (channel_read(socket, (char *)&request, sizeof request) != sizeof request)
        return false;
    answer.code = (int32_t)process_kernel_stack(request.pid, request.tid, answer.text);
    return send(socket, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
}
