import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createOutputReader } from '../../../../../src/agents/claude/output/reader.ts';
import { analyzeTranscript } from '../../../../../src/core/analysis/analyze.ts';
import {
  analyzeAt,
  analyzeChunks,
  assistantLine,
  block,
  failedLine,
  INIT,
  NOW,
  rateLimitLine,
  resultLine,
  syntheticLine,
  toolResultLine,
} from '../fixtures.ts';
import { runs } from '../../../../runs.ts';
import { cpuMs } from '../../../../cpu.ts';

const yes = block('EXIT_SIGNAL: true');
const no = block('EXIT_SIGNAL: false');
const result = resultLine(yes);

describe('any bytes', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '\n',
      '\r\n',
      ' ',
      '[',
      ']',
      '{',
      '}',
      ',',
      '```\n',
      '> ',
      '"',
      '\\',
      '\uFEFF',
      '{"type":"user",',
      '{"type":"result"',
      '"}',
      '|',
      'é',
      '€',
      '😀',
    ),
    fc
      .constantFrom(
        INIT,
        result,
        failedLine("You've hit your 5-hour limit · resets 5pm"),
        assistantLine(no),
        syntheticLine('x', 'rate_limit'),
        toolResultLine(yes),
        rateLimitLine({ status: 'rejected' }),
        yes,
        'All tasks complete.',
        JSON.stringify(JSON.parse(result), null, 2),
        `[${INIT},${result}]`,
      )
      .map((line) => `${line}\n`),
    fc.string({ maxLength: 20 }),
    fc.json(),
  );
  const encoded = fc.array(piece, { maxLength: 12 }).map((pieces) => new TextEncoder().encode(pieces.join('')));
  const bytes = fc.oneof(
    encoded,
    fc.uint8Array({ maxLength: 300 }),
    fc.tuple(encoded, fc.nat({ max: 400 })).map(([all, cut]) => all.subarray(0, Math.max(0, all.length - cut))),
  );

  test('never make it throw, and chunking does not matter', () => {
    fc.assert(
      fc.property(
        bytes,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 }),
        (output, sizes) => {
          const reader = createOutputReader({ now: NOW, onEvent: null });
          for (let at = 0, i = 0; at < output.length; i += 1) {
            const size = sizes[i % sizes.length] ?? 1;
            // The reader must not keep a view of a buffer that its caller reuses.
            const chunk = output.slice(at, at + size);
            reader.push(chunk);
            chunk.fill(0x7b);
            at += size;
          }
          expect(analyzeTranscript(reader.end(), []).analysis).toEqual(analyzeAt(output));
        },
      ),
      { numRuns: runs(2_000) },
    );
  });

  const line = fc.oneof(
    fc.constantFrom(
      INIT,
      result,
      failedLine('x'),
      assistantLine(no),
      toolResultLine(yes),
      '{"type":"user","name":"Bob"}',
      '{"type":"user","message":{"role":"user",}}',
      '{"type":"stream_event","event":{"type":"x"},"session_id":"s-2"}',
      '{"type":"user","message":{"role":"user","content":"x"},"session_id":"s-3"}',
    ),
    fc.constantFrom(
      '',
      '```',
      'All tasks complete.',
      'It prints this:',
      'it is so:.',
      'This is a line.',
      'Error: x',
      '> quoted',
      '[',
      '{',
      ' "a": 1',
      '}',
      ']',
      ...yes.split('\n'),
    ),
    fc.string({ maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, '')),
  );

  test('mean the same with LF and CR LF, seen by somebody or not', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        const expected = analyzeAt(lines.join('\n'));
        for (const output of [lines.join('\n'), lines.join('\r\n')]) {
          for (const onEvent of [null, () => undefined]) {
            expect(analyzeChunks([new TextEncoder().encode(output)], NOW, onEvent)).toEqual(expected);
          }
        }
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('of a single endless result line keep its end', () => {
    const filler = 'lorem ipsum \\"dolor\\" '.repeat(600_000);
    expect(
      analyzeAt(
        `${INIT}\n${resultLine('').replace('"result":""', `"result":"${filler}\\n${yes.replaceAll('\n', '\\n')}"`)}\n`,
      ),
    ).toMatchObject({ format: 'jsonl', signal: { from: 'block', exitSignal: true } });
    expect(analyzeAt(`${'lorem ipsum\n'.repeat(1_000_000)}${yes}`)).toMatchObject({
      format: 'text',
      signal: { from: 'block', exitSignal: true },
    });
  });

  test.each([
    ['open braces', '{'.repeat(3_000_000)],
    ['open brackets', '['.repeat(3_000_000)],
    ['open objects', '{"a":'.repeat(1_000_000)],
    ['arrays of open objects', '[{"a":'.repeat(600_000)],
    ['backticks', '` `` '.repeat(600_000)],
    ['quotation marks', '"'.repeat(3_000_000)],
    ['blanks', ' '.repeat(3_000_000)],
    ['markers', '---RALPH_STATUS---\n'.repeat(150_000)],
    ['YAML markers', 'RALPH_STATUS:\n'.repeat(200_000)],
    ['fields given again and again', block('EXIT_SIGNAL: true\n'.repeat(200_000))],
    ['tiny lines', 'a\n'.repeat(1_500_000)],
    ['tiny objects', '{}\n'.repeat(500_000)],
    ['errors', 'Error: x y z\n'.repeat(200_000)],
    ['one word of a phrase', 'running '.repeat(400_000)],
    ['commas', 'Error: a,b,c,'.repeat(200_000)],
  ])('are read in linear time: %s', (_what, output) => {
    const cost = cpuMs(() => {
      expect(analyzeAt(output).agentError).toBeNull();
    });
    expect(cost).toBeLessThan(5_000);
  });
});
