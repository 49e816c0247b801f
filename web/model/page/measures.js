// The measure that the page counts: time, or another one of the session. A report is of one; a server is asked for one.

export const TIME = "time";
export const MEMORY_GROWTH = "page-faults";

// Views of stacks, which can be of any measure; the others are of time.
export const MEASURED_VIEWS = ["flame", "sandwich", "table", "source", "diff"];

// The measures to choose from: {name, title, unit, value}; of a report there is no choice.
export const measuresOf = ({ session, live }) => (live ? session?.measures ?? [] : []);

// The name of the measure to ask for; null: of time, as all sessions were once. A session without time has one measure for all views.
export function chosenMeasure({ address, session, live }) {
  const names = measuresOf({ session, live }).map(({ name }) => name);
  if (names.length === 0 || (names.length === 1 && names[0] === TIME)) return null;
  if (!names.includes(TIME)) return names.includes(address.measure) ? address.measure : names[0];
  const isOther = MEASURED_VIEWS.includes(address.view) && address.measure !== TIME && names.includes(address.measure);
  return isOther ? address.measure : null;
}

// True if the page can show what grew, and does not yet.
export function offersGrowth(state) {
  return chosenMeasure(state) !== MEMORY_GROWTH && measuresOf(state).some(({ name }) => name === MEMORY_GROWTH);
}

// The changes to the address that show what grew in the chosen range.
export function growthChanges({ address: { view } }) {
  return { measure: MEMORY_GROWTH, view: MEASURED_VIEWS.includes(view) ? view : "flame" };
}
