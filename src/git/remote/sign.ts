import type { ObjectId } from '../../core/evidence.ts';
import { refusalOfSigning } from '../../core/refusals/refusal.ts';
import { getErrorMessage, UserError } from '../../errors.ts';
import type { PushResult, SignResult } from '../../ports/remote.ts';
import { FETCH_REFS_ONLY, type Git } from '../git.ts';
import { type Commit, readCommits, isSigned, readCommitChain, withObjects } from '../objects.ts';
import {
  askRemote,
  buildNetwork,
  readRemote,
  classifyPushRefusal,
  rejectPush,
  type RemoteOptions,
} from './ask-remote.ts';

/**
 * Maximum number of commits that are signed for one push. GitHub accepts about 500 requests an hour that create
 * something, from all runs with the same token together.
 */
const MAX_SIGNED_COMMITS = 400;

/**
 * Commits to sign: `commit` and the commits that it builds on, down to `since`. If `since` is null, only `commit` is
 * signed, which has no parent.
 */
interface Signing {
  readonly branch: string;
  readonly commit: ObjectId;
  readonly since: ObjectId | null;
}

/** Signed commits with their texts, the oldest first. */
type SignedCommits =
  | Exclude<SignResult, { kind: 'signed' }>
  | (Extract<SignResult, { kind: 'signed' }> & { readonly texts: readonly string[] });

/**
 * Makes the commits again through the server's API, which signs them, with the same trees, messages and order, and the
 * account of the token as their author. The trees get there unchanged, by a push to a ref that belongs to no branch.
 * Commits that are already on the branch, because a killed run had signed them, are not signed again. Leaves the new
 * commits in the repository of `git`.
 */
export async function signCommits(git: Git, options: RemoteOptions, signing: Signing): Promise<SignedCommits> {
  const { commit, since } = signing;
  const chain = await chainOf(git, { commit, since });
  if (chain === null) return rejectPush(`The new commit ${commit} does not build on ${since ?? ''} one by one.`);
  const from = chain.findIndex(({ text }) => !isSigned(text));
  if (from === -1) return { kind: 'as-they-are' };
  const unsigned = chain.slice(from);
  const before = chain[from - 1]?.id ?? since;
  const known = before === null ? [] : await knownOnBranch(git, options, { ...signing, before, unsigned });
  if (unsigned.length - known.length > MAX_SIGNED_COMMITS)
    return rejectPush(
      `GitHub would have to sign ${String(unsigned.length)} commits at once, and at most ${String(MAX_SIGNED_COMMITS)} are possible. Set \`sign-commits: false\` where no rule requires signatures.`,
    );
  const made = await makeAll(git, options, { ...signing, unsigned, known });
  if (typeof made !== 'string') return made;
  const signed = (await chainOf(git, { commit: made, since: before })) ?? [];
  const wrong = unsigned.find((one, at) => !isSame(one, signed[at]));
  if (wrong !== undefined || signed.length !== unsigned.length)
    return rejectPush(
      `GitHub did not make the commit ${wrong?.id ?? commit} as it was inspected, so its signed form is not used.`,
    );
  const places = Object.fromEntries(unsigned.map(({ id }, at) => [id, signed[at]?.id ?? made]));
  return { kind: 'signed', head: made, places, texts: signed.map(({ text }) => text) };
}

function chainOf(git: Git, { commit, since }: Pick<Signing, 'commit' | 'since'>): Promise<readonly Commit[] | null> {
  return withObjects(git, (objects) =>
    since === null
      ? readCommits(objects, [commit])
      : readCommitChain(objects, { since, tip: commit, most: Infinity, mayMerge: () => true }),
  );
}

/**
 * Returns true if the branch is exactly the signed form of these commits, because an earlier process signed and pushed
 * them and was killed before it could record that. `tip` is the tip of the branch.
 */
export async function hasSignedForm(
  git: Git,
  options: RemoteOptions,
  { commit, since, tip }: { readonly commit: ObjectId; readonly since: ObjectId; readonly tip: ObjectId },
): Promise<boolean> {
  if (options.signer === null) return false;
  const unsigned = await chainOf(git, { commit, since });
  if (unsigned === null || unsigned.length === 0) return false;
  const known = await knownAt(git, options, { tip, before: since, unsigned });
  return known.length === unsigned.length && known.at(-1) === tip;
}

/** Returns the commits of the branch that are the signed form of the first of `unsigned`, the oldest first. */
async function knownOnBranch(
  git: Git,
  options: RemoteOptions,
  { branch, before, unsigned }: Signing & { readonly before: ObjectId; readonly unsigned: readonly Commit[] },
): Promise<readonly ObjectId[]> {
  const { tip } = await readRemote(git, {
    url: options.url,
    ref: `refs/heads/${branch}`,
    network: buildNetwork(options),
  });
  return tip === null ? [] : knownAt(git, options, { tip, before, unsigned });
}

async function knownAt(
  git: Git,
  options: RemoteOptions,
  branch: { readonly tip: ObjectId; readonly before: ObjectId; readonly unsigned: readonly Commit[] },
): Promise<readonly ObjectId[]> {
  const { tip, before, unsigned } = branch;
  if (tip === before || !(await fetchCommit(git, options, { id: tip, have: before }))) return [];
  const there = (await chainOf(git, { commit: tip, since: before })) ?? [];
  const end = there.findIndex((one, at) => !isSigned(one.text) || !isSame(one, unsigned[at]));
  return there.slice(0, end === -1 ? there.length : end).map(({ id }) => id);
}

/** Returns true if two commits have the same content, message and merged commit. */
function isSame(one: Commit, other: Commit | undefined): boolean {
  return (
    other !== undefined &&
    one.tree === other.tree &&
    one.message.trimEnd() === other.message.trimEnd() &&
    one.parents.slice(1).join() === other.parents.slice(1).join()
  );
}

/** Returns the ref through which the content of a branch's commits reaches the server before the server signs them. */
export function nameUnsignedRef(branch: string): string {
  return `refs/ralph/v2/unsigned/${branch}`;
}

/** Makes the commits that are not known yet, and returns the newest. The repository of `git` has it afterwards. */
async function makeAll(
  git: Git,
  options: RemoteOptions,
  signing: Signing & { readonly unsigned: readonly Commit[]; readonly known: readonly ObjectId[] },
): Promise<ObjectId | Exclude<PushResult, { kind: 'pushed' }>> {
  const { branch, commit, unsigned, known } = signing;
  const { signer, url } = options;
  const rest = unsigned.slice(known.length);
  let last = known.at(-1) ?? null;
  if (rest.length === 0 && last !== null) return last;
  if (signer === null) return { kind: 'refused', refusal: refusalOfSigning('') };
  const network = buildNetwork(options);
  const place = nameUnsignedRef(branch);
  const push = ['push', '--porcelain', '--no-verify', '--no-follow-tags', '--force', url];
  const sent = await askRemote(git, [...push, `${commit}:${place}`], network);
  if (sent.exitCode !== 0) return classifyPushRefusal(sent);
  try {
    for (const { tree, message, parents } of rest) {
      const onto = last === null ? parents : [last, ...parents.slice(1)];
      const made = await signer.make({ tree, message, parents: onto });
      if (!made.isVerified) return { kind: 'refused', refusal: refusalOfSigning(made.reason) };
      last = made.id;
    }
    if (last !== null && (await fetchCommit(git, options, { id: last, have: commit }))) return last;
    return { kind: 'unreachable', why: 'The commits that GitHub has signed could not be fetched.' };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return error.kind === 'configuration'
      ? { kind: 'refused', refusal: refusalOfSigning(getErrorMessage(error)) }
      : { kind: 'unreachable', why: getErrorMessage(error) };
  } finally {
    await askRemote(git, [...push, `:${place}`], network);
  }
}

/**
 * Fetches a commit and the commits that it builds on; `have` is a commit that both sides have. Returns false if it
 * fails.
 */
async function fetchCommit(
  git: Git,
  options: RemoteOptions,
  { id, have }: { readonly id: ObjectId; readonly have: ObjectId },
): Promise<boolean> {
  const command = [...FETCH_REFS_ONLY, `--negotiation-tip=${have}`, options.url, id];
  return (await askRemote(git, command, buildNetwork(options))).exitCode === 0;
}
