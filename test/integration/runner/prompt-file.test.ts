import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { UserPrompt } from '../../../src/ports/prompt.ts';
import { readPrompt } from '../../../src/runner/prompt-file.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-prompt-'));
  write('action/templates/PROMPT.md', 'built-in');
  mkdirSync(join(folder, 'workspace'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function pipe(path: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  rmSync(join(folder, path), { force: true });
  execFileSync('mkfifo', [join(folder, path)]);
}

async function readAll(): Promise<{ readonly prompt: UserPrompt; readonly warnings: readonly string[] }> {
  const warnings: string[] = [];
  const prompt = await readPrompt(
    {
      workspace: join(folder, 'workspace'),
      folder: '',
      promptFile: '.ralph/PROMPT.md',
      actionFolder: join(folder, 'action'),
    },
    { info: () => undefined, warning: (text) => void warnings.push(text) },
  );
  return { prompt, warnings };
}

test("at the root, another Ralph's prompt counts beside its loop and its list, CLAUDE.md first", async () => {
  write('workspace/CLAUDE.md', 'claude');
  write('workspace/prompt.md', 'amp');
  write('workspace/prd.json', '{}');
  expect((await readAll()).prompt).toMatchObject({ text: 'built-in', path: null });
  write('workspace/ralph.sh', 'claude');
  expect((await readAll()).prompt).toMatchObject({ text: 'claude', path: 'CLAUDE.md' });
  rmSync(join(folder, 'workspace/CLAUDE.md'));
  expect((await readAll()).prompt).toMatchObject({ text: 'amp', path: 'prompt.md' });
});

const UNUSED = '.ralph/PROMPT.md is not used as the prompt: it is not a readable file of the checkout.';

test.each<[string, () => void, string, readonly string[]]>([
  ['no file', () => undefined, 'built-in', []],
  [
    'a file',
    () => {
      write('workspace/.ralph/PROMPT.md', 'mine');
    },
    'mine',
    [],
  ],
  [
    'an empty file',
    () => {
      write('workspace/.ralph/PROMPT.md', ' \n');
    },
    'built-in',
    [],
  ],
  [
    'a named pipe',
    () => {
      pipe('workspace/.ralph/PROMPT.md');
    },
    'built-in',
    [UNUSED],
  ],
  [
    'a named pipe, and a file in the second place',
    () => {
      pipe('workspace/.ralph/PROMPT.md');
      write('workspace/PROMPT.md', 'second');
    },
    'second',
    [UNUSED],
  ],
  [
    'a link that leads out',
    () => {
      write('workspace/.ralph/x', '');
      symlinkSync('/etc/passwd', join(folder, 'workspace/.ralph/PROMPT.md'));
    },
    'built-in',
    [UNUSED],
  ],
])('%s', async (_, given, prompt, warnings) => {
  given();
  const read = await readAll();
  expect({ prompt: read.prompt.text, warnings: read.warnings }).toEqual({ prompt, warnings });
});

test('a named pipe in the place of the built-in prompt is an error, not a run that hangs', async () => {
  pipe('action/templates/PROMPT.md');
  await expect(readAll()).rejects.toThrow(/built-in prompt cannot be read.*is missing, or it is not a file/);
});

test.each<[string, readonly string[], string, string | null]>([
  [
    'the loop of another Ralph',
    ['.ralph/prompts/LOOP_PROMPT.md', 'scripts/ralph/CLAUDE.md'],
    '.ralph/prompts/LOOP_PROMPT.md',
    null,
  ],
  [
    'scripts/, for one agent and for another',
    ['scripts/ralph/prompt.md', 'scripts/ralph/CLAUDE.md'],
    'scripts/ralph/CLAUDE.md',
    null,
  ],
  ['a CLAUDE.md at the root, which does not count', ['CLAUDE.md'], 'templates/PROMPT.md', 'built-in'],
])('%s', async (_, paths, path, builtIn) => {
  for (const one of paths) write(`workspace/${one}`, one);
  expect((await readAll()).prompt).toMatchObject(
    builtIn === null ? { text: path, path } : { text: builtIn, path: null },
  );
});

test('what describes the project is named, wherever it is', async () => {
  for (const path of ['@AGENT.md', '.ralph/AGENT.md', 'specs/a.md', '.ralph/SPECS_INDEX.md'])
    write(`workspace/${path}`, path);
  expect((await readAll()).prompt).toMatchObject({
    instructions: ['.ralph/AGENT.md', '@AGENT.md'],
    specifications: ['.ralph/SPECS_INDEX.md', 'specs'],
  });
});

test('tools for lock files are those that its code calls, and a folder names none', async () => {
  write('workspace/.ralph/AGENT.md', 'We use yarn: `npm ci`\n');
  write('workspace/AGENT.md', '```\ncargo test\n```\n');
  mkdirSync(join(folder, 'workspace/@AGENT.md'), { recursive: true });
  expect((await readAll()).prompt).toMatchObject({ lockTools: ['npm', 'cargo'] });
});

const SETUP = 'workspace/.ralph/prompts/SETUP_PROMPT.md';
test.each<[string, () => void, string | null]>([
  ['no set-up prompt', () => undefined, null],
  [
    'a set-up prompt',
    () => {
      write(SETUP, 'once');
    },
    'once',
  ],
  [
    'one that says nothing',
    () => {
      write(SETUP, '\n');
    },
    null,
  ],
  [
    'one that was followed before',
    () => {
      write(SETUP, 'once');
      write('workspace/.ralph/.ralph_setup_done', '');
    },
    null,
  ],
  [
    'one that is a step of a pipeline',
    () => {
      write(SETUP, 'once');
      write('workspace/.ralph/configs/default.json', '{ "prompt_file": ".ralph/prompts/SETUP_PROMPT.md" }');
    },
    null,
  ],
])('%s', async (_, given, setup) => {
  given();
  expect((await readAll()).prompt.setup).toBe(setup);
});

test('signals that cannot be used end the run, all of them named', async () => {
  write('workspace/.ralph/config.json', '{ "signals": { "done": ["x"], "markers": ["../y"] } }');
  await expect(readAll()).rejects.toThrow(
    /done signals cannot be used:\n- \.ralph\/config\.json:1:\d+ signals\.done\[0\].*\n- \.ralph\/config\.json:1:\d+ signals\.markers\[0\]/,
  );
});

test('signals are read from the file of the pipeline that counts', async () => {
  write('workspace/.ralph/config.yaml', 'signals: { markers: [DONE.txt] }\nsteps: [{ type: agent, name: a }]\n');
  expect((await readAll()).prompt.signals.markers).toEqual(['.ralph-complete', 'DONE.txt']);
});
