// The first line of the page: the answer of the summary in one sentence, and below it the offer to record native stacks.

import { formatShare } from "../../model/base/numbers.js";
import { sentenceText } from "../../model/base/text.js";
import { PANEL_VIEWS } from "../../model/page/address.js";
import { MEMORY_GROWTH } from "../../model/page/measures.js";
import { nativeOffer } from "../../model/page/native-offer.js";
import { isOfMore } from "../../model/page/state.js";
import { TEXT } from "../../text/session.js";
import { el, isolated, setSentence, setText } from "../elements/dom.js";

// -> {element, update(state)}; the button stays while the share changes, so that a click meets it.
function createNativeOffer(dispatch) {
  const share = el("span", {});
  const name = isolated("");
  const rest = el("span", {});
  const begin = el("button", { type: "button", "data-hint": TEXT.nativeOffer.hint, "data-testid": "record-native",
    on: { click: () => dispatch({ type: "recordNative" }) } }, TEXT.nativeOffer.begin);
  const element = el("span", { class: "native-offer", hidden: true, "data-testid": "native-offer" },
    el("span", {}, share, el("code", {}, name), rest), begin);
  return {
    element,
    update(state) {
      const offer = nativeOffer(state);
      // An offer that comes or goes would move the frame that is pointed at.
      if (state.hover !== null && element.hidden !== (offer === null)) return;
      element.hidden = offer === null;
      if (offer === null) return;
      setText(share, TEXT.nativeOffer.ends(formatShare(offer.share)));
      setText(name, offer.name);
      setText(rest, offer.canBegin ? TEXT.nativeOffer.isC : TEXT.nativeOffer.isCWithout);
      begin.hidden = !offer.canBegin;
    },
  };
}

export function createHeadline(root, dispatch) {
  const text = isolated("", { "data-testid": "headline" });
  const offer = createNativeOffer(dispatch);
  root.append(text, offer.element);
  return {
    update(state) {
      const { measure, countText, sum, balance } = state.picture;
      const said = measure !== null
        ? (measure.name === MEMORY_GROWTH ? TEXT.measured : TEXT.counted)(countText(sum), measure.title)
          + (balance === null ? "" : TEXT.balance(balance.returned, balance.kept, balance.isLess))
        : isOfMore(state)
        ? ""
        : state.summary?.headline ?? "";
      // Live it is there before it says something, as what comes later would move all below.
      root.hidden = !PANEL_VIEWS.includes(state.address.view) || (said === "" && !state.live);
      offer.update(state);
      setSentence(text, sentenceText(said));
    },
  };
}
