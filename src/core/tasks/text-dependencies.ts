import { parseProse } from '../../markdown/prose.ts';

/** The dependencies that a text names; each once, in the order of the text. */
export interface TextDependencies {
  /** Issues and pull requests of this repository. */
  readonly issues: readonly number[];
  /** Issues and pull requests of other repositories, as `owner/repo#4`. */
  readonly elsewhere: readonly string[];
  /** Names as people give them to tasks of a list: `T3`, `US-001`, `Task 2`. */
  readonly names: readonly string[];
}

/**
 * Parses "depends on #12", "blocked by #3, #4 and #5", lists below such words, and open boxes that begin with an issue
 * (`- [ ] #12`). Addresses of issues count as `#12`; code, quotes, comments, struck-out text and "no longer depends on"
 * are ignored. `repository` is `owner/repo`; if it is unknown (null), only bare numbers belong to it.
 */
export function dependenciesOfText(text: string, repository: string | null): TextDependencies {
  // Most texts have no dependencies, and parsing a thousand of them would take a second.
  const mentions = HINT.test(text.slice(0, MAX_CHARS))
    ? referencePlaces(text).flatMap(({ text: block, at }) => mentionsAt(block, at))
    : [];
  const issues = mentions.filter((mention) => mention.kind === 'issue');
  const isOwn = (repo: string | null): boolean => repo === null || repo.toLowerCase() === repository?.toLowerCase();
  return {
    issues: [...new Set(issues.filter(({ repo }) => isOwn(repo)).map(({ number }) => number))],
    elsewhere: [
      ...new Set(issues.filter(({ repo }) => !isOwn(repo)).map(({ repo, number }) => `${repo ?? ''}#${number}`)),
    ],
    names: [...new Set(mentions.flatMap((mention) => (mention.kind === 'name' ? [mention.name] : [])))],
  };
}

type Mention =
  | { readonly kind: 'issue'; readonly repo: string | null; readonly number: number }
  | { readonly kind: 'name'; readonly name: string };

/** Maximum number of characters read of a text: an agent sees less, and thousands of lists would take seconds. */
const MAX_CHARS = 30_000;

/**
 * Matches texts that may have dependencies. It is bounded, because a stranger may write thousands of boxes in a row.
 */
const HINT = /depend|blocked|\[[^[\]x]\][ \t]{0,20}\S{0,200}(?:#\d|\/)|GH-\d/i;
const KEYWORD = /\b(?:(?:depends?|dependent|depending)[ -]on\b|blocked[ -]by\b|dependencies:?$)/gim;
const NEGATION = /(?:\bnot|n['’]t|\bno longer|\bnever)\s+(?:\w+\s+){0,2}$/i;

/**
 * Returns the places where a reference is expected: after a keyword, at the start of the text below one, after an open
 * box.
 */
function referencePlaces(text: string): readonly { readonly text: string; readonly at: number }[] {
  return parseProse(text.slice(0, MAX_CHARS)).flatMap(({ text: block, under, box }) => {
    const leads = box === null ? under !== null && endsInKeyword(under) : box.toLowerCase() !== 'x';
    return [...keywordEnds(block), ...(leads ? [0] : [])].map((at) => ({ text: block, at }));
  });
}

/** Returns true if a text ends in a keyword, such as "Blocked by:" above a list. */
function endsInKeyword(text: string): boolean {
  const end = text.slice(-60);
  return keywordEnds(end).some((at) => /^[\s:]*$/.test(end.slice(at)));
}

function keywordEnds(text: string): readonly number[] {
  return [...text.matchAll(KEYWORD)]
    .filter(({ index }) => !NEGATION.test(text.slice(Math.max(0, index - 40), index)))
    .map(({ index, 0: word }) => index + word.length);
}

/** Matches `#12`, `GH-12`, `owner/repo#12` or the address of an issue or pull request. */
const ISSUE =
  /(?:https?:\/\/[\w.-]{1,200}(?::\d+)?\/([\w.-]{1,100}\/[\w.-]{1,100})\/(?:issues|pull)\/([1-9]\d{0,9})(?!\w)(?:[?#][\w#=&-]*)?\/?|([\w.-]{1,100}\/[\w.-]{1,100})?#([1-9]\d{0,9})(?!\w)|GH-([1-9]\d{0,9})(?!\w))/iy;
/** Matches a name of letters and a number. */
const NAME = /[A-Za-z][A-Za-z_]{0,14}[-. ]?\d{1,9}(?:[.-]\d{1,9}){0,4}(?!\w)/y;
/** Matches words and signs between two references; a new line only after a comma, a colon or "and". */
const FILLER =
  /(?:(?:[,:;&+]|\b(?:and|or))\s+|[ \t,:;&+–—([]|\b(?:and|or|on|by|issues?|prs?|pull requests?|both)\b(?=[ :])|\))*/iy;
/** Matches a remark on a reference, such as "(the parser)". */
const ASIDE = /[ \t]?\([^()#\n]{0,80}\)/y;

function mentionsAt(text: string, start: number): readonly Mention[] {
  const mentions: Mention[] = [];
  for (let at = start; ;) {
    at += matchAt(FILLER, text, at)?.[0].length ?? 0;
    const issue = matchAt(ISSUE, text, at);
    const match = issue ?? matchAt(NAME, text, at);
    if (match === null) return mentions;
    const [, addressRepo, addressNumber, repo, number, short] = issue ?? [];
    mentions.push(
      issue === null
        ? { kind: 'name', name: match[0] }
        : { kind: 'issue', repo: addressRepo ?? repo ?? null, number: Number(addressNumber ?? number ?? short) },
    );
    at += match[0].length;
    at += matchAt(ASIDE, text, at)?.[0].length ?? 0;
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
