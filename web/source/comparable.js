// Sessions and captures of a server to compare a session with, and a capture opened for that.

import { HttpProblem, send } from "./requests.js";

const CAPTURES_ASKED = 200;
const OPENING_MS = 300;

const answerOf = async (method, path, body) => (await send(method, path, body)).json();

// -> {sessions, captures}: a server without a folder of captures has none
export async function readComparable() {
  const { sessions } = await answerOf("GET", "/sessions");
  try {
    const { captures } = await answerOf("GET", "/captures?limit=" + CAPTURES_ASKED);
    return { sessions, captures };
  } catch (problem) {
    if (!(problem instanceof HttpProblem)) throw problem;
    return { sessions, captures: [] };
  }
}

// The id of the session of a choice of compare-with.js, once all of it has been read.
export async function openComparable({ kind, id }) {
  let session = kind === "session" ? { id, state: "ended" } : await answerOf("POST", "/captures", { name: id });
  while (session.state === "starting") {
    await new Promise((done) => setTimeout(done, OPENING_MS));
    session = await answerOf("GET", "/sessions/" + encodeURIComponent(session.id));
  }
  if (session.state === "failed") throw new HttpProblem(0, String(session.reason));
  return session.id;
}
