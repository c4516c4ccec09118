import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Behaviour } from '../../../testbed/scripted-agent.ts';
import { ACTION_FOLDER, events } from '../../../testbed/testbed.ts';
import { decodeSpans } from '../../otlp.ts';
import { createScene, KEY } from '../e2e-fixture.ts';
import { COLLECTOR_KEY, SECRET, startReceiver } from './receiver.ts';

const iteration = ['ralph iteration', 'invoke_agent claude'];

/** Changes nothing, and asks. */
const lost: Behaviour = {
  kind: 'shell',
  script: 'true',
  text: 'I looked around.',
  status: { finishes: false, exit: false, recommendation: 'Ask which greeting is meant' },
};

test('a run that needs a person sends one signed message, over two runs', async () => {
  await using scene = await createScene();
  await using receiver = await startReceiver();
  scene.openIssue('Greet everybody');
  const inputs = { settings: `notify-webhook: ${receiver.hook}\nnotify-webhook-secret: ${SECRET}` };
  const first = await scene.run({ agent: [lost, lost, lost], inputs });
  const second = await scene.run({ inputs });
  expect([first.outputs['outcome'], second.calls]).toEqual(['halted', 0]);

  const [message, ...more] = receiver.messages();
  expect(more).toEqual([]);
  const body = message?.body ?? Buffer.alloc(0);
  expect(message?.headers['x-ralph-signature-256']).toBe(
    `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
  );
  expect(JSON.parse(body.toString())).toMatchObject({ version: 1, event: 'notification', outcome: 'halted' });
  for (const { main } of [first, second]) expect(main.log).not.toContain('got no message');
});

test('three jobs send one trace, a tree whose root is the run, and the message of the job that publishes', async () => {
  await using scene = await createScene();
  await using receiver = await startReceiver();
  const issue = scene.openIssue('Greet');
  const template = readFileSync(join(ACTION_FOLDER, 'templates/workflows/three-jobs.yml'), 'utf8');
  const more =
    "env: '${{ secrets.ENV }}', notify-webhook: '${{ secrets.WEBHOOK }}', notify-webhook-secret: '${{ secrets.WEBHOOK_SECRET }}'";
  const workflow = template.replace('secrets: { ', `secrets: { ${more}, `);
  const played = await scene.play({
    workflow,
    event: events.labeled(issue),
    secrets: {
      ANTHROPIC_API_KEY: KEY,
      WEBHOOK: receiver.hook,
      WEBHOOK_SECRET: SECRET,
      ENV: `OTEL_EXPORTER_OTLP_ENDPOINT=${receiver.origin}\nOTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20${COLLECTOR_KEY}`,
    },
  });
  if (played.kind !== 'called') throw new Error(JSON.stringify(played));
  expect(receiver.messages()).toHaveLength(1);

  const traces = receiver.traces();
  expect(traces.map(({ headers }) => headers['authorization'])).toEqual(Array(3).fill(`Bearer ${COLLECTOR_KEY}`));
  const spans = traces.flatMap(({ body }) => decodeSpans(body));
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  const nameOf = new Map(spans.map(({ id, name }) => [id, name]));
  expect(spans.map(({ name, parent }) => `${nameOf.get(parent) ?? parent} > ${name}`)).toEqual([
    'ralph run > ralph gate',
    'ralph run > ralph loop',
    ...Array(2).fill(['ralph loop > ralph iteration', 'ralph iteration > invoke_agent claude']).flat(),
    ' > ralph run',
    'ralph run > ralph publish',
  ]);
  const root = spans.find(({ parent }) => parent === '');
  expect(root?.attributes).toMatchObject({ 'ralph.outcome': 'complete', 'ralph.branch': 'ralph/issue-1' });
  expect(spans.every(({ startedAt, endedAt }) => startedAt > 0 && startedAt <= endedAt)).toBe(true);
});

test('of a run that is cancelled, post sends what main finished', async () => {
  await using scene = await createScene();
  await using receiver = await startReceiver();
  scene.openIssue('Count');
  await scene.run({
    agent: [{ kind: 'work' }, { kind: 'hang', ignoreSigterm: false }],
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin },
    when: {
      text: 'I think for a very long time.',
      act: (main) => {
        main.cancel();
      },
    },
  });
  const spans = receiver.traces().flatMap(({ body }) => decodeSpans(body));
  expect(spans.map(({ name }) => name)).toEqual(['ralph run', ...iteration, ...iteration]);
  expect(spans[0]?.attributes).toMatchObject({ 'ralph.outcome': 'cancelled' });
  expect(spans[2]?.attributes).toMatchObject({ 'gen_ai.usage.output_tokens': expect.any(Number) as number });
});

test('a run that is cancelled while it publishes sends its spans itself, once', async () => {
  await using scene = await createScene();
  await using receiver = await startReceiver();
  scene.openIssue('Count');
  const run = await scene.run({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin },
    when: {
      text: 'pull request #',
      act: (main) => {
        main.cancel();
      },
    },
  });
  expect(run.outputs).toMatchObject({ outcome: 'complete' });
  const spans = receiver.traces().flatMap(({ body }) => decodeSpans(body));
  expect(spans.map(({ name }) => name)).toEqual(['ralph run', ...iteration, ...iteration]);
});
