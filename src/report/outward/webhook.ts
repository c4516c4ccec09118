import { z } from 'zod';
import { findTaskShare } from '../../core/lane/change.ts';
import { outcomeKinds } from '../../core/outcome.ts';
import { formatNeedsMarker, type Need, notificationKinds } from '../../core/people/notifications.ts';
import { nameOfTaskId } from '../../core/tasks/ids.ts';
import { cutText, toOneLine } from '../../core/text/phrase.ts';
import { listAllTasks, selectLaneReport } from '../facts.ts';
import { renderWords } from '../next/step.ts';
import { type NotificationText, renderNotification } from '../pages/notification.ts';
import { renderHeadline } from '../sentences/outcome-text.ts';
import { describeTaskTrouble } from '../sentences/trouble.ts';

/** Maximum length of a message to Slack, which cuts those of more than 40,000 characters. */
const MAX_SLACK_CHARS = 3_000;

/** Schema of a message to `notify-webhook`. A change that breaks readers gets a new `version`. */
const webhookSchema = z.object({
  version: z.literal(1),
  event: z.literal('notification'),
  id: z.string().describe('The same in every attempt to deliver this message, and in the header X-Ralph-Delivery.'),
  repository: z.string().describe('Address of the repository.'),
  outcome: z.enum(outcomeKinds).describe('Why the run ended.'),
  reason: z.string().describe('The outcome in detail, e.g. plan_complete, circuit_open.'),
  needs: z.array(
    z.object({
      kind: z.enum(notificationKinds),
      about: z.string().describe('Id of the task, or a name for the whole branch or for every run.'),
      text: z.string().describe('What is needed, as plain text without markup.'),
      title: z.string().nullable().describe('Title of the task, in the words of whoever wrote it; null: no task.'),
      question: z.string().nullable().describe("The agent's question, in its words; null: it has none."),
    }),
  ),
  markdown: z.string().describe('The text of the comment, without mentions.'),
  commentUrl: z.string().describe('The comment; without one, its issue or pull request, or else the run.'),
  pullRequestUrl: z.string().nullable(),
  runUrl: z.string(),
});

type About = Omit<NotificationText, 'mentions'>;

type WebhookMessage = z.infer<typeof webhookSchema>;

/** Returns the published JSON Schema of a message to `notify-webhook`. */
export function buildWebhookSchema(): object {
  return { title: 'notify-webhook', ...z.toJSONSchema(webhookSchema) };
}

/** Builds the message about a notification. `comment` is the comment that was written, or null if none. */
export function buildWebhookMessage(
  notification: About,
  { id, thread, comment }: { readonly id: string; readonly thread: number | null; readonly comment: number | null },
): WebhookMessage {
  const { needs, report } = notification;
  const at = thread === null ? report.runUrl : `${report.repositoryUrl}/issues/${thread}`;
  return {
    version: 1,
    event: 'notification',
    id,
    repository: report.repositoryUrl,
    outcome: report.outcome.kind,
    reason: report.outcome.reason,
    needs: needs.map((need) => describeNeed(need, notification)),
    markdown: renderNotification({ ...notification, mentions: [] }).replace(`${formatNeedsMarker(needs)}\n\n`, ''),
    commentUrl: comment === null ? at : `${at}#issuecomment-${comment}`,
    pullRequestUrl: selectLaneReport(report)?.pullRequest?.url ?? null,
    runUrl: report.runUrl,
  };
}

function describeNeed({ kind, about }: Need, { report, change }: About): WebhookMessage['needs'][number] {
  const one = listAllTasks(report).find(({ task }) => task.id === about);
  const text = one === undefined ? renderHeadline(report, 'log') : renderWords(describeTaskTrouble(one), 'log');
  const { question } = findTaskShare(change, about);
  return {
    ...{ kind, about },
    text: kind === 'needs_approval' ? `${nameOfTaskId(about)} waits for approval of its changed text` : text,
    title: one === undefined ? null : toOneLine(one.task.title, 200),
    question: question === null ? null : toOneLine(question, 500),
  };
}

/**
 * Settings that keep Slack from fetching addresses in the agent's words, because an address can carry what the agent
 * knows.
 */
const AS_TEXT = { mrkdwn: false, link_names: false, unfurl_links: false, unfurl_media: false };

/** Renders a message as the JSON that the receiver at `address` expects. */
export function renderWebhook(message: WebhookMessage, address: string): string {
  const isSlack = /^hooks\.slack(?:-gov)?\.com$/.test(new URL(address).hostname);
  return JSON.stringify(isSlack ? { text: slackText(message), ...AS_TEXT } : message);
}

/** Escapes a text for Slack, which reads `<…>` as mentions and links and `&…;` as characters. */
function slackText({ repository, needs, commentUrl }: WebhookMessage): string {
  const lines = needs.flatMap(({ text, title, question }) => [
    `${repository.split('/').slice(-2).join('/')}: ${text}${title === null ? '' : ` (“${title}”)`}`,
    ...(question === null ? [] : [`The agent asks: “${question}”`]),
  ]);
  return `${cutText(lines.join('\n'), MAX_SLACK_CHARS)}\n${commentUrl}`
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
