import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PublishingRules } from '../../../../src/git/inspection/inspection.ts';
import type { IterationCommit } from '../../../../src/ports/repository.ts';
import { BRANCH, iterate, openFresh, runGit, setScene, type Scene, type SceneCheckout } from '../git-fixture.ts';

/** One side's changes: content by path, or the target of a link; null removes the path. */
export type Edit = Readonly<Record<string, string | Buffer | Link | null>>;

interface Link {
  readonly link: string;
}

/** A lane with an open pull request whose base branch has moved on. */
export interface Conflict {
  readonly scene: Scene;
  readonly repository: SceneCheckout;
  /** The newest commits of the lane and of the base branch. */
  readonly head: string;
  readonly base: string;
  readonly fork: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Commits `first` to the base branch, lets the lane and the base branch change it, and opens the lane again. */
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

/** Opens the lane again as the next run does. */
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

/** Commits to the server's base branch as a person and returns the commit. */
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

/** Applies changes to the work tree. */
export async function edit(scene: Scene, changes: Edit): Promise<void> {
  for (const [path, content] of Object.entries(changes)) {
    if (content === null) await rm(join(scene.folder, path), { recursive: true, force: true });
    else await writeIn(scene.folder, path, content);
  }
}

/** Plays one iteration: the agent's changes are measured and committed. */
export async function resolve(
  { scene, repository }: Pick<Conflict, 'scene' | 'repository'>,
  agent: () => Promise<unknown>,
  trailers: IterationCommit['trailers'] = { 'Ralph-Iteration': '1', 'Ralph-Task': 'conflict-base' },
) {
  return await iterate(scene, agent, repository, trailers);
}
