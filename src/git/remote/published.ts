import type { ObjectId } from '../../core/evidence.ts';
import { withBareRepository, type BareRepositoryOptions } from '../bare-repository.ts';
import type { Git, GitAnswer } from '../git.ts';

/** Commits further back than this count as not published: what builds on them is inspected again. */
const MOST_COMMITS = 2000;

/** How the server's branches are fetched: `ask` gives a git command to the server, from the repository that it is handed. */
export interface PublishedSource extends Pick<BareRepositoryOptions, 'workFolder' | 'env' | 'hide'> {
  readonly url: string;
  readonly ask: (git: Git, args: readonly string[]) => Promise<GitAnswer>;
}

/**
 * The newest commit that `commit` builds on and that a branch of the server has, as the server itself says; null: none
 * of the newest. The record of a run may name any commit as published, and the objects beside it may lie.
 */
export async function newestPublished(git: Git, commit: ObjectId, source: PublishedSource): Promise<ObjectId | null> {
  const own = await git.text(['rev-list', '--first-parent', `--max-count=${String(MOST_COMMITS)}`, commit]);
  return withBareRepository(source, async (empty) => {
    // Commits alone: no tree is asked for.
    const branches = ['--filter=tree:0', '--no-tags', '--quiet', source.url, '+refs/heads/*:refs/heads/*'];
    const fetched = await source.ask(empty, ['fetch', `--depth=${String(MOST_COMMITS)}`, ...branches]);
    if (fetched.exitCode !== 0) return null;
    const known = new Set((await empty.text(['rev-list', '--all'])).split('\n'));
    return own.split('\n').find((id) => known.has(id)) ?? null;
  });
}
