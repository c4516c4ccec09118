import {
  type Forecast,
  lacksCriterion,
  MAX_UNRELATED_BOXES,
  countUnrelatedBoxes,
  findSimilarTasks,
} from '../../core/forecast/forecast.ts';
import { listTaskHistories } from '../../core/history/task-history.ts';
import { indexHistory, predictFiles, findSymbols } from '../../core/parallel/predict-files.ts';
import { taskIdOfIssue } from '../../core/tasks/ids.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import { isTaskBegun } from '../../core/tasks/task.ts';
import type { GateDeps } from '../deps.ts';
import type { AdmissibleLane, EndWithoutCall } from '../lane/decide.ts';
import type { WorkRequest } from './sources.ts';

/** Maximum number of files in which symbols are searched; a search in more files takes too long. */
const MAX_SEARCHED_FILES = 10_000;

/**
 * Returns similar tasks and advice for an issue for which a person asks by name before its first iteration; returns
 * null for any other run. Sends no request.
 */
export async function forecastIssue(
  { repository }: Pick<GateDeps, 'repository'>,
  { requested, purpose, issues }: WorkRequest,
  decided: AdmissibleLane | EndWithoutCall,
): Promise<Forecast | null> {
  const [issue] = issues;
  const { state } = decided.kind === 'end' ? decided.intake : decided;
  const { snapshot } = decided.kind === 'end' ? decided.kept : decided;
  if (requested !== 'by-name' || purpose.kind !== 'tasks' || issue === undefined) return null;
  if (state !== null && isTaskBegun(getProgress(state.tasks, taskIdOfIssue(issue.number)))) return null;
  const boxes = countUnrelatedBoxes(issue);
  const isThin = lacksCriterion(issue) && (await namesNothing(repository, `${issue.title}\n${issue.body}`));
  return {
    similar: snapshot === null ? null : findSimilarTasks(listTaskHistories(snapshot), issue.labels),
    advice: [
      ...(isThin ? [{ kind: 'thin' } as const] : []),
      ...(boxes > MAX_UNRELATED_BOXES ? [{ kind: 'large', boxes } as const] : []),
    ],
  };
}

/** Returns true if a text does not name any file or symbol of the repository, and false if that is unknown. */
async function namesNothing(repository: GateDeps['repository'], text: string): Promise<boolean> {
  const named = findSymbols(text);
  for (const symbols of named.length === 0 ? [[]] : [[], named]) {
    const known = await repository.history({ branches: [], symbols }).catch(() => null);
    if (known === null || predictFiles(indexHistory(known), { text, touched: [] }) !== null) return false;
    if (symbols.length < named.length && known.files.length > MAX_SEARCHED_FILES) return false;
  }
  return true;
}
