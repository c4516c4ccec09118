import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { TOOL_CACHE } from '../../../testbed/testbed.ts';
import { copilotCli, buildCopilotEnvironment, resetCopilotSettings } from '../../../src/agents/copilot/cli.ts';
import { DONE } from '../adapter-spec.ts';
import { createWorld, installOnce, type Subject } from '../agent-world.ts';
import { talkedTo } from './talked-to.ts';

const VERSION = '1.0.102';

/** GitHub Copilot CLI over the protocol; the reasons why the action does not run it like this are below. */
const cli = talkedTo('copilot', copilotCli, async (call, place) => {
  await resetCopilotSettings(place.configFolder);
  return {
    args: [
      '--acp',
      '--no-auto-update',
      '--no-custom-instructions',
      '--disable-builtin-mcps',
      `--model=${call.model ?? ''}`,
    ],
    environment: buildCopilotEnvironment(call.environment, place.configFolder),
  };
});

const copilot: Subject = {
  name: 'copilot',
  cli,
  version: VERSION,
  environment: (url) => ({
    COPILOT_PROVIDER_API_KEY: 'sk-proj-a-key-that-opens-nothing',
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    // The CLI is unpacked once and not in each test.
    COPILOT_CACHE_HOME: join(TOOL_CACHE, 'ralph-action', `copilot-${VERSION}`, 'unpacked'),
  }),
  model: 'scripted',
};

const missing = inject('missing')['copilot'];

beforeAll(async () => {
  if (missing === undefined) await installOnce(copilot);
}, 300_000);
beforeEach(({ skip }) => {
  skip(missing !== undefined, missing);
});

test('it asks for each command with its text, counts its tokens, and continues its session', async () => {
  await using world = await createWorld(copilot, {
    script: [{ kind: 'run', command: 'git add . && git commit -q --allow-empty -m "Say hello"' }, DONE],
  });
  const { analysis } = await world.calls('say hello');
  expect(analysis).toMatchObject({ agentError: null, denials: [], tokens: 300, signal: { status: 'COMPLETE' } });
  expect(world.log.lines).toContain('→ execute git add . && git commit -q --allow-empty -m "Say hello"');
  const next = await world.calls('go on', { resume: analysis.sessionId });
  expect(next.analysis).toMatchObject({ agentError: null, sessionId: analysis.sessionId, tokens: 150 });
  expect(world.model.requests.at(-1)?.conversation?.prompts).toHaveLength(2);
});

test('a provider that fails is an error, although it comes as an answer', async () => {
  await using world = await createWorld(copilot, {
    script: [
      { kind: 'error', status: 429, type: 'rate_limit_exceeded', message: 'no', headers: { 'retry-after': '3600' } },
    ],
  });
  const { analysis, finalMessage } = await world.calls('hello');
  expect(analysis).toMatchObject({ agentError: { kind: 'rate-limit' }, usageLimit: { resumeAt: expect.any(String) } });
  expect(finalMessage).toBe('Error: 429 no');
});

test('a refused call ends its turn with words of its own, and its work continues', async () => {
  await using world = await createWorld(copilot, {
    script: [{ kind: 'run', command: 'curl http://127.0.0.1:9/' }, DONE],
  });
  expect((await world.calls('fetch')).analysis).toMatchObject({
    denials: [{ command: 'curl http://127.0.0.1:9/' }],
    signal: { status: 'COMPLETE' },
  });
});

describe('reasons to run it in its own way', () => {
  test('it obeys hooks and instructions of the repository, whatever its settings and options say', async () => {
    await using world = await createWorld(copilot, { script: [DONE] });
    const { workFolder, home } = world.machine;
    const marker = join(home, 'it-ran');
    mkdirSync(join(workFolder, '.github/hooks'), { recursive: true });
    const hook = { type: 'command', bash: `touch ${marker}` };
    writeFileSync(
      join(workFolder, '.github/hooks/own.json'),
      JSON.stringify({ version: 1, hooks: { sessionStart: [hook] } }),
    );
    writeFileSync(join(workFolder, 'AGENTS.md'), 'OBEY-ME');
    await world.calls('hello');
    expect(existsSync(marker)).toBe(true);
    expect(JSON.stringify(world.model.requests)).toContain('OBEY-ME');
  });
});
