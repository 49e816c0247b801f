import assert from "node:assert/strict";
import { test } from "node:test";
import { createPicture } from "../../../web/model/picture/picture.js";
import { outline, stateOf } from "../support/sample.mjs";

// Functions named lib* are of the standard library, those named pkg* of a package.
function stateWith(lines, address = {}) {
  const state = stateOf(lines, address);
  const { profile } = state.recording;
  for (let id = 1; id < profile.functionName.length; id += 1) {
    const name = profile.strings[profile.functionName.values[id]];
    if (name.startsWith("lib"))
      profile.functionFile.values[id] = profile.strings.push("/usr/lib/python3.13/" + name + ".py") - 1;
    if (name.startsWith("pkg"))
      profile.functionFile.values[id] = profile.strings.push("/v/lib/python3.13/site-packages/pkg/" + name + ".py") - 1;
  }
  return state;
}

const LINES = ["lib1;lib2;lib3;main;lib4;lib5;work 5", "lib1;lib2;lib3;other;lib4;lib5;lib6 3",
  "lib1;lib2;lib3;other;lib7;<native> 2"];
const drawn = (address, lines = LINES) => createPicture()(stateWith(lines, { order: "name", ...address }));

test("chains of libraries that lead to your code are one frame, and no sample ends in one", () => {
  const { drawing } = drawn({});
  assert.deepEqual(outline(drawing.root), [
    "all 10",
    " 3 frames: lib1  lib1.py … lib3  lib3.py 10",
    "  main  app/main.py 5",
    "   2 frames: lib4  lib4.py … lib5  lib5.py 5",
    "    work  app/work.py 5",
    "  other  app/other.py 5",
    "   lib4  lib4.py 3",
    "    lib5  lib5.py 3",
    "     lib6  lib6.py 3",
    "   lib7  lib7.py 2",
    "    <native> 2",
  ]);
  const fold = drawing.root.children[0];
  assert.deepEqual([fold.neutral, fold.self, fold.functions.length], [true, 0, 3]);
});

test("a folded chain stands for each of its frames", () => {
  const { drawing } = drawn({});
  const [fold] = drawing.root.children;
  assert.equal(fold.ids.length, 3);
  assert.equal(fold.ids[0], fold.id);
  for (const id of fold.ids) assert.equal(drawing.byId.get(id).frame, fold);
});

test("a chain is open where the address says so, and nothing of it is folded then", () => {
  const key = drawn({}).drawing.root.children[0].fold;
  const open = outline(drawn({ open: [key] }).drawing.root);
  assert.deepEqual(open.slice(1, 5), [" lib1  lib1.py 10", "  lib2  lib2.py 10", "   lib3  lib3.py 10",
    "    main  app/main.py 5"]);
  assert.ok(open.some((line) => line.includes("2 frames: lib4")));
  assert.ok(outline(drawn({ open: ["all"] }).drawing.root).every((line) => !line.includes("frames:")));
});

test("a chain ends where another stack leaves it, or a sample ends", () => {
  assert.deepEqual(outline(drawn({}, ["lib1;lib2;main 3", "lib1;other 1"]).drawing.root).slice(1), [" lib1  lib1.py 4",
    "  lib2  lib2.py 3", "   main  app/main.py 3", "  other  app/other.py 1"]);
  assert.deepEqual(outline(drawn({}, ["lib1;lib2;main 3", "lib1 1"]).drawing.root).slice(1), [" lib1  lib1.py 4",
    "  lib2  lib2.py 3", "   main  app/main.py 3"]);
});

test("what is zoomed into is not folded; bottom-up nothing is", () => {
  const state = stateWith(LINES, { order: "name" });
  const compute = createPicture();
  const { drawing } = compute(state);
  const lib2 = compute(state).keysTo(drawing.root.children[0].id).slice(0, 2);
  const zoomed = compute({ ...state, address: { ...state.address, zoom: lib2 } });
  assert.deepEqual(outline(zoomed.drawing.root).slice(0, 4), ["all 10", " lib1  lib1.py 10", "  lib2  lib2.py 10",
    "   lib3  lib3.py 10"]);
  assert.ok(outline(drawn({ bottomUp: true }).drawing.root).every((line) => !line.includes("frames:")));
});

test("the package that a program was started in is yours, others are libraries", () => {
  const state = stateWith(["lib1;pkg2;main;lib3;pkg4;work 5"], { order: "name" });
  const first = () => createPicture()(state).drawing.root.children[0].label;
  assert.equal(first(), "2 frames: lib1  lib1.py … pkg2  pkg/pkg2.py");
  state.recording.profile.ownCode = [{ kind: "files", packages: [] }, { kind: "program", packages: ["pkg"] }];
  assert.equal(first(), "lib1  lib1.py");
});

test("a search that matches a folded frame marks the fold", () => {
  const { drawing } = drawn({ search: "lib2" });
  assert.equal(drawing.isMatch(drawing.root.children[0]), true);
  assert.equal(drawing.isMatch(drawing.root.children[0].children[0]), false);
});
