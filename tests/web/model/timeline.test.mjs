import assert from "node:assert/strict";
import { test } from "node:test";
import { addCellFacts, viewOfCells } from "../../../web/model/profile/cells.js";
import { PARTS } from "../../../web/model/profile/parts.js";
import { axisMarks, continuesTimeline, emptyTimeline, rangeText, slotAt, snapRange, stackedLayers, timeLabel,
  timelineOfCells, timelineSpan, withTimeline } from "../../../web/model/time/timeline.js";
import { createProgram } from "../support/made-up-program.mjs";

function made(seconds = 3) {
  const program = createProgram({ threads: 4, now: () => 0 });
  program.advance(seconds);
  return program;
}

test("news take the place of the slots there were; those of another width do not go on with them", () => {
  const program = made(3);
  const first = withTimeline(emptyTimeline(), program.timeline({}));
  program.advance(5.1);
  const second = withTimeline(first, program.timeline({ since: 1 }));
  assert.deepEqual(second.slots, withTimeline(emptyTimeline(), program.timeline({})).slots);
  assert.equal(second.slots.reduce((sum, slot) => sum + slot.samples, 0), program.view({}).total);
  const coarse = { ...program.timeline({ since: 1 }), width: 1 };
  assert.deepEqual([continuesTimeline(second, coarse), continuesTimeline(second, { ...coarse, since: 0 }),
    continuesTimeline(second, { ...coarse, width: second.width })], [false, true, true]);
});

test("a report makes the same of its cells, whole or by thread, and answers for a range", () => {
  const program = made(4);
  const report = program.report({});
  addCellFacts(report);
  for (const threads of [[], [1, 2]]) {
    assert.deepEqual(timelineOfCells(report, threads).slots.map(({ start, parts, inGc }) => ({ start, parts, inGc })),
      withTimeline(emptyTimeline(), program.timeline({ threads })).slots.map(({ start, parts, inGc }) => ({ start,
        parts, inGc })
      ));
  }
  const range = { from: 1, to: 2.5 };
  assert.equal(viewOfCells(report, { threads: [], states: [] }, range).total, program.view(range).total);
  assert.ok(program.view(range).total > 0 && program.view(range).total < program.view({}).total);
  assert.equal(viewOfCells({ ...report, slots: undefined }, { threads: [], states: [] }, range).total,
    program.view({}).total);
});

test("a range is made of whole slots, at least one", () => {
  const timeline = { width: 0.25, slots: [] };
  assert.deepEqual(snapRange(timeline, 1.1, 1.2), { from: 1, to: 1.25 });
  assert.deepEqual(snapRange(timeline, 1.25, 2), { from: 1.25, to: 2 });
  assert.deepEqual(snapRange(timeline, -3, 0.1), { from: 0, to: 0.25 });
});

test("layers lie on each other and fill what was seen", () => {
  const timeline = withTimeline(emptyTimeline(), made(3).timeline({}));
  const layers = stackedLayers(timeline, timelineSpan(timeline, 3));
  assert.equal(layers.length, PARTS.length);
  layers[0].forEach((box, i) => {
    assert.equal(box.y0, 0);
    for (let layer = 1; layer < layers.length; layer += 1)
      assert.ok(Math.abs(layers[layer][i].y0 - layers[layer - 1][i].y1) < 1e-12);
    assert.ok(layers.at(-1)[i].y1 <= 1 + 1e-9);
  });
  assert.deepEqual(stackedLayers(emptyTimeline(), { from: 0, to: 1 }).flat(), []);
  assert.equal(slotAt(timeline, 0.3).start, 0.25);
  assert.equal(slotAt(timeline, 99), null);
});

test("times are read as clocks; an axis has round marks and few of them", () => {
  assert.deepEqual([timeLabel(5), timeLabel(65.25, 0.25), timeLabel(3725), timeLabel(0.5, 0.5)], ["0:05", "1:05.25",
    "1:02:05", "0:00.5"]);
  assert.deepEqual([rangeText({ from: 1, to: 62 }), rangeText({ from: 1.25, to: null })], ["0:01 – 1:02",
    "0:01.25 – now"]);
  for (const length of [0.3, 7, 61, 5000, 1e6]) {
    const { marks } = axisMarks({ from: 3, to: 3 + length }, 10);
    assert.ok(marks.length >= 1 && marks.length <= 11, length + ": " + marks.length);
  }
});
