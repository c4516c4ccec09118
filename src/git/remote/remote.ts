import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ObjectId } from '../../core/evidence.ts';
import type { Log } from '../../ports/machine.ts';
import type { BranchDeleted, PushedWithState, PushObstacle, PushResult, Remote } from '../../ports/repository.ts';
import type { Head, Written } from '../../ports/state.ts';
import { UserError } from '../../errors.ts';
import type { PublishingRules } from '../inspection/inspection.ts';
import { authorization, basicCredentials, lastWords, remoteWords, type Git, type GitAnswer } from '../git.ts';
import { treeOf } from '../objects.ts';
import { adviceOnReading, LOST_COMMITS } from '../refusal.ts';
import { pathsByTask, remakeWithout } from './leave-out.ts';
import { inspectOutgoing, withPushRepository } from './outgoing.ts';
import { newestPublished } from './published.ts';
import { receiveBranch } from './receive.ts';
import { parseRefs, wordsOf } from './remote-answers.ts';
import type { Folder } from '../../core/folder.ts';
import { foldersOf } from '../../core/refusals/branch-names.ts';
import { explainRefusal, isStale, isWeather, parseRefusal, UNKNOWN_RULE, whyOf } from '../../core/refusals/refusal.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { sentence } from '../../core/text/sentence.ts';

export interface RemoteOptions {
  /** HTTP(S) URL of the repository, without user name or password. */
  readonly url: string;
  readonly token: string;
  /** Only branches that start with it are ever pushed. */
  readonly branchPrefix: string;
  /** The one branch whose commits a branch may merge; null: the default branch. */
  readonly baseBranch: string | null;
  /** The working directory, empty for the root: what is changed outside of it is shown to reviewers. */
  readonly folder: Folder;
  /** A folder outside of the checkout. */
  readonly workFolder: string;
  /** The git directory whose commits are pushed; it may not be there yet. */
  readonly quarantineFolder: string;
  readonly rules: PublishingRules;
  /** Author of commits that are made here, and whom they may name as co-author: of those that another job hands over nothing else is taken. */
  readonly identity: { readonly name: string; readonly email: string };
  readonly coAuthors: readonly string[];
  /** Of this process; git gets PATH, HOME and proxy settings of it. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /** Pause in ms before a command whose server could not be reached is tried once more; 2 s by default. */
  readonly retryAfterMs?: number;
  /** Of one command that talks to the server, in ms; 2 min by default. */
  readonly commandTimeoutMs?: number;
}

/** The remote over HTTP(S), spoken to from a bare repository of our own: no config, hook or ref of the checkout has a say. */
export function createRemote(options: RemoteOptions): Remote {
  const run = <T>(body: (git: Git, gitFolder: string) => Promise<T>): Promise<T> =>
    withPushRepository(sourceOf(options), body);
  return {
    branches: (prefix) =>
      run((git) => readBranches(git, { url: options.url, start: `refs/heads/${prefix}`, network: networkOf(options) })),
    pushObstacle: (newBranch) => run((git) => pushObstacle(git, options, newBranch)),
    push: (push) => run((git) => publish(git, options, push)),
    pushOn: (push) => run((git) => inspectAndPush(git, options, push)),
    pushWithState: (push) => run((git, gitFolder) => pushWithState({ git, gitFolder }, options, push)),
    probePush: (branch, at) => run((git) => probePush(git, options, { branch, at })),
    probeMerge: (branch, merge) => run((git) => probeMerge(git, options, { ...merge, branch })),
    pathsByTask: (commits) => run((git) => pathsByTask(git, commits)),
    remakeWithout: (wanted) =>
      run((git, gitFolder) =>
        remakeWithout(git, wanted, {
          objectsFolder: join(options.quarantineFolder, 'objects'),
          scratchFolder: gitFolder,
        }),
      ),
    receive: (branch) =>
      receiveBranch(branch, { ...sourceOf(options), ask: (git, args) => ask(git, args, networkOf(options)) }),
    deleteBranch: (branch) => run((git) => deleteBranch(git, options, branch)),
  };
}

function sourceOf(options: RemoteOptions): RemoteOptions & { readonly hide: readonly string[] } {
  return { ...options, hide: [options.token, basicCredentials(options.token)] };
}

const NOT_PUBLISHED =
  'None of the commits that they build on is on a branch of the server, or its branches could not be fetched, so it is unknown where their inspection should begin.';

type Publishing = Parameters<Remote['push']>[0];

function networkOf({ url, token, retryAfterMs = 2000, commandTimeoutMs = 2 * MINUTE_MS }: RemoteOptions): Network {
  return { variables: authorization(url, token), timeoutMs: commandTimeoutMs, retryAfterMs };
}

/** What inspecting commits takes; the server itself is asked which commits its base branch has. */
function baseOf(options: RemoteOptions): Parameters<typeof inspectOutgoing>[2] {
  const network = networkOf(options);
  return { ...sourceOf(options), baseBranch: options.baseBranch, ask: (from, args) => ask(from, args, network) };
}

async function pushObstacle(git: Git, options: RemoteOptions, newBranch: string | null): Promise<PushObstacle | null> {
  const nothing = await git.text(['hash-object', '-t', 'tree', '-w', '/dev/null']);
  if (newBranch !== null && (await nameProblem(git, options, newBranch)) === null) {
    const commit = await probeCommit(git, options, { tree: nothing, parents: [] });
    const tried = await sendDoomed(git, options, { branch: newBranch, commit });
    if (tried.kind === 'unreachable') return { kind: 'weather', why: tried.why };
    // An empty commit has no content to refuse, and its message is not that of the work.
    const isOfWork = tried.kind === 'refused' && (tried.refusal.kind === 'content' || tried.refusal.rule === 'message');
    return tried.kind === 'refused' && !isOfWork ? { kind: 'configuration', why: explainRefusal(tried.refusal) } : null;
  }
  // A push that is never sent: the server says who may push before it learns what.
  const commit = await probeCommit(git, options, { tree: nothing, parents: [] });
  const name = `refs/heads/${options.branchPrefix}permission-check`;
  const tried = await ask(
    git,
    ['push', '--dry-run', '--porcelain', '--no-verify', options.url, `${commit}:${name}`],
    networkOf(options),
  );
  // "fetch first" and the like are about branches, not about permission.
  const refused = tried.exitCode !== 0 && !tried.stdout.toString().includes('refs/heads/');
  if (!refused) return null;
  const refusal = parseRefusal(remoteWords(tried.stderr));
  return { kind: refusal.kind === 'weather' ? 'weather' : 'configuration', why: explainRefusal(refusal) };
}

/** An empty commit by the very author of the run's commits, with a message like theirs: rules about either have their say. */
async function probeCommit(
  git: Git,
  { identity }: RemoteOptions,
  { tree, parents }: { readonly tree: ObjectId; readonly parents: readonly ObjectId[] },
): Promise<ObjectId> {
  const variables = {
    GIT_AUTHOR_NAME: identity.name,
    GIT_AUTHOR_EMAIL: identity.email,
    GIT_COMMITTER_NAME: identity.name,
    GIT_COMMITTER_EMAIL: identity.email,
  };
  const onto = parents.flatMap((parent) => ['-p', parent]);
  return git.text(['commit-tree', tree, ...onto, '-m', 'Check whether this branch can be pushed'], { variables });
}

/**
 * Pushes a commit in a way that can never succeed, so that it leaves nothing behind: together with a branch below the
 * first one, which git allows nowhere beside it, all or nothing. The server's rules are asked before its refs are
 * changed, so a refusal for the sake of the names alone (`pushed`) says that no rule is in the way.
 */
async function sendDoomed(
  git: Git,
  options: RemoteOptions,
  { branch, commit }: { readonly branch: string; readonly commit: ObjectId },
): Promise<PushResult> {
  const [ref, below] = [`refs/heads/${branch}`, `refs/heads/${branch}/probe`];
  const { url } = options;
  const how = ['push', '--porcelain', '--atomic', '--no-verify', '--no-follow-tags'];
  const tried = await ask(git, [...how, url, `${commit}:${ref}`, `${commit}:${below}`], networkOf(options));
  if (tried.exitCode === 0) {
    // A server of its own kind, which keeps both.
    await git.answer(['push', '--porcelain', '--no-verify', url, `:${below}`], networkOf(options));
    return { kind: 'pushed' };
  }
  const answer = refusedBy(tried);
  const isDoomed = answer.kind === 'refused' && (answer.refusal.kind === 'name' || isAtomicAlone(wordsOf(tried)));
  return isDoomed || answer.kind === 'moved' ? { kind: 'pushed' } : answer;
}

/** True if the server says no more than that all or nothing was asked for, or that it does not know how. */
function isAtomicAlone(words: string): boolean {
  return parseRefusal(words).rule === UNKNOWN_RULE && /atomic/i.test(words) && !/hook declined/i.test(words);
}

/** What became of a push that did not succeed. */
function refusedBy(answer: GitAnswer): Exclude<PushResult, { kind: 'pushed' | 'rejected' }> {
  const refusal = parseRefusal(wordsOf(answer));
  if (answer.exitCode === -1 || refusal.kind === 'weather')
    return { kind: 'unreachable', why: explainRefusal(refusal) };
  return refusal.kind === 'stale' ? { kind: 'moved', why: explainRefusal(refusal) } : { kind: 'refused', refusal };
}

async function publish(git: Git, options: RemoteOptions, push: Publishing): Promise<PushResult> {
  const { url, log } = options;
  const { branch, commit, since, start } = push;
  const ref = `refs/heads/${branch}`;
  const network = networkOf(options);
  const misnamed = await nameProblem(git, options, branch);
  if (misnamed !== null) return rejected(misnamed);

  const there = await readRemote(git, { url, ref, network });
  if (there.defaultBranch === branch)
    return rejected(
      `"${branch}" is the default branch of ${url}, which is never pushed to. Choose another branch-prefix.`,
    );
  if (there.tip === commit) return { kind: 'pushed' };
  const published =
    there.tip === since
      ? since
      : await newestPublished(git, commit, { ...sourceOf(options), ask: (from, args) => ask(from, args, network) });
  if (published === null) return rejected(NOT_PUBLISHED);
  const objection = await inspectOutgoing(git, { commit, since: published }, baseOf(options));
  if (objection !== null) return rejected(objection);
  if (!isExpected(there.tip, start)) return await rescue(git, options, { branch, commit, tip: there.tip });
  if (start.kind === 'continue' && there.tip === null)
    log.info(`Branch ${branch} was removed during this run (as merging a pull request can do); it is created again.`);

  if (start.kind === 'restart' && there.tip !== null) {
    log.info(`Removing the merged branch ${branch} (at ${there.tip}) to start it again.`);
    // Not retried: had only the answer been lost, the branch would be gone and the second try refused.
    const removed = await remove(git, { url, ref, network }, start.mergedHead);
    if (removed.exitCode !== 0) return refusedBy(removed);
  }
  const sent = await send(git, { url, ref, network }, commit);
  const after = await readRemote(git, { url, ref, network });
  if (after.tip === commit) return { kind: 'pushed' };
  if (sent.kind !== 'pushed' && isExpected(after.tip, start)) return sent;
  return await rescue(git, options, { branch, commit, tip: after.tip });
}

type PushingOn = Parameters<Remote['pushOn']>[0];
type PushingWithState = Parameters<Remote['pushWithState']>[0];

async function inspectAndPush(git: Git, options: RemoteOptions, push: PushingOn): Promise<PushResult> {
  const problem = await outgoingProblem(git, options, push);
  return problem === null ? pushOn(git, options, push) : rejected(problem);
}

/** One request for the branch and what goes along. Where that is forbidden the branch goes alone: it must not wait for what somebody else forbids. */
async function pushWithState(
  { git, gitFolder }: { readonly git: Git; readonly gitFolder: string },
  options: RemoteOptions,
  push: PushingWithState,
): Promise<PushedWithState> {
  const problem = await outgoingProblem(git, options, push);
  if (problem !== null) return rejected(problem);
  const { along } = push;
  const alone = async (state: Written | null): Promise<PushedWithState> => {
    const pushed = await pushOn(git, options, push);
    return pushed.kind === 'pushed' ? { kind: 'pushed', state } : pushed;
  };
  const head = await along.board({ gitFolder });
  const both = await sendBoth(git, options, { ...push, along, head });
  if (both.exitCode === 0) return { kind: 'pushed', state: { kind: 'written', head } };
  const refused = refusedBy(both);
  if (refused.kind === 'unreachable') return refused;
  if (refused.kind !== 'moved') return alone({ kind: 'refused', why: explainRefusal(refused.refusal) });
  // Where the branch itself is to blame, it is so alone as well.
  return isBranchMoved(both, push.branch) ? alone(null) : { kind: 'overtaken' };
}

/** Git says of each ref why it was not taken; of one that did nothing wrong, that the push was atomic. */
function isBranchMoved({ stdout }: GitAnswer, branch: string): boolean {
  const lines = stdout.toString().split('\n');
  return lines.some((line) => line.includes(`:refs/heads/${branch}\t`) && isStale(line) && !/atomic/i.test(line));
}

/** Both refs or neither; each only from where this run knows it to be. */
function sendBoth(
  git: Git,
  options: RemoteOptions,
  { branch, commit, at, along, head }: PushingWithState & { readonly head: Head },
): Promise<GitAnswer> {
  const ref = `refs/heads/${branch}`;
  return ask(
    git,
    [
      'push',
      '--porcelain',
      '--atomic',
      '--no-verify',
      '--no-follow-tags',
      `--force-with-lease=${ref}:${at ?? ''}`,
      `--force-with-lease=${along.ref}:${along.expected ?? ''}`,
      options.url,
      `${commit}:${ref}`,
      `${head}:${along.ref}`,
    ],
    networkOf(options),
  );
}

/** Why it is not even tried; null: it may be. */
async function outgoingProblem(
  git: Git,
  options: RemoteOptions,
  { branch, commit, since }: Pick<PushingOn, 'branch' | 'commit' | 'since'>,
): Promise<string | null> {
  return (await nameProblem(git, options, branch)) ?? (await inspectOutgoing(git, { commit, since }, baseOf(options)));
}

/** One request: the server refuses it unless the branch is where it was left. */
async function pushOn(git: Git, options: RemoteOptions, { branch, commit, since, at }: PushingOn): Promise<PushResult> {
  const question = { url: options.url, ref: `refs/heads/${branch}`, network: networkOf(options) };
  const first = await sendOn(git, question, { commit, at });
  if (first.kind !== 'moved') return first;
  // The answer to a push of ours may have been lost: then the branch is at one of our own commits.
  const { tip } = await readRemote(git, question);
  if (tip === commit) return { kind: 'pushed' };
  const isOurs = tip !== null && (await git.answer(['merge-base', '--is-ancestor', tip, commit])).exitCode === 0;
  const isNewer = isOurs && (await git.answer(['merge-base', '--is-ancestor', since, tip])).exitCode === 0;
  return isNewer && tip !== since ? sendOn(git, question, { commit, at: tip }) : first;
}

async function sendOn(
  git: Git,
  { url, ref, network }: Question & { readonly ref: string },
  { commit, at }: { readonly commit: ObjectId; readonly at: ObjectId | null },
): Promise<PushResult> {
  const lease = `--force-with-lease=${ref}:${at ?? ''}`;
  const pushed = await ask(
    git,
    ['push', '--porcelain', '--no-verify', '--no-follow-tags', lease, url, `${commit}:${ref}`],
    network,
  );
  return pushed.exitCode === 0 ? { kind: 'pushed' } : refusedBy(pushed);
}

/** One more commit on the branch, an empty one. */
async function probePush(
  git: Git,
  options: RemoteOptions,
  { branch, at }: { readonly branch: string; readonly at: ObjectId },
): Promise<PushResult> {
  const tree = await treeOf(git, at);
  if (tree === null) return rejected(LOST_COMMITS);
  const commit = await probeCommit(git, options, { tree, parents: [at] });
  const problem = await outgoingProblem(git, options, { branch, commit, since: at });
  return problem === null ? sendDoomed(git, options, { branch, commit }) : rejected(problem);
}

/** The place of GitHub's workflows, which a token may change by a permission of its own alone. */
const WORKFLOWS = '.github/workflows';

/** A merge whose workflow files are the base's. Where the branch has the very same ones, there is nothing to ask. */
async function probeMerge(
  git: Git,
  options: RemoteOptions,
  { branch, at, base }: { readonly branch: string; readonly at: ObjectId; readonly base: ObjectId },
): Promise<PushResult> {
  const [ours, theirs] = [await folderOf(git, at, WORKFLOWS), await folderOf(git, base, WORKFLOWS)];
  const tree = await treeOf(git, base);
  if (ours === theirs || tree === null) return { kind: 'pushed' };
  // Both sides are on the server already, and what is pushed cannot succeed: there is nothing to inspect.
  const commit = await probeCommit(git, options, { tree, parents: [at, base] });
  return sendDoomed(git, options, { branch, commit });
}

async function folderOf(git: Git, commit: ObjectId, folder: string): Promise<ObjectId | null> {
  const { exitCode, stdout } = await git.answer(['rev-parse', '--verify', '--quiet', `${commit}:${folder}`]);
  return exitCode === 0 ? stdout.toString().trim() : null;
}

/** Why no branch of that name is ever pushed; null: it may be. */
async function nameProblem(git: Git, { branchPrefix }: RemoteOptions, branch: string): Promise<string | null> {
  if (branchPrefix === '' || !branch.startsWith(branchPrefix) || branch === branchPrefix)
    return `"${branch}" does not start with the branch prefix "${branchPrefix}", and nothing else is ever pushed.`;
  if (possibleNames.has(branch)) return null;
  const { exitCode } = await git.answer(['check-ref-format', `refs/heads/${branch}`]);
  if (exitCode !== 0) return `"${branch}" cannot be the name of a branch.`;
  possibleNames.add(branch);
  return null;
}

/** Git's answer is about the name alone, and one branch is pushed after each iteration. */
const possibleNames = new Set<string>();

async function deleteBranch(
  git: Git,
  options: RemoteOptions,
  { branch, head }: Parameters<Remote['deleteBranch']>[0],
): Promise<BranchDeleted> {
  const { url, branchPrefix } = options;
  const ref = `refs/heads/${branch}`;
  const question = { url, ref, network: networkOf(options) };
  if (branchPrefix === '' || !branch.startsWith(branchPrefix) || branch === branchPrefix)
    return rejected(
      `"${branch}" does not start with the branch prefix "${branchPrefix}", and nothing else is ever deleted.`,
    );
  if ((await git.answer(['check-ref-format', ref])).exitCode !== 0) return { kind: 'gone' };
  const there = await readRemote(git, question);
  if (there.defaultBranch === branch)
    return rejected(`"${branch}" is the default branch of ${url}, which is never deleted.`);
  if (there.tip === null) return { kind: 'gone' };
  if (there.tip !== head) return { kind: 'moved' };
  const removed = await remove(git, question, head);
  if (removed.exitCode === 0) return { kind: 'deleted' };
  // Another run, a person or GitHub itself was faster.
  const { tip } = await readRemote(git, question);
  if (tip === null) return { kind: 'gone' };
  if (tip !== head) return { kind: 'moved' };
  const refused = refusedBy(removed);
  return refused.kind === 'refused' ? refused : rejected(refused.why);
}

/** Deletes the branch, if `tip` is still its tip. */
function remove(
  git: Git,
  { url, ref, network }: Question & { readonly ref: string },
  tip: ObjectId,
): Promise<GitAnswer> {
  return git.answer(
    ['push', '--porcelain', '--no-verify', `--force-with-lease=${ref}:${tip}`, url, `:${ref}`],
    network,
  );
}

/** The lane's branch is somebody else's now: keeps the finished iterations on a branch of their own, which no lane is called. */
async function rescue(
  git: Git,
  options: RemoteOptions,
  { branch, commit, tip }: { readonly branch: string; readonly commit: ObjectId; readonly tip: ObjectId | null },
): Promise<PushResult> {
  const name = `${branch}-run-${commit.slice(0, 7)}`;
  const question = { url: options.url, ref: `refs/heads/${name}`, network: networkOf(options) };
  const there = await readRemote(git, question);
  const isFree = there.tip === null && there.defaultBranch !== name;
  const sent = there.tip !== commit && isFree ? await send(git, question, commit) : null;
  const obstacle =
    sent === null ? (isFree || there.tip === commit ? null : TAKEN_NAME) : sent.kind === 'pushed' ? null : whyOf(sent);
  const kept =
    obstacle === null
      ? `This run's commits are on ${name}: merge or cherry-pick them, or delete that branch.`
      : `This run's commits could not be saved on ${name} either and are lost: ${obstacle}`;
  return rejected(
    `Branch ${branch} is ${tip === null ? 'gone' : `at ${tip}`} now: a person or another run changed it in the meantime. Nothing was overwritten; the next run continues from there. ${kept}`,
  );
}

const TAKEN_NAME = 'a branch of that name exists already.';

/** Pushes without force. */
async function send(
  git: Git,
  { url, ref, network }: Question & { readonly ref: string },
  commit: ObjectId,
): Promise<PushResult> {
  const pushed = await ask(
    git,
    ['push', '--porcelain', '--no-verify', '--no-follow-tags', url, `${commit}:${ref}`],
    network,
  );
  if (pushed.exitCode === 0) return { kind: 'pushed' };
  // Git blames the server when it is our own objects that it cannot read.
  const complete = await git.answer(['rev-list', '--objects', '--quiet', commit]);
  return complete.exitCode === 0 ? refusedBy(pushed) : rejected(LOST_COMMITS);
}

function rejected(why: string): { readonly kind: 'rejected'; readonly why: string } {
  return { kind: 'rejected', why };
}

function isExpected(tip: ObjectId | null, start: Publishing['start']): boolean {
  switch (start.kind) {
    case 'fresh':
      return tip === null;
    case 'continue':
      // Gone: making it again needs no force and loses nothing.
      return tip === null || tip === start.remoteHead;
    case 'restart':
      return tip === null || tip === start.mergedHead;
    case 'reuse':
      return tip === start.mergedHead;
  }
}

interface Question {
  readonly url: string;
  readonly network: Network;
}

interface Network {
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly retryAfterMs: number;
}

/** A command that may be given twice; it is when the server was not reached the first time. A refusal is final. */
async function ask(git: Git, args: readonly string[], network: Network): Promise<GitAnswer> {
  const answer = await git.answer(args, network);
  if (answer.exitCode === 0 || !isWeather(answer.stderr)) return answer;
  await pause(network.retryAfterMs);
  return await git.answer(args, network);
}

async function readBranches(
  git: Git,
  { url, start, network }: Question & { readonly start: string },
): Promise<Readonly<Record<string, ObjectId>>> {
  const folders = foldersOf(start.slice('refs/heads/'.length)).map((name) => `refs/heads/${name}`);
  const listed = await ask(git, ['ls-remote', '--quiet', url, `${start}*`, ...folders], network);
  if (listed.exitCode !== 0) throw unreadable(url, listed.stderr);
  return Object.fromEntries(
    parseRefs(listed.stdout)
      .filter(({ name }) => name.startsWith(start) || folders.includes(name))
      .map(({ name, value }) => [name.slice('refs/heads/'.length), value]),
  );
}

async function readRemote(
  git: Git,
  { url, ref, network }: Question & { readonly ref: string },
): Promise<{ readonly tip: ObjectId | null; readonly defaultBranch: string | null }> {
  const listed = await ask(git, ['ls-remote', '--quiet', '--symref', url, 'HEAD', ref], network);
  if (listed.exitCode !== 0) throw unreadable(url, listed.stderr);
  const refs = parseRefs(listed.stdout);
  const symbolic = refs.find(({ name, value }) => name === 'HEAD' && value.startsWith('ref: '))?.value;
  return {
    tip: refs.find(({ name }) => name === ref)?.value ?? null,
    defaultBranch: symbolic?.replace('ref: refs/heads/', '') ?? null,
  };
}

function unreadable(url: string, stderr: string): UserError {
  const words = lastWords(stderr);
  return new UserError(
    'infrastructure',
    `The branches of ${url} cannot be read: ${sentence(words)} ${adviceOnReading(words)}`,
  );
}
