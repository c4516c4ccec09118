import type { ObjectId } from '../../core/evidence.ts';
import type { Folder } from '../../core/folder.ts';
import { cleanCommitMessage, cleanCommitSubject, buildSignOff } from '../../core/text/commit-message.ts';
import type { CommittedIteration, IterationCommit, TextsCommit, WithheldChange } from '../../ports/repository.ts';
import { type Git, buildIdentityVariables } from '../git.ts';
import type { Inspection } from '../inspection/inspection.ts';
import { decodeGitName } from '../names.ts';
import {
  readCommitChain,
  changesOfCommits,
  withholdMovedFiles,
  readCommits,
  formatIndexLine,
  writeTreeWith,
  type PathChange,
  type Commit,
  type ObjectReader,
} from '../objects.ts';
import type { PrivateRepository } from './private-repository.ts';
import { isLoopState } from '../inspection/protected-paths.ts';
import { listFilesToLookAt } from '../inspection/review.ts';
import { excludeTolerated, type ToleratedChange } from './tree/differences/tolerated-changes.ts';
import type { WorkTreeContent } from './tree/work-tree-access.ts';

export interface Identity {
  readonly name: string;
  readonly email: string;
}

/**
 * The content of which a commit is made. `tip` is the lane's last commit that this program made or checked, with its
 * tree. `head` is the commit on which the agent left HEAD, or null for none.
 */
export interface IterationContent {
  readonly tip: { readonly commit: ObjectId; readonly tree: ObjectId };
  readonly head: ObjectId | null;
  readonly now: WorkTreeContent;
  /** The paths of the work tree that are treated as unchanged. */
  readonly tolerated: readonly ToleratedChange[];
  /** The files and folders that git ignores in the work tree; a folder ends with a slash. */
  readonly ignored: readonly string[];
  /** The files withheld before this iteration, and the work tree that contained them (null if no file was withheld). */
  readonly withheldBefore: { readonly paths: WithheldPaths; readonly tree: ObjectId | null };
  readonly iteration: IterationCommit;
}

/** Paths of the work tree that are kept out of the branch, and the reason for each. */
export type WithheldPaths = ReadonlyMap<string, string>;

/** The commits of an iteration, the tree that they end in, and the files that stayed behind in the work tree. */
export interface MadeCommits extends Pick<CommittedIteration, 'head' | 'commit' | 'withheld' | 'lookAt'> {
  readonly tree: ObjectId;
  /** The changes from the tip's tree to this one. */
  readonly changes: readonly PathChange[];
  readonly withheldPaths: WithheldPaths;
}

export interface Committer {
  readonly repository: PrivateRepository;
  readonly inspection: Inspection;
  readonly identity: Identity;
  /** True if commits are signed off by their author. */
  readonly signOff: boolean;
  /** The working directory: changes outside of it are shown to reviewers. */
  readonly folder: Folder;
}

/**
 * Maximum number of commits of one iteration that are kept separate. If there are more, they are folded into one,
 * because remaking each takes a process.
 */
const MAX_ITERATION_COMMITS = 100;

/**
 * Makes the commits of an iteration on top of `tip`; the last has `tree`. None of the agent's own commit objects is
 * used, and refs and the workspace's index are not touched.
 */
export async function commitIteration(
  committer: Committer,
  objects: ObjectReader,
  content: IterationContent,
): Promise<MadeCommits> {
  const { git } = committer.repository;
  const { tip, head, now, iteration } = content;
  const commits = await ownCommits(git, objects, { tip: tip.commit, head });
  const own = await withoutUncountedChanges(committer, objects, { ...content, own: commits });
  const objections =
    own.kind === 'chain' ? await objectionsTo(committer, objects, { ...content, commits: own.commits }) : noObjections;
  const keepChain = own.kind === 'chain' && objections.size === 0;
  const base = keepChain ? await remake(committer, { tip, commits: own.commits, iteration }) : tip;

  const { tree, withheld } = await buildPublishableTree(committer, objects, { base: base.tree, now });
  const message = keepChain
    ? iteration.message
    : await addSubjects(committer, iteration.message, await subjectsOf(objects, own));
  const made =
    tree === base.tree
      ? null
      : await commitTree(committer, { tree, parents: [base.commit], message, trailers: iteration.trailers });

  const newHead = made ?? base.commit;
  const changes = await objects.changesBetween(tip.tree, tree);
  // The loop's own files are not measured in the work tree, so a commit of them is not reported either.
  const reported = new Map([...objections].filter(([path]) => !isLoopState(path)));
  return {
    head: newHead,
    tree,
    changes,
    commit: newHead === tip.commit ? null : newHead,
    lookAt: await listFilesToLookAt(objects, changes, committer.folder),
    withheld: await selectWithheldChanges(objects, content, { objections: reported, withheld }),
    withheldPaths: withheld,
  };
}

/** Makes a commit of these files on top of `tip`, or no commit if one of them must not be published. */
export async function commitTextsOn(
  committer: Committer,
  objects: ObjectReader,
  { tip, texts, message, trailers }: TextsCommit & Pick<IterationContent, 'tip'>,
): Promise<Pick<CommittedIteration, 'head' | 'withheld'>> {
  const { repository, inspection } = committer;
  const isExecutable = await executablesAmong(repository.git, tip.tree, Object.keys(texts));
  const lines = await Promise.all(
    Object.entries(texts).map(async ([path, input]) => {
      const id = await repository.git.text(['hash-object', '-w', '--stdin'], { input });
      return formatIndexLine(isExecutable(path) ? '100755' : '100644', id, path);
    }),
  );
  const tree = await repository.withIndex('empty', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    await repository.git.text(['read-tree', tip.tree], { variables });
    await repository.git.text(['update-index', '-z', '--add', '--index-info'], { input: lines.join(''), variables });
    return await repository.git.text(['write-tree'], { variables });
  });
  const withheld = await inspection.inspect(objects, await objects.changesBetween(tip.tree, tree), new Map());
  if (withheld.size > 0) return { head: tip.commit, withheld: [...withheld].map(([path, why]) => ({ path, why })) };
  const head = await commitTree(committer, { tree, parents: [tip.commit], message, trailers });
  return { head, withheld: [] };
}

/** Returns a function that finds out whether a file is executable in the tree, so that new content keeps its mode. */
async function executablesAmong(
  git: Git,
  tree: ObjectId,
  paths: readonly string[],
): Promise<(path: string) => boolean> {
  const listed = await git.records(['--literal-pathspecs', 'ls-tree', '-z', '--full-tree', tree, '--', ...paths]);
  const programs = new Set(listed.flatMap((entry) => /^100755 blob [0-9a-f]+\t([^]*)$/.exec(entry)?.[1] ?? []));
  return (path) => programs.has(path);
}

/**
 * The agent's commits, oldest first. `chain`: one after another on top of the tip; `tangle`: a merge, another branch or
 * a rewritten past.
 */
type OwnCommits =
  | { readonly kind: 'chain'; readonly commits: readonly Commit[] }
  | { readonly kind: 'tangle'; readonly commits: readonly ObjectId[] };

async function ownCommits(
  git: Git,
  objects: ObjectReader,
  { tip, head }: { readonly tip: ObjectId; readonly head: ObjectId | null },
): Promise<OwnCommits> {
  const chain =
    head === null
      ? []
      : await readCommitChain(objects, { since: tip, tip: head, most: MAX_ITERATION_COMMITS, mayMerge: () => false });
  if (chain !== null) return { kind: 'chain', commits: chain };
  const listed = await git.answer(['rev-list', '--topo-order', '--reverse', `${tip}..${head}`]);
  const commits = listed.exitCode === 0 ? (listed.stdout.toString().match(/^[0-9a-f]+$/gm) ?? []) : [];
  return commits.length === 0
    ? { kind: 'chain', commits: [] }
    : { kind: 'tangle', commits: commits.slice(-MAX_ITERATION_COMMITS) };
}

/**
 * Returns the commits without changes that nobody made, such as line ends that `git add` converted, and without files
 * that the agent added although git ignores them.
 */
async function withoutUncountedChanges(
  { repository }: Committer,
  objects: ObjectReader,
  { own, tip: { tree: tip }, now, tolerated, ignored }: IterationContent & { readonly own: OwnCommits },
): Promise<OwnCommits> {
  if (own.kind === 'tangle' || (tolerated.length === 0 && ignored.length === 0)) return own;
  if (own.commits.length === 1 && own.commits[0]?.tree === now.tree) return own;
  const commits: Commit[] = [];
  for (const commit of own.commits) {
    const changes = await objects.changesBetween(tip, commit.tree);
    const counted = countedAmong(changes, { tolerated, ignored });
    const tree =
      counted.length === changes.length
        ? commit.tree
        : await repository.withIndex('empty', (indexFile) =>
            writeTreeWith(repository.git, indexFile, { base: tip, changes: counted }),
          );
    commits.push({ ...commit, tree });
  }
  return { kind: 'chain', commits };
}

/** Returns the changes, oldest first, without files that are not in the first tree and that git ignores. */
function countedAmong(
  changes: readonly PathChange[],
  { tolerated, ignored }: Pick<IterationContent, 'tolerated' | 'ignored'>,
): readonly PathChange[] {
  const isIgnored = (path: string): boolean =>
    ignored.some((one) => one === path || (one.endsWith('/') && path.startsWith(one)));
  const before = new Map(changes.toReversed().map(({ path, oldId }) => [path, oldId]));
  return excludeTolerated(changes, tolerated).filter(({ path }) => before.get(path) !== null || !isIgnored(path));
}

/**
 * Makes the commits again with the same contents and order, but with our words, author and trailers; empty commits are
 * left out.
 */
async function remake(
  committer: Committer,
  { tip, commits, iteration }: Pick<IterationContent, 'tip' | 'iteration'> & { readonly commits: readonly Commit[] },
): Promise<IterationContent['tip']> {
  let last = tip;
  for (const { tree, message } of commits) {
    if (tree === last.tree) continue;
    const words = cleanCommitMessage(message) || iteration.message;
    const commit = { tree, parents: [last.commit], message: words, trailers: iteration.trailers };
    last = { tree, commit: await commitTree(committer, commit) };
  }
  return last;
}

const noObjections: ReadonlyMap<string, string> = new Map();

/** Returns the paths that must not be published from any of the commits, even if a later commit removes them again. */
async function objectionsTo(
  { repository, inspection }: Committer,
  objects: ObjectReader,
  { commits, tip, tolerated, ignored }: IterationContent & { readonly commits: readonly Commit[] },
): Promise<ReadonlyMap<string, string>> {
  const [first] = commits;
  if (first === undefined) return noObjections;
  const changes =
    commits.length === 1
      ? await objects.changesBetween(tip.tree, first.tree)
      : await changesOfCommits(
          repository.git,
          commits.map(({ id }) => id),
        );
  const counted = countedAmong(changes, { tolerated, ignored });
  const objections = new Map(await inspection.inspect(objects, counted, new Map()));
  for (const { id, text } of commits) {
    const why = await inspection.inspectText(text);
    if (why) objections.set(`commit ${id.slice(0, 12)} (its text)`, why);
  }
  return objections;
}

/** Returns the tree of the work tree, with the version of `base` for every file that must not be published. */
export async function buildPublishableTree(
  { repository, inspection }: Committer,
  objects: ObjectReader,
  { base, now }: { base: ObjectId; now: WorkTreeContent },
): Promise<{ tree: ObjectId; withheld: WithheldPaths }> {
  const found = await objects.changesBetween(base, now.tree);
  const changes = await withoutForeignLineEnds({ repository, inspection }, found, [base, now.tree]);
  const withheld = new Map(await inspection.inspect(objects, changes, now.substitutes));
  if (withheld.size === 0) return { tree: now.tree, withheld };
  await withholdMovedFiles(repository.git, [base, now.tree], withheld);
  const allowed = changes.filter((change) => !withheld.has(change.path));
  const tree = await repository.withIndex('empty', (indexFile) =>
    writeTreeWith(repository.git, indexFile, { base, changes: allowed }),
  );
  return { tree, withheld };
}

/**
 * Returns the changes without those of line ends alone if git attributes in the work tree must not be published: git
 * read all files by these attributes, also the ones that nobody changed.
 */
async function withoutForeignLineEnds(
  { repository: { git }, inspection }: Pick<Committer, 'repository' | 'inspection'>,
  changes: readonly PathChange[],
  [before, after]: readonly [ObjectId, ObjectId],
): Promise<readonly PathChange[]> {
  const attributes = changes.filter(({ path }) => path.split('/').at(-1) === '.gitattributes');
  if (attributes.length === changes.length || inspection.inspectPaths(attributes).size === 0) return changes;
  const counted = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', '--no-ext-diff', '--ignore-cr-at-eol'];
  const others = new Set(
    (await git.names([...counted, before, after])).flatMap(
      (line) => /^(?!0\t0\t)\S+\t\S+\t([^]*)$/.exec(line)?.[1] ?? [],
    ),
  );
  return changes.filter(
    ({ path, oldId, newId, oldMode, newMode }) =>
      oldId === null || newId === null || oldMode !== newMode || others.has(path),
  );
}

async function subjectsOf(objects: ObjectReader, { kind, commits }: OwnCommits): Promise<readonly string[]> {
  const named = kind === 'chain' ? commits.slice(0, 50) : await readCommits(objects, commits.slice(0, 50));
  return named.map(({ message }) => message.split('\n', 1)[0] ?? '');
}

/** Adds the subjects of the commits that were folded into one, except those that must not be published. */
export async function addSubjects(
  { inspection }: Committer,
  message: string,
  subjects: readonly string[],
): Promise<string> {
  if (subjects.length === 0) return message;
  const named: string[] = [];
  for (const subject of subjects)
    named.push((await inspection.inspectText(subject)) ? '(withheld)' : cleanCommitSubject(subject));
  return `${message.trimEnd()}\n\nCombines these commits by the agent:\n${named.map((subject) => `- ${subject}`).join('\n')}`;
}

/** Appends the trailers without `git interpret-trailers`, which would run commands that a config names. */
function withTrailers(message: string, trailers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(trailers).map(([name, value]) => `${name}: ${value.replace(/\s+/g, ' ').trim()}`);
  return [message.replaceAll('\0', '').trim(), ...(lines.length > 0 ? [lines.join('\n')] : [])].join('\n\n') + '\n';
}

/** Makes a commit in our name, with a sign-off line if `signOff` is set. */
export async function commitTree(
  { repository, identity, signOff }: Pick<Committer, 'repository' | 'identity' | 'signOff'>,
  commit: Pick<IterationCommit, 'message' | 'trailers'> & { tree: ObjectId; parents: readonly ObjectId[] },
): Promise<ObjectId> {
  const parents = commit.parents.flatMap((parent) => ['-p', parent]);
  return await repository.git.text(['commit-tree', commit.tree, ...parents, '-F', '-'], {
    input: withTrailers(commit.message, { ...commit.trailers, ...(signOff ? buildSignOff(identity) : {}) }),
    variables: buildIdentityVariables(identity),
  });
}

/**
 * Returns the withheld files that this iteration changed. A withheld file stays in the work tree and out of every
 * commit, but is reported only for iterations that change it.
 */
export async function selectWithheldChanges(
  objects: ObjectReader,
  { iteration, now, withheldBefore }: IterationContent,
  found: { objections: WithheldPaths; withheld: WithheldPaths },
): Promise<readonly WithheldChange[]> {
  if (found.objections.size === 0 && found.withheld.size === 0) return [];
  const changedSince = async (tree: ObjectId): Promise<ReadonlySet<string>> =>
    new Set((await objects.changesBetween(tree, now.tree)).map((change) => change.path));
  const before = iteration.before.tree;
  // The evidence before this iteration lacks the files that were withheld earlier, so also compare with the work tree
  // that had them; otherwise they would be reported as changed each time.
  const [changed, changedAgain] = [await changedSince(before), await changedSince(withheldBefore.tree ?? before)];
  const left = [...found.withheld].filter(([path]) =>
    (withheldBefore.paths.has(path) ? changedAgain : changed).has(path),
  );
  return [...new Map([...found.objections, ...left])].map(([path, why]) => ({ path: decodeGitName(path), why }));
}
