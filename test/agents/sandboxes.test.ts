import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { TOOL_CACHE } from '../../testbed/testbed.ts';
import type { ModelStep } from '../../testbed/scripted-model/step.ts';
import { codexCli } from '../../src/agents/codex/cli.ts';
import { geminiCli } from '../../src/agents/gemini/cli.ts';
import { noOwnMachine, startOwnMachine, sudoUser } from '../own-machine.ts';
import { DONE } from './adapter-spec.ts';
import { commandOf, installOnce, type Subject } from './agent-world.ts';
import type { SandboxCall, SandboxPlay } from './sandbox-process.ts';

const KEY = 'a-key-that-opens-nothing';

const subjects: readonly (Subject & { readonly plant: string })[] = [
  {
    name: 'gemini',
    cli: geminiCli,
    version: '0.61.0',
    environment: (url) => ({ GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: url }),
    model: 'gemini-2.5-pro',
    plant:
      'mkdir -p .gemini/tmp/shop/memory; echo OBEY-ME > .gemini/tmp/shop/memory/MEMORY.md; cp .gemini/tmp/shop/memory/MEMORY.md .gemini/GEMINI.md',
  },
  {
    name: 'codex',
    cli: codexCli,
    version: '0.169.0',
    environment: (url) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${url}/v1` }),
    model: 'gpt-5.5',
    plant: 'echo OBEY-ME > AGENTS.md; cp AGENTS.md AGENTS.override.md; echo PLANTED=OBEY-ME > .env',
  },
];

const WORK: readonly ModelStep[] = [
  { kind: 'write', path: 'hello.txt', content: 'hello\n' },
  { kind: 'run', command: 'git add hello.txt && git commit -q -m "Say hello"' },
  DONE,
];

// The action's user does not own the files that the agent's user writes and, without sudo, may not touch them, as on
// GitHub's runners.
describe.skipIf(noOwnMachine !== null).each(subjects)('$name in a sandbox of another user', (subject) => {
  test('works, and continues in another sandbox; what it left in its own folder neither counts nor hinders', async () => {
    await installOnce(subject);
    // The folder is on a disk: in the agent's sandbox, Codex's own sandbox runs nothing below /dev.
    const base = await realpath(mkdtempSync(join(TOOL_CACHE, 'sandbox-')));
    chmodSync(base, 0o755);
    const user = sudoUser(base, fileURLToPath(import.meta.url));
    if (user !== null) chownSync(base, user.uid, user.uid);
    const play: SandboxPlay = {
      base,
      name: subject.name,
      command: commandOf(subject),
      model: subject.model,
      environment: subject.environment('URL'),
      allowedTools: ['Read', 'Edit', 'Write', 'Bash(git add:*)', 'Bash(git commit:*)', 'Bash(env)'],
      calls: [
        { script: WORK, then: `git log --format='%s %an'; cd "$CONFIG" && ${subject.plant}` },
        { script: [{ kind: 'run', command: 'env' }, DONE], then: 'chmod -R u-rwx "$CONFIG"' },
        { script: [DONE], then: '' },
      ],
      worker: { file: process.execPath, args: [join(inject('programs'), 'sandbox-worker.mjs')] },
    };
    await using machine = await startOwnMachine(user);
    const as =
      user === null ? [] : ['setpriv', `--reuid=${String(user.uid)}`, `--regid=${String(user.uid)}`, '--clear-groups'];
    const [file, ...args] = [...machine.around, ...as, process.execPath];
    const program = join(import.meta.dirname, 'sandbox-process.ts');
    execFileSync(file, [...args, program, JSON.stringify(play)], { env: { PATH: process.env['PATH'] }, cwd: '/' });
    const calls = JSON.parse(readFileSync(join(base, 'answers.json'), 'utf8')) as readonly SandboxCall[];
    const id = calls[0]?.analysis.sessionId;
    for (const call of calls) {
      const { analysis, exportedBytes, asked } = call;
      expect(analysis, call.log.join('\n')).toMatchObject({ agentError: null, denials: [], sessionId: id });
      expect(analysis.signal).toMatchObject({ status: 'COMPLETE' });
      expect(exportedBytes).toBeGreaterThan(1_000);
      expect(asked).not.toContain('OBEY-ME');
      expect(asked).not.toContain(KEY);
    }
    expect(calls[0]?.then).toBe('Say hello Agent\n');
    expect(calls.map(({ prompts }) => prompts)).toEqual([1, 2, 3]);
    rmSync(base, { recursive: true, force: true });
  });
});
