import { accountsThatMatter, consentAsBefore, judgeConsent, type Consent } from '../../core/people/consent.ts';
import type { LaneState } from '../../core/lane/state.ts';
import type { IssueText } from '../../core/tasks/issue-task.ts';
import { taskIdOfIssue, type TaskId } from '../../core/tasks/ids.ts';
import type { GateDeps } from '../deps.ts';
import { trustAmong } from './trust.ts';

/** Who approved these issues; one that is not there any more is left out. `known`: what was approved before; and finished issues, of which nobody is asked about if nothing has happened since. */
export async function judgeIssues(
  deps: Pick<GateDeps, 'config' | 'forge' | 'sha256'>,
  issues: readonly (IssueText & { readonly number: number })[],
  known: { readonly approvals: LaneState['approvals']; readonly isFinished: (id: TaskId) => boolean },
): Promise<ReadonlyMap<number, Consent>> {
  if (issues.length === 0) return new Map();
  const { taskLabel } = deps.config;
  const histories = await deps.forge.issueHistories(
    issues.map(({ number }) => number),
    taskLabel,
  );
  const questions = issues.flatMap((issue) => {
    const history = histories.get(issue.number);
    if (history === undefined) return [];
    const id = taskIdOfIssue(issue.number);
    const approved = (Object.hasOwn(known.approvals, id) ? known.approvals[id] : undefined) ?? null;
    const question = { history, taskLabel, text: hashOfText(issue, deps.sha256), approved };
    const before = known.isFinished(id) ? consentAsBefore(question) : null;
    return [{ number: issue.number, question, before }];
  });
  const isTrusted = await trustAmong(
    deps,
    questions.flatMap(({ question, before }) =>
      before === null ? accountsThatMatter(question.history, taskLabel) : [],
    ),
  );
  return new Map(
    questions.map(({ number, question, before }) => [number, before ?? judgeConsent({ ...question, isTrusted })]),
  );
}

/** What consent is given to: first 32 hex digits of the SHA-256 of title and body. */
export function hashOfText({ title, body }: IssueText, sha256: GateDeps['sha256']): string {
  return sha256(JSON.stringify([title, body])).slice(0, 32);
}
