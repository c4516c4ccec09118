import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeStatusBlock } from '../../../testbed/scripted-work.ts';
import { commandCli } from '../../../src/agents/command/cli.ts';
import { callOf, createAgentOn, createMachine } from './agent-fixture.ts';

const BLOCK = writeStatusBlock({ finishes: true, exit: true, tests: 'NOT_RUN', recommendation: 'none' });

/** Creates a separate machine with a program of the user's. */
async function createScene(script: string) {
  const machine = await createMachine();
  const path = join(machine.home, 'my-agent');
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const { agent } = createAgentOn(machine, { cli: commandCli, command: { kind: 'path', path } });
  return { ...machine, agent };
}

test('it reads the prompt, works in the checkout, and its status block is read', async () => {
  await using scene = await createScene(`cat > prompt.txt; echo note >&2\ncat <<'END'\nDone.\n\n${BLOCK}\nEND`);
  expect(await scene.agent.call(callOf({ prompt: '-n write hello' }))).toMatchObject({
    end: { kind: 'exited', code: 0 },
    analysis: {
      format: 'text',
      agentError: null,
      usageLimit: null,
      denials: [],
      sessionId: null,
      tokens: null,
      costUsd: null,
      signal: { from: 'block', status: 'COMPLETE', exitSignal: true },
    },
  });
  expect(readFileSync(join(scene.workFolder, 'prompt.txt'), 'utf8')).toBe('-n write hello');
});

test.each<readonly [what: string, script: string, text: string]>([
  [
    'an exit code',
    `echo 'quota exceeded in the text'; echo 'no such model' >&2; exit 3`,
    'The command failed: no such model',
  ],
  ['an exit code without a word', 'exit 1', 'The command failed.'],
  ['success without a word', 'cat > /dev/null; echo', 'The command ended without any output.'],
])('%s is a failure, and no limit', async (_what, script, text) => {
  await using scene = await createScene(script);
  const { analysis } = await scene.agent.call(callOf({ prompt: 'hello' }));
  expect(analysis).toMatchObject({ agentError: { kind: 'other', text }, usageLimit: null });
});

test.each<readonly [script: string, kind: string, usageLimit: object | null]>([
  [
    `echo "You've hit your weekly limit · resets Dec 1, 2036, 5pm (Europe/Berlin)"; exit 1`,
    'rate-limit',
    { window: 'unknown', resumeAt: '2036-12-01T16:00:00.000Z' },
  ],
  [`echo "You've hit your session limit · resets 5pm"`, 'rate-limit', { window: 'unknown' }],
  [
    `echo 'editing a.ts' >&2; echo 'ERROR: Quota exceeded. Check your plan and billing details.' >&2; exit 1`,
    'rate-limit',
    { byPerson: true },
  ],
  [
    `printf "%s\\n" "Error: You've hit your usage limit" '  Get Pro for more usage' 'chatMessage: Your usage limits will reset when your monthly cycle ends on 12/2/2036.' >&2; exit 1`,
    'rate-limit',
    { resumeAt: '2036-12-02T00:00:00.000Z' },
  ],
  [
    `echo Working; printf '%s\\n' 'Traceback (most recent call last):' '  File "a.py", line 1' "openai.RateLimitError: Error code: 429 - {'error': {'message': 'You exceeded your current quota', 'code': 'insufficient_quota'}}" >&2; exit 1`,
    'rate-limit',
    { byPerson: true },
  ],
  [`echo '(node:12) Warning: old' >&2; echo 'Credit balance is too low'; exit 1`, 'billing', null],
  [`echo 'Error: Authentication required. Please run "agent login" first.' >&2; exit 1`, 'auth', null],
  [`printf 'An agent v1\\nmodel: x\\nworkdir: /y\\nERROR: Incorrect API key provided\\n' >&2; exit 1`, 'auth', null],
  // The last error may come from a test of the project, so an answer before it counts.
  [`printf '1 test failed\\na.test.ts\\nsee below\\n'; echo 'Error: Invalid API key' >&2; exit 1`, 'other', null],
  [`printf 'The quota exceeded error is shown.\\nNow tests.\\n1 failed.\\n'; exit 1`, 'other', null],
  [
    `printf 'Usage limit reached is now\\na warning.\\nDone.\\n'; echo 'TypeError: x is null' >&2; exit 1`,
    'other',
    null,
  ],
  [`echo 'fatal: unable to access: The requested URL returned error: 403' >&2; exit 1`, 'other', null],
])('its last words may be a failure of its provider: %s', async (script, kind, usageLimit) => {
  await using scene = await createScene(script);
  const { analysis } = await scene.agent.call(callOf({ prompt: 'hello' }));
  expect(analysis).toMatchObject({ agentError: { kind }, usageLimit });
});

test('its last words do not say why it ended if it was ended', async () => {
  await using scene = await createScene(`echo 'Error: 429 Too Many Requests, trying again' >&2; exec sleep 30`);
  const { end, analysis } = await scene.agent.call(callOf({ prompt: 'hello', timeoutMs: 1_500 }));
  expect(end).toMatchObject({ kind: 'timeout' });
  expect(analysis).toMatchObject({ agentError: { kind: 'other' }, usageLimit: null });
});

test('it is named by its file, and not run for that', async () => {
  await using scene = await createScene('touch it-ran; exit 1');
  expect(await scene.agent.prepare()).toEqual({ name: 'my-agent', version: '' });
  expect(existsSync(join(scene.workFolder, 'it-ran'))).toBe(false);
});

test.each(['my-agent', './my-agent'])('%s may be anywhere on the PATH, or in the work folder', async (path) => {
  await using machine = await createMachine();
  const bin = path.startsWith('.') ? machine.workFolder : machine.home;
  writeFileSync(join(bin, 'my-agent'), '#!/bin/sh\necho Done.\n', { mode: 0o755 });
  const environment = { PATH: `${bin}:${machine.environment['PATH'] ?? ''}` };
  const { agent } = createAgentOn(machine, { cli: commandCli, command: { kind: 'path', path }, environment });
  expect(await agent.prepare()).toEqual({ name: 'my-agent', version: '' });
  expect((await agent.call(callOf({ prompt: 'hello' }))).analysis.agentError).toBeNull();
});

test('a missing program ends the run before any call', async () => {
  await using machine = await createMachine();
  const { agent } = createAgentOn(machine, {
    cli: commandCli,
    command: { kind: 'path', path: join(machine.home, 'none') },
  });
  await expect(agent.prepare()).rejects.toThrow(/none does not exist or is not a file\. Check agent-path\./);
});
