import { accountsThatMatter, judgeConsent, type Consent } from '../../core/people/consent.ts';
import type { LaneState } from '../../core/lane/state.ts';
import { taskIdOfIssue } from '../../core/tasks/ids.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import type { ApprovalNotice } from '../../handover/intake.ts';
import { hashOfText } from '../tasks/tasks.ts';
import { trustAmong } from './trust.ts';

/** At most so many issues are named in a warning. */
const MAX_NAMED = 10;

/** Who approved these issues; one that is not there any more is left out. */
export async function judgeIssues(
  run: Pick<GateDeps, 'config' | 'forge'>,
  issues: readonly Issue[],
  approvals: LaneState['approvals'],
): Promise<ReadonlyMap<number, Consent>> {
  if (issues.length === 0) return new Map();
  const { taskLabel } = run.config;
  const histories = await run.forge.issueHistories(
    issues.map(({ number }) => number),
    taskLabel,
  );
  const isTrusted = await trustAmong(
    run,
    [...histories.values()].flatMap((history) => accountsThatMatter(history, taskLabel)),
  );
  return new Map(
    issues.flatMap((issue) => {
      const history = histories.get(issue.number);
      if (history === undefined) return [];
      const id = taskIdOfIssue(issue.number);
      const approved = (Object.hasOwn(approvals, id) ? approvals[id] : undefined) ?? null;
      return [
        [issue.number, judgeConsent({ history, taskLabel, text: hashOfText(issue), approved, isTrusted })] as const,
      ];
    }),
  );
}

/** What the issue is told; null when it says so already. */
export function noticeFor(
  { number, labels }: Issue,
  consent: Extract<Consent, { kind: 'changed' }>,
): ApprovalNotice | null {
  return consent.isNoticed ? null : { issue: number, labels, editor: consent.editor, at: consent.at };
}

/** Labelled, but by nobody whose label counts: no tasks. */
export function warnOfStrangers(
  label: string,
  strangers: readonly { readonly number: number; readonly by: string | null }[],
): readonly string[] {
  if (strangers.length === 0) return [];
  const named = strangers
    .slice(0, MAX_NAMED)
    .map(
      ({ number, by }) =>
        `#${String(number)} (${by === null ? 'GitHub does not say who put it on' : `put on by ${by}`})`,
    );
  const more = strangers.length > MAX_NAMED ? ` and ${String(strangers.length - MAX_NAMED)} more` : '';
  return [
    `The label "${label}" counts only when somebody with write permission, or a bot of \`allowed-bots\`, puts it on. Left out: ${named.join(', ')}${more}. To have one worked, take the label off and put it on again.`,
  ];
}

/** Why the run did not look at the rest of the queue. */
export function tooManyPeople(count: number): string {
  return `The issues at the head of the queue were labelled or changed by more than ${String(count)} people, and a run does not ask GitHub about more. Take the label off those that are not to be worked; the issues behind them wait.`;
}

/** Why the run does not work on tasks whose text changed. */
export function warnOfChanges(
  label: string,
  changed: readonly { readonly number: number; readonly editor: string | null }[],
): readonly string[] {
  if (changed.length === 0) return [];
  const named = changed
    .slice(0, MAX_NAMED)
    .map(({ number, editor }) => `#${String(number)} (by ${editor ?? 'somebody unknown'})`);
  const more = changed.length > MAX_NAMED ? ` and ${String(changed.length - MAX_NAMED)} more` : '';
  return [
    `Changed after approval by somebody who may not write, so not worked: ${named.join(', ')}${more}. Read the text; if it is fine, take the label "${label}" off and put it on again.`,
  ];
}
