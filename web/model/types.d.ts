// Shapes that several files of model/ share. scripts/check-web reads them; the page does not.

// A range of time in seconds; without an end it goes on.
interface TimeRange {
  from: number;
  to: number | null;
}

// What an address says (page/address.js).
interface Address {
  session: string | null;
  view: string;
  bottomUp: boolean;
  by: string;
  native: string | null;
  hidesWaits: boolean;
  colour: string;
  order: string | null;
  search: string;
  threads: { tid: number; name: string }[];
  processes: number[];
  parts: string[] | null;
  states: string[];
  measure: string | null;
  range: TimeRange | null;
  took: TimeRange | null;
  at: TimeRange | null;
  baseline: TimeRange | null;
  against: string | null;
  filters: string[];
  noFilters: boolean;
  about: string;
  file: string;
  line: number;
  hotOnly: boolean;
  diffWidth: string;
  diffBy: string;
  open: string[];
  zoom: string[];
  frame: string[];
  tables: string[];
}

// An entry of the command palette; `action` is dispatched.
interface Command {
  label: string;
  hint: string;
  action: { type: string; [member: string]: unknown };
}

// A column of 32-bit integers (base/column.js).
interface Column {
  values: Int32Array;
  length: number;
}

// Ids of pairs of integers (base/pairs.js).
interface Pairs {
  slots: Int32Array;
  count: number;
  first: Int32Array;
  second: Int32Array;
}

interface Library {
  path: string;
  buildId: string;
  interpreter: boolean;
  kernel: boolean;
}

// A level of your code: what is yours (sampler/profile/views/own_code.h).
interface OwnLevel {
  kind: string;
  packages: string[];
}

interface ThreadRow {
  id: number;
  process: number;
  tid: number;
  name: string;
  main: boolean;
}

// The tables of one session (profile/profile.js).
interface Profile {
  epoch: string | null;
  generation: number;
  packages: { [path: string]: string };
  ownCode: OwnLevel[];
  strings: string[];
  functionName: Column;
  functionFile: Column;
  functionLine: Column;
  functionLibrary: Column;
  libraries: (Library | null)[];
  nodeParent: Column;
  nodeFunction: Column;
  nodeLine: Column;
  threads: ThreadRow[];
  processes: { pid: number; name: string }[];
}

// Where code comes from.
interface Origin {
  kind: "synthetic" | "library" | "package" | "system" | "own";
  name: string;
}

// What the name of a mark says of a wait (profile/wait-causes.js).
interface Wait {
  cause: string;
  idle: boolean;
  hue: string;
  peer: string;
}

// Everything the page says about a frame (profile/frames.js).
interface Label {
  raw: string;
  name: string;
  brief: string;
  short: string;
  path: string;
  file: string;
  line: number;
  place: string;
  near: string;
  label: string;
  synthetic: boolean;
  runs: boolean;
  hue: string;
  wait: Wait | null;
  library: string;
  badge: string;
  hasSource: boolean;
}

// Functions, or lines of them (profile/frames.js).
interface Frames {
  byLine: boolean;
  foldsLibraries: boolean;
  function: number[];
  line: number[];
  index: Pairs;
  ofNode: Column;
  firstOfLibrary: Map<number, number>;
  named: Pairs;
  keys: string[];
  labels: Label[];
  origins: Origin[];
}

// Filters of frames (filters/filter.js).
interface FrameFilter {
  terms: { verb: string; matches(profile: Profile, functionId: number): boolean }[];
  start: number;
  showsSome: boolean;
  matched: number[];
}

// The call tree by function or by line (trees/grouping.js).
interface Grouping {
  by: string;
  filters: string[];
  native: string;
  waits: boolean;
  filter: FrameFilter;
  seen: Column;
  frames: Frames;
  groupOfNode: Column;
  groupBelow: Column;
  seenBelow: Column;
  nativeBits: Column;
  parent: Column;
  frame: Column;
  depth: Column;
  firstBelow: Column;
  nextBeside: Column;
  index: Pairs;
  children: { start: Int32Array; order: Int32Array } | null;
  outermost: Uint8Array | null;
}

// Samples of every group.
interface Totals {
  self: Float64Array;
  total: Float64Array;
  sum: number;
}

// Self samples of every node.
interface NodeCounts {
  self: Float64Array;
}

// A direction of a grouping (trees/trees.js).
interface Tree {
  children(id: number): Iterable<number> & ArrayLike<number> & { find(isIt: (id: number) => boolean): number | undefined };
  total(id: number): number;
  self(id: number): number;
  frame(id: number): number;
  parent(id: number): number;
}

// Groups and the samples that each carries.
interface Weighted {
  groups: number[];
  weights: number[];
}

// Sums over blocks of a column of rows, and what they are of (trees/blocks.js).
interface BlockSums {
  hits: Float64Array;
  squares: Float64Array;
  products: Float64Array;
}

interface BlockUnits {
  count: number;
  all: number;
  squares: number;
}

// The sums of both sides of a comparison, by the names of their columns.
interface BothSums {
  baseline: { [column: string]: BlockSums };
  current: { [column: string]: BlockSums };
}

// A line at which threads waited for a lock, or held it.
interface LockPlace {
  function: string;
  file: string;
  line: number;
  expression: string | null;
  waited_s: number;
}

interface Lock {
  process: number;
  type: string;
  object: string;
  waited_s: number;
  held_s: number;
  longest_s: number;
  waits: number;
  waiting: number;
  waiters: LockPlace[];
  other_waiters_s: number;
  holders: LockPlace[];
  other_holders_s: number;
}

// A thread of a deadlock, and the one it waits for.
interface LockWait {
  process: number;
  tid: number;
  thread: string;
  task: string | null;
  event_loop: boolean;
  expression: string | null;
  type: string;
  object: string;
  holder: { process: number; tid: number; thread: string; task: string | null; file: string; line: number };
}

// What /locks answers.
interface LocksAnswer {
  available: boolean;
  sampled_s: number;
  measured_s: number;
  limit_reached: boolean;
  dropped: number;
  dropped_s: number;
  deadlocks: LockWait[][];
  locks: Lock[];
}

interface RequestLine {
  name: string;
  file: string;
  line: number;
  function: number;
}

// What /requests answers; durations in seconds.
interface RequestsAnswer {
  unknown: number;
  unset: number;
  other: number;
  samples: number;
  requests: number;
  whole: number;
  cut: number;
  rough: number;
  percentiles: { percent: number; duration: number; low: number | null; high: number | null }[];
  histogram: { from: number; to: number; whole: number; cut: number }[];
  scatter: { from: number; width: number; slots: number; cells: { slot: number; from: number; to: number; requests: number }[] };
  chosen: number;
  rows: {
    variable: string;
    value: string;
    guessed: boolean;
    mark: number;
    begin: number;
    duration: number;
    error: number;
    cut: boolean;
    rough: boolean;
    samples: number;
    parts: { [part: string]: number };
    awaits: number;
    causes: { cause: string; title: string; seconds: number }[];
    line: RequestLine | null;
    view: RequestLine | null;
  }[];
  pieces_left_out: number;
  pieces: { from: number; to: number; pid: number; tid: number; thread: string; part: string; cause: string | null; line: RequestLine | null }[];
}

// Texts of a surface (text/). Functions get numbers and names as text; those that say otherwise are a Function.
type TextValue = string | number | boolean | RegExp | [] | [TextValue, ...TextValue[]] | Texts | ((...words: string[]) => TextValue) | Function;

interface Texts {
  [name: string]: TextValue;
}
