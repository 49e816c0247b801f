// The profile of a session as it grows: the tables of /tree and the counts of /view for one query, read incrementally.

import { queryText } from "./requests.js";

const TREES_MAX = 64;

// A query being followed: how far it was read, and whether it ever was.
function createFollowed({ measure, threads, states, parts, from, to, took, until, baseline, against }) {
  return { measure: measure ?? null, threads, states, parts, from: from ?? null, to: to ?? null, took: took ?? null,
    until: until ?? null, baseline: baseline ?? null, against: against ?? null, since: 0, isAnswered: false };
}

// feed: see pollers.js; its `followed`, `recounts` and `epoch` are kept here.
// -> {read() and readTrees(generation), both falsy when the server was restarted; follow(query), forget(), isCaughtUp()}
export function createDeliveries(feed) {
  let treeGeneration = 0;
  let answered = 0;
  let restart = true;
  feed.recounts = 0;
  feed.followed = createFollowed({ threads: [], states: [], parts: [] });

  async function readTrees(generation) {
    const trees = [];
    while (treeGeneration < generation && trees.length < TREES_MAX) {
      const tree = await feed.get("/tree" + queryText({ since: treeGeneration }));
      if (tree === null || tree.epoch !== feed.epoch) return null;
      trees.push(tree);
      if (tree.generation <= treeGeneration) break;
      treeGeneration = tree.generation;
    }
    return trees;
  }

  async function read() {
    const asked = feed.followed;
    const view = await feed.get("/view" + queryText({ since: asked.since, native: "everything" }, asked), "view");
    // As the last question of all: what is here is the answer.
    if (view === null) {
      Object.assign(asked, { since: answered, isAnswered: true });
      return true;
    }
    if (feed.epoch === null) feed.epoch = view.epoch;
    const trees = view.epoch === feed.epoch ? await readTrees(view.generation) : null;
    if (trees === null) return false;
    const current = asked === feed.followed;
    const delivery = { restart, recount: current && (asked.since === 0 || view.since === 0), trees,
      view: current ? view : null };
    if (delivery.recount) feed.recounts += 1;
    restart = false;
    answered = view.generation;
    if (current) Object.assign(feed.followed, { since: answered, isAnswered: true });
    else {
      // It is not taken, so asking the same again is no repetition.
      feed.forget("view");
      feed.hurry();
    }
    return feed.handlers.onDelivery(delivery);
  }

  return {
    read,
    readTrees,
    follow(query) {
      feed.followed = createFollowed(query);
    },
    forget() {
      feed.epoch = null;
      feed.followed = createFollowed(feed.followed);
      treeGeneration = 0;
      restart = true;
    },
    isCaughtUp: () =>
      feed.followed.since !== 0 && feed.followed.since >= feed.session.generation && feed.epoch === feed.session.epoch,
  };
}
