import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Behaviour } from '../../../testbed/scripted-agent.ts';
import { decodeSpans } from '../../otlp.ts';
import { ACTION_FOLDER, events } from '../../../testbed/testbed.ts';
import { createScene, KEY, type Run } from '../e2e-fixture.ts';

const SECRET = 'the-secret-of-the-receiver';
const COLLECTOR_KEY = 'the-key-of-the-collector';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Starts a receiver of webhooks and a collector at the same address, which accepts everything. */
async function startReceiver() {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(200).end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return {
    origin,
    hook: `${origin}/hooks/T0123/B0123/part-that-is-secret`,
    messages: () => received.filter(({ path }) => path.startsWith('/hooks/')),
    traces: () => received.filter(({ path }) => path === '/v1/traces'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Writes down its environment, changes nothing, and asks in words that try to mention people and name a key. */
const spy = (file: string): Behaviour => ({
  kind: 'shell',
  script: `env >> '${file}'`,
  text: 'I looked around.',
  status: { finishes: false, exit: false, recommendation: `Ask <!channel> @octocat about ${KEY}` },
});

/** Returns everything that the run has shown, without the lines by which the runner is given what to hide. */
function shownBy({ main, post, summary, outputs }: Run): string {
  const log = [main.log, post.log].join('\n').split('\n');
  return [...log.filter((line) => !line.startsWith('::add-mask::')), summary, JSON.stringify(outputs)].join('\n');
}

test('a run that needs a person sends one signed message, over two runs; nothing shows its address', async () => {
  await using scene = await createScene();
  await using receiver = await startReceiver();
  scene.openIssue('Greet everybody');
  const inputs = { settings: `notify-webhook: ${receiver.hook}\nnotify-webhook-secret: ${SECRET}` };
  const seen = join(scene.testbed.folder, 'seen');
  const lost = spy(seen);
  const first = await scene.run({
    agent: [lost, lost, lost],
    inputs,
    env: { OTEL_EXPORTER_OTLP_HEADERS: `a=${COLLECTOR_KEY}` },
  });
  const second = await scene.run({ inputs });
  expect([first.outputs['outcome'], second.calls]).toEqual(['halted', 0]);
  const given = readFileSync(seen, 'utf8');
  expect(given).toContain('PATH=');
  for (const secret of [receiver.hook, SECRET, COLLECTOR_KEY]) expect(given).not.toContain(secret);

  const [message, ...more] = receiver.messages();
  expect(more).toEqual([]);
  const body = message?.body ?? Buffer.alloc(0);
  expect(message?.headers['x-ralph-signature-256']).toBe(
    `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
  );
  const text = body.toString();
  expect(JSON.parse(text)).toMatchObject({ version: 1, event: 'notification', outcome: 'halted' });
  expect(text).not.toMatch(new RegExp(`${KEY}|@octo\\b`));

  for (const run of [first, second]) {
    const shown = shownBy(run);
    for (const secret of ['part-that-is-secret', SECRET]) expect(shown).not.toContain(secret);
    expect(shown).not.toContain('got no message');
  }
  expect(JSON.stringify(scene.testbed.github.state)).not.toContain('part-that-is-secret');
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
