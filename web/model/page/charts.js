// The charts of each view that can be saved as pictures, and what such a file is called.

import { TEXT } from "../../text/session.js";
import { baseName, commandText, visibleText } from "../base/text.js";
import { rangeText } from "../time/timeline.js";

const CHARTS_OF_VIEW = { flame: ["flame"], stacks: ["stacks"], sandwich: ["sandwich"], heatmap: ["heatmap", "flame"],
  threads: ["threads"], gil: ["gil"], diff: ["diff"] };
export const IMAGE_FORMATS = ["png", "svg"];
const NAME_PART_MAX = 40;
const TITLE_COMMAND_MAX = 80;

export function chartsOfView(view, hasTimes) {
  return [...(CHARTS_OF_VIEW[view] ?? []), ...(hasTimes ? ["strip"] : [])];
}

// "app.py-4711-flame-graph-20260131-100000Z.png": the session, the chart, and when the session began.
export function imageName({ session }, chart, format) {
  const plain = (text) =>
    text.normalize("NFKD").replace(/[^A-Za-z0-9._]+/g, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, NAME_PART_MAX);
  const [program = "", ...words] = session?.target?.command ?? [];
  const script = /python/.test(program) ? words.find((word) => !word.startsWith("-")) : undefined;
  const command = plain(baseName(script ?? program));
  const began = String(session?.started_at ?? "").slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
  const parts = [command, String(session?.target?.pid ?? ""), plain(TEXT.charts[chart].toLowerCase()),
    began === "" ? "" : plain(began) + "Z"];
  return (parts.filter(Boolean).join("-") || "pyrometer") + "." + format;
}

// The title of the picture: the session, the chart, and what narrows it.
export function imageTitle({ session, address }, chart) {
  const began = String(session?.started_at ?? "").slice(0, 16).replace("T", " ");
  const parts = [visibleText(commandText(session?.target), TEXT.header.noCommand).slice(0, TITLE_COMMAND_MAX),
    TEXT.charts[chart], began === "" ? "" : began + " UTC", address.range === null ? "" : rangeText(address.range),
    ...address.filters.map((term) => visibleText(term))];
  return parts.filter(Boolean).join(" · ");
}
