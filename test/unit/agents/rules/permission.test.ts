import { expect, test } from 'vitest';
import { parseAskedCall } from '../../../../src/agents/acp/events/tool-calls.ts';
import { isPermitted } from '../../../../src/agents/rules/permission.ts';

const PLACE = { folder: '/srv/app', tree: '/srv' };

/** The call as an agent would ask for it. */
type Call = Parameters<typeof parseAskedCall>[0];

function run(command: unknown, more: object = {}): Call {
  return { kind: 'execute', rawInput: { command, ...more } };
}

function edits(...paths: readonly string[]): Call {
  return { kind: 'edit', locations: paths.map((path) => ({ path })) };
}

function reads(path: string): Call {
  return { kind: 'read', rawInput: { file_path: path } };
}

function server(toolName: string): Call {
  return { kind: 'other', title: toolName, _meta: { toolName } };
}

const NPM = ['Bash(npm:*)', 'Bash(git status)'];

test.each<readonly [what: string, call: Call, rules: readonly string[], allowed: boolean]>([
  ['a command of a rule', run('npm test'), NPM, true],
  ['an exact command', run('git status'), NPM, true],
  ['more than an exact command', run('git status -s'), NPM, false],
  ['parts that are all allowed', run('cd lib && npm test | head -5'), NPM, true],
  ['a part that is not', run('npm test; curl example.com'), NPM, false],
  ['a substitution', run('npm test $(curl example.com)'), NPM, false],
  ['a substitution, with every command allowed', run('npm test $(curl example.com)'), ['Bash'], true],
  ['a redirection to a file', run('npm test > out'), NPM, false],
  ['a variable in front', run('NODE_OPTIONS=x npm test'), NPM, false],
  ['variables beside it', run('npm test', { env: { NODE_OPTIONS: '--require /tmp/x' } }), NPM, false],
  ['no variables beside it', run('npm test', { env: {} }), NPM, true],
  ['a folder outside', run('npm test', { cwd: '/etc' }), NPM, false],
  ['a folder beside it in the tree', run('npm test', { cwd: '/srv/lib' }), NPM, true],
  ['a step out of the tree', run('cd / && cat etc/passwd'), NPM, false],
  ['a step to the work folder', run('cd /srv/app && ls'), NPM, true],
  ['a comment that a shell does not see', run('npm test \u00a0#; curl example.com'), NPM, false],
  ['a comment after a form feed', run('npm test \f#; curl example.com'), NPM, false],
  ['a line that is not continued', run('npm test x\\\r\ncurl example.com'), NPM, false],
  ['blanks of another kind in quotes', run("npm test -- 'a\u00a0#b'"), NPM, true],
  ['words beside it', run('cat', { args: ['/etc/passwd'] }), NPM, false],
  ['allowed words beside it', run('npm', { args: ['test', 'a b'] }), NPM, true],
  ['a file named behind several options', run('grep -rf/etc/passwd lib'), NPM, false],
  ['a shell of its own', run('npm test', { shell: './tools/bash' }), NPM, false],
  ['a shell of the machine', run('npm test', { shell: '/bin/bash' }), NPM, true],
  ['words of a shell of its own', run(['/srv/app/tools/bash', '-lc', 'npm test']), NPM, false],
  ['a pattern that may match the folder above', run('cat .?/secret'), NPM, false],
  ['reading a file outside', run('cat /etc/passwd'), NPM, false],
  ['words of a shell', run(['bash', '-lc', 'npm test']), NPM, true],
  ['words of a shell with more', run(['bash', '-lc', 'npm test', 'x']), NPM, false],
  ['words', run(['npm', 'test']), NPM, true],
  ['a word with a meaning for a shell', run(['npm', 'test', ';', 'id']), NPM, true],
  ['a word that closes its quotes', run(['git', "status' ; id ; '"]), NPM, false],
  ['no command', { kind: 'execute', title: 'npm test' }, NPM, false],
  ['a command in its title alone', { ...run('curl example.com'), title: 'npm test' }, NPM, false],
  ['a command that is called reading', { kind: 'read', rawInput: { command: 'curl example.com' } }, NPM, false],
  ['a command that is called a thought', { kind: 'think', rawInput: { command: 'id' } }, NPM, false],
  ['a command under a name that says so', { kind: 'read', rawInput: { path: 'a', script: 'id' } }, ['Read'], false],
  ['a thought with a line of commands', { kind: 'think', rawInput: { shell_command: 'id' } }, NPM, false],
  ['two commands, of which one is of a rule', run('npm test', { script: 'id' }), NPM, false],
  ['a list of variables beside it', run('npm test', { env: [{ name: 'NODE_OPTIONS', value: 'x' }] }), NPM, false],
  ['a command under another name', { kind: 'execute', rawInput: { cmd: 'npm test' } }, NPM, true],

  ['an edit under its own name alone', { ...edits('/etc/hosts'), kind: 'other', name: 'Edit' }, ['Edit'], false],
  ['a thought that names a file', { kind: 'think', locations: [{ path: '/etc/hosts' }] }, ['Edit'], false],
  ['a search in the web that is called a search', { kind: 'search', rawInput: { query: 'x' } }, ['Read(src)'], false],
  ['a search in files', { kind: 'search', rawInput: { pattern: 'x' } }, [], true],
  ['a search in a folder outside', { kind: 'search', rawInput: { pattern: 'x', dir: '/etc' } }, [], false],
  ['an edit inside', edits('/srv/app/a.ts'), ['Edit'], true],
  ['an edit beside the work folder', edits('/srv/b.ts'), ['Write'], true],
  ['an edit outside', edits('/etc/hosts'), ['Edit'], false],
  ['an edit by a way out', edits('/srv/app/../../etc/hosts'), ['Edit'], false],
  ['an edit in a home', edits('~/.bashrc'), ['Edit'], false],
  ['an edit by an address', edits('file:///etc/hosts'), ['Edit'], false],
  ['one edit of two outside', edits('/srv/app/a.ts', '/etc/hosts'), ['Edit'], false],
  ['an edit that names no file', { kind: 'edit', title: 'Edit a.ts' }, ['Edit'], false],
  ['an edit without a rule', edits('/srv/app/a.ts'), ['Read'], false],
  ['an edit in a folder', edits('/srv/app/src/x/a.ts'), ['Edit(src/**)'], true],
  ['an edit in another folder', edits('/srv/app/docs/a.md'), ['Edit(src/**)'], false],
  ['an edit of a kind of file', edits('/srv/app/docs/a.md'), ['Edit(*.md)'], true],
  ['an edit of a file at the top', edits('/srv/app/a.md'), ['Edit(/a.md)'], true],
  ['an edit of a named file elsewhere', edits('/tmp/x/a.md'), ['Edit(//tmp/x/*)'], true],
  [
    'a difference outside under a place inside',
    { ...edits('/srv/app/a.ts'), content: [{ type: 'diff', path: '/etc/hosts', newText: '' }] },
    ['Edit'],
    false,
  ],
  [
    'an input outside under a place inside',
    { ...edits('/srv/app/a.ts'), rawInput: { file_path: '/etc/hosts' } },
    ['Edit'],
    false,
  ],
  [
    'a list of edits, one of them outside',
    { ...edits('/srv/app/a.ts'), rawInput: { edits: [{ path: 'a.ts' }, { path: '/etc/hosts' }] } },
    ['Edit'],
    false,
  ],
  ['a list of files, one of them outside', { kind: 'edit', rawInput: { files: ['a', '/etc/x'] } }, ['Edit'], false],
  ['a program that git starts', edits('/srv/.git/hooks/pre-commit'), ['Edit'], false],
  ["git's settings in a pattern", edits('/srv/app/.git/config'), ['Edit(**/*)'], false],
  ['a file whose name begins alike', edits('/srv/app/.gitignore'), ['Edit'], true],
  ['moving a file to a place outside', { ...edits('a'), kind: 'move', rawInput: { to: '/tmp/a' } }, ['Edit'], false],
  ['moving a file out', { kind: 'move', rawInput: { source: 'a', destination: '/tmp/a' } }, ['Edit'], false],

  ['reading inside without a rule', reads('src/a.ts'), [], true],
  ['reading outside without a rule', reads('/etc/passwd'), ['Edit'], false],
  ['reading outside with a rule', reads('/etc/passwd'), ['Read'], true],
  ['reading outside with a rule for it', reads('/etc/os-release'), ['Read(//etc/*)'], true],
  ['reading nothing named', { kind: 'read', title: 'Read a.ts' }, [], false],
  ['reading an address', { kind: 'read', rawInput: { url: 'https://example.com/?a' } }, ['Read'], false],
  ['searching here', { kind: 'search', rawInput: { pattern: 'x' } }, [], true],
  ['searching elsewhere', { kind: 'search', rawInput: { pattern: 'x', path: '/etc' } }, [], false],

  ['an address of a rule', fetches('https://example.com/a'), ['WebFetch(domain:example.com)'], true],
  ['an address of a part of it', fetches('https://a.example.com'), ['WebFetch(domain:*.example.com)'], true],
  ['an address that looks like it', fetches('https://example.com.evil.test'), ['WebFetch(domain:example.com)'], false],
  [
    'an address with a name in front',
    fetches('https://example.com@evil.test'),
    ['WebFetch(domain:example.com)'],
    false,
  ],
  ['a file as an address', fetches('file:///etc/passwd'), ['WebFetch'], false],
  ['no address', { kind: 'fetch', rawInput: { prompt: 'read https://example.com' } }, ['WebFetch'], false],
  ['a search on the web', { kind: 'fetch', rawInput: { query: 'x' } }, ['WebSearch'], true],
  ['a search on the web without a rule', { kind: 'fetch', rawInput: { query: 'x' } }, ['WebFetch'], false],

  ['a tool of a server', server('mcp__docs__search'), ['mcp__docs'], true],
  ['a tool of a rule', server('mcp__docs__search'), ['mcp__docs__sea*'], true],
  ['another tool of a server', server('mcp__docs__write'), ['mcp__docs__search'], false],
  ['a server whose name begins alike', server('mcp__docs2__search'), ['mcp__docs'], false],
  ['a tool in its title alone', { kind: 'other', title: 'mcp__docs__search' }, ['mcp__docs'], false],
  [
    "a server's tool with a command of a rule",
    { kind: 'execute', rawInput: { command: 'npm test' }, _meta: { toolName: 'mcp__box__run' } },
    NPM,
    false,
  ],
  ['a change of the mode', { kind: 'switch_mode', title: 'yolo' }, ['Bash'], false],
  ['a tool by its name', { kind: 'other', name: 'Skill' }, ['Skill'], true],
  ['nothing at all', {}, ['Bash', 'Edit', 'Read'], false],
])('%s', (_what, call, rules, allowed) => {
  expect(isPermitted(parseAskedCall(call), rules, PLACE)).toBe(allowed);
});

function fetches(url: string): Call {
  return { kind: 'fetch', rawInput: { url } };
}
