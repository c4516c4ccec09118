import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MINUTE_MS } from '../../core/countdown.ts';
import { isWeather, parseRefusal, type Refusal, UNKNOWN_RULE, withoutAddresses } from '../../core/refusals/refusal.ts';
import { createRedactor } from '../../core/text/redact.ts';
import { cut } from '../../core/text/phrase.ts';
import { textOf } from '../../errors.ts';
import type { Unavailable } from '../../ports/state.ts';
import { authorization, type Git, type GitAnswer, withBareRepository } from '../git.ts';

/** `refused`: it stays so until a person changes something; `unavailable`: it may pass, or nobody knows. `why` names the cure. */
interface StateRefusal {
  readonly kind: 'refused' | 'unavailable';
  readonly why: string;
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

export interface RefNetworkOptions {
  /** HTTP(S) URL without user name or password for a token; for a person's own access any that git takes. */
  readonly url: string;
  readonly access: RefAccess;
  /** A folder of this program's own, outside of the checkout; no checkout is needed. */
  readonly workFolder: string;
  /** Of this process. With a token, git gets PATH, HOME and proxy settings of it. */
  readonly env: NodeJS.ProcessEnv;
  readonly now: () => number;
  /** Of one network command, in ms; an operation takes twice as long at most. 10 s by default: a healthy command takes under a second. */
  readonly timeoutMs?: number;
  /** Pause in ms before a command whose server could not be reached is given once more; 1 s by default. */
  readonly retryAfterMs?: number;
}

/** `own`: with the git configuration and credentials of the person who runs this. */
type RefAccess = { readonly kind: 'token'; readonly token: string } | { readonly kind: 'own' };

type Refused = { readonly kind: 'refused'; readonly why: string };

/** Git in a bare repository of one operation, and the way to the server. A command that ends without an exit code was not answered in time. */
export interface Connection {
  readonly git: Git;
  readonly gitFolder: string;
  ask(command: NetworkCommand, args: readonly string[]): Promise<GitAnswer>;
  /** For what must not blindly be given twice. */
  askOnce(command: NetworkCommand, args: readonly string[]): Promise<GitAnswer>;
}

type NetworkCommand = keyof typeof protocols;

/** Version 2 fetches without listing every ref of the repository; version 0 lists in one request instead of two, and push knows no other. */
const protocols = { fetch: 2, push: 0, 'ls-remote': 0 } as const;

/** Objects come as a file each, whatever a person's own configuration says. */
const settings = [
  'fetch.unpackLimit=1000000',
  'transfer.unpackLimit=1000000',
  'fetch.fsckObjects=false',
  'transfer.fsckObjects=false',
].flatMap((setting) => ['-c', setting]);

interface RefNetwork {
  /** Outlives the operations: what was read is there when it is built on. */
  readonly objectsFolder: string;
  /** Runs `body`, bounded in time; whatever goes wrong is an answer. */
  operation<T>(body: (remote: Connection) => Promise<T>): Promise<T | Unavailable>;
  /** Git's words about a look as an answer for a person. */
  unavailable(words: string): Unavailable;
  /** Git's words about a push: whether it is refused for good, or may pass another time. */
  notWritten(words: string): Refused | Unavailable;
}

/** So long a command that was not answered is not given again, in ms: each wait costs the run its limit once more, but what hung at its claim may be well at its save. */
const silenceMs = MINUTE_MS;

/** The way to a repository that is used for its refs alone. */
export function createRefNetwork(options: RefNetworkOptions): RefNetwork {
  const { url, access, workFolder, env, now, timeoutMs = 10_000, retryAfterMs = 1_000 } = options;
  const objectsFolder = join(workFolder, 'objects');
  const isOwn = access.kind === 'own';
  const variables = isOwn ? {} : authorization(url, access.token);
  const redact = createRedactor([isOwn ? passwordOf(url) : access.token]);
  /** When each command was last not answered. */
  const silentSince = new Map<NetworkCommand, number>();
  return { objectsFolder, operation, unavailable, notWritten };

  async function operation<T>(body: (remote: Connection) => Promise<T>): Promise<T | Unavailable> {
    const endsAt = performance.now() + 2 * timeoutMs;
    try {
      return await withBareRepository(
        { workFolder, keepObjectsIn: objectsFolder, env, configuration: isOwn ? 'own' : 'none' },
        async (git, gitFolder) => {
          const askOnce: Connection['askOnce'] = (command, args) => give(git, { command, args, endsAt });
          const ask: Connection['ask'] = async (command, args) => {
            const answer = await askOnce(command, args);
            if (answer.exitCode === 0 || !isWeather(answer.stderr)) return answer;
            await pause(retryAfterMs);
            return await askOnce(command, args);
          };
          return await body({ git, gitFolder, ask, askOnce });
        },
      );
    } catch (error) {
      return { kind: 'unavailable', why: redact(textOf(error)) };
    }
  }

  async function give(
    git: Git,
    {
      command,
      args,
      endsAt,
    }: { readonly command: NetworkCommand; readonly args: readonly string[]; readonly endsAt: number },
  ): Promise<GitAnswer> {
    if (isSilent(command))
      return notAnswered(`git ${command} got no answer less than a minute ago, so it is not retried yet`);
    const startedAt = performance.now();
    const limitMs = Math.min(timeoutMs, Math.floor(endsAt - startedAt));
    if (limitMs <= 0) return notAnswered(`no time is left for git ${command}`);
    const answer = await git.answer([...settings, '-c', `protocol.version=${protocols[command]}`, command, ...args], {
      variables,
      timeoutMs: limitMs,
    });
    if (answer.exitCode !== -1 || performance.now() - startedAt < limitMs) return answer;
    silentSince.set(command, now());
    return notAnswered(`git ${command} got no answer within ${String(Math.round(limitMs / 100) / 10)} s`);
  }

  function isSilent(command: NetworkCommand): boolean {
    const since = silentSince.get(command);
    // A clock that was set back must not make the silence longer.
    return since !== undefined && Math.abs(now() - since) < silenceMs;
  }

  function unavailable(words: string): Unavailable {
    return { kind: 'unavailable', why: notWritten(words).why };
  }

  function notWritten(words: string): Refused | Unavailable {
    const { kind, why } = explainStateRefusal(words, { url, isOwn });
    return { kind, why: redact(why) };
  }
}

/** Fetches refs, each without its past and with each object in a file of its own. One that does not exist is left out; where none does, git ends with 1 and no word. */
export function fetchRefs({ ask }: Connection, url: string, refs: readonly string[]): Promise<GitAnswer> {
  return ask('fetch', [
    '--quiet',
    '--depth=1',
    '--no-tags',
    '--no-auto-gc',
    '--no-recurse-submodules',
    '--no-write-fetch-head',
    url,
    // A ref that is named outright must exist; a pattern need not match, and these match only the one.
    ...refs.map((ref) => ref.replace('refs/ralph/', 'refs/ralph*/')).map((pattern) => `+${pattern}:${pattern}`),
  ]);
}

function notAnswered(why: string): GitAnswer {
  return { exitCode: -1, stdout: Buffer.alloc(0), stderr: why };
}

/** A person's own URL may hold one. */
function passwordOf(url: string): string {
  return URL.canParse(url) ? new URL(url).password : '';
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
