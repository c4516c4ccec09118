/** A search of GitHub that finds tasks, as its setting gives it. */
export interface IssueQuery {
  /** The search without its limits to the repository and to open issues, on one line. */
  readonly text: string;
  /**
   * Properties that every found issue has, in lower case and without quotes: `label:bug`. A project has only the word
   * `project:`, since not every token sees its name in events.
   */
  readonly demands: readonly string[];
}

/**
 * The qualifiers for people, and for properties that only people with write permission can set outside of a template.
 */
const DEMANDING: readonly string[] = ['author', 'assignee', 'label', 'milestone', 'type', 'project'];

/** GitHub's limit for the characters of words that are not qualifiers. */
const MAX_WORD_CHARS = 256;
/** GitHub's limit for the operators of a search. */
const MAX_OPERATORS = 5;

/** The values of `is:`, `state:` and `type:` that no open issue has. */
const NO_OPEN_ISSUE: readonly string[] = ['closed', 'merged', 'unmerged', 'pr', 'pull-request'];

const OPERATOR = /^(?:AND|OR|NOT)$/i;

/**
 * Parses a search. Returns the problem, as a verb phrase, of a search that GitHub would refuse, that leaves the
 * repository, or that cannot be split into parts. A qualifier below `OR`, `NOT` or parentheses need not hold, so it
 * demands nothing.
 */
export function parseIssueQuery(given: string): IssueQuery | string {
  const text = given.trim().replaceAll(/\s+/g, ' ');
  if (/[\p{Cc}\\]/u.test(text)) return 'has a backslash or a control character';
  if (text.split('"').length % 2 === 0) return 'has a quotation mark that is never closed';
  const tokens = text.match(/(?:[^\s"()]|"[^"]*")+|[()]/g) ?? [];
  if (!isBalanced(tokens)) return 'has parentheses that do not match';
  const qualifiers = tokens.flatMap((token) => {
    const [, sign = '', name = '', value = ''] = /^(-?)([a-z-]+):(.+)$/i.exec(token) ?? [];
    return name === '' ? [] : [{ token, sign, name: name.toLowerCase(), value: value.toLowerCase() }];
  });
  const elsewhere = qualifiers.find(({ name }) => ['repo', 'org', 'user'].includes(name));
  if (elsewhere !== undefined)
    return `has \`${elsewhere.token}\`: the search is always of this repository, so leave it out`;
  const operators = tokens.filter((token) => OPERATOR.test(token));
  if (operators.length > MAX_OPERATORS) return `has more than ${String(MAX_OPERATORS)} operators (AND, OR, NOT)`;
  const all = new Set(qualifiers.map(({ token }) => token));
  const words = tokens.filter((token) => !all.has(token) && !OPERATOR.test(token) && !/^[()]$/.test(token));
  if (words.join(' ').length > MAX_WORD_CHARS)
    return `has more than ${String(MAX_WORD_CHARS)} characters of words besides its qualifiers`;
  const isPlain = !tokens.some((token) => /^(?:OR|NOT|[()])$/i.test(token));
  const held = qualifiers.filter(({ sign }) => isPlain && sign === '');
  const other = held.find(({ name, value }) => ['is', 'state', 'type'].includes(name) && NO_OPEN_ISSUE.includes(value));
  if (other !== undefined) return `has \`${other.token}\`: the search is always of open issues, so it finds nothing`;
  const me = held.find(({ name, value }) => DEMANDING.includes(name) && value === '@me');
  if (me !== undefined) return `has \`${me.token}\`: a run has no account of its own, so write the login`;
  const demands = held
    // `type:issue` means the same as `is:issue`.
    .filter(({ name, value }) => DEMANDING.includes(name) && !(name === 'type' && value === 'issue'))
    .flatMap(({ name, value }) => namedValues(value).map((one) => `${name}:${name === 'project' ? '' : one}`));
  return { text, demands: [...new Set(demands)] };
}

/**
 * Returns the comma-separated values of a search term, without quotes. An app is named by its login; the wildcard `*`
 * is left out.
 */
function namedValues(value: string): readonly string[] {
  const values = value.match(/(?:"[^"]*"|[^",])+/g) ?? [];
  return values
    .map((one) => one.replace(/^"([^"]*)"$/, '$1').replace(/^app\/(.+)$/, '$1[bot]'))
    .filter((one) => one !== '*');
}

function isBalanced(tokens: readonly string[]): boolean {
  let depth = 0;
  for (const token of tokens) {
    if (token === '(') depth += 1;
    if (token === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

/** Returns the search for open issues of one repository. No operator of the text gets around the limits. */
export function limitIssueSearch(
  text: string,
  { owner, repo }: { readonly owner: string; readonly repo: string },
): string {
  const isPlain = !/[()]|\b(?:AND|OR|NOT)\b/i.test(text);
  return `repo:${owner}/${repo} is:issue is:open ${isPlain ? text : `(${text})`}`;
}
