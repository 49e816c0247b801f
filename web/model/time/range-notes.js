// Notes that people pin to ranges of time; a session brings them along: [{id, from_s, to_s, text}].

const RANGE_NOTE_BYTES_MAX = 240;
const SAME_S = 0.001;

export const notesOf = (session) => session?.notes ?? [];

// Those at an instant.
export function notesAt(notes, time) {
  return notes.filter(({ from_s: from, to_s: to }) => from <= time && time < to);
}

// True if the range of the address is that of the note.
export function isNoteRange({ from_s: from, to_s: to }, range) {
  return range !== null && range.to !== null && Math.abs(range.from - from) < SAME_S
    && Math.abs(range.to - to) < SAME_S;
}

// The body of a request for a note on a range, whose open end is now; null if nothing can be noted there.
export function newNote(text, range, now) {
  const note = { from_s: range.from, to_s: range.to ?? now, text: text.trim() };
  return note.text === "" || !(note.to_s > note.from_s) ? null : note;
}

export function isNoteTooLong(text) {
  return new TextEncoder().encode(text.trim()).length > RANGE_NOTE_BYTES_MAX;
}
