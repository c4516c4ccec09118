import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import type { ModelStep } from '../../testbed/scripted-model/step.ts';
import { writeStatusBlock } from '../../testbed/scripted-work.ts';
import type { Analysis } from '../../src/core/analysis/analysis.ts';
import { callOf } from '../integration/agents/agent-fixture.ts';
import { commandOf, isRunning, processesWith } from '../integration/processes/process-fixture.ts';
import { createWorld, installOnce, type Subject } from './agent-world.ts';
import { mentions } from './mentions.ts';

export const DONE: ModelStep = {
  kind: 'reply',
  text: `Done.\n\n${writeStatusBlock({ finishes: true, exit: true, tests: 'NOT_RUN', recommendation: 'none' })}`,
};

const LOOK = 'env | sort; cat /proc/$PPID/environ | tr "\\0" "\\n"';

/** A provider failure as this agent reports it, and its expected analysis. */
interface Failing {
  readonly what: string;
  readonly step: ModelStep;
  readonly kind: NonNullable<Analysis['agentError']>['kind'];
  readonly usageLimit: unknown;
}

interface Particulars {
  /** The agent's key, which the agent itself must never see. */
  readonly key: string;
  /** The format of the agent's session ids. */
  readonly session: RegExp;
  readonly failures: readonly Failing[];
  /** Set if a sandbox enforces the agent's rules, so that refusals are not reported. */
  readonly refusesSilently?: true;
  /** Set if the agent shows its commands no key at all. */
  readonly hidesItsKey?: true;
}

/** Describes the requirements of every adapter with its real CLI, against a scripted model on loopback. */
export function describeAdapter(
  subject: Subject,
  { key, session, failures, refusesSilently, hidesItsKey }: Particulars,
): void {
  const missing = inject('missing')[subject.name];
  beforeAll(async () => {
    if (missing === undefined) await installOnce(subject);
  }, 300_000);
  // A registry that does not answer is not a failure of an adapter.
  beforeEach(({ skip }) => {
    skip(missing !== undefined, missing);
  });

  test('an installed version is found again without npm, and tells its name', async () => {
    await using world = await createWorld(subject, { script: [DONE] });
    expect(await world.agent.prepare()).toEqual({ name: subject.cli.title, version: subject.version });
  });

  describe('work', () => {
    test('it answers, and its status block is read', async () => {
      await using world = await createWorld(subject, { script: [DONE] });
      const run = await world.calls('hello');
      expect(run).toMatchObject({
        end: { kind: 'exited', code: 0 },
        analysis: {
          format: 'jsonl',
          agentError: null,
          usageLimit: null,
          denials: [],
          sessionId: expect.stringMatching(session),
          signal: { from: 'block', status: 'COMPLETE', exitSignal: true },
        },
      });
      expect(run.analysis.tokens).toBeGreaterThanOrEqual(150);
    });

    test('it writes a file and commits it', async () => {
      await using world = await createWorld(subject, {
        script: [
          { kind: 'write', path: 'hello.txt', content: 'hello\n' },
          { kind: 'run', command: 'git add hello.txt && git commit -q -m "Say hello"' },
          DONE,
        ],
      });
      const { analysis } = await world.calls('write hello');
      expect(analysis).toMatchObject({ agentError: null, denials: [] });
      expect(readFileSync(join(world.machine.workFolder, 'hello.txt'), 'utf8')).toBe('hello\n');
      expect(git(world.machine.workFolder, 'log', '--format=%s %an')).toBe('Say hello Agent\n');
    });

    test.skipIf(refusesSilently)(
      'a command that the rules do not allow is refused, which does not count as an error',
      async () => {
        await using world = await createWorld(subject, {
          script: [{ kind: 'run', command: 'curl http://127.0.0.1:9/' }, DONE],
        });
        expect((await world.calls('fetch')).analysis).toMatchObject({
          agentError: null,
          denials: [{ command: 'curl http://127.0.0.1:9/' }],
        });
      },
    );

    test('a prompt larger than an argument can be arrives whole', async () => {
      await using world = await createWorld(subject, { script: [DONE] });
      await world.calls(`${'x'.repeat(200_000)} the end`);
      expect(JSON.stringify(world.model.requests.map(({ body }) => body))).toContain(`${'x'.repeat(200_000)} the end`);
    });

    test('a prompt that begins like a command of the CLI arrives as a prompt', async () => {
      await using world = await createWorld(subject, { script: [DONE] });
      expect((await world.calls('/help me')).analysis).toMatchObject({ signal: { status: 'COMPLETE' } });
      expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('/help me');
    });

    test('no file or skill that a prompt mentions is read for it', async () => {
      await using world = await createWorld(subject, { script: [DONE], allowedTools: ['Edit(src/**)'] });
      expect((await world.calls(mentions(world.machine))).analysis).toMatchObject({ signal: { status: 'COMPLETE' } });
      expect(JSON.stringify(world.model.requests.map(({ body }) => body))).not.toContain('MENTIONED');
    });

    test('the key is in neither its environment nor its files, and the model gets it', async () => {
      await using world = await createWorld(subject, {
        script: [{ kind: 'run', command: hidesItsKey === true ? 'env | sort' : LOOK }, DONE],
        allowedTools: ['Bash'],
      });
      const { analysis } = await world.calls('look around');
      expect(analysis).toMatchObject({ agentError: null, denials: [] });
      const printed = world.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
      expect(printed[0]?.text).toMatch(/PATH=/);
      if (hidesItsKey !== true) expect(printed[0]?.text).toMatch(/ralph-placeholder-[0-9a-f]{32}/);
      expect(JSON.stringify(printed)).not.toContain(key);
      expect(filesWith(key, world.configFolder)).toBe('');
      const asked = world.model.requests.filter(({ conversation }) => conversation !== null);
      expect(asked.length).toBeGreaterThan(1);
      for (const { headers } of asked) expect(JSON.stringify(headers)).toContain(key);
    });
  });

  describe('a session', () => {
    test('continues in a fresh folder of the CLI and in another work folder', async () => {
      await using world = await createWorld(subject, { script: [{ kind: 'reply', text: 'I know it.' }, DONE] });
      const first = await world.calls('remember the number 4711');
      const id = first.analysis.sessionId ?? '';
      const exported = await world.agent.exportSession(id);
      expect(exported, world.log.lines.join('\n')).not.toBeNull();

      const other = await world.elsewhere();
      expect(await other.agent.importSession(id, exported ?? Buffer.alloc(0))).toBe(true);
      const second = await other.agent.call(callOf({ prompt: 'which number?', resume: id }));
      expect(second.analysis).toMatchObject({ sessionId: id, agentError: null, signal: { status: 'COMPLETE' } });
      const { prompts } = lastConversation(world.model.requests);
      expect(prompts.join('\n')).toContain('remember the number 4711');
      expect(prompts.join('\n')).toContain('which number?');
      // The tokens are those of this call alone.
      expect(second.analysis.tokens).toBe(first.analysis.tokens);
      expect(second.analysis.costUsd ?? 0).toBeCloseTo(first.analysis.costUsd ?? 0, 6);
      expect(await other.agent.exportSession(id)).not.toBeNull();
    });

    test('leaves without what must not be stored', async () => {
      await using world = await createWorld(subject, { script: [{ kind: 'reply', text: 'the key is s3cr3t-value' }] });
      const { analysis } = await world.calls('say it');
      const text = Buffer.from((await world.agent.exportSession(analysis.sessionId ?? '')) ?? []).toString();
      expect(text).toMatch(/the key is \*\*\*/);
      expect(text).not.toContain('s3cr3t-value');
    });

    test('that is not there is an unknown session', async () => {
      await using world = await createWorld(subject, { script: [DONE] });
      const known = (await world.calls('hello')).analysis.sessionId ?? '';
      const unknown = known.replace(/.{4}$/, known.endsWith('0000') ? '1111' : '0000');
      const run = await (await world.elsewhere()).agent.call(callOf({ prompt: 'go on', resume: unknown }));
      expect(run.analysis.agentError?.kind).toBe('unknown-session');
      expect(world.model.requests.filter(({ conversation }) => conversation !== null)).toHaveLength(1);
    });
  });

  describe('what goes wrong', () => {
    test.each(failures)('$what', async ({ step, kind, usageLimit }) => {
      await using world = await createWorld(subject, { script: [step], stallMs: 4_000 });
      const { analysis } = await world.calls('hello');
      expect(analysis.agentError, JSON.stringify(analysis.agentError)).toMatchObject({ kind });
      expect(analysis.usageLimit).toEqual(usageLimit);
    });

    test('a provider that refuses every connection', async () => {
      await using world = await createWorld(subject, {
        script: [DONE],
        stallMs: 4_000,
        environment: () => subject.environment('http://127.0.0.1:9'),
      });
      // The limit is shorter than the slowest CLI's own retries.
      const { analysis, end } = await world.calls('hello', { timeoutMs: 70_000 });
      expect(analysis.agentError).toMatchObject({ kind: 'server', text: expect.stringMatching(/ECONNREFUSED/) });
      expect(end.kind).not.toBe('timeout');
    }, 180_000);

    test('a refused option is the error of the agent, which names it', async () => {
      await using world = await createWorld(subject, { script: [DONE], extraArgs: ['--no-such-option'] });
      const said = await world.calls('hello').then(({ analysis }) => analysis.agentError?.text, String);
      expect(said).toContain('such-option');
      expect(world.model.requests).toEqual([]);
    });
  });

  describe('the end', () => {
    test('a cancelled call leaves no process behind', async () => {
      await using world = await createWorld(subject, {
        script: [{ kind: 'run', command: 'setsid sleep 1008 & sleep 1007' }],
        allowedTools: ['Bash'],
      });
      const cancel = new AbortController();
      const running = world.calls('wait', { signal: cancel.signal });
      await vi.waitFor(() => {
        expect(processesWith(world.runTag).map(commandOf)).toContain('sleep 1007 ');
      }, 50_000);
      const pids = processesWith(world.runTag);
      cancel.abort();
      expect((await running).end).toEqual({ kind: 'cancelled' });
      expect(pids.filter(isRunning)).toEqual([]);
      expect(processesWith(world.runTag)).toEqual([]);
    });

    test('a call that takes too long is ended, and what it used is known', async () => {
      await using world = await createWorld(subject, {
        // Some CLIs refuse a command that only sleeps.
        script: [{ kind: 'run', command: 'git status; sleep 1009' }],
        allowedTools: ['Bash'],
      });
      const run = await world.calls('wait', { timeoutMs: 30_000 });
      expect(run).toMatchObject({ end: { kind: 'timeout', of: 'call' } });
      expect(run.analysis.tokens).toBeGreaterThanOrEqual(150);
      expect(processesWith(world.runTag)).toEqual([]);
    });
  });
}

function lastConversation(
  requests: readonly { readonly conversation: { readonly prompts: readonly string[] } | null }[],
): { readonly prompts: readonly string[] } {
  return requests.findLast(({ conversation }) => conversation !== null)?.conversation ?? { prompts: [] };
}

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
}

/** Returns the names of the files below a folder that contain a text. */
function filesWith(text: string, folder: string): string {
  try {
    return execFileSync('grep', ['-rlFa', '--', text, folder], { encoding: 'utf8' });
  } catch {
    // grep found nothing.
    return '';
  }
}
