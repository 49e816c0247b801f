// Notes on ranges of time, written to the server; those there are come with the session.

import { send } from "./requests.js";

const notesPath = (session) => "/sessions/" + encodeURIComponent(session.id) + "/notes";

export const addRangeNote = (session, note) => send("POST", notesPath(session), note);
export const removeRangeNote = (session, id) => send("DELETE", notesPath(session) + "?note=" + id);
