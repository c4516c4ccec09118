import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseToolRule } from '../../../../src/agents/rules/shell-rules.ts';
import { runs } from '../../../runs.ts';

describe('a rule of allowed-tools', () => {
  test.each([
    ['Read', { kind: 'read', path: null }],
    ['Read(*)', { kind: 'read', path: null }],
    ['Read(src/**)', { kind: 'read', path: 'src/**' }],
    ['Glob', { kind: 'read', path: null }],
    ['Grep', { kind: 'read', path: null }],
    ['LS', { kind: 'read', path: null }],
    ['Edit', { kind: 'edit', path: null }],
    ['Write(**)', { kind: 'edit', path: null }],
    ['MultiEdit', { kind: 'edit', path: null }],
    ['Edit(docs/**)', { kind: 'edit', path: 'docs/**' }],
    ['Bash', { kind: 'command', commands: { kind: 'any' } }],
    ['Bash(*)', { kind: 'command', commands: { kind: 'any' } }],
    ['Bash(npm:*)', { kind: 'command', commands: { kind: 'prefix', text: 'npm' } }],
    ['Bash(git add:*)', { kind: 'command', commands: { kind: 'prefix', text: 'git add' } }],
    ['Bash(git *)', { kind: 'command', commands: { kind: 'prefix', text: 'git' } }],
    ['Bash( npm:* )', { kind: 'command', commands: { kind: 'prefix', text: 'npm' } }],
    ['Bash(:*)', { kind: 'command', commands: { kind: 'prefix', text: '' } }],
    ['Bash(npm test)', { kind: 'command', commands: { kind: 'exact', text: 'npm test' } }],
    ['Bash(node -e "f(1)")', { kind: 'command', commands: { kind: 'exact', text: 'node -e "f(1)"' } }],
    ['Bash(npm run test*)', { kind: 'command', commands: { kind: 'glob', text: 'npm run test*' } }],
    ['Bash(npm * --silent)', { kind: 'command', commands: { kind: 'glob', text: 'npm * --silent' } }],
    ['WebFetch', { kind: 'web-fetch', domain: null }],
    ['WebFetch(domain:*)', { kind: 'web-fetch', domain: null }],
    ['WebFetch(domain:Docs.Example.test)', { kind: 'web-fetch', domain: 'docs.example.test' }],
    ['WebFetch(https://example.test)', { kind: 'other' }],
    ['WebSearch', { kind: 'web-search' }],
    ['mcp__github', { kind: 'mcp', server: 'github', tool: null }],
    ['mcp__github__*', { kind: 'mcp', server: 'github', tool: null }],
    ['mcp__my_db__read_rows', { kind: 'mcp', server: 'my_db', tool: 'read_rows' }],
    ['mcp__github__get_*', { kind: 'mcp', server: 'github', tool: 'get_*' }],
    ['mcp__*', { kind: 'other' }],
    ['mcp__github(x)', { kind: 'other' }],
    ['Task', { kind: 'subagent' }],
    ['Agent(Explore)', { kind: 'other' }],
    ['TodoWrite', { kind: 'bookkeeping' }],
    ['Skill', { kind: 'other' }],
    ['Bash()', { kind: 'other' }],
    ['Bash(npm:*)x', { kind: 'other' }],
    ['bash(npm:*)', { kind: 'other' }],
    ['', { kind: 'other' }],
  ])('%j', (rule, parsed) => {
    expect(parseToolRule(rule)).toEqual({ ...parsed, text: rule });
  });
});

test('no text makes the parser throw, and it is kept', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('', 'Bash', 'mcp__', 'WebFetch'), (text, tool) => {
      expect(parseToolRule(`${tool}(${text})`).text).toBe(`${tool}(${text})`.trim());
      expect(parseToolRule(`${tool}${text}`).text).toBe(`${tool}${text}`.trim());
    }),
    { numRuns: runs(400) },
  );
});
