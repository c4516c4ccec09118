import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
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

async function read(): Promise<{ readonly prompt: string; readonly warnings: readonly string[] }> {
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
  expect(await read()).toEqual({ prompt, warnings });
});

test('a named pipe in the place of the built-in prompt is an error, not a run that hangs', async () => {
  pipe('action/templates/PROMPT.md');
  await expect(read()).rejects.toThrow(/built-in prompt cannot be read.*is missing, or it is not a file/);
});
