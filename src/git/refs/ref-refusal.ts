import { cut } from '../../core/text/cut.ts';
import { isUnreachable, withoutAddresses } from '../refusal.ts';

/** `refused`: it stays so until a person changes something; `unavailable`: it may pass, or nobody knows. `why` names the cure. */
export interface StateRefusal {
  readonly kind: 'refused' | 'unavailable';
  readonly why: string;
}

/** What git or its server said about refs that hold state, for a person. `url` carries no password. */
export function explainStateRefusal(
  words: string,
  { url, isOwn }: { readonly url: string; readonly isOwn: boolean },
): StateRefusal {
  const answer = cut(words.trim().replaceAll(/\s*\n\s*/g, '; '), 500).replace(/\.$/, '');
  const who = isOwn ? 'your git credentials' : 'the token';
  if (/could not resolve host|couldn't resolve host|name or service not known/i.test(answer))
    return passing(
      `the name of the git server of ${url} cannot be resolved (DNS): check the address and the network (${answer})`,
    );
  if (/got no answer|no time is left/.test(answer))
    return passing(`the git server of ${url} does not answer: ${answer}`);
  // A repository may be called `read-only`, and that is no refusal.
  const meant = withoutAddresses(answer.replaceAll(url, ''));
  const known = refusals.find(({ pattern }) => pattern.test(meant));
  if (known) return { kind: known.kind, why: `${known.meaning(who, url)} (git said: ${answer})` };
  if (isUnreachable(answer))
    return passing(`the git server of ${url} cannot be reached or is broken at the moment: ${answer}`);
  return passing(`git could not do it at ${url}: ${answer}`);
}

function passing(why: string): StateRefusal {
  return { kind: 'unavailable', why };
}

/** Numbers are an HTTP status only in these words: connecting may have taken 403 ms, and a lane may be called `issue-429`. */
const refusals: readonly {
  readonly kind: StateRefusal['kind'];
  readonly pattern: RegExp;
  readonly meaning: (who: string, url: string) => string;
}[] = [
  {
    kind: 'refused',
    pattern: /GH006|GH013|rule violations|ruleset|hook declined|protected|deny updating/i,
    meaning: () =>
      'a rule or hook of the repository refuses it: exempt refs/ralph/state/** from it, or set `state-store: cache`',
  },
  {
    kind: 'unavailable',
    pattern: /(returned error:|HTTP) 429\b|rate limit/i,
    meaning: () => 'the server limits the rate of requests: the next run tries again',
  },
  {
    kind: 'refused',
    pattern:
      /(returned error:|HTTP) 403\b|permission .*denied|insufficient permission|read-only|archived|write access .*not granted|service not enabled/i,
    meaning: (who) =>
      `${who} may not do this: state is kept on refs of the repository and needs "permissions: contents: write"`,
  },
  {
    kind: 'refused',
    pattern:
      /(returned error:|HTTP) 401\b|could not read (Username|Password)|authentication failed|invalid (username|credentials)|publickey/i,
    meaning: (who, url) =>
      `${who} ${who.endsWith('s') ? 'were' : 'was'} not accepted at ${url}: it has expired, was revoked, or is for another server. A GitHub App's token lasts one hour: create it in the same job right before this step`,
  },
  {
    kind: 'unavailable',
    pattern: /(returned error:|HTTP) 404\b|not found|does not exist|does not appear to be a git repository/i,
    meaning: (who, url) => `there is no repository ${url} that ${who} may see`,
  },
];
