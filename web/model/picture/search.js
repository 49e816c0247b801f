// What a search matches, in every view.

import { memoise } from "../base/memoise.js";
import { ratio } from "../base/numbers.js";
import { createMatcher, extendMatcher } from "../filters/search.js";
import { matchedSamples } from "../trees/grouping.js";

function makeMatches(recording, version, grouping, totals, matcher) {
  if (!matcher.search.active) return { active: false, error: matcher.search.error, samples: 0, share: NaN, functions: 0 };
  const functionOf = grouping.frames.function;
  const { samples } = matchedSamples(grouping, totals, (frame) => matcher.matched[functionOf[frame]]);
  const functions = matcher.matched.reduce((count, matched) => count + Number(matched), 0);
  return { active: true, error: null, samples, share: ratio(samples, totals.sum), functions };
}

export function searchSelectors() {
  const matcherOf = memoise((profile, term) => createMatcher(term));
  const matchesOf = memoise(makeMatches);
  return {
    matcher({ profile, address }) {
      const matcher = matcherOf(profile, address.search);
      extendMatcher(matcher, profile);
      return matcher;
    },
    matches: ({ recording, version, grouping, totals, matcher }) => matchesOf(recording, version, grouping, totals, matcher),
    // For every function whether the search matches it; null while nothing is searched for.
    matched: ({ matcher }) => (matcher.search.active ? matcher.matched : null),
  };
}
