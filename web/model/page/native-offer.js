// The offer to record native stacks, where what runs ends in a C function of which nothing more is known.

import { visibleText } from "../base/text.js";
import { NATIVE_MARK } from "../profile/frames.js";
import { isOfMore, mayOperate } from "./state.js";

const RECORDING = ["running", "paused"];

// -> {name, share, canBegin: the session can begin with them}; null: no such function is known, native stacks are on, or the viewer may not begin with them.
export function nativeOffer(state) {
  const { live, session, summary } = state;
  const wanted = isOfMore(state) ? null : summary?.native.wanted_for ?? null;
  if (wanted === null || session === null || session.settings.native === "full") return null;
  const canBegin = live && session.source !== "capture" && RECORDING.includes(session.state);
  if (canBegin && !mayOperate(state)) return null;
  return { name: visibleText(wanted.name.replace(NATIVE_MARK, "")), share: wanted.share, canBegin };
}
