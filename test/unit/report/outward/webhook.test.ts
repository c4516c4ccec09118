import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { notificationKinds, type NotificationKind } from '../../../../src/core/people/notifications.ts';
import { buildWebhookMessage, renderWebhook, buildWebhookSchema } from '../../../../src/report/outward/webhook.ts';
import { createLanelessReport } from '../../../../src/handover/report.ts';
import { changeOf, END, report, sharing, taskReport } from '../fixtures.ts';

const blocked = { kind: 'blocked', reason: 'needs_human' } as const;
const at = { id: 'd41d8', thread: 12, comment: 7 };
const SLACK = 'https://hooks.slack.com/services/T0/B0/x';

/** Builds the message about a task whose title and question are an agent's or a stranger's. */
function messageOf(kind: NotificationKind, words = 'Which one?') {
  const one = sharing(taskReport(12, { state: 'blocked', title: words }), { question: words });
  return buildWebhookMessage(
    {
      needs: [{ kind, about: ['blocked', 'stuck', 'failed'].includes(kind) ? 'issue-12' : 'lane-queue' }],
      report: report(blocked, { tasks: [one] }),
      change: changeOf([one]),
      lastTask: null,
      notices: [],
    },
    at,
  );
}

const validate = () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  return ajv.compile(buildWebhookSchema());
};

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(buildWebhookSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../../../schemas/ralph-webhook.schema.json',
  );
});

test.each(notificationKinds)('the published JSON Schema accepts a message about %s', (kind) => {
  const isValid = validate();
  expect(isValid(JSON.parse(renderWebhook(messageOf(kind), 'https://example.com')))).toBe(true);
  expect(isValid({ ...messageOf(kind), version: 2 })).toBe(false);
});

test('and one about a run that had no lane', () => {
  const ended = { repositoryUrl: 'https://github.com/a/b', runUrl: 'https://github.com/a/b/actions/runs/1' };
  const outcome = {
    kind: 'failed',
    reason: 'configuration',
    message: '- draft: "yes" must be true or false.',
  } as const;
  const message = buildWebhookMessage(
    {
      needs: [{ kind: 'configuration', about: 'every-run' }],
      report: createLanelessReport({ outcome, ...ended, startedAt: END, endedAt: END }),
      change: changeOf([]),
      lastTask: null,
      notices: [],
    },
    { ...at, comment: null },
  );
  expect(validate()(message)).toBe(true);
  expect(message).toMatchObject({ pullRequestUrl: null, commentUrl: 'https://github.com/a/b/issues/12' });
});

test('a message says what is needed, by whose words, and where the comment is', () => {
  expect(messageOf('blocked')).toMatchObject({
    id: 'd41d8',
    outcome: 'blocked',
    reason: 'needs_human',
    needs: [
      {
        kind: 'blocked',
        about: 'issue-12',
        text: '#12 has a question for you',
        title: 'Which one?',
        question: 'Which one?',
      },
    ],
    commentUrl: 'https://github.com/acme/shop/issues/12#issuecomment-7',
  });
  expect(messageOf('blocked').markdown).not.toMatch(/<!--|^@/m);
});

test.each([
  ['a mention of everybody', '<!channel> now', '&lt;!channel&gt; now'],
  ['a mention of a person', '<@U012345>', '&lt;@U012345&gt;'],
  ['a link with other words', '<https://evil.test|Log in>', '&lt;https://evil.test|Log in&gt;'],
  ['an escaped mention', '&lt;!here&gt;', '&amp;lt;!here&amp;gt;'],
])('Slack gets %s as text', (_, words, expected) => {
  const body = JSON.parse(renderWebhook(messageOf('blocked', words), SLACK)) as { readonly text: string };
  expect(body).toEqual({
    text: expect.any(String),
    ...{ mrkdwn: false, link_names: false, unfurl_links: false, unfurl_media: false },
  });
  expect(body.text).toContain(`acme/shop: #12 has a question for you (“${expected}”)`);
  expect(body.text).toContain(`The agent asks: “${expected}”`);
  expect(body.text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
});

test.each([
  [SLACK, true],
  ['https://hooks.slack-gov.com/services/T0/B0/x', true],
  ['https://hooks.slack.com.evil.test/services', false],
  ['https://example.com/hooks.slack.com', false],
])('%s takes the form of Slack: %s', (address, isSlack) => {
  expect(Object.hasOwn(JSON.parse(renderWebhook(messageOf('ready'), address)) as object, 'text')).toBe(isSlack);
});
