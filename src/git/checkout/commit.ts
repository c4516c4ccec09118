import type { ObjectId } from '../../core/evidence.ts';
import { cleanCommitMessage, cleanCommitSubject } from '../../core/text/commit-message.ts';
import type { CommittedIteration, IterationCommit, Withheld } from '../../ports/repository.ts';
import type { Git } from '../git.ts';
import type { Inspection } from '../inspection/inspection.ts';
import { changesBetween, changesOfCommits, eachObject, sizesOf, treeWith } from '../objects.ts';
import type { PrivateRepository } from './private-repository.ts';
import { reviewBetween } from '../inspection/review.ts';
import type { WorkTreeContent } from './work-tree.ts';

export interface Identity {
  readonly name: string;
  readonly email: string;
}

/** What a commit is made of: `tip` is the lane's last commit that we made or checked, and its tree; `head` is where the agent left HEAD (null: nowhere). */
export interface IterationContent {
  readonly tip: { readonly commit: ObjectId; readonly tree: ObjectId };
  readonly head: ObjectId | null;
  readonly now: WorkTreeContent;
  /** What was withheld before this iteration, and why. */
  readonly withheldBefore: WithheldPaths;
  readonly iteration: IterationCommit;
}

/** Paths of the work tree that are kept out of the branch, and why. */
export type WithheldPaths = ReadonlyMap<string, string>;

/** The commits of an iteration, the tree that they end in, and what stayed behind in the work tree. */
export interface MadeCommits extends Pick<CommittedIteration, 'head' | 'commit' | 'withheld' | 'lookAt'> {
  readonly tree: ObjectId;
  readonly withheldPaths: WithheldPaths;
}

export interface Committer {
  readonly repository: PrivateRepository;
  readonly inspection: Inspection;
  readonly identity: Identity;
}

/** More commits than this in one iteration are taken together as one: each is made again by a process of its own. */
const MOST_COMMITS = 100;

/** Makes the commits of an iteration on top of `tip`, the last with `tree`, none of them the agent's; refs and the workspace's index are not touched. */
export async function commitIteration(committer: Committer, content: IterationContent): Promise<MadeCommits> {
  const { git } = committer.repository;
  const { tip, head, now, iteration } = content;
  const own = await ownCommits(git, tip.commit, head);
  const objections = own.kind === 'chain' ? await objectionsTo(committer, own.commits) : noObjections;
  const keepChain = own.kind === 'chain' && objections.size === 0;
  const base = keepChain ? await remake(committer, { tip, commits: own.commits, iteration }) : tip;

  const { tree, withheld } = await publishableTree(committer, { base: base.tree, now });
  const message = keepChain ? iteration.message : await messageWithSubjects(committer, iteration.message, own.commits);
  const made =
    tree === base.tree
      ? null
      : await commitTree(committer, { tree, parent: base.commit, message: withTrailers(message, iteration.trailers) });

  const newHead = made ?? base.commit;
  return {
    head: newHead,
    tree,
    commit: newHead === tip.commit ? null : newHead,
    lookAt: tree === tip.tree ? [] : await reviewBetween(git, tip.tree, tree),
    withheld: await newlyWithheld(git, content, { objections, withheld }),
    withheldPaths: withheld,
  };
}

/** The agent's commits, oldest first. `chain`: one after another on top of the tip; `tangle`: a merge, another branch, a rewritten past. */
type OwnCommits = { readonly kind: 'chain' | 'tangle'; readonly commits: readonly ObjectId[] };

async function ownCommits(git: Git, tip: ObjectId, head: ObjectId | null): Promise<OwnCommits> {
  if (head === null || head === tip) return { kind: 'chain', commits: [] };
  const listed = await git.answer(['rev-list', '--parents', '--topo-order', '--reverse', `${tip}..${head}`]);
  const lines =
    listed.exitCode === 0
      ? listed.stdout
          .toString()
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => line.split(' '))
      : [];
  const commits = lines.map(([commit = '']) => commit);
  const linear = lines.every(
    ([, ...parents], i) => parents.length === 1 && parents[0] === (i === 0 ? tip : commits[i - 1]),
  );
  return { kind: linear && commits.length <= MOST_COMMITS ? 'chain' : 'tangle', commits: commits.slice(-MOST_COMMITS) };
}

/** Commits of the same contents in the same order, with our words, author and trailers; those that change nothing are left out. */
async function remake(
  committer: Committer,
  { tip, commits, iteration }: Pick<IterationContent, 'tip' | 'iteration'> & { readonly commits: readonly ObjectId[] },
): Promise<IterationContent['tip']> {
  const { git } = committer.repository;
  let last = tip;
  await eachObject(git, await sizesOf(git, commits), async (_, content) => {
    const { tree, message } = parseCommit(content);
    if (tree === last.tree) return;
    const words = withTrailers(cleanCommitMessage(message) || iteration.message, iteration.trailers);
    last = { tree, commit: await commitTree(committer, { tree, parent: last.commit, message: words }) };
  });
  return last;
}

/** A commit object: its header ends at the first empty line, and begins with the tree. */
function parseCommit(content: Buffer): { readonly tree: ObjectId; readonly message: string } {
  const text = content.toString();
  const end = text.indexOf('\n\n');
  const tree = /^tree ([0-9a-f]+)$/m.exec(text.slice(0, end === -1 ? text.length : end))?.[1] ?? '';
  return { tree, message: end === -1 ? '' : text.slice(end + 2) };
}

const noObjections: ReadonlyMap<string, string> = new Map();

/** What must not be published in any of the commits, also where a later one removes it again. */
async function objectionsTo(
  { repository, inspection }: Committer,
  commits: readonly ObjectId[],
): Promise<ReadonlyMap<string, string>> {
  if (commits.length === 0) return noObjections;
  const { git } = repository;
  const objections = new Map(await inspection.inspect(await changesOfCommits(git, commits), new Map()));
  await eachObject(git, await sizesOf(git, commits), async (id, text) => {
    const why = await inspection.inspectText(text.toString());
    if (why) objections.set(`commit ${id.slice(0, 12)} (its text)`, why);
  });
  return objections;
}

/** The work tree's tree without what must not be published, which stays as it is in `base`. */
export async function publishableTree(
  { repository, inspection }: Committer,
  { base, now }: { base: ObjectId; now: WorkTreeContent },
): Promise<{ tree: ObjectId; withheld: WithheldPaths }> {
  const changes = await changesBetween(repository.git, base, now.tree);
  const withheld = await inspection.inspect(changes, now.standIns);
  if (withheld.size === 0) return { tree: now.tree, withheld };
  const allowed = changes.filter((change) => !withheld.has(change.path));
  const tree = await repository.withIndex('empty', (indexFile) =>
    treeWith(repository.git, indexFile, { base, changes: allowed }),
  );
  return { tree, withheld };
}

/** Names the commits that were folded into one; a subject that must not be published itself is not repeated. */
async function messageWithSubjects(
  { repository, inspection }: Committer,
  message: string,
  commits: readonly ObjectId[],
): Promise<string> {
  const subjects: string[] = [];
  await eachObject(repository.git, await sizesOf(repository.git, commits.slice(0, 50)), async (_, commit) => {
    const subject = parseCommit(commit).message.split('\n', 1)[0] ?? '';
    subjects.push((await inspection.inspectText(subject)) ? '(withheld)' : cleanCommitSubject(subject));
  });
  if (subjects.length === 0) return message;
  return `${message.trimEnd()}\n\nMade of these commits of the agent:\n${subjects.map((subject) => `- ${subject}`).join('\n')}`;
}

/** `git interpret-trailers` would run commands that a config names, so the trailers are put together here. */
function withTrailers(message: string, trailers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(trailers).map(([name, value]) => `${name}: ${value.replace(/\s+/g, ' ').trim()}`);
  return [message.replaceAll('\0', '').trim(), ...(lines.length > 0 ? [lines.join('\n')] : [])].join('\n\n') + '\n';
}

async function commitTree(
  { repository, identity }: Committer,
  commit: { tree: ObjectId; parent: ObjectId; message: string },
): Promise<ObjectId> {
  const variables = {
    GIT_AUTHOR_NAME: identity.name,
    GIT_AUTHOR_EMAIL: identity.email,
    GIT_COMMITTER_NAME: identity.name,
    GIT_COMMITTER_EMAIL: identity.email,
  };
  return await repository.git.text(['commit-tree', commit.tree, '-p', commit.parent, '-F', '-'], {
    input: commit.message,
    variables,
  });
}

/** A withheld file stays in the work tree and is left out again each time; it is reported once, for the iteration that changed it. */
async function newlyWithheld(
  git: Git,
  { withheldBefore, iteration, now }: IterationContent,
  found: { objections: WithheldPaths; withheld: WithheldPaths },
): Promise<readonly Withheld[]> {
  if (found.objections.size === 0 && found.withheld.size === 0) return [];
  const changed = new Set((await changesBetween(git, iteration.before.tree, now.tree)).map((change) => change.path));
  const left = [...found.withheld].filter(([path, why]) => changed.has(path) && withheldBefore.get(path) !== why);
  return [...new Map([...found.objections, ...left])].map(([path, why]) => ({ path, why }));
}
