import { isAbsolute } from 'node:path';
import type { ObjectId, Snapshot } from '../../core/evidence.ts';
import type { Log } from '../../ports/machine.ts';
import type { Repository, TreeChange } from '../../ports/repository.ts';
import { UserError } from '../../errors.ts';
import { keepIgnored, layCleanClone, type KeptFiles } from './clean-clone.ts';
import {
  commitIteration,
  commitTextsOn,
  publishableTree,
  type Committer,
  type Identity,
  type WithheldPaths,
} from './commit.ts';
import { hideCredentials } from './credentials.ts';
import { deepen } from './deepen.ts';
import { authorization, basicCredentials, createGit, versionProblem, type Git } from '../git.ts';
import { createInspection, type PublishingRules } from '../inspection/inspection.ts';
import { fetchLane, openLane, leavePlainCheckout, type Lane } from './lane.ts';
import { changesBetween, withObjects, type Change } from '../objects.ts';
import { createPrivateRepository, lostObjects, type OwnRepository } from './private-repository.ts';
import { problemsOf } from './problems.ts';
import { createQuarantine, type Quarantine } from './quarantine.ts';
import { createWorkspaceRestorer, type WorkspaceRestorer } from './restore.ts';
import { mayHave, textsOf, topOf } from './texts.ts';
import { putBackWorkTree, readWorkTree, withoutNotes, type WorkTreeContent } from './work-tree.ts';
import { reviewBranch } from '../inspection/review.ts';
import { findWorkspace, headOf, type Workspace } from './workspace.ts';

export interface RepositoryOptions {
  /** A folder of the checkout. */
  readonly folder: string;
  /** Where branches are fetched from: an HTTP(S) URL without user name or password. An empty token sends none. */
  readonly remote: { readonly url: string; readonly token: string };
  /** A folder outside of the checkout for this program's own files; the same one in `post`. */
  readonly workFolder: string;
  /** Seals what is noted on disk of files with hidden credentials; 32 bytes, the same in `post`. */
  readonly sealKey: Buffer;
  /** The token is one of its secret values. */
  readonly rules: PublishingRules;
  /** Author of the loop's commits. */
  readonly identity: Identity;
  /** Of this process; git gets PATH, HOME and proxy settings of it. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Pick<Log, 'warning'>;
  /** Called with the credentials that are found in the checkout: nothing may show them, and `rules` name them from then on. */
  readonly learnSecrets: (secrets: readonly string[]) => void;
}

/** The checkout behind the port Repository. Nothing is read or written before the first call. */
export function createRepository(options: RepositoryOptions): Repository {
  if (!isAbsolute(options.workFolder)) throw new Error(`workFolder must be absolute, got ${options.workFolder}`);
  const opened = once(() => open(options));
  let lane: Lane | null = null;
  let lastRead: LastRead | null = null;
  /** The trees on both sides of the last commit, and what differs: evidence mostly asks for the same again. */
  let committed: { readonly before: ObjectId; readonly after: ObjectId; readonly changes: readonly Change[] } | null =
    null;
  let withheld: WithheldPaths = new Map();
  /** From when a lane is open: no content is read by way of the checkout's own objects any more. */
  let quarantined: Quarantined | null = null;
  /** What git ignored before the agent worked; null: nothing. */
  let kept: KeptFiles | null = null;

  async function needOpened(): Promise<Opened> {
    const found = await opened();
    if ('why' in found) throw new UserError('infrastructure', notAWorkTree(options.folder, found.why));
    return found;
  }

  async function snapshot(): Promise<Snapshot> {
    const { workspace, repository: checkout } = await needOpened();
    const taken = readHead(workspace);
    const [head, content] = await Promise.all([
      taken,
      readWorkTree(quarantined?.quarantine ?? checkout, workspace, taken),
    ]);
    const tree = await measured(content);
    lastRead = { content, tree, head };
    const known = head ?? lane?.tip;
    if (known === undefined)
      throw new UserError('infrastructure', `The repository in ${workspace.top} has no commits yet.`);
    return { head: known, tree };
  }

  /** The checkout's HEAD; once a lane is open, of what could be taken into the quarantine. */
  async function readHead(workspace: Workspace): Promise<ObjectId | null> {
    const head = await headOf(workspace);
    return quarantined === null || lane === null
      ? head
      : await takenHead(quarantined.quarantine, { head, known: lane.tip });
  }

  /** The content that evidence is taken from: without notes, and without what is withheld, which nobody will get to see. */
  async function measured(content: WorkTreeContent): Promise<ObjectId> {
    if (withheld.size === 0 || lane === null || quarantined === null) return content.evidence;
    const { workspace } = await needOpened();
    const { quarantine, committer } = quarantined;
    const { tip } = lane;
    const { tree } = await withObjects(quarantine.git, async (objects) => {
      const base = await objects.treeOf(tip);
      if (base === null) throw lostObjects(workspace);
      return publishableTree(committer, objects, { base, now: content });
    });
    return await withoutNotes(quarantine, workspace, tree);
  }

  return {
    async missing() {
      return (await topOf(options.folder)) !== null
        ? null
        : `There is no git checkout in ${options.folder}, so no task files can be read. Run actions/checkout before this action, with "fetch-depth: 0" and without "path:".`;
    },

    async problems() {
      const { folder, env } = options;
      const old = versionProblem((await createGit({ folder, env }).answer(['version'])).stdout.toString());
      if (old !== null) return [old];
      const found = await opened();
      return 'why' in found ? [notAWorkTree(options.folder, found.why)] : await problemsOf(found.workspace, found);
    },

    async readTexts(paths, wanted) {
      // What the job checked out is on the disk until a lane is opened.
      if (wanted === null && lane === null && !(await mayHave(options.folder, paths)))
        return { base: {}, lane: null, fork: null, unread: {} };
      const { workspace, repository, startHead } = await needOpened();
      const { url, token } = options.remote;
      await repository.seal();
      if (wanted !== null)
        await fetchLane({ workspace, repository, url, variables: authorization(url, token) }, wanted);
      const fork = wanted === null || startHead === null ? null : await forkOf(repository.git, startHead, wanted.head);
      const [base, ofLane, ofFork] = await Promise.all(
        [startHead, wanted?.head ?? null, fork].map(async (commit) =>
          commit === null ? null : await textsOf(repository.git, commit, paths),
        ),
      );
      return {
        base: base?.texts ?? {},
        lane: ofLane?.texts ?? null,
        fork: ofFork?.texts ?? null,
        unread: base?.unread ?? {},
      };
    },

    async openLane(wanted, found) {
      const { workspace, repository } = await needOpened();
      const { url, token } = options.remote;
      const source = { workspace, repository, url, variables: authorization(url, token), workedOn: lane !== null };
      const { lane: started, base, fork, answer } = await openLane(source, wanted, found ?? null);
      lane = started;
      withheld = new Map();
      lastRead = null;
      const quarantine = await createQuarantine(workspace, repository, {
        workFolder: options.workFolder,
        heads: [started.tip, base],
        roots: [...new Set([fork, base])],
      });
      await quarantine.keep(started.tip);
      const inspection = createInspection(quarantine.git, options.rules);
      quarantined = { quarantine, fork, committer: { repository: quarantine, inspection, identity: options.identity } };
      return answer;
    },

    snapshot,

    async compare(before, after) {
      const repository = quarantined?.quarantine ?? (await needOpened()).repository;
      await repository.seal();
      const known = committed?.before === before.tree && committed.after === after.tree ? committed.changes : null;
      const [changes, agentCommits] = await Promise.all([
        known ?? changesBetween(repository.git, before.tree, after.tree),
        countCommits(repository.git, before.head, after.head),
      ]);
      return treeChange(changes, agentCommits);
    },

    async commit(iteration) {
      if (lane === null || quarantined === null) throw new Error('commit() before openLane()');
      const { workspace, restore } = await needOpened();
      const { quarantine, committer } = quarantined;
      await quarantine.seal();
      const known = lane.tip;
      // What was measured is what is committed: an agent's process that is still there may move HEAD meanwhile.
      const { head, content: now } =
        lastRead?.tree === iteration.after.tree
          ? lastRead
          : { head: await readHead(workspace), content: await readWorkTree(quarantine, workspace) };
      const { before, tree, changes, withheldPaths, ...made } = await withObjects(quarantine.git, async (objects) => {
        const tipTree = await objects.treeOf(known);
        if (tipTree === null) throw lostObjects(workspace);
        const tip = { commit: known, tree: tipTree };
        const content = { tip, head, now, withheldBefore: withheld, iteration };
        return { before: tipTree, ...(await commitIteration(committer, objects, content)) };
      });
      withheld = withheldPaths;
      committed = { before, after: tree, changes };
      lane = { ...lane, tip: made.head };
      if (lastRead !== null) lastRead = { ...lastRead, head: made.head };
      await quarantine.keep(made.head);
      const has = head === null ? [known] : [...new Set([known, head])];
      await leavePlainCheckout({ workspace, quarantine, restore }, { ...lane, has, hasIndex: tree === now.tree });
      const evidence = tree === now.tree ? now.evidence : await withoutNotes(quarantine, workspace, tree);
      return {
        ...made,
        withheldNow: [...withheld].map(([path, why]) => ({ path, why })),
        publishedPaths: changes.map(({ path }) => path),
        published: { head: made.head, tree: evidence },
      };
    },

    async publishedTexts(paths) {
      if (lane === null || quarantined === null) return {};
      return (await textsOf(quarantined.quarantine.git, lane.tip, paths)).texts;
    },

    async commitTexts(wanted) {
      if (lane === null || quarantined === null) throw new Error('commitTexts() before openLane()');
      const { workspace, restore } = await needOpened();
      const { quarantine, committer } = quarantined;
      await quarantine.seal();
      const known = lane.tip;
      const made = await withObjects(quarantine.git, async (objects) => {
        const tree = await objects.treeOf(known);
        if (tree === null) throw lostObjects(workspace);
        return await commitTextsOn(committer, objects, { ...wanted, tip: { commit: known, tree } });
      });
      if (made.head === known) return made;
      lane = { ...lane, tip: made.head };
      await quarantine.keep(made.head);
      await leavePlainCheckout({ workspace, quarantine, restore }, { ...lane, has: [known], hasIndex: false });
      return made;
    },

    async putBack() {
      if (quarantined === null || lastRead === null) return [];
      const { workspace } = await needOpened();
      const { quarantine } = quarantined;
      return await putBackWorkTree(quarantine, workspace, lastRead.content.tree);
    },

    async review() {
      if (quarantined === null || lane === null) return null;
      return await reviewBranch(quarantined.quarantine.git, quarantined.fork, lane.tip);
    },

    async keepIgnored(signal) {
      const { workspace, repository } = await needOpened();
      kept = null;
      kept = await keepIgnored({ ...options, workspace, signal }, repository);
    },

    async cleanClone(commit, signal) {
      const { workspace } = await needOpened();
      return layCleanClone({ ...options, workspace, signal }, commit, kept);
    },

    async bundle(file) {
      if (quarantined === null) throw new Error('bundle() before openLane()');
      await quarantined.quarantine.bundle(file);
    },

    async hideCredentials() {
      const { workspace } = await needOpened();
      return await hideCredentials(workspace, { ...options, token: options.remote.token });
    },
  };
}

/** The work tree as it was read last. `tree`: what evidence is taken from; `head`: the HEAD beside it, null: none that can be had. */
interface LastRead {
  readonly content: WorkTreeContent;
  readonly tree: ObjectId;
  readonly head: ObjectId | null;
}

interface Quarantined {
  readonly quarantine: Quarantine;
  /** Where the lane left the base branch. */
  readonly fork: ObjectId;
  readonly committer: Committer;
}

interface Opened {
  readonly workspace: Workspace;
  /** Over the checkout's own objects: what the job checked out, until an agent could touch it. */
  readonly repository: OwnRepository;
  /** The commit that the job checked out; null: there is none yet. */
  readonly startHead: ObjectId | null;
  /** Why commits that the checkout lacks could not be fetched; null: none are missing. */
  readonly stillShallow: string | null;
  /** Makes the checkout's git directory one that git accepts again. */
  readonly restore: WorkspaceRestorer;
}

async function open({
  folder,
  workFolder,
  env,
  log,
  remote,
}: RepositoryOptions): Promise<Opened | { readonly why: string }> {
  const workspace = await findWorkspace(folder, { env, log });
  if ('why' in workspace) return workspace;
  const repository = await createPrivateRepository(workspace, {
    workFolder,
    env,
    hide: [remote.token, basicCredentials(remote.token)],
  });
  const source = { workspace, repository, url: remote.url, variables: authorization(remote.url, remote.token) };
  return {
    workspace,
    repository,
    stillShallow: workspace.shallow ? await deepen(source) : null,
    startHead: await headOf(workspace),
    restore: await createWorkspaceRestorer(workspace),
  };
}

/** The agent's HEAD, once its commits are in the quarantine; null: they cannot be had, and the content alone counts. */
async function takenHead(
  quarantine: Quarantine,
  { head, known }: { readonly head: ObjectId | null; readonly known: ObjectId },
): Promise<ObjectId | null> {
  if (head === null || head === known) return head;
  return (await quarantine.take({ head, known })) ? head : null;
}

/** The newest commit that both have; null: none is known. */
async function forkOf(git: Git, one: ObjectId, other: ObjectId): Promise<ObjectId | null> {
  const { exitCode, stdout } = await git.answer(['merge-base', one, other]);
  return exitCode === 0 ? stdout.toString().trim() : null;
}

function notAWorkTree(folder: string, why: string): string {
  return `${folder} is not a git checkout (git says: ${why || 'nothing'}). Run actions/checkout before this action, with "fetch-depth: 0" and without "path:".`;
}

const MOST_FILES_NAMED = 200;

async function countCommits(git: Git, before: ObjectId, after: ObjectId): Promise<number> {
  if (before === after) return 0;
  return Number((await git.answer(['rev-list', '--count', `${before}..${after}`])).stdout.toString().trim());
}

function treeChange(changes: readonly Change[], agentCommits: number): TreeChange {
  return {
    files: changes.slice(0, MOST_FILES_NAMED).map((change) => change.path),
    fileCount: changes.length,
    insertions: changes.reduce((sum, change) => sum + (change.insertions ?? 0), 0),
    deletions: changes.reduce((sum, change) => sum + (change.deletions ?? 0), 0),
    agentCommits,
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}
