import { setTimeout as pause } from 'node:timers/promises';
import { MINUTE_MS } from '../../core/countdown.ts';
import type { ObjectId } from '../../core/evidence.ts';
import type { Folder } from '../../core/folder.ts';
import {
  explainRefusal,
  listBranchFolders,
  isBranchName,
  isTransient,
  parseRefusal,
} from '../../core/refusals/refusal.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { Forge } from '../../ports/forge.ts';
import type { Log } from '../../ports/machine.ts';
import type { PushResult, Remote } from '../../ports/remote.ts';
import {
  buildAuthVariables,
  encodeBasicCredentials,
  type Git,
  type GitAnswer,
  lastLinesOfError,
  parseRemoteWords,
} from '../git.ts';
import type { PublishingRules } from '../inspection/inspection.ts';
import { describeReadRefusal } from '../refusal.ts';
import { inspectOutgoing } from './outgoing.ts';

export interface RemoteOptions {
  /** HTTP(S) URL of the repository, without user name or password. */
  readonly url: string;
  readonly token: string;
  /** Prefix of the only branches that are ever pushed. */
  readonly branchPrefix: string;
  /** The only branch whose commits a branch may merge; null means the default branch. */
  readonly baseBranch: string | null;
  /** The working directory; empty for the root. Changes outside of it are shown to reviewers. */
  readonly folder: Folder;
  /** A folder outside of the checkout. */
  readonly workFolder: string;
  /** The git directory whose commits are pushed; it may not exist yet. */
  readonly quarantineFolder: string;
  readonly rules: PublishingRules;
  /** The author of commits made here, and the only co-author whom commits from another job may name. */
  readonly identity: { readonly name: string; readonly email: string };
  readonly coAuthors: readonly string[];
  /** Signs commits, or null if commits are never signed. */
  readonly signer: Signer | null;
  /** The environment of this process; git gets PATH, HOME and proxy settings from it. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /** Pause in ms before a command is repeated because the server could not be reached; 2 s by default. */
  readonly retryAfterMs?: number;
  /** Maximum time of one command that talks to the server, in ms; 2 min by default. */
  readonly commandTimeoutMs?: number;
}

/**
 * The means of signing commits. `make` creates a signed commit through the server's API. `isWanted` becomes true as
 * soon as the server refuses a commit without a signature.
 */
interface Signer {
  isWanted: boolean;
  readonly make: Forge['makeCommit'];
}

/** Returns the options with the texts that no message may show: the token, plain and encoded. */
export function hideToken(options: RemoteOptions): RemoteOptions & { readonly hide: readonly string[] } {
  return { ...options, hide: [options.token, encodeBasicCredentials(options.token)] };
}

/** Returns the credentials and time limits of commands that talk to the remote. */
export function buildNetwork(options: RemoteOptions): Network {
  const { url, token, retryAfterMs = 2000, commandTimeoutMs = 2 * MINUTE_MS } = options;
  return { variables: buildAuthVariables(url, token), timeoutMs: commandTimeoutMs, retryAfterMs };
}

/**
 * Returns the base branch and the rules for inspecting commits. The server itself says which commits its base branch
 * has.
 */
export function pickInspectionBase(options: RemoteOptions): Parameters<typeof inspectOutgoing>[2] {
  const network = buildNetwork(options);
  return { ...hideToken(options), baseBranch: options.baseBranch, ask: (from, args) => askRemote(from, args, network) };
}

/** Returns the result of a push that did not succeed. */
export function classifyPushRefusal(answer: GitAnswer): Exclude<PushResult, { kind: 'pushed' | 'rejected' }> {
  const refusal = parseRefusal(extractServerWords(answer));
  if (answer.exitCode === -1 || refusal.kind === 'transient')
    return { kind: 'unreachable', why: explainRefusal(refusal) };
  return refusal.kind === 'stale' ? { kind: 'moved', why: explainRefusal(refusal) } : { kind: 'refused', refusal };
}

export type BranchPush = Parameters<Remote['pushOn']>[0];

/** Returns the reason why a push must not be tried, or null if it may be tried. */
export async function findOutgoingProblem(
  git: Git,
  options: RemoteOptions,
  { branch, ...commits }: Pick<BranchPush, 'branch' | 'commit' | 'since'> & { readonly theirs?: ObjectId },
): Promise<string | null> {
  return findBranchNameProblem(options, branch) ?? (await inspectOutgoing(git, commits, pickInspectionBase(options)));
}

/** Returns the reason why a branch of that name must never be pushed, or null if it may be pushed. */
export function findBranchNameProblem({ branchPrefix }: RemoteOptions, branch: string): string | null {
  if (branchPrefix === '' || !branch.startsWith(branchPrefix) || branch === branchPrefix)
    return `"${branch}" does not start with the branch prefix "${branchPrefix}", and no other branch is ever pushed.`;
  return isBranchName(branch) ? null : `"${branch}" cannot be the name of a branch.`;
}

/** Creates the answer for a push that the server rejected. */
export function rejectPush(why: string): { readonly kind: 'rejected'; readonly why: string } {
  return { kind: 'rejected', why };
}

export interface Question {
  readonly url: string;
  readonly network: Network;
}

interface Network {
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly retryAfterMs: number;
}

/** Runs a command that is safe to repeat, and repeats it once if the server was not reached. A refusal is final. */
export async function askRemote(git: Git, args: readonly string[], network: Network): Promise<GitAnswer> {
  const answer = await git.answer(args, network);
  // -1 means that the command ran out of time, so do not repeat it.
  if (answer.exitCode === 0 || answer.exitCode === -1 || !isTransient(answer.stderr)) return answer;
  await pause(network.retryAfterMs);
  return await git.answer(args, network);
}

/**
 * Returns the tips of the remote branches that start with `start`, and of branches whose names are one of its folders.
 * Throws if the remote cannot be read.
 */
export async function readBranches(
  git: Git,
  { url, start, network }: Question & { readonly start: string },
): Promise<Readonly<Record<string, ObjectId>>> {
  const folders = listBranchFolders(start.slice('refs/heads/'.length)).map((name) => `refs/heads/${name}`);
  const listed = await askRemote(git, ['ls-remote', '--quiet', url, `${start}*`, ...folders], network);
  if (listed.exitCode !== 0) throw unreadable(url, listed.stderr);
  return Object.fromEntries(
    parseRefs(listed.stdout)
      .filter(({ name }) => name.startsWith(start) || folders.includes(name))
      .map(({ name, value }) => [name.slice('refs/heads/'.length), value]),
  );
}

/**
 * Returns the tip of a remote ref and the default branch, each null if it is missing, and the existing ones among the
 * refs `beside`. Throws if the remote cannot be read.
 */
export async function readRemote(
  git: Git,
  { url, ref, network }: Question & { readonly ref: string },
  beside: readonly string[] = [],
): Promise<{
  readonly tip: ObjectId | null;
  readonly defaultBranch: string | null;
  readonly beside: readonly string[];
}> {
  const listed = await askRemote(git, ['ls-remote', '--quiet', '--symref', url, 'HEAD', ref, ...beside], network);
  if (listed.exitCode !== 0) throw unreadable(url, listed.stderr);
  const refs = parseRefs(listed.stdout);
  const symbolic = refs.find(({ name, value }) => name === 'HEAD' && value.startsWith('ref: '))?.value;
  return {
    tip: refs.find(({ name }) => name === ref)?.value ?? null,
    defaultBranch: symbolic?.replace('ref: refs/heads/', '') ?? null,
    beside: beside.filter((wanted) => refs.some(({ name }) => name === wanted)),
  };
}

function unreadable(url: string, stderr: string): UserError {
  const words = lastLinesOfError(stderr);
  return new UserError(
    'infrastructure',
    `The branches of ${url} cannot be read: ${completeSentence(words)} ${describeReadRefusal(words)}`,
  );
}

/** Pushes a commit if the branch is still at `at`. */
export async function pushBranchFrom(
  git: Git,
  { url, ref, network }: Question & { readonly ref: string },
  { commit, at }: { readonly commit: ObjectId; readonly at: ObjectId | null },
): Promise<PushResult> {
  const lease = `--force-with-lease=${ref}:${at ?? ''}`;
  const pushed = await askRemote(
    git,
    ['push', '--porcelain', '--no-verify', '--no-follow-tags', lease, url, `${commit}:${ref}`],
    network,
  );
  return pushed.exitCode === 0 ? { kind: 'pushed' } : classifyPushRefusal(pushed);
}

/** Parses the output of `git ls-remote`: a ref and the object to which it points, or `ref: …` for a symbolic one. */
export function parseRefs(stdout: Buffer): readonly { readonly name: string; readonly value: ObjectId }[] {
  return stdout
    .toString()
    .split('\n')
    .filter((line) => line.includes('\t'))
    .map((line) => {
      const [value = '', name = ''] = line.split('\t');
      return { name, value };
    });
}

/** Returns the server's words about a `git push --porcelain`: the reason for each ref and what it printed. */
export function extractServerWords({ stdout, stderr }: { readonly stdout: Buffer; readonly stderr: string }): string {
  const reasons = stdout
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.split('\t').at(-1) ?? '');
  return [...reasons, parseRemoteWords(stderr)].join('\n');
}

/**
 * Pushes several branches in one request, each only from where it was left. The push is not atomic: branches that the
 * server accepts are pushed, and each of the others is pushed again `alone`, which shows its problem.
 */
export async function pushTogether(
  git: Git,
  { options, alone }: { readonly options: RemoteOptions; readonly alone: (push: BranchPush) => Promise<PushResult> },
  pushes: readonly BranchPush[],
): Promise<readonly PushResult[]> {
  const [first, ...others] = pushes;
  if (first !== undefined && others.length === 0) return [await alone(first)];
  const problems = new Map<BranchPush, string>();
  for (const push of pushes) {
    const problem = await findOutgoingProblem(git, options, push);
    if (problem !== null) problems.set(push, problem);
  }
  const sound = pushes.filter((push) => !problems.has(push));
  // Do not push without refs, because git would choose some itself.
  if (sound.length === 0) return pushes.map((push) => rejectPush(problems.get(push) ?? ''));
  const fullRefOf = ({ branch }: BranchPush): string => `refs/heads/${branch}`;
  const answer = await askRemote(
    git,
    [
      ...['push', '--porcelain', '--no-verify', '--no-follow-tags'],
      ...sound.map((push) => `--force-with-lease=${fullRefOf(push)}:${push.at ?? ''}`),
      options.url,
      ...sound.map((push) => `${push.commit}:${fullRefOf(push)}`),
    ],
    buildNetwork(options),
  );
  const taken = takenRefs(answer.stdout.toString());
  const refused = answer.exitCode === 0 ? null : classifyPushRefusal(answer);
  const results: PushResult[] = [];
  for (const push of pushes) {
    const problem = problems.get(push);
    if (problem !== undefined) results.push(rejectPush(problem));
    else if (refused === null || taken.has(fullRefOf(push))) results.push({ kind: 'pushed' });
    else results.push(refused.kind === 'unreachable' ? refused : await alone(push));
  }
  return results;
}

/** Returns the refs that git names as pushed, or as up to date: a line of `--porcelain` is flag, refs and summary. */
function takenRefs(porcelain: string): ReadonlySet<string> {
  const lines = porcelain.split('\n').map((line) => line.split('\t'));
  return new Set(lines.flatMap(([flag = '', refs = '']) => (/^[ *=+]$/.test(flag) ? [refs.replace(/^.*:/, '')] : [])));
}
