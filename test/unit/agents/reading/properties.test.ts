import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { READ_AGENTS } from '../../../../src/core/agent-names.ts';
import { loadableAgents } from '../../../../src/agents/all.ts';
import { runs } from '../../../runs.ts';
import { cpuMs } from '../../../cpu.ts';
import { analyzeIn, jsonLines, readIn, recording, recordingsOf } from './fixtures.ts';

const agents = await Promise.all(
  READ_AGENTS.filter((name) => name !== 'claude').map(
    async (name) => [name, await loadableAgents[name].output()] as const,
  ),
);

/** Returns the lines of all recordings. */
const linesOf = (agent: string): readonly string[] =>
  recordingsOf(agent).flatMap((name) => recording(agent, name).split('\n'));

/** Texts of all errors, in the wording of every agent. */
const ERRORS = agents
  .flatMap(([agent]) => linesOf(agent))
  .flatMap((line) =>
    [...line.matchAll(/"message":("(?:[^"\\]|\\.)*")/g)].map(([, text]) => JSON.parse(text ?? '') as string),
  );

/** Messages that the CLIs print when they fail to start. */
const COMPLAINTS = agents.flatMap(([agent]) =>
  recordingsOf(agent).flatMap((name) => (name.endsWith('.txt') ? [recording(agent, name)] : [])),
);

/** Calls that ended well, in which the agent and a tool output this text. */
const CALLS: Readonly<Record<string, (text: string) => readonly object[]>> = {
  codex: (text) => [
    { type: 'item.completed', item: { id: '1', type: 'command_execution', aggregated_output: text, exit_code: 1 } },
    { type: 'item.completed', item: { id: '2', type: 'agent_message', text } },
    { type: 'turn.completed', usage: {} },
  ],
  copilot: (text) => [
    { type: 'user.message', data: { content: text } },
    { type: 'tool.execution_complete', data: { success: false, error: { code: 'failure', message: text } } },
    { type: 'assistant.message', data: { content: text } },
    { type: 'result', exitCode: 0 },
  ],
};

describe.each(agents)('%s', (agent, dialect) => {
  const line = fc.oneof(
    fc.constantFrom(...linesOf(agent)),
    fc.json(),
    fc.string({ maxLength: 30 }),
    fc.constantFrom('{', '{"type":', '\r', '\uFEFF', '[]', 'null', '{}', '{"type":null}'),
  );
  const mutated = fc
    .tuple(fc.constantFrom(...linesOf(agent)), fc.constantFrom('null', '1', '[]', '{}', '"x"', 'true'), fc.nat())
    .map(([text, value, seed]) => {
      const values = [...text.matchAll(/(?<=":)(?:"(?:[^"\\]|\\.)*"|[\d.]+|null|true|false)/g)];
      const hit = values[seed % Math.max(1, values.length)];
      return hit === undefined ? text : text.slice(0, hit.index) + value + text.slice(hit.index + hit[0].length);
    });
  const output = fc
    .tuple(fc.array(fc.oneof(line, mutated), { maxLength: 12 }), fc.nat({ max: 200 }))
    .map(([lines, cut]) => new TextEncoder().encode(lines.join('\n')).subarray(0, -cut || undefined));
  const bytes = fc.oneof(output, fc.uint8Array({ maxLength: 300 }));

  test('no bytes make the reader throw, and chunking does not matter', () => {
    fc.assert(
      fc.property(bytes, fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 9 }), (whole, sizes) => {
        const chunks: Uint8Array[] = [];
        for (let at = 0, i = 0; at < whole.length; i += 1) {
          const size = sizes[i % sizes.length] ?? 1;
          chunks.push(whole.slice(at, at + size));
          at += size;
        }
        expect(readIn(dialect, chunks)).toEqual(readIn(dialect, whole));
      }),
      { numRuns: runs(1_000) },
    );
  });

  test.each(recordingsOf(agent))('%s means the same with CR LF', (name) => {
    const text = recording(agent, name);
    expect(analyzeIn(dialect, text.replaceAll('\n', '\r\n'))).toEqual(analyzeIn(dialect, text));
  });

  test.each(recordingsOf(agent).filter((name) => name.endsWith('.jsonl')))(
    '%s has no result when it is cut off',
    (name) => {
      const text = recording(agent, name).trimEnd();
      const cut = text.slice(0, text.lastIndexOf('\n') + 20);
      expect(analyzeIn(dialect, cut)).toMatchObject({ agentError: expect.anything() });
    },
  );

  test('what the agent says and its tools print is never an error of the CLI', () => {
    expect(ERRORS.length).toBeGreaterThan(40);
    for (const error of [...ERRORS, ...COMPLAINTS]) {
      const { analysis, finalMessage } = readIn(dialect, jsonLines(...(CALLS[agent]?.(error) ?? [])));
      expect(analysis).toMatchObject({ agentError: null, usageLimit: null, denials: [] });
      expect(finalMessage).toBe(error);
    }
  });

  test('prose that quotes errors, printed without any event, is neither an error of a kind nor a limit', () => {
    for (const error of [...ERRORS, ...COMPLAINTS])
      expect(analyzeIn(dialect, `The log says this:\n${error}\nSo the retry is tested now.`)).toMatchObject({
        agentError: { kind: 'other' },
        usageLimit: null,
      });
  });

  test('huge lines and endless outputs are read in linear time', () => {
    const huge = `${linesOf(agent)[0] ?? ''}\n{"type":"${'x '.repeat(1_000_000)}"}\n${'{"a":'.repeat(200_000)}\n${'x\n'.repeat(200_000)}`;
    const cost = cpuMs(() => {
      expect(analyzeIn(dialect, huge).usageLimit).toBeNull();
    });
    expect(cost).toBeLessThan(5_000);
  });
});
