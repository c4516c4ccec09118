/** Brackets around words that tell a CI system to do nothing: `[skip ci]`, `[ci skip]`, `[no ci]`, `[skip actions]`, and whatever else is to be skipped. */
const SKIP_IN_BRACKETS = /\[([^[\]]{0,100}?(?:skip|no[\s_-]*ci\b)[^[\]]{0,100})\]/gi;
/** As Azure Pipelines reads it. */
const STARRED_NO_CI = /\*+\s*no[\s_-]?ci\s*\*+/gi;
/** A trailer by its name alone. */
const SKIP_CHECKS = /\b(skip|request)-checks(?=\s*:)/gi;

/** The text without words that keep CI from running: their letters stay, what makes them an order goes. */
export function withoutSkipWords(text: string): string {
  return text.replace(SKIP_IN_BRACKETS, '($1)').replace(STARRED_NO_CI, '(no ci)').replace(SKIP_CHECKS, '$1 checks');
}

/** As services read it; what `withoutSkipWords` has left in inner brackets is no order. */
const ORDER_IN_BRACKETS = /\[[^[\]()]{0,100}?(?:skip|no[\s_-]*ci\b)[^[\]()]{0,100}\]/i;

/** Whether words in the text keep CI from running. */
export function hasSkipWords(text: string): boolean {
  return ORDER_IN_BRACKETS.test(text) || text.search(STARRED_NO_CI) !== -1 || text.search(SKIP_CHECKS) !== -1;
}

/** JSON text in which no string keeps CI from running as it stands, and which is parsed to the same data: a squash merge may copy it into a commit message. */
export function escapeSkipWords(json: string): string {
  return json
    .replace(/\[(?=[^[\]"]{0,100}?(?:skip|no[\s_-]*ci\b)[^[\]"]{0,100}\])/gi, '\\u005b')
    .replace(/\*(?=\*{0,20}\s*no[\s_-]?ci\s*\*)/gi, '\\u002a')
    .replace(/\b(skip|request)-(?=checks\s*:)/gi, '$1\\u002d');
}
