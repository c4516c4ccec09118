import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { ObjectId } from '../../../core/evidence.ts';
import { createPathMatcher, type Folder } from '../../../core/folder.ts';
import { CHUNK_BYTES, type TreeAnswer } from '../../../core/work-tree/answers.ts';
import { UserError } from '../../../errors.ts';
import type { Log } from '../../../ports/machine.ts';
import type { WorkTreeFiles } from '../../../ports/repository.ts';
import type { AgentSandbox } from '../../../ports/agent-sandbox.ts';
import { diffTrees, readTreeId, writeTreeWith } from '../../objects.ts';
import type { Quarantine } from '../quarantine.ts';
import { readConfig, type Workspace } from '../workspace.ts';
import { createInbox, type Inbox, type TreeRequestOf, type TreeSetup } from './inbox.ts';
import type { ReadTree, WorkTreeAccess } from './work-tree-access.ts';
import { listNotePlaces, withoutNotes } from './work-tree.ts';
import { createWorkers, type TreeTalk, type TreeWorkerCommand, type WithWorker } from './worker-process.ts';

interface SandboxAccessOptions {
  /** The quarantine, which never touches the work tree. */
  readonly quarantine: Quarantine;
  /** The working directory, which contains the notes. */
  readonly folder: Folder;
  readonly inbox: Inbox;
  readonly withWorker: WithWorker;
}

/** A work tree that belongs to the user of the agent's sandbox. */
interface SandboxAccess extends WorkTreeAccess {
  readonly files: WorkTreeFiles;
}

/** The sandbox in which the lane's code runs, and how our worker is started there. */
export interface RepositorySandbox {
  readonly agentSandbox: AgentSandbox;
  readonly worker: TreeWorkerCommand;
}

interface AgentTreeOptions extends RepositorySandbox {
  /** The tree as it was checked out. */
  readonly tree: Workspace;
  readonly quarantine: Quarantine;
  readonly inbox: Inbox;
  /** The working directory, which contains the notes. */
  readonly folder: Folder;
  /** Settings and excludes of our git directories over the tree. */
  readonly own: TreeSetup['own'];
  readonly log: Pick<Log, 'warning'>;
}

/** Gives a tree to the sandbox's user. Returns this program's only access to it from now on. */
export async function giveToSandbox(options: AgentTreeOptions): Promise<SandboxAccess> {
  const { agentSandbox, worker, tree, quarantine, inbox, folder, own, log } = options;
  const { top, gitFolder, commonFolder, objectFormat } = tree;
  const config = (await readConfig(tree)) ?? Buffer.alloc(0);
  await agentSandbox.give(top);
  const withWorker = createWorkers({
    agentSandbox,
    command: worker,
    setup: {
      place: { top, gitFolder, commonFolder, objectFormat },
      own: { config: own.config, excludes: own.excludes, sparse: own.sparse },
      config: config.toString('base64'),
      outbox: join(agentSandbox.folders.home, `.${INBOX_FOLDER}`),
      inbox: inbox.folder,
      roots: quarantine.roots,
    },
    log,
  });
  return createSandboxAccess({ quarantine, folder, inbox, withWorker });
}

/** The folder name in the inbox and in the home of the sandbox's user. */
const INBOX_FOLDER = 'ralph-work-tree';

/** Lends objects to the agent's sandbox: those of the quarantine with the lane's tip, and those of the checkout. */
export async function lendToSandbox(
  { agentSandbox }: Pick<RepositorySandbox, 'agentSandbox'>,
  quarantine: Quarantine,
  { tip, checkout }: { readonly tip: ObjectId; readonly checkout: Pick<Workspace, 'commonFolder'> },
): Promise<Inbox> {
  return await createInbox(join(agentSandbox.folders.inbox, INBOX_FOLDER), { quarantine, tip, checkout });
}

/**
 * Creates the access through a worker that runs as the sandbox's user. The agent may forge the worker's answers, so
 * only the quarantine's content is trusted.
 */
function createSandboxAccess({ quarantine, folder, inbox, withWorker }: SandboxAccessOptions): SandboxAccess {
  const { git } = quarantine;
  /** The tree that was read last: complete in the quarantine, and equal to its index. */
  let indexed: ObjectId | null = null;

  async function readOnce(talk: TreeTalk, question: Omit<TreeRequestOf<'read'>, 'has'>): Promise<ReadTree | null> {
    const found = await talk.ask('read', { ...question, has: indexed === null ? [] : [indexed] });
    const { head, tree, substitutes, beside, ignored, packs } = found;
    const hasCommits = packs.commits === null || (await receive(talk, 'commits', packs.commits));
    if (packs.content !== null) await receive(talk, 'content', packs.content);
    if (!(await isWhole(tree, question.tip))) return null;
    return {
      head: hasCommits && head !== null && (await isCommit(head)) ? head : null,
      tree,
      substitutes: new Map(substitutes.map(({ path, substitute }) => [path, substitute])),
      beside,
      ignored,
    };
  }

  /** Receives a pack in parts, so that no more than one part is in memory. */
  async function receive(talk: TreeTalk, of: 'commits' | 'content', size: number): Promise<boolean> {
    const pack = new PassThrough({ highWaterMark: CHUNK_BYTES });
    const received = quarantine.receive(pack, of).catch(() => false);
    // If git gave up, nobody reads the parts, so stop sending them.
    const givenUp = received.then(() => true);
    try {
      for (let from = 0, isOver = false; from < size && !isOver;) {
        const { bytes } = await talk.ask('pack', { of, from });
        from += bytes;
        if (!pack.write(await talk.bytes(bytes)))
          isOver = await Promise.race([once(pack, 'drain').then(() => false), givenUp]);
      }
    } finally {
      pack.end();
      await received;
    }
    return await received;
  }

  /**
   * Returns true if the tree is complete, that is, if it gets the same id when it is made again from its changes. This
   * also rules out names that no file can have, and the index then contains the tree.
   */
  async function isWhole(tree: ObjectId, tip: ObjectId): Promise<boolean> {
    if (tree === indexed) return true;
    const base = await readTreeId(git, tip);
    if (base === null || (await readTreeId(git, tree)) !== tree) return false;
    indexed = null;
    await rm(quarantine.indexFile, { force: true });
    const made = await diffTrees(git, base, tree)
      .then((changes) => writeTreeWith(git, quarantine.indexFile, { base, changes }))
      .catch(() => null);
    if (made !== tree) return false;
    indexed = tree;
    return true;
  }

  async function isCommit(id: ObjectId): Promise<boolean> {
    const { exitCode, stdout } = await git.answer(['rev-parse', '--verify', '--quiet', `${id}^{commit}`]);
    return exitCode === 0 && stdout.toString().trim() === id;
  }

  return {
    read: (tip, tolerated, wanted) =>
      withWorker(async (talk) => {
        await inbox.lend(tip);
        const found = await readOnce(talk, { tip, tolerated, wanted });
        if (found !== null) return found;
        // The files that the worker kept may be broken, so let it begin again.
        await talk.ask('reset', {});
        const again = await readOnce(talk, { tip, tolerated, wanted });
        if (again !== null) return again;
        throw new UserError(
          'infrastructure',
          'The content of the work tree differs from what was reported: the isolated agent changed its files or git objects in the meantime. Work published before that is safe. Re-run the workflow.',
        );
      }),

    patchOf: (question) => withWorker(async (talk) => (await talk.ask('patch-of', question)).patch),

    async withoutNotes(tree) {
      const listed = await git.answer(['ls-tree', '--full-tree', '--name-only', tree, '--', ...listNotePlaces(folder)]);
      return listed.stdout.length === 0 ? tree : await withoutNotes(quarantine, folder, tree);
    },

    putBack: (wanted, tolerated) =>
      withWorker(async (talk) => {
        const { paths, left } = await talk.ask('put-back', { wanted, tolerated });
        if (paths !== null) return { paths, left };
        // The agent removed the objects that the worker had made of the tree, so lend them.
        await inbox.lend(wanted);
        const again = await talk.ask('put-back', { wanted, tolerated });
        return { paths: again.paths ?? [], left: again.left };
      }),

    async leavePlainCheckout({ branch, tip, has }) {
      await withWorker(async (talk) => {
        await inbox.lend(tip);
        await talk.ask('leave', { branch, tip, has });
      }).catch(() => undefined);
    },

    files: {
      read: (paths) =>
        withWorker(async (talk) => {
          const isAsked = createPathMatcher(paths);
          const { texts }: TreeAnswer<'read-texts'> = await talk.ask('read-texts', { paths });
          return Object.fromEntries(Object.entries(texts).filter(([path]) => isAsked(path)));
        }),
      readEnd: (path, maxBytes) =>
        withWorker(async (talk) => (await talk.ask('read-end', { path, maxBytes })).text?.slice(-maxBytes) ?? null),
      replace: (change) =>
        withWorker(async (talk) => {
          await talk.ask('replace', change);
        }),
      remove: (path) =>
        withWorker(async (talk) => {
          await talk.ask('remove', { path });
        }),
    },
  };
}
