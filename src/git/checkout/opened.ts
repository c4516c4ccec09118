import type { Folder } from '../../core/folder.ts';
import type { ObjectId } from '../../core/evidence.ts';
import type { Log } from '../../ports/machine.ts';
import { authorization, basicCredentials } from '../git.ts';
import type { PublishingRules } from '../inspection/inspection.ts';
import type { Identity } from './commit.ts';
import { deepen } from './deepen.ts';
import { createPrivateRepository, type OwnRepository } from './private-repository.ts';
import type { RepositoryRoom } from './tree/room-tree.ts';
import { findWorkspace, headOf, type Workspace } from './workspace.ts';

/** Which checkout is opened, and with what. */
export interface OpenOptions {
  /** A folder of the checkout. */
  readonly folder: string;
  /** Where branches are fetched from: an HTTP(S) URL without user name or password. An empty token sends none. */
  readonly remote: { readonly url: string; readonly token: string };
  /** A folder outside of the checkout for this program's own files; the same one in `post`. */
  readonly workFolder: string;
  /** In which task files and notes are; paths of the port's texts are relative to it. */
  readonly workingDirectory: Folder;
  /** Of this process; git gets PATH, HOME and proxy settings of it. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Pick<Log, 'warning'>;
}

/** What a repository is made of. */
export interface RepositoryOptions extends OpenOptions {
  /** The token is one of its secret values. */
  readonly rules: PublishingRules;
  /** Author of the loop's commits. */
  readonly identity: Identity;
  /** Called with the credentials that are found in the checkout: nothing may show them, and `rules` name them from then on. */
  readonly learnSecrets: (secrets: readonly string[]) => void;
  /** Where the lane's code runs as a user of its own, asked for when it is needed; null: nothing isolates it. */
  readonly room: () => Promise<RepositoryRoom | null>;
}

/** A checkout as the job made it. */
export interface Opened {
  readonly workspace: Workspace;
  /** Over the checkout's own objects: what the job checked out, until an agent could touch it. */
  readonly repository: OwnRepository;
  /** The commit that the job checked out; null: there is none yet. */
  readonly startHead: ObjectId | null;
  /** Why commits or files that the checkout lacks could not be fetched; null: none are missing. */
  readonly stillShallow: string | null;
}

/** Opens the checkout and completes its history; or git's words why there is none. */
export async function openCheckout({
  folder,
  workFolder,
  env,
  log,
  remote,
}: Omit<OpenOptions, 'workingDirectory'>): Promise<Opened | { readonly why: string }> {
  const workspace = await findWorkspace(folder, { env, log });
  if ('why' in workspace) return workspace;
  const repository = await createPrivateRepository(workspace, {
    workFolder,
    env,
    hide: [remote.token, basicCredentials(remote.token)],
  });
  const source = { workspace, repository, url: remote.url, variables: authorization(remote.url, remote.token) };
  return { workspace, repository, stillShallow: await deepen(source), startHead: await headOf(workspace) };
}

/** What a person is told of a folder that is no checkout; `why`: git's words. */
export function notAWorkTree(folder: string, why: string): string {
  return `${folder} is not a git checkout (git says: ${why || 'nothing'}). Run actions/checkout before this action, with "fetch-depth: 0" and without "path:".`;
}
