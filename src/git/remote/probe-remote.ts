import type { ObjectId } from '../../core/evidence.ts';
import { explainRefusal, isForSignatures, parseRefusal, UNKNOWN_RULE } from '../../core/refusals/refusal.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import type { PushObstacle, PushResult } from '../../ports/remote.ts';
import { type Git, buildIdentityVariables, parseRemoteWords } from '../git.ts';
import { readTreeId } from '../objects.ts';
import { LOST_COMMITS } from '../refusal.ts';
import {
  askRemote,
  findBranchNameProblem,
  buildNetwork,
  findOutgoingProblem,
  classifyPushRefusal,
  rejectPush,
  type RemoteOptions,
  extractServerWords,
} from './ask-remote.ts';
import { signCommits } from './sign.ts';

/**
 * Returns the obstacle that would make every push of a run fail, or null if none is known. Probes the creation of
 * `newBranch`; if that is null, probes only the token's permission.
 */
export async function findPushObstacle(
  git: Git,
  options: RemoteOptions,
  newBranch: string | null,
): Promise<PushObstacle | null> {
  const nothing = await git.text(['hash-object', '-t', 'tree', '-w', '/dev/null']);
  if (newBranch !== null && findBranchNameProblem(options, newBranch) === null) {
    const commit = await probeCommit(git, options, { tree: nothing, parents: [] });
    const tried = await sendDoomed(git, options, { branch: newBranch, commit, since: null });
    if (tried.kind === 'unreachable') return { kind: 'transient', why: tried.why };
    if (tried.kind === 'rejected') return { kind: 'configuration', why: tried.why };
    // A refusal of content or message is only about the probe, whose commit is empty and has another message, so ignore
    // it.
    const isAboutProbe =
      tried.kind === 'refused' && (tried.refusal.kind === 'content' || tried.refusal.rule === 'message');
    return tried.kind === 'refused' && !isAboutProbe
      ? { kind: 'configuration', why: explainRefusal(tried.refusal) }
      : null;
  }
  // This push is never sent, because the server says who may push before it learns what is pushed.
  const commit = await probeCommit(git, options, { tree: nothing, parents: [] });
  const name = `refs/heads/${options.branchPrefix}permission-check`;
  const tried = await askRemote(
    git,
    ['push', '--dry-run', '--porcelain', '--no-verify', options.url, `${commit}:${name}`],
    buildNetwork(options),
  );
  // "fetch first" and similar words are about branches, not about permission, so ignore them.
  const refused = tried.exitCode !== 0 && !tried.stdout.toString().includes('refs/heads/');
  if (!refused) return options.signer?.isWanted === true ? findSigningObstacle(git, options, commit) : null;
  const refusal = parseRefusal(parseRemoteWords(tried.stderr));
  return { kind: refusal.kind === 'transient' ? 'transient' : 'configuration', why: explainRefusal(refusal) };
}

/** Returns the reason why the server does not sign an empty commit, or null if it signs one. */
async function findSigningObstacle(git: Git, options: RemoteOptions, commit: ObjectId): Promise<PushObstacle | null> {
  const signed = await signCommits(git, options, {
    branch: `${options.branchPrefix}permission-check`,
    commit,
    since: null,
  });
  if (signed.kind === 'refused') return { kind: 'configuration', why: explainRefusal(signed.refusal) };
  return signed.kind === 'unreachable' ? { kind: 'transient', why: signed.why } : null;
}

/**
 * Makes an empty commit with the author of the run's commits and a similar message, so that rules about either apply.
 */
async function probeCommit(
  git: Git,
  { identity }: RemoteOptions,
  { tree, parents }: { readonly tree: ObjectId; readonly parents: readonly ObjectId[] },
): Promise<ObjectId> {
  const onto = parents.flatMap((parent) => ['-p', parent]);
  return git.text(['commit-tree', tree, ...onto, '-m', 'Check whether this branch can be pushed'], {
    variables: buildIdentityVariables(identity),
  });
}

/**
 * Pushes a commit in a way that can never succeed, so that it leaves nothing behind: atomically together with a branch
 * below the first one, which git never allows. The server checks its rules before it changes its refs, so a refusal
 * only because of the names (`pushed`) means that no rule is in the way.
 */
async function sendDoomed(git: Git, options: RemoteOptions, probe: Probe): Promise<PushResult> {
  const { signer } = options;
  const signed = signer?.isWanted === true ? await signCommits(git, options, probe) : AS_THEY_ARE;
  if (signed.kind !== 'signed' && signed.kind !== 'as-they-are') return signed;
  const commit = signed.kind === 'signed' ? signed.head : probe.commit;
  const answer = await sendBelowItself(git, options, { branch: probe.branch, commit });
  if (signer === null || signer.isWanted || !isForSignatures(answer)) return answer;
  signer.isWanted = true;
  return sendDoomed(git, options, probe);
}

const AS_THEY_ARE = { kind: 'as-they-are' } as const;

/** An empty commit that a push probes. The server has `since`; if that is null, the commit has no parent. */
interface Probe {
  readonly branch: string;
  readonly commit: ObjectId;
  readonly since: ObjectId | null;
}

async function sendBelowItself(
  git: Git,
  options: RemoteOptions,
  { branch, commit }: Pick<Probe, 'branch' | 'commit'>,
): Promise<PushResult> {
  const [ref, below] = [`refs/heads/${branch}`, `refs/heads/${branch}/probe`];
  const { url } = options;
  const how = ['push', '--porcelain', '--atomic', '--no-verify', '--no-follow-tags'];
  const tried = await askRemote(git, [...how, url, `${commit}:${ref}`, `${commit}:${below}`], buildNetwork(options));
  // A server that is not git itself may accept both, so delete the branches.
  if (tried.exitCode === 0)
    return undoProbe(git, options, { refs: [ref, below], commit, said: tried.stdout.toString() });
  const answer = classifyPushRefusal(tried);
  const isDoomed =
    answer.kind === 'refused' && (answer.refusal.kind === 'name' || isAtomicAlone(extractServerWords(tried)));
  return isDoomed || answer.kind === 'moved' ? { kind: 'pushed' } : answer;
}

/** Puts branches back to what they were before a push that the server accepted; `said` is git's report of it. */
async function undoProbe(
  git: Git,
  options: RemoteOptions,
  { refs, commit, said }: { readonly refs: readonly string[]; readonly commit: ObjectId; readonly said: string },
): Promise<PushResult> {
  const updates = await Promise.all(
    refs.map(async (ref) => {
      const line = said.split('\n').find((one) => one.includes(`:${ref}\t`)) ?? '';
      const before = /^ \t\S+\t([0-9a-f]+)\.\.[0-9a-f]+$/.exec(line)?.[1] ?? null;
      const old = before === null ? '' : await git.text(['rev-parse', '--verify', before]);
      return { lease: `--force-with-lease=${ref}:${commit}`, update: `${old.trim()}:${ref}` };
    }),
  );
  const undo = ['push', '--porcelain', '--no-verify', ...updates.map(({ lease }) => lease), options.url];
  const undone = await git.answer([...undo, ...updates.map(({ update }) => update)], buildNetwork(options));
  return undone.exitCode === 0
    ? { kind: 'pushed' }
    : rejectPush(
        `A check left the empty commit ${commit} on ${listFirstNames(refs)}, and the server does not take it back`,
      );
}

/** Returns true if the server only says that the push was atomic, or that it does not support atomic pushes. */
function isAtomicAlone(words: string): boolean {
  return parseRefusal(words).rule === UNKNOWN_RULE && /atomic/i.test(words) && !/hook declined/i.test(words);
}

/** Probes a push of another, empty commit on top of `at`. */
export async function probePush(
  git: Git,
  options: RemoteOptions,
  { branch, at, since }: { readonly branch: string; readonly at: ObjectId; readonly since: ObjectId },
): Promise<PushResult> {
  const tree = await readTreeId(git, at);
  if (tree === null) return rejectPush(LOST_COMMITS);
  const commit = await probeCommit(git, options, { tree, parents: [at] });
  const problem = await findOutgoingProblem(git, options, { branch, commit, since });
  return problem === null ? sendDoomed(git, options, { branch, commit, since }) : rejectPush(problem);
}

/** Probes a merge of the base with the base's content: its workflow files, its commits, and that it is a merge. */
export async function probeMerge(
  git: Git,
  options: RemoteOptions,
  { branch, at, base }: { readonly branch: string; readonly at: ObjectId; readonly base: ObjectId },
): Promise<PushResult> {
  const tree = await readTreeId(git, base);
  if (tree === null) return { kind: 'pushed' };
  // Inspect nothing: both sides are already on the server, and this push cannot succeed.
  const commit = await probeCommit(git, options, { tree, parents: [at, base] });
  return sendDoomed(git, options, { branch, commit, since: at });
}
