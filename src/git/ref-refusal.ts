import { isUnreachable } from './refusal.ts';

/** What git or its server said about refs that hold state, as words for a person that name the cure. `url` carries no password. */
export function explainStateRefusal(words: string, { url, isOwn }: { readonly url: string; readonly isOwn: boolean }): string {
  const said = words.trim().replaceAll(/\s*\n\s*/g, '; ').slice(0, 500);
  const who = isOwn ? 'your git credentials' : 'the token';
  if (/could not resolve host|couldn't resolve host|name or service not known/i.test(said)) return `the name of the git server of ${url} cannot be found (DNS): check the address and the network (${said})`;
  if (/was not answered|no time is left/.test(said)) return `the git server of ${url} gives no answer: ${said}`;
  const known = refusals.find(({ pattern }) => pattern.test(said));
  if (known) return `${known.meaning(who, url)} (git said: ${said})`;
  if (isUnreachable(said)) return `the git server of ${url} cannot be reached or is broken at the moment: ${said}`;
  return `git could not do it at ${url}: ${said}`;
}

const refusals: readonly { readonly pattern: RegExp; readonly meaning: (who: string, url: string) => string }[] = [
  {
    pattern: /GH006|GH013|rule violations|ruleset|hook declined|protected|deny updating/i,
    meaning: () => 'a rule or hook of the repository refuses it: exempt refs/ralph/state/** from it, or set `state-store: cache`',
  },
  { pattern: /\b429\b|rate limit/i, meaning: () => 'the server limits the rate of requests: the next run tries again' },
  {
    pattern: /\b403\b|permission .*denied|read-only|archived|write access .*not granted|service not enabled/i,
    meaning: (who) => `${who} may not do this: state is kept on refs of the repository and needs "permissions: contents: write"`,
  },
  {
    pattern: /\b401\b|could not read (Username|Password)|authentication failed|invalid (username|credentials)|publickey/i,
    meaning: (who, url) => `${who} ${who.endsWith('s') ? 'were' : 'was'} not accepted at ${url}: it may have expired, or is for another server`,
  },
  { pattern: /\b404\b|not found|does not exist|does not appear to be a git repository/i, meaning: (who, url) => `there is no repository ${url} that ${who} may see` },
];
