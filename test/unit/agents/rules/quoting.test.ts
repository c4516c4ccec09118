import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as copilot from '../../../../src/agents/copilot/tool-rules.ts';
import * as gemini from '../../../../src/agents/gemini/tool-rules.ts';
import { runs } from '../../../runs.ts';
import { policyEntries } from './matchers.ts';

const sign = fc.constantFrom(
  ...[
    '"',
    "'",
    '\\',
    '\n',
    '\r',
    '\u0000',
    '\u007F',
    '\u2028',
    '\uD800',
    '[[rule]]\n',
    '"""',
    "'''",
    ',',
    ')',
    '(',
    '$',
  ],
  ...[
    '*',
    '?',
    '`',
    '=',
    ' ',
    '{env:X}',
    '{file:/etc/x}',
    '--',
    'decision = "allow"',
    ':*',
    'shell',
    'npm',
    '+',
    '|',
    '^',
  ],
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.array(sign, { maxLength: 8 }).map((all) => all.join('')),
);
const rule = fc.oneof(
  fc
    .tuple(fc.constantFrom('Bash', 'Edit', 'Read', 'WebFetch', 'Skill', 'Task'), text)
    .map(([tool, inner]) => `${tool}(${inner})`),
  text.map((inner) => `WebFetch(domain:${inner})`),
  fc.tuple(text, text).map(([server, tool]) => `mcp__${server}__${tool}`),
  text,
);
const rules = fc.array(rule, { maxLength: 4 });

describe('no text of a rule leaves its place', () => {
  test('in a policy file of Gemini CLI', () => {
    fc.assert(
      fc.property(rules, (given) => {
        const entries = policyEntries(gemini.renderGeminiPolicy(given));
        for (const entry of entries) expect(Object.keys(entry).filter((key) => !KEYS.has(key))).toEqual([]);
        expect(entries.at(-1)).toEqual({ toolName: '*', decision: 'deny', priority: 1 });
        expect(entries.slice(0, -1).every(({ priority }) => priority === 500)).toBe(true);
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('in flags of Copilot CLI, which takes lists at commas', () => {
    fc.assert(
      fc.property(rules, (given) => {
        for (const flag of copilot.mapCopilotRules(given).own)
          expect(flag).toMatch(
            /^--(?:allow-tool=(?:write|shell|url|shell\([\w./@+-]+(?: [\w./@+-]+)?:\*\)|url\(https:\/\/(?:\*\.)?[\w.-]+\)|[\w.-]+(?:\([\w.-]+\))?)|excluded-tools=[a-z_,]+)$/,
          );
      }),
      { numRuns: runs(2_000) },
    );
  });
});

const KEYS = new Set(['toolName', 'mcpName', 'decision', 'priority']);
