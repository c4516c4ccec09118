import { completeSentence } from '../core/text/phrase.ts';
import { getErrorText } from '../errors.ts';
import type { StateStore } from '../ports/state.ts';
import type { PublishDeps } from './deps.ts';

type PageDeps = Pick<PublishDeps, 'context' | 'clock' | 'log' | 'redact'> & {
  readonly store: () => Promise<Pick<StateStore, 'lastSeen'>>;
};

/**
 * Keeps a page about the cost of merged tasks, and returns its path, or null if no merged task is known. Reads only the
 * snapshot that the run has seen. Never rejects.
 */
export async function keepHistoryPage(deps: PageDeps, keep: (page: string) => string): Promise<string | null> {
  try {
    const page = await renderKnownHistory(deps);
    return page === null ? null : keep(page);
  } catch (error) {
    deps.log.warning(`The page about merged tasks was not made: ${completeSentence(getErrorText(error))}`);
    return null;
  }
}

async function renderKnownHistory({ store, context, clock, redact }: PageDeps): Promise<string | null> {
  const snapshot = (await store()).lastSeen();
  if (snapshot === null) return null;
  const [{ summarizeHistory, listTaskHistories }, { renderHistoryPage }, { mapTexts }] = await Promise.all([
    import('../core/history/task-history.ts'),
    import('../report/history/history-page.ts'),
    import('../core/text/redact.ts'),
  ]);
  const tasks = mapTexts(listTaskHistories(snapshot), redact);
  const history = summarizeHistory(tasks);
  const { owner, repo } = context.repository;
  const repository = `${context.serverUrl}/${owner}/${repo}`;
  return history.all.merged === 0 ? null : renderHistoryPage({ history, tasks, repository, now: clock.now() });
}
