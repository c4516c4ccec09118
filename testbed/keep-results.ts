import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { git as runGit } from './git.ts';
import type { Person } from './github/accounts.ts';
import type { StoredThread } from './github/feedback/stored.ts';
import type { JobResult } from './runner.ts';
import type { Testbed } from './testbed.ts';

/** Writes log, summary, outputs and journal of a job to `folder`. */
export async function keepRun(folder: string, { main, post, summary, outputs }: JobResult): Promise<void> {
  await mkdir(folder, { recursive: true });
  // The runner does not print these two commands; without this they would reveal the values that it masks.
  const shown = `${main.log}${post.log}`
    .split('\n')
    .filter((line) => !/^::(add-mask|debug)::/.test(line))
    .join('\n');
  await writeFile(join(folder, 'log.txt'), shown);
  await writeFile(join(folder, 'summary.md'), summary);
  await writeFile(join(folder, 'outputs.json'), `${JSON.stringify(outputs, null, 2)}\n`);
  const journal = outputs['journal-path'] ?? '';
  if (journal !== '') await copyFile(journal, join(folder, 'journal.jsonl'));
}

/** Writes every pull request, its comments and its review threads to `folder`, as Markdown. */
export async function keepGitHub({ github }: Testbed, folder: string): Promise<void> {
  const { issues, pulls, comments, threads } = github.state;
  for (const issue of issues) {
    const pull = pulls.find(({ number }) => number === issue.number);
    const name = `${pull === undefined ? 'issue' : 'pull-request'}-${String(issue.number)}`;
    if (pull !== undefined)
      await writeFile(
        join(folder, `${name}.md`),
        `# ${issue.title}\n\n${pull.draft ? 'Draft' : 'Ready for review'}: ${pull.head} → ${pull.base}\n\n${issue.body}\n`,
      );
    const said = comments.filter((comment) => comment.issue === issue.number);
    if (said.length > 0) await writeFile(join(folder, `${name}-comments.md`), conversation(said));
    const reviewed = threads.filter((thread) => thread.pull === issue.number);
    if (reviewed.length > 0)
      await writeFile(
        join(folder, `${name}-threads.md`),
        reviewed.map((thread) => `# ${placeOf(thread)}\n\n${conversation(thread.comments)}`).join('\n'),
      );
  }
}

function conversation(comments: readonly { readonly author: Person; readonly body: string }[]): string {
  return comments.map(({ author, body }) => `**${author.login}** wrote:\n\n${body}\n`).join('\n---\n\n');
}

function placeOf({ path, originalLine, isResolved }: StoredThread): string {
  return `${path}${originalLine === null ? '' : `:${String(originalLine)}`}${isResolved ? ' (resolved)' : ''}`;
}

/**
 * Writes to `folder` the git server's repository, with the refs of the state, and for each pushed branch a clone and
 * its history as text.
 */
export async function keepBranches({ git, remote }: Testbed, folder: string): Promise<void> {
  const bare = 'remote.git';
  await runGit(folder, ['clone', '--quiet', '--mirror', remote.repositoryFolder, bare]);
  await runGit(join(folder, bare), ['remote', 'remove', 'origin']);
  const branches = (await git('for-each-ref', '--format=%(refname:short)', 'refs/heads/ralph/'))
    .split('\n')
    .filter(Boolean);
  for (const branch of branches) {
    const name = branch.replaceAll('/', '-');
    await writeFile(
      join(folder, `${name}.txt`),
      `${await git('log', '--stat', '--format=%h %an%n%B', `main..${branch}`)}\n`,
    );
    await runGit(folder, ['clone', '--quiet', '--branch', branch, bare, name]);
    // A relative URL works after the folder is moved.
    await runGit(join(folder, name), ['remote', 'set-url', 'origin', `../${bare}`]);
  }
}
