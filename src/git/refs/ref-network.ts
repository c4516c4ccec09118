import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MINUTE_MS } from '../../core/countdown.ts';
import {
  isTransient,
  parseRefusal,
  type Refusal,
  UNKNOWN_RULE,
  withoutAddresses,
} from '../../core/refusals/refusal.ts';
import { createRedactor } from '../../core/text/redact.ts';
import { cutText } from '../../core/text/phrase.ts';
import { getErrorText } from '../../errors.ts';
import type { Unavailable } from '../../ports/state.ts';
import { withNamedWait } from '../../ports/waits.ts';
import { buildAuthVariables, type Git, type GitAnswer, withBareRepository } from '../git.ts';

/**
 * A refusal. `refused` lasts until a person changes something; `unavailable` may pass, or its cause is unknown. `why`
 * names the fix.
 */
interface StateRefusal {
  readonly kind: 'refused' | 'unavailable';
  readonly why: string;
}

/**
 * Answers of git, a proxy or the server, with their meaning. A number is treated as an HTTP status only next to these
 * words, because a connection may take 403 ms, and a lane may be called `issue-429`.
 */
const KNOWN_ANSWERS: readonly {
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
    meaning: (who, url) => `the repository ${url} does not exist, or it is hidden from ${who}`,
  },
];

export interface RefNetworkOptions {
  /** For a token, an HTTP(S) URL without user name or password; for a person's own access, any URL that git accepts. */
  readonly url: string;
  readonly access: RefAccess;
  /** A folder of this program outside of the checkout; no checkout is needed. */
  readonly workFolder: string;
  /** The environment of this process. With a token, git gets only PATH, HOME and proxy settings from it. */
  readonly env: NodeJS.ProcessEnv;
  readonly now: () => number;
  /**
   * Maximum time of one network command, in ms; an operation takes at most twice as long. 10 s by default: a healthy
   * command takes under a second.
   */
  readonly timeoutMs?: number;
  /** Pause in ms before a command is repeated because the server could not be reached; 1 s by default. */
  readonly retryAfterMs?: number;
}

/** The access to the server. `own` uses the git configuration and credentials of the person who runs this program. */
type RefAccess = { readonly kind: 'token'; readonly token: string } | { readonly kind: 'own' };

type Refused = { readonly kind: 'refused'; readonly why: string };

/**
 * git in the bare repository of one operation, connected to the server. A command without an answer in time has the
 * exit code -1.
 */
export interface Connection {
  readonly git: Git;
  readonly gitFolder: string;
  ask(command: NetworkCommand, args: readonly string[]): Promise<GitAnswer>;
  /** Runs a command that is not safe to repeat. */
  askOnce(command: NetworkCommand, args: readonly string[]): Promise<GitAnswer>;
}

type NetworkCommand = keyof typeof protocols;

/**
 * Protocol versions. Version 2 fetches without listing every ref of the repository. Version 0 lists in one request
 * instead of two, and is the only version for a push.
 */
const protocols = { fetch: 2, push: 0, 'ls-remote': 0 } as const;

/** Settings that keep each object in a separate file, regardless of a person's configuration. */
const settings = [
  'fetch.unpackLimit=1000000',
  'transfer.unpackLimit=1000000',
  'fetch.fsckObjects=false',
  'transfer.fsckObjects=false',
].flatMap((setting) => ['-c', setting]);

interface RefNetwork {
  /** A folder that outlives the operations, so that later ones find the objects that were read. */
  readonly objectsFolder: string;
  /** Runs `body` for a limited time and turns every failure into an answer. */
  operation<T>(body: (remote: Connection) => Promise<T>): Promise<T | Unavailable>;
  /** Explains git's words about a failed read, for a person. */
  unavailable(words: string): Unavailable;
  /** Explains git's words about a failed push, for a person, as a permanent refusal or a temporary failure. */
  notWritten(words: string): Refused | Unavailable;
}

/**
 * Pause in ms before a command that timed out is sent again. Each attempt costs the run the whole time limit, but a
 * server that hung when the lane was claimed may answer when its state is saved.
 */
const PAUSE_AFTER_TIMEOUT_MS = MINUTE_MS;

/** Creates the connection to a repository that is used only for its refs. */
export function createRefNetwork(options: RefNetworkOptions): RefNetwork {
  const { url, access, workFolder, env, now, timeoutMs = 10_000, retryAfterMs = 1_000 } = options;
  const objectsFolder = join(workFolder, 'objects');
  const isOwn = access.kind === 'own';
  const variables = isOwn ? {} : buildAuthVariables(url, access.token);
  const redact = createRedactor([isOwn ? (URL.canParse(url) ? new URL(url).password : '') : access.token]);
  /** The instant of the last timeout of each command. */
  const timedOutAt = new Map<NetworkCommand, number>();
  return { objectsFolder, operation, unavailable, notWritten };

  async function operation<T>(body: (remote: Connection) => Promise<T>): Promise<T | Unavailable> {
    const endsAt = performance.now() + 2 * timeoutMs;
    try {
      return await withNamedWait('the git server', () =>
        withBareRepository(
          { workFolder, keepObjectsIn: objectsFolder, env, configuration: isOwn ? 'own' : 'none' },
          async (git, gitFolder) => {
            const askOnce: Connection['askOnce'] = (command, args) => give(git, { command, args, endsAt });
            const ask: Connection['ask'] = async (command, args) => {
              const answer = await askOnce(command, args);
              if (answer.exitCode === 0 || !isTransient(answer.stderr)) return answer;
              await pause(retryAfterMs);
              return await askOnce(command, args);
            };
            return await body({ git, gitFolder, ask, askOnce });
          },
        ),
      );
    } catch (error) {
      return { kind: 'unavailable', why: redact(getErrorText(error)) };
    }
  }

  async function give(
    git: Git,
    given: { readonly command: NetworkCommand; readonly args: readonly string[]; readonly endsAt: number },
  ): Promise<GitAnswer> {
    const { command, args, endsAt } = given;
    if (timedOutLately(command))
      return notAnswered(`git ${command} got no answer less than a minute ago, so it is not retried yet`);
    const startedAt = performance.now();
    const limitMs = Math.min(timeoutMs, Math.floor(endsAt - startedAt));
    if (limitMs <= 0) return notAnswered(`no time is left for git ${command}`);
    const answer = await git.answer([...settings, '-c', `protocol.version=${protocols[command]}`, command, ...args], {
      variables,
      timeoutMs: limitMs,
    });
    if (answer.exitCode !== -1 || performance.now() - startedAt < limitMs) return answer;
    timedOutAt.set(command, now());
    return notAnswered(`git ${command} got no answer within ${String(Math.round(limitMs / 100) / 10)} s`);
  }

  function timedOutLately(command: NetworkCommand): boolean {
    const since = timedOutAt.get(command);
    // Use the absolute difference, because a clock that was set back must not prolong the pause.
    return since !== undefined && Math.abs(now() - since) < PAUSE_AFTER_TIMEOUT_MS;
  }

  function unavailable(words: string): Unavailable {
    return { kind: 'unavailable', why: notWritten(words).why };
  }

  function notWritten(words: string): Refused | Unavailable {
    const { kind, why } = explainStateRefusal(words, { url, isOwn });
    return { kind, why: redact(why) };
  }
}

/**
 * Fetches refs, each without its past and with each object in a separate file. Leaves out missing refs; if all are
 * missing, git exits with 1 and prints nothing.
 */
export function fetchRefs({ ask }: Connection, url: string, refs: readonly string[]): Promise<GitAnswer> {
  return ask('fetch', [
    '--quiet',
    '--depth=1',
    '--no-tags',
    '--no-auto-gc',
    '--no-recurse-submodules',
    '--no-write-fetch-head',
    url,
    // A ref that is named exactly must exist, while a pattern need not match, so use patterns that match only the one
    // ref.
    ...refs.map((ref) => ref.replace('refs/ralph/', 'refs/ralph*/')).map((pattern) => `+${pattern}:${pattern}`),
  ]);
}

function notAnswered(why: string): GitAnswer {
  return { exitCode: -1, stdout: Buffer.alloc(0), stderr: why };
}

/**
 * Explains the words of git or its server about refs that contain state, for a person. `url` must not contain a
 * password.
 */
export function explainStateRefusal(
  words: string,
  { url, isOwn }: { readonly url: string; readonly isOwn: boolean },
): StateRefusal {
  const answer = cutText(words.trim().replaceAll(/\s*\n\s*/g, '; '), 500).replace(/\.$/, '');
  const refusal = parseRefusal(words);
  const who = isOwn ? 'your git credentials' : 'the token';
  if (/could not resolve host|couldn't resolve host|name or service not known/i.test(answer))
    return temporary(
      `the name of the git server of ${url} cannot be resolved (DNS): check the address and the network (${answer})`,
    );
  if (/got no answer|no time is left/.test(answer))
    return temporary(`the git server of ${url} does not answer: ${answer}`);
  // Remove addresses first, because a repository may be called `read-only`, which is not a refusal.
  const meant = withoutAddresses(answer.replaceAll(url, ''));
  if (refusal.rule === 'rate-limit')
    return temporary(`the server limits the rate of requests: the next run tries again (git said: ${answer})`);
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
  const known = KNOWN_ANSWERS.find(({ pattern }) => pattern.test(meant));
  if (known) return { kind: known.kind, why: `${known.meaning(who, url)} (git said: ${answer})` };
  if (refusal.rule === 'unreachable')
    return temporary(
      `the git server of ${url} does not work at the moment: ${answer.replace(/^fatal: unable to access '[^']*': /, '')}`,
    );
  return temporary(`the git command failed at ${url}: ${answer}`);
}

function temporary(why: string): StateRefusal {
  return { kind: 'unavailable', why };
}

function isByRule({ kind, rule }: Refusal): boolean {
  return kind === 'content' || (kind === 'branch' && rule !== 'access' && rule !== UNKNOWN_RULE);
}
