import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CommandRun } from '../../../src/ports/agent.ts';
import { createStepCommands } from '../../../src/processes/run-program.ts';
import { createMachine, createMemoryLog } from '../agents/agent-fixture.ts';
import { processesWith } from './process-fixture.ts';

interface Given {
  readonly folder?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly bash?: () => string | null;
  readonly variables?: Readonly<Record<string, string>>;
}

interface Ran {
  readonly run: CommandRun;
  readonly log: readonly string[];
  readonly runTag: string;
  readonly fileOf: (name: string) => string;
}

/** Runs a command in a real checkout, and passes it to `look` before it is removed. */
async function withRun(command: string, given: Given, look: (ran: Ran) => void | Promise<void>): Promise<void> {
  await using machine = await createMachine();
  const [runTag, log] = [randomUUID(), createMemoryLog()];
  const commands = createStepCommands({
    bash: given.bash ?? (() => '/bin/bash'),
    workFolder: machine.workFolder,
    folder: '',
    environment: { ...machine.environment, ...given.variables },
    agentSandbox: null,
    runTag,
    log,
  });
  const run = await commands.run({
    command,
    folder: given.folder ?? null,
    timeoutMs: given.timeoutMs ?? 30_000,
    signal: given.signal ?? new AbortController().signal,
  });
  await look({ run, log: log.lines, runTag, fileOf: (name) => join(machine.workFolder, name) });
}

test('a command works in the checkout, and what it writes stays', async () => {
  await withRun('test -d .git && echo formatted > a.txt', {}, async ({ run, fileOf }) => {
    expect(run).toEqual({ end: { kind: 'exited', code: 0 }, tail: '' });
    expect(await readFile(fileOf('a.txt'), 'utf8')).toBe('formatted\n');
  });
});

test('a tool works in the folder that it is for', async () => {
  await withRun('pwd', { folder: '.git' }, async ({ run, fileOf }) => {
    expect(run.tail.trim()).toBe(await realpath(fileOf('.git')));
  });
});

test('of a command that fails the code, the end of its output, and the log', async () => {
  await withRun('echo "3 problems" >&2; exit 2', {}, ({ run, log }) => {
    expect(run).toEqual({ end: { kind: 'exited', code: 2 }, tail: '3 problems\n' });
    expect(log.join('\n')).toContain('3 problems');
  });
});

test('of several lines, or of a pipe, the last one decides', async () => {
  await withRun('grep -c nothing .git/HEAD\nfalse | cat\necho on', {}, ({ run }) => {
    expect(run).toEqual({ end: { kind: 'exited', code: 0 }, tail: '0\non\n' });
  });
  await withRun('true\nfalse', {}, ({ run }) => expect(run.end).toEqual({ kind: 'exited', code: 1 }));
  await withRun('set -e\nfalse\ntrue', {}, ({ run }) => expect(run.end).toEqual({ kind: 'exited', code: 1 }));
});

test('a variable is put in by bash, where its value is never a command', async () => {
  const variables = { NAME: 'x; touch broken-in; $(touch broken-in)' };
  await withRun('echo "${NAME} ${NONE:-else}" > out.txt', { variables }, async ({ fileOf }) => {
    expect(await readFile(fileOf('out.txt'), 'utf8')).toBe(`${variables.NAME} else\n`);
    expect(existsSync(fileOf('broken-in'))).toBe(false);
  });
});

test('a command that never ends is ended at its timeout, with all that it started', async () => {
  await withRun('sleep 1000 & (setsid sleep 1000 &) ; sleep 1000', { timeoutMs: 300 }, ({ run, runTag }) => {
    expect(run.end).toEqual({ kind: 'timeout' });
    expect(processesWith(runTag)).toEqual([]);
  });
});

test('a command of a run that was cancelled does not run', async () => {
  await withRun('touch a.txt', { signal: AbortSignal.abort() }, ({ run, fileOf }) => {
    expect(run.end).toEqual({ kind: 'cancelled' });
    expect(existsSync(fileOf('a.txt'))).toBe(false);
  });
});

test('without a bash that can be trusted no step is run', async () => {
  await expect(withRun('true', { bash: () => null }, () => undefined)).rejects.toThrow(
    'The command of the pipeline "true" cannot be run: bash was not found on PATH.',
  );
});
