import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PublishingRules } from '../../../../src/git/inspection/inspection.ts';
import type { IterationCommit } from '../../../../src/ports/repository.ts';
import { BRANCH, iterate, openFresh, runGit, setScene, type Scene, type SceneCheckout } from '../git-fixture.ts';

/** What one side does to the files: content by path, or where a link leads; null: it removes the path. */
export type Edit = Readonly<Record<string, string | Buffer | Link | null>>;

interface Link {
  readonly link: string;
}

/** A lane whose pull request is open, of a base branch that has moved on since. */
export interface Conflict {
  readonly scene: Scene;
  readonly repository: SceneCheckout;
  /** The lane's newest commit, and the base branch's. */
  readonly head: string;
  readonly base: string;
  readonly fork: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Lays `first` on the base branch, then lets the lane and the base branch change it, and opens the lane once more. */
export async function setConflict(
  { first, lane, base }: { readonly first: Edit; readonly lane: Edit; readonly base: Edit },
  rules: Partial<PublishingRules> = {},
): Promise<Conflict> {
  const scene = await setScene(rules);
  await commitToMain(scene, first);
  const { head: fork } = await openFresh(scene);
  const { committed } = await iterate(scene, () => edit(scene, lane));
  await scene.repository.leave();
  await scene.remote().push({ branch: BRANCH, commit: committed.head, since: fork, start: { kind: 'fresh' } });
  const moved = await commitToMain(scene, base);
  const repository = await openAgain(scene, committed.head);
  const { head } = committed;
  return { scene, fork, head, base: moved, repository, [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose]() };
}

/** As the next run does it. */
export async function openAgain(
  scene: Scene,
  head: string,
  rules: Partial<PublishingRules> = {},
): Promise<SceneCheckout> {
  await rm(join(scene.workFolder), { recursive: true, force: true });
  await runGit(scene.checkout, ['checkout', '--quiet', 'main']);
  const repository = scene.reopen(rules);
  await repository.openLane({ branch: BRANCH, baseBranch: 'main', start: { kind: 'continue', remoteHead: head } });
  return repository;
}

/** A commit of a person on the server's base branch; returns it. */
export async function commitToMain(scene: Scene, changes: Edit): Promise<string> {
  const clone = await mkdtemp(join(tmpdir(), 'ralph-person-'));
  try {
    await runGit(clone, ['clone', '--quiet', scene.server.repositoryFolder, '.']);
    for (const [path, content] of Object.entries(changes)) {
      if (content === null) await runGit(clone, ['rm', '--quiet', '-r', path]);
      else await writeIn(clone, path, content);
    }
    await runGit(clone, ['add', '--all', '--force']);
    await runGit(clone, ['commit', '--quiet', '-m', 'A change of a person']);
    await runGit(clone, ['push', '--quiet', 'origin', 'HEAD:main']);
    return await runGit(clone, ['rev-parse', 'HEAD']);
  } finally {
    await rm(clone, { recursive: true, force: true });
  }
}

async function writeIn(folder: string, path: string, content: string | Buffer | Link): Promise<void> {
  await rm(join(folder, path), { recursive: true, force: true });
  await mkdir(join(folder, path, '..'), { recursive: true });
  if (typeof content === 'string' || Buffer.isBuffer(content)) await writeFile(join(folder, path), content);
  else await symlink(content.link, join(folder, path));
}

/** In the work tree. */
export async function edit(scene: Scene, changes: Edit): Promise<void> {
  for (const [path, content] of Object.entries(changes)) {
    if (content === null) await rm(join(scene.folder, path), { recursive: true, force: true });
    else await writeIn(scene.folder, path, content);
  }
}

/** One iteration: what the agent does, measured and committed. */
export async function resolve(
  { scene, repository }: Pick<Conflict, 'scene' | 'repository'>,
  agent: () => Promise<unknown>,
  trailers: IterationCommit['trailers'] = { 'Ralph-Iteration': '1', 'Ralph-Task': 'conflict-base' },
) {
  return await iterate(scene, agent, repository, trailers);
}
