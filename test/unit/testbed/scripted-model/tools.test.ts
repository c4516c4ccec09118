import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OfferedTool } from '../../../../testbed/scripted-model/exchange.ts';
import { extractPrompt } from '../../../../testbed/scripted-model/prompt-text.ts';
import { findNamedFolder, chooseToolUse } from '../../../../testbed/scripted-model/tools.ts';

const offered = (name: string, isText = false, namespace: string | null = null): OfferedTool => ({
  name,
  isText,
  namespace,
});
const write = { kind: 'write', path: 'docs/a.txt', content: 'one\ntwo\n' } as const;
const PATCH = '*** Begin Patch\n*** Add File: docs/a.txt\n+one\n+two\n*** End Patch\n';

test.each<[string, readonly OfferedTool[], string, unknown]>([
  ['Claude Code', [offered('Bash'), offered('Write')], 'Bash', { command: 'ls', description: expect.any(String) }],
  ['Codex', [offered('exec_command'), offered('apply_patch', true)], 'exec_command', { cmd: 'ls' }],
  ['Codex, before', [offered('shell')], 'shell', { command: ['bash', '-lc', 'ls'] }],
  ['Codex, gpt-6', [offered('exec', true, 'functions')], 'exec', expect.stringContaining('exec_command({"cmd":"ls"})')],
  ['Gemini CLI', [offered('run_shell_command')], 'run_shell_command', expect.objectContaining({ command: 'ls' })],
  ['OpenCode', [offered('read'), offered('bash')], 'bash', expect.objectContaining({ command: 'ls' })],
])('%s runs a command', (_cli, tools, tool, input) => {
  const namespace = tools.find(({ name }) => name === tool)?.namespace;
  expect(chooseToolUse({ kind: 'run', command: 'ls' }, tools, null)).toEqual({ tool, namespace, input });
});

test.each<[string, readonly OfferedTool[], string, unknown]>([
  ['Claude Code', [offered('Write')], 'Write', { file_path: 'docs/a.txt', content: write.content }],
  ['Codex', [offered('exec_command'), offered('apply_patch', true)], 'apply_patch', PATCH],
  ['Codex, before', [offered('apply_patch')], 'apply_patch', { input: PATCH }],
  ['Codex, gpt-6', [offered('exec', true)], 'exec', expect.stringContaining(JSON.stringify(PATCH))],
  ['Gemini CLI', [offered('write_file')], 'write_file', { file_path: '/repo/docs/a.txt', content: write.content }],
  ['OpenCode', [offered('write')], 'write', { filePath: '/repo/docs/a.txt', content: write.content }],
  [
    'Copilot CLI',
    [offered('bash'), offered('create')],
    'create',
    { path: '/repo/docs/a.txt', file_text: write.content },
  ],
])('%s writes a file', (_cli, tools, tool, input) => {
  expect(chooseToolUse(write, tools, '/repo')).toEqual({ tool, namespace: null, input });
});

test.each<[string, readonly OfferedTool[], string, unknown]>([
  ['Claude Code', [offered('Bash'), offered('Read')], 'Read', { file_path: 'docs/a.txt' }],
  ['Codex', [offered('exec_command')], 'exec_command', { cmd: "cat 'docs/a.txt'" }],
  ['Gemini CLI', [offered('read_file')], 'read_file', { file_path: '/repo/docs/a.txt' }],
  ['OpenCode', [offered('read')], 'read', { filePath: '/repo/docs/a.txt' }],
  ['Copilot CLI', [offered('view')], 'view', { path: '/repo/docs/a.txt' }],
])('%s reads a file', (_cli, tools, tool, input) => {
  expect(chooseToolUse({ kind: 'read', path: 'docs/a.txt' }, tools, '/repo')).toEqual({ tool, namespace: null, input });
});

test.each<[string, readonly OfferedTool[]]>([
  ['where nothing writes', [offered('read'), offered('bash')]],
  ['where the folder is unknown', [offered('write'), offered('bash')]],
])('%s, a command does', (_why, tools) => {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-tools-'));
  const strange = { kind: 'write', path: "it's/a $b.txt", content: "'$x'\n" } as const;
  const use = chooseToolUse(strange, tools, null);
  execFileSync('sh', ['-c', (use?.input as { readonly command: string }).command], { cwd: folder });
  expect(readFileSync(join(folder, strange.path), 'utf8')).toBe(strange.content);
  rmSync(folder, { recursive: true });
});

test('without a tool for it there is no use', () => {
  expect(chooseToolUse({ kind: 'run', command: 'ls' }, [offered('read')], '/repo')).toBeNull();
  expect(chooseToolUse(write, [offered('write')], null)).toBeNull();
});

test.each([
  ['Codex', '<environment_context>\n  <cwd>/srv/a b</cwd>', '/srv/a b'],
  ['OpenCode', '<env>\n  Working directory: /srv/a\n  Is directory a git repo: yes', '/srv/a'],
  ['Copilot CLI', '* Current working directory: /srv/a\n* Git', '/srv/a'],
  ['Gemini CLI', '- **Workspace Directories:**\n  - /srv/a\n- **Directory', '/srv/a'],
  ['Qwen Code', "I'm currently working in the directory: /srv/a\nHere", '/srv/a'],
  ['none', 'You are a model.', null],
])('the folder that %s names', (_cli, text, folder) => {
  expect(findNamedFolder(JSON.stringify(text))).toBe(folder);
});

test.each([
  ['fix it', 'fix it'],
  ['<current_datetime>now</current_datetime>\n\nfix it\n\n', 'fix it'],
  ['<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>\nfix <b>it</b>', 'fix <b>it</b>'],
  ['<environment_context>\n<cwd>/a</cwd>\n</environment_context>', null],
  ['# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>', null],
  ['<task>fix it</task>', '<task>fix it</task>'],
])('of the turn %j the prompt is %j', (turn, prompt) => {
  expect(extractPrompt(turn)).toBe(prompt);
});

test('whatever a prompt is, what stands before it is taken away and no more', () => {
  const plain = fc.string().filter((text) => text.trim() !== '' && !/^\s*[<#]/.test(text));
  fc.assert(
    fc.property(plain, fc.string(), (prompt, context) => {
      expect(extractPrompt(`<session_context>${context}</session_context>\n${prompt}`)).toBe(prompt.trim());
    }),
  );
});
