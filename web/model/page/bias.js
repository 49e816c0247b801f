// How far the profile is from the truth, and what share of it was read while threads were stopped.

import { QUALITY_TEXT } from "../../text/quality.js";
import { formatCount, formatShare, isKnown, ratio, UNKNOWN } from "../base/numbers.js";
import { visibleText } from "../base/text.js";

const BIAS = QUALITY_TEXT.bias;
// A bias that is above this for certain, and a share of uncertain readings above that, are warnings.
const HIGH_BIAS = 0.03;
const HIGH_UNCERTAIN = 0.1;
// With fewer page faults a second, stops that come late make no difference of a point.
const FEW_FAULTS_HZ = 2000;

// "3", "0.4", "-1.2": points of share, as exact as the error allows
export function pointsText(share, error = 0) {
  return isKnown(share) ? (share * 100).toFixed(error >= 0.0095 ? 0 : 1) : UNKNOWN;
}

// -> [{name, text}]: "+1.8 points"
export function biasedFunctions(bias) {
  return (bias?.functions ?? []).map(({ name, share }) => ({ name: visibleText(String(name)),
    text: (share > 0 ? "+" : "") + pointsText(share) + " " + BIAS.points })
  );
}

function unmeasuredText({ samples, exact, stops_refused: refused }, stop) {
  const uncertain = 1 - ratio(exact, samples);
  const why = stop === "never" ? BIAS.never : refused > 0 ? BIAS.refused : BIAS.few;
  return { value: BIAS.unmeasured, label: BIAS.uncertain(formatShare(uncertain)), meaning: why,
    level: refused > 0 || uncertain > HIGH_UNCERTAIN ? "warn" : "plain" };
}

function measuredText({ share, error, functions }) {
  const named = biasedFunctions({ functions }).map(({ name, text }) => BIAS.differs(name, text));
  return {
    value: pointsText(share, error) + " ± " + pointsText(error, error) + " " + BIAS.points,
    label: BIAS.label,
    level: share - error > HIGH_BIAS ? "warn" : "plain",
    meaning: BIAS.meaning + (named.length > 0 ? BIAS.concerns(named) : ""),
  };
}

// -> {key, label, value, meaning, level}, as qualityValues says it
export function biasValue(quality, settings) {
  const { samples, bias } = quality;
  const shown = bias === undefined || !(samples > 0)
    ? { value: UNKNOWN, label: BIAS.label, meaning: BIAS.meaning, level: "plain" }
    : bias === null
    ? unmeasuredText(quality, settings?.stop)
    : bias.error === 0
    ? { value: BIAS.none, label: BIAS.noneLabel, meaning: BIAS.noneMeaning, level: "plain" }
    : measuredText(bias);
  return { key: "bias", ...shown };
}

// A difference for the samples of stopped threads.
export function stoppedValue(
  { samples, stopped, stopped_s: seconds, duration_s: duration, stops_refused: refused, page_faults: faults },
) {
  const texts = QUALITY_TEXT.stopped;
  const share = ratio(stopped, samples), time = ratio(seconds, duration);
  const counted = isKnown(share) ? QUALITY_TEXT.of(formatCount(stopped), formatCount(samples)) : QUALITY_TEXT.notKnown;
  const faultsHz = ratio(faults, duration);
  const many = stopped > 0 && faultsHz >= FEW_FAULTS_HZ ? texts.faults(formatCount(Math.round(faultsHz))) : "";
  return {
    key: "stopped",
    value: formatShare(share),
    label: texts.label + (stopped > 0 && isKnown(time) ? texts.time(formatShare(time)) : ""),
    meaning: texts.meaning + counted + many + (refused > 0 ? " " + BIAS.refused : ""),
    level: refused > 0 ? "warn" : "plain",
  };
}
