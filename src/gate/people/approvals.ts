import { accountsThatMatter, judgeConsent, type Consent } from '../../core/people/consent.ts';
import type { LaneState } from '../../core/lane/state.ts';
import type { IssueText } from '../../core/tasks/issue-task.ts';
import { taskIdOfIssue } from '../../core/tasks/ids.ts';
import type { GateDeps } from '../deps.ts';
import { trustAmong } from './trust.ts';

/** Who approved these issues; one that is not there any more is left out. */
export async function judgeIssues(
  deps: Pick<GateDeps, 'config' | 'forge' | 'sha256'>,
  issues: readonly (IssueText & { readonly number: number })[],
  approvals: LaneState['approvals'],
): Promise<ReadonlyMap<number, Consent>> {
  if (issues.length === 0) return new Map();
  const { taskLabel } = deps.config;
  const histories = await deps.forge.issueHistories(
    issues.map(({ number }) => number),
    taskLabel,
  );
  const isTrusted = await trustAmong(
    deps,
    [...histories.values()].flatMap((history) => accountsThatMatter(history, taskLabel)),
  );
  return new Map(
    issues.flatMap((issue) => {
      const history = histories.get(issue.number);
      if (history === undefined) return [];
      const id = taskIdOfIssue(issue.number);
      const approved = (Object.hasOwn(approvals, id) ? approvals[id] : undefined) ?? null;
      const text = hashOfText(issue, deps.sha256);
      return [[issue.number, judgeConsent({ history, taskLabel, text, approved, isTrusted })] as const];
    }),
  );
}

/** What consent is given to: first 32 hex digits of the SHA-256 of title and body. */
export function hashOfText({ title, body }: IssueText, sha256: GateDeps['sha256']): string {
  return sha256(JSON.stringify([title, body])).slice(0, 32);
}
