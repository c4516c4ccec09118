import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import {
  explainRefusal,
  isForSignatures,
  isStale,
  describePushFailure,
  refusalOfSigning,
} from '../../core/refusals/refusal.ts';
import type { PushedWithState, PushResult, Remote, SignResult } from '../../ports/remote.ts';
import type { Head, WriteResult } from '../../ports/state.ts';
import { gatherCalls } from '../../ports/gathered-calls.ts';
import type { Git, GitAnswer } from '../git.ts';
import { LOST_COMMITS } from '../refusal.ts';
import {
  askRemote,
  pickInspectionBase,
  findBranchNameProblem,
  buildNetwork,
  findOutgoingProblem,
  type BranchPush,
  type Question,
  readBranches,
  readRemote,
  classifyPushRefusal,
  rejectPush,
  type RemoteOptions,
  pushBranchFrom,
  hideToken,
  pushTogether,
} from './ask-remote.ts';
import { deleteBranch, deleteIfAt } from './delete-branch.ts';
import type { pushMerged } from './merge-others.ts';
import { inspectOutgoing, findNewestPublished, withPushRepository } from './outgoing.ts';
import { probeMerge, probePush, findPushObstacle } from './probe-remote.ts';
import { groupPathsByTask, receiveBranch, remakeCommitsWithout, withObjectsStoredIn } from './receive.ts';
import { hasSignedForm, signCommits } from './sign.ts';

/**
 * Creates the remote over HTTP(S), used from our own bare repository, so that no config, hook or ref of the checkout
 * applies.
 */
export function createRemote(options: RemoteOptions): Remote {
  const run = <T>(body: (git: Git, gitFolder: string) => Promise<T>): Promise<T> =>
    withPushRepository(hideToken(options), body);
  const pushOnAll = gatherCalls((pushes: readonly BranchPush[]) =>
    run(async (git) => {
      const alone = (push: BranchPush): Promise<PushResult> => inspectAndPush(git, options, push);
      const pushed = await pushTogether(git, { options, alone }, pushes);
      return pushed.map((result) => ({ status: 'fulfilled', value: noteSigning(options, result) }));
    }),
  );
  return {
    branches: (prefix) =>
      run((git) =>
        readBranches(git, { url: options.url, start: `refs/heads/${prefix}`, network: buildNetwork(options) }),
      ),
    pushObstacle: (newBranch) => run((git) => findPushObstacle(git, options, newBranch)),
    push: async (push) => noteSigning(options, await run((git) => publish(git, options, push))),
    pushOn: pushOnAll,
    pushWithState: async (push) =>
      noteSigning(options, await run((git, gitFolder) => pushWithState({ git, gitFolder }, options, push))),
    sign: (push) =>
      options.signer?.isWanted === true
        ? run((git) => inspectAndSign(git, options, push))
        : Promise.resolve({ kind: 'as-they-are' }),
    probePush: (branch, commits) => run((git) => probePush(git, options, { ...commits, branch })),
    probeMerge: (branch, merge) => run((git) => probeMerge(git, options, { ...merge, branch })),
    pathsByTask: (commits) => run((git) => groupPathsByTask(git, commits)),
    remakeCommitsWithout: (wanted) =>
      run((git, gitFolder) =>
        remakeCommitsWithout(git, wanted, {
          objectsFolder: join(options.quarantineFolder, 'objects'),
          scratchFolder: gitFolder,
        }),
      ),
    receive: (branch) =>
      receiveBranch(branch, { ...hideToken(options), ask: (git, args) => askRemote(git, args, buildNetwork(options)) }),
    deleteBranch: (branch) => run((git) => deleteBranch(git, options, branch)),
  };
}

/** Remembers that the server requires signatures, so that the next commits get them, and returns its answer. */
function noteSigning<Result extends PushedWithState | PushResult>({ signer }: RemoteOptions, result: Result): Result {
  if (signer !== null && isForSignatures(result)) signer.isWanted = true;
  return result;
}

type SignedPush = Parameters<Remote['sign']>[0];

/**
 * Inspects commits as a push does, and signs them only afterwards, because signing already sends their content to the
 * server.
 */
async function inspectAndSign(git: Git, options: RemoteOptions, push: SignedPush): Promise<SignResult> {
  if (push.commit === push.since) return { kind: 'as-they-are' };
  const problem = await findOutgoingProblem(git, options, push);
  if (problem !== null) return rejectPush(problem);
  const signed = await signCommits(git, options, push);
  if (signed.kind !== 'signed') return signed;
  const { texts, ...places } = signed;
  await withObjectsStoredIn(git, join(options.quarantineFolder, 'objects'), async (stored) => {
    for (const input of texts) await stored.text(['hash-object', '-t', 'commit', '-w', '--stdin'], { input });
  });
  return places;
}

/**
 * The answer if the signed form of the commits is already on the branch. The caller then signs, which finds that form.
 */
const SIGNED_BEFORE: PushResult = { kind: 'refused', refusal: refusalOfSigning('') };

const NOT_PUBLISHED =
  'No branch of the server has any of the commits that the new ones build on, or the branches could not be fetched, so the inspection has no starting point.';

type Publishing = Parameters<Remote['push']>[0];

type Aside = Pick<Publishing, 'branch' | 'commit'> & { tip: ObjectId | null; merged?: PushResult | null };

async function publish(git: Git, options: RemoteOptions, push: Publishing): Promise<PushResult> {
  const { url, log } = options;
  const { branch, commit, since, start } = push;
  const ref = `refs/heads/${branch}`;
  const network = buildNetwork(options);
  const misnamed = findBranchNameProblem(options, branch);
  if (misnamed !== null) return rejectPush(misnamed);

  const there = await readRemote(git, { url, ref, network });
  if (there.defaultBranch === branch)
    return rejectPush(
      `"${branch}" is the default branch of ${url}, which is never pushed to. Choose another branch-prefix.`,
    );
  if (there.tip === commit) return { kind: 'pushed' };
  const published =
    there.tip === since
      ? since
      : await findNewestPublished(git, commit, {
          ...hideToken(options),
          ask: (from, args) => askRemote(from, args, network),
        });
  if (published === null) return rejectPush(NOT_PUBLISHED);
  const objection = await inspectOutgoing(git, { commit, since: published }, pickInspectionBase(options));
  if (objection !== null) return rejectPush(objection);
  if (!isExpected(there.tip, start)) {
    const { tip } = there;
    const isSignedBefore = tip !== null && (await hasSignedForm(git, options, { commit, since: published, tip }));
    if (isSignedBefore) return SIGNED_BEFORE;
    const moved = { branch, commit, since: published };
    const merged = tip !== null && start.kind === 'continue' ? await tryMerged(git, options, moved) : null;
    return merged?.kind === 'pushed' ? merged : await pushAside(git, options, { branch, commit, tip, merged });
  }
  if (start.kind === 'continue' && there.tip === null)
    log.info(`Branch ${branch} was removed during this run (as merging a pull request can do); it is created again.`);

  if (start.kind === 'restart' && there.tip !== null) {
    log.info(`Removing the merged branch ${branch} (at ${there.tip}) to start it again.`);
    // Do not retry: if only the answer was lost, the branch would be gone and the second attempt refused.
    const removed = await deleteIfAt(git, { url, ref, network }, start.mergedHead);
    if (removed.exitCode !== 0) return classifyPushRefusal(removed);
  }
  const sent = await send(git, { url, ref, network }, commit);
  const after = await readRemote(git, { url, ref, network });
  if (after.tip === commit) return { kind: 'pushed' };
  if (sent.kind !== 'pushed' && isExpected(after.tip, start)) return sent;
  return await pushAside(git, options, { branch, commit, tip: after.tip });
}

type PushingWithState = Parameters<Remote['pushWithState']>[0];

async function inspectAndPush(git: Git, options: RemoteOptions, push: BranchPush): Promise<PushResult> {
  const problem = await findOutgoingProblem(git, options, push);
  return problem === null ? pushOn(git, options, push) : rejectPush(problem);
}

/**
 * Pushes the branch and the state in one request. If that is forbidden, pushes the branch alone, because a refusal of
 * the state must not hold it up.
 */
async function pushWithState(
  { git, gitFolder }: { readonly git: Git; readonly gitFolder: string },
  options: RemoteOptions,
  push: PushingWithState,
): Promise<PushedWithState> {
  const problem = await findOutgoingProblem(git, options, push);
  if (problem !== null) return rejectPush(problem);
  const { along } = push;
  const alone = async (state: WriteResult | null): Promise<PushedWithState> => {
    const pushed = await pushOn(git, options, { ...push, mergesOthers: true });
    return pushed.kind === 'pushed' ? { ...pushed, state } : pushed;
  };
  const head = await along.writeTarget({ gitFolder });
  const both = await sendBoth(git, options, { ...push, along, head });
  if (both.exitCode === 0) return { kind: 'pushed', state: { kind: 'written', head } };
  const refused = classifyPushRefusal(both);
  if (refused.kind === 'unreachable') return refused;
  if (refused.kind !== 'moved') return alone({ kind: 'refused', why: explainRefusal(refused.refusal) });
  // If the branch itself is the cause, pushing it alone shows that.
  return isBranchMoved(both, push.branch) ? alone(null) : { kind: 'overtaken' };
}

/** Returns true if git names the branch as the moved ref. For any other ref, git only says that the push was atomic. */
function isBranchMoved({ stdout }: GitAnswer, branch: string): boolean {
  const lines = stdout.toString().split('\n');
  return lines.some((line) => line.includes(`:refs/heads/${branch}\t`) && isStale(line) && !/atomic/i.test(line));
}

/** Pushes both refs or neither, each only from the position that this run knows. */
function sendBoth(
  git: Git,
  options: RemoteOptions,
  { branch, commit, at, along, head }: PushingWithState & { readonly head: Head },
): Promise<GitAnswer> {
  const ref = `refs/heads/${branch}`;
  return askRemote(
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
    buildNetwork(options),
  );
}

/** Pushes in one request, which the server refuses unless the branch is where it was left. */
async function pushOn(git: Git, options: RemoteOptions, push: BranchPush): Promise<PushResult> {
  const { branch, commit, since, at, mergesOthers } = push;
  const question = { url: options.url, ref: `refs/heads/${branch}`, network: buildNetwork(options) };
  const first = await pushBranchFrom(git, question, { commit, at });
  if (first.kind !== 'moved') return first;
  // The answer to our own push may have been lost, in which case the branch is at one of our commits, so read it.
  const { tip } = await readRemote(git, question);
  if (tip === commit) return { kind: 'pushed' };
  if (tip !== null && (await hasSignedForm(git, options, { commit, since, tip }))) return SIGNED_BEFORE;
  const isOurs = tip !== null && (await git.answer(['merge-base', '--is-ancestor', tip, commit])).exitCode === 0;
  const isNewer = isOurs && (await git.answer(['merge-base', '--is-ancestor', since, tip])).exitCode === 0;
  if (isNewer && tip !== since) return pushBranchFrom(git, question, { commit, at: tip });
  return (mergesOthers === true && tip !== null ? await tryMerged(git, options, push) : null) ?? first;
}

/** Calls `pushMerged`, whose code is loaded only for a branch that people pushed to. */
async function tryMerged(...push: Parameters<typeof pushMerged>): ReturnType<typeof pushMerged> {
  const loaded = await import('./merge-others.ts');
  return loaded.pushMerged(...push);
}

/**
 * Pushes the finished iterations to a separate branch, which belongs to no lane, because somebody else moved the lane's
 * branch. Returns the message about it.
 */
async function pushAside(
  git: Git,
  options: RemoteOptions,
  { branch, commit, tip, merged }: Aside,
): Promise<PushResult> {
  const name = `${branch}-run-${commit.slice(0, 7)}`;
  const question = { url: options.url, ref: `refs/heads/${name}`, network: buildNetwork(options) };
  const there = await readRemote(git, question);
  const isFree = there.tip === null && there.defaultBranch !== name;
  const sent = there.tip !== commit && isFree ? await send(git, question, commit) : null;
  // The caller then signs the commits and pushes again.
  if (sent !== null && options.signer?.isWanted === false && isForSignatures(sent)) return sent;
  const obstacle =
    sent === null
      ? isFree || there.tip === commit
        ? null
        : TAKEN_NAME
      : sent.kind === 'pushed'
        ? null
        : describePushFailure(sent);
  const kept =
    obstacle === null
      ? `This run's commits are on ${name}: merge or cherry-pick them, or delete that branch.`
      : `This run's commits could not be saved on ${name} either and are lost: ${obstacle}`;
  return rejectPush(
    `Branch ${branch} is ${tip === null ? 'gone' : `at ${tip}`} now: a person or another run changed it in the meantime. Nothing was overwritten; the next run continues from there.${merged?.kind === 'moved' ? ` ${merged.why}` : ''} ${kept}`,
  );
}

const TAKEN_NAME = 'a branch of that name exists already.';

/** Pushes without force. */
async function send(
  git: Git,
  { url, ref, network }: Question & { readonly ref: string },
  commit: ObjectId,
): Promise<PushResult> {
  const pushed = await askRemote(
    git,
    ['push', '--porcelain', '--no-verify', '--no-follow-tags', url, `${commit}:${ref}`],
    network,
  );
  if (pushed.exitCode === 0) return { kind: 'pushed' };
  // git blames the server even if it cannot read our own objects, so check these.
  const complete = await git.answer(['rev-list', '--objects', '--quiet', commit]);
  return complete.exitCode === 0 ? classifyPushRefusal(pushed) : rejectPush(LOST_COMMITS);
}

function isExpected(tip: ObjectId | null, start: Publishing['start']): boolean {
  switch (start.kind) {
    case 'fresh':
      return tip === null;
    case 'continue':
      // Creating a deleted branch again needs no force and loses nothing, so it is allowed.
      return tip === null || tip === start.remoteHead;
    case 'restart':
      return tip === null || tip === start.mergedHead;
    case 'reuse':
      return tip === start.mergedHead;
  }
}
