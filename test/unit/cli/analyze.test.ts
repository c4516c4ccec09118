import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { READ_AGENTS } from '../../../src/core/agent-names.ts';
import { assistantLine, block, failedLine, jsonLines, resultLine } from '../agents/claude/fixtures.ts';
import { recording } from '../agents/reading/fixtures.ts';
import { ralph } from './fixture.ts';

describe('ralph analyze --json', () => {
  test('prints one object with exactly the keys of the contract', async () => {
    const { code, out } = await ralph(
      ['analyze', '--json'],
      jsonLines(
        assistantLine('x'),
        resultLine(`Done.\n\n${block('STATUS: COMPLETE', 'EXIT_SIGNAL: false', 'TASKS_COMPLETED_THIS_LOOP: 1')}`),
      ),
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      format: 'jsonl',
      signal: {
        from: 'block',
        status: 'COMPLETE',
        exitSignal: false,
        testsStatus: null,
        workType: null,
        tasksCompleted: 1,
        filesModified: null,
        recommendation: null,
        summary: null,
        asks: null,
        unreadable: [],
      },
      completionIndicator: false,
      confidence: 100,
      testOnly: false,
      noWork: false,
      question: false,
      agentError: null,
      errors: [],
      denials: [],
      usageLimit: null,
      sessionId: 's-1',
      turns: 3,
      tokens: null,
      costUsd: null,
    });
  });

  test.each([
    ['nothing', ''],
    ['noise', '\u0000\uffff}{'],
    ['a failure of the agent', failedLine('API Error: 500')],
  ])('of %s is an answer: it ends with 0', async (_, output) => {
    expect(await ralph(['analyze', '-', '--json'], output)).toMatchObject({ code: 0, error: '' });
  });

  test.each([
    ["from the machine's clock", [], '2026-11-21T17:00:00.000Z'],
    ['from --now', ['--now', '2026-11-21T18:00:00Z'], '2026-11-22T17:00:00.000Z'],
    ['from --now with an offset', ['--now', '2026-11-21T18:30:00+02:00'], '2026-11-21T17:00:00.000Z'],
  ])('reads "resets 5pm" %s', async (_, args, resumeAt) => {
    const { out } = await ralph(
      ['analyze', '--json', ...args],
      failedLine("You've hit your session limit · resets 5pm (UTC)"),
    );
    expect(JSON.parse(out)).toMatchObject({ usageLimit: { window: 'five-hour', resumeAt } });
  });

  test('prints a reset time as it was read, however far away: only the loop bounds it', async () => {
    const { out } = await ralph(['analyze', '--json'], failedLine('Claude AI usage limit reached|4102444800'));
    expect(JSON.parse(out)).toMatchObject({ usageLimit: { resumeAt: '2100-01-01T00:00:00.000Z' } });
  });
});

describe('ralph analyze for people', () => {
  test.each<[string, string, readonly RegExp[]]>([
    [
      'a status block',
      block('STATUS: COMPLETE', 'EXIT_SIGNAL: maybe', 'RECOMMENDATION: next'),
      [/^signal: +status block with STATUS COMPLETE$/m, /^unreadable: +EXIT_SIGNAL$/m, /^recommends: +next$/m],
    ],
    [
      'a summary and a question',
      block('STATUS: BLOCKED', 'SUMMARY: The login works.', 'QUESTION: Tabs or spaces?'),
      [/^summary: +The login works\.$/m, /^asks: +Tabs or spaces\?$/m],
    ],
    [
      'a status block in a fence',
      `\`\`\`\n${block('STATUS: COMPLETE')}\n\`\`\``,
      [/^signal: +no status block/m, /^note: .*code fence/m],
    ],
    ['an error', 'TypeError: x is not a function', [/^error: +TypeError/m]],
    [
      'a denial',
      resultLine('x', { permission_denials: [{ tool_name: 'Bash', tool_input: { command: 'docker ps' } }] }),
      [/^denied: +Bash: docker ps$/m],
    ],
    [
      'a usage limit',
      failedLine('Claude AI usage limit reached|4102444800'),
      [/^usage limit: unknown, resets at 2100-01-01T00:00:00.000Z$/m, /^agent error: rate-limit/m],
    ],
    ['nothing', '', [/^usage: +unknown turns, unknown tokens, unknown cost$/m]],
  ])('%s', async (_, output, expected) => {
    const { code, out } = await ralph(['analyze'], output);
    expect(code).toBe(0);
    for (const pattern of expected) expect(out).toMatch(pattern);
  });

  test('text of the agent cannot steer the terminal', async () => {
    const { out } = await ralph(
      ['analyze'],
      block('STATUS: COMPLETE', 'SUMMARY: \u001b[2Jgone\u202e', 'QUESTION: \u001b[2J'),
    );
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f\u202e]/);
  });
});

describe('ralph analyze --agent', () => {
  const calls: Readonly<Record<string, readonly [output: string, sessionId: string]>> = {
    claude: [jsonLines(assistantLine('x'), resultLine('Done.')), 's-1'],
    codex: [recording('codex', 'full-run.jsonl'), '01a2027c-165f-7602-a480-99aaae3e2241'],
    copilot: [recording('copilot', 'full-run-denials.jsonl'), '3f6ff0ee-922d-43ac-a6b9-fcc8282b5314'],
  };

  test.each(READ_AGENTS)('%s reads what this agent prints, in the same shape', async (agent) => {
    const [output, sessionId] = calls[agent] ?? ['', ''];
    const { code, out } = await ralph(['analyze', '--agent', agent, '--json'], output);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ format: 'jsonl', agentError: null, sessionId });
    const { out: ofClaude } = await ralph(['analyze', '--json'], calls['claude']?.[0] ?? '');
    expect(Object.keys(JSON.parse(out) as object)).toEqual(Object.keys(JSON.parse(ofClaude) as object));
  });

  test('nothing else is an agent, and the error names them all', async () => {
    const { code, error } = await ralph(['analyze', '--agent', 'codx', '--json'], '');
    expect(code).toBe(2);
    expect(error).toContain(`--agent: "codx" is not one of ${READ_AGENTS.join(', ')}. Did you mean codex?`);
  });

  test('the documentation names the same agents', () => {
    const page = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');
    const row = page.split('\n').find((line) => line.startsWith('| `ralph analyze FILE`')) ?? '';
    for (const agent of READ_AGENTS) expect(row).toContain(`\`${agent}\``);
  });
});
