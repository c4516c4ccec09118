import { cut } from '../../core/text/cut.ts';
import { parseRefusal, UNKNOWN_RULE, withoutAddresses, type Refusal } from '../../core/refusals/refusal.ts';

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
  const refusal = parseRefusal(words);
  const who = isOwn ? 'your git credentials' : 'the token';
  if (/could not resolve host|couldn't resolve host|name or service not known/i.test(answer))
    return passing(
      `the name of the git server of ${url} cannot be resolved (DNS): check the address and the network (${answer})`,
    );
  if (/got no answer|no time is left/.test(answer))
    return passing(`the git server of ${url} does not answer: ${answer}`);
  // A repository may be called `read-only`, and that is no refusal.
  const meant = withoutAddresses(answer.replaceAll(url, ''));
  if (refusal.rule === 'rate-limit')
    return passing(`the server limits the rate of requests: the next run tries again (git said: ${answer})`);
  if (refusal.kind === 'name')
    return {
      kind: 'refused',
      why: `another ref has a name that git does not allow beside refs/ralph/v2/**: rename or delete it with \`git push <remote> --delete <ref>\`, or set \`state-store: cache\` (git said: ${answer})`,
    };
  if (isByRule(refusal) || /hook declined|deny updating/i.test(meant))
    return {
      kind: 'refused',
      why: `a rule or hook of the repository refuses it: exempt refs/ralph/v2/** from it, or set \`state-store: cache\` (git said: ${answer})`,
    };
  const known = answers.find(({ pattern }) => pattern.test(meant));
  if (known) return { kind: known.kind, why: `${known.meaning(who, url)} (git said: ${answer})` };
  if (refusal.rule === 'unreachable')
    return passing(`the git server of ${url} cannot be reached or is broken at the moment: ${answer}`);
  return passing(`git could not do it at ${url}: ${answer}`);
}

function passing(why: string): StateRefusal {
  return { kind: 'unavailable', why };
}

function isByRule({ kind, rule }: Refusal): boolean {
  return kind === 'content' || (kind === 'branch' && rule !== 'access' && rule !== UNKNOWN_RULE);
}

/** What the way to the server says. Numbers are an HTTP status only in these words: connecting may have taken 403 ms, and a lane may be called `issue-429`. */
const answers: readonly {
  readonly kind: StateRefusal['kind'];
  readonly pattern: RegExp;
  readonly meaning: (who: string, url: string) => string;
}[] = [
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
