import type { ApprovalNotice } from '../../core/people/consent-messages.ts';
import { formatInstant } from '../../core/time.ts';
import { renderSteps, step, type NextStep } from '../next/step.ts';
import { code } from '../markdown.ts';

/** First line of the notice that earlier versions wrote on each issue that waits for approval. */
export const APPROVAL_MARKER = '<!-- ralph-action:needs-approval -->';

/** What becomes of the notice when the issue was worked since. */
export const APPROVED_SINCE =
  '\n**This issue no longer waits for approval.** Ralph has worked on it since; its other comment says where that stands.';

/** What becomes of it when the approved text is back. */
export const APPROVED_AGAIN = '\n**This issue no longer waits for approval.** Its text is approved.';

/** What becomes of it when nobody wants the issue worked on any more. */
export const NOT_ASKED_FOR = '\n**This issue no longer waits for approval.** It was closed, or its label was removed.';

/** What happened to the issue's text, and what to do. The same for the same edit, however often it is rendered. `name`: how the issue is called. */
export function renderApprovalNotice({ editor, at }: ApprovalNotice, taskLabel: string, name = 'This issue'): string {
  const label = code(taskLabel, 60);
  const who =
    editor === null
      ? 'by somebody GitHub does not name'
      : `by ${code(editor, 60)}, who has no write permission in this repository`;
  return [
    `**${name} waits for approval.** Its text was changed after the label ${label} was added: ${who}, ${formatInstant(at)}. The label is consent to the text as it was then, so Ralph does not work on the new one.`,
    `**Next:** ${renderSteps(nextStepsForApproval(taskLabel), 'markdown')}`,
  ].join('\n\n');
}

function nextStepsForApproval(taskLabel: string): readonly NextStep[] {
  const again = step('relabel', `the label \`${taskLabel.replaceAll('`', "'")}\``);
  return [
    ...[step('note', 'read the text'), { ...again, lead: 'if it should be worked on as it is now, ' }],
    step('note', 'that takes write permission', '; '),
  ];
}
