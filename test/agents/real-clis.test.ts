import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test, vi } from 'vitest';
import type { ModelRequest, ScriptedModel } from '../../testbed/scripted-model/server.ts';
import type { Conversation, ModelStep } from '../../testbed/scripted-model/step.ts';
import { writeStatusBlock } from '../../testbed/scripted-work.ts';
import { processesWith } from '../integration/processes/process-fixture.ts';
import { clis } from './clis.ts';
import { createWorld } from './fixture.ts';

const missing = inject('missing');
const BLOCK = writeStatusBlock({ finishes: true, exit: true, tests: 'NOT_RUN', recommendation: 'none' });
const work: readonly ModelStep[] = [
  { kind: 'write', text: 'I write.', path: 'hello.txt', content: 'hello\n' },
  { kind: 'run', command: 'git add hello.txt && git commit -qm "Say hello"' },
  { kind: 'reply', text: `Finished.\n\n${BLOCK}` },
];

describe.each(clis)('$name', (cli) => {
  describe.skipIf(cli.name in missing)('against a scripted model', () => {
    test('it says hello in one request, which holds the prompt and nothing before it', async () => {
      await using world = await createWorld(cli, [{ kind: 'reply', text: 'Hello.' }]);
      const started = await world.start('Say hello');
      expect(started).toMatchObject({
        end: { kind: 'exited', code: 0 },
        analysis: { format: 'jsonl', agentError: null, denials: [], sessionId: expect.stringMatching(/^[\w-]{20,}$/) },
        finalMessage: 'Hello.',
      });
      expect(answered(world.model).map(({ conversation }) => conversation)).toEqual([
        { prompts: ['Say hello'], results: [] },
      ]);
    });

    test('it writes a file, commits it and ends with a status block; its session continues in the same HOME', async () => {
      await using world = await createWorld(cli, ({ prompts, results }: Conversation) =>
        prompts.length === 1 ? stepAfter(results.length) : { kind: 'reply', text: 'I know.' },
      );
      const first = await world.start('Write hello');
      expect(readFileSync(join(world.workFolder, 'hello.txt'), 'utf8')).toBe('hello\n');
      expect(world.git('log', '--format=%s %an', '--name-only')).toBe('Say hello Agent\n\nhello.txt\n');
      expect(first).toMatchObject({
        end: { kind: 'exited', code: 0 },
        analysis: { agentError: null, denials: [], signal: { from: 'block', status: 'COMPLETE', exitSignal: true } },
        finalMessage: expect.stringContaining('Finished.'),
      });
      const [write, run, ...others] = first.events.filter((event) => event.kind === 'tool-use');
      expect(others).toEqual([]);
      expect(write).toMatchObject({ command: null });
      expect(run?.command).toContain('git commit -qm');

      const second = await world.start('What did I say?', { resume: first.analysis.sessionId ?? '' });
      expect(second).toMatchObject({
        end: { kind: 'exited', code: 0 },
        analysis: { agentError: null, sessionId: first.analysis.sessionId },
        finalMessage: 'I know.',
      });
      expect(world.model.requests.at(-1)?.conversation?.prompts).toEqual(['Write hello', 'What did I say?']);
    });

    test(`its model ${cli.tellsFailure ? 'is' : 'is not'} informed that a command failed`, async () => {
      await using world = await createWorld(cli, [
        { kind: 'run', command: 'git no-such-command' },
        { kind: 'reply', text: 'It failed.' },
      ]);
      const { finalMessage } = await world.start('Try');
      expect(finalMessage).toBe('It failed.');
      expect(world.model.requests.at(-1)?.conversation?.results).toEqual([
        { text: expect.stringContaining('is not a git command'), isError: cli.tellsFailure },
      ]);
    });

    test('a key that is refused is an error of the login', async () => {
      await using world = await createWorld(cli, [
        { kind: 'error', status: 401, type: 'invalid_api_key', message: 'Incorrect API key provided' },
      ]);
      expect((await world.start('Say hello')).analysis.agentError).toMatchObject({ kind: 'auth' });
    });

    test('while its model is silent it waits, and when it is stopped nothing that it began stays', async () => {
      await using world = await createWorld(cli, [
        { kind: 'run', command: 'nohup setsid sleep 1009 > left.txt 2>&1 & git status > began.txt' },
        { kind: 'stall', text: 'Let me think' },
      ]);
      const stop = new AbortController();
      const running = world.start('Think', { signal: stop.signal });
      await vi.waitFor(() => expect(answered(world.model)).toHaveLength(2), { timeout: 80_000, interval: 100 });
      // Copilot CLI may only run git, and a redirection is not git.
      expect(existsSync(join(world.workFolder, 'began.txt'))).toBe(cli.name !== 'copilot');
      expect(processesWith(world.runTag)).not.toEqual([]);
      stop.abort();
      expect((await running).end).toEqual({ kind: 'cancelled' });
      expect(processesWith(world.runTag)).toEqual([]);
    });
  });
});

/** Returns the requests that used a step. */
function answered({ requests }: ScriptedModel): readonly ModelRequest[] {
  return requests.filter(({ conversation, isSide }) => conversation !== null && !isSide);
}

function stepAfter(results: number): ModelStep {
  return work[results] ?? { kind: 'reply', text: 'There were more results than calls.' };
}
