// Threads and asyncio tasks.

import { memoise } from "../base/memoise.js";
import { sumThreads } from "../profile/states.js";
import { taskGroups, tasksReason, tasksRequest } from "../threads/tasks.js";
import { createChosenThreads, threadIds, threadsWithStates } from "../threads/threads.js";

function makeTasks(recording, version, tasks, reason, again) {
  return { ...taskGroups(tasks, recording.profile), reason, again };
}

export function threadSelectors() {
  const chosenThreads = createChosenThreads();
  const sumsOf = memoise((threadStates, chosen, threads) => sumThreads(threadStates, threadIds(threadsWithStates(chosen.chosen, threads))));
  const tasksOf = memoise(makeTasks);
  return {
    threadChoice: ({ state }) => chosenThreads(state),
    threads: ({ threadChoice }) => threadChoice.threads,
    chosen: ({ threadChoice }) => threadChoice.chosen,
    // What the chosen threads did, whatever parts are shown.
    sums: ({ state: { threadStates }, chosen, threads }) => sumsOf(threadStates, chosen, threads),
    // The thread of the stack chart.
    stackThread: ({ followed }) => followed.thread,
    tasks({ state, recording, version, address }) {
      const { session, live, tasks } = state;
      return address.view === "tasks" ? tasksOf(recording, version, tasks, tasksReason(tasks, session, live, recording.profile), tasksRequest(state) !== null) : null;
    },
  };
}
