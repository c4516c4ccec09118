import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compactLearnings, KEPT_LEARNINGS_CHARS, MAX_LEARNINGS_CHARS } from '../../../../src/core/prompt/learnings.ts';

const bullets = (from: number, to: number, text = 'is worth knowing'): string =>
  Array.from({ length: to - from }, (_, index) => `- Lesson ${String(from + index)} ${text}\n`).join('');
const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line.trim() !== '');

test.each([
  ['nothing', ''],
  ['a short notebook', '# Learnings\n\n- one\n'],
  ['8,000 characters', 'x'.repeat(MAX_LEARNINGS_CHARS)],
])('%s stays as it is', (_, text) => {
  expect(compactLearnings(text, '')).toBeNull();
});

describe('a notebook that outgrows 8,000 characters', () => {
  const compacted = compactLearnings(`# Learnings\n\n${bullets(0, 400)}`, '');

  test('keeps its title and the newest entries, within what a prompt shows', () => {
    expect(compacted?.learnings).toMatch(/^# Learnings\n\n- Lesson \d+ is worth knowing\n/);
    expect(compacted?.learnings.endsWith('- Lesson 399 is worth knowing\n')).toBe(true);
    expect(compacted?.learnings.length).toBeLessThanOrEqual(KEPT_LEARNINGS_CHARS);
    expect(compacted?.learnings.length).toBeGreaterThan(KEPT_LEARNINGS_CHARS - 40);
  });

  test('and the others are in the archive, in order', () => {
    expect([...linesOf(compacted?.archive ?? '').slice(1), ...linesOf(compacted?.learnings ?? '').slice(1)]).toEqual(
      linesOf(bullets(0, 400)),
    );
  });

  test('which grows at its end', () => {
    expect(compactLearnings(bullets(0, 400), '# Mine\n\n- old')?.archive).toMatch(
      /^# Mine\n\n- old\n\n# Learnings, archived\n\n- Lesson 0 /,
    );
  });

  test('what is in the archive already, since a run was killed between the two files, is not archived twice', () => {
    const text = `# Learnings\n\n## Build\n\n${bullets(0, 400)}`;
    const first = compactLearnings(text, '');
    expect(compactLearnings(text, first?.archive ?? '')).toEqual(first);
  });

  test('entries keep what is indented below them, and are never cut', () => {
    const text = Array.from(
      { length: 100 },
      (_, index) => `* Lesson ${String(index)}\n  ${'because '.repeat(12)}\n\n      code ${String(index)}\n\n`,
    ).join('');
    const { learnings = '' } = compactLearnings(text, '') ?? {};
    expect(learnings.match(/^\* Lesson/gm)?.length).toBe(learnings.match(/^ {6}code/gm)?.length);
    expect(learnings.startsWith('* Lesson')).toBe(true);
  });

  test('entries stay under their headings, in both files', () => {
    const { learnings, archive } =
      compactLearnings(`# Learnings\n\n## Build\n\n${bullets(0, 200)}\n### Tools\n\n${bullets(200, 400)}`, '') ?? {};
    expect(learnings).toMatch(/^# Learnings\n\n## Build\n\n### Tools\n\n- Lesson 3\d\d/);
    expect(archive).toMatch(/^# Learnings, archived\n\n## Build\n\n- Lesson 0 [^]*\n### Tools\n\n- Lesson 200 /);
  });

  test('a heading that nothing stands under is not lost', () => {
    expect(compactLearnings(`# Learnings\n\n## Empty\n\n## Build\n\n${bullets(0, 400)}`, '')?.archive).toContain(
      '## Empty\n',
    );
  });

  test('exact repeats are kept once, the newest', () => {
    const { learnings, archive } = compactLearnings(`# L\n\n${'- run npm ci first\n'.repeat(600)}- last\n`, '') ?? {};
    expect({ learnings, archive }).toEqual({ learnings: '# L\n\n- run npm ci first\n- last\n', archive: '' });
  });

  test('the same words under another heading are no repeat', () => {
    expect(compactLearnings(`## A\n\n- fixed\n\n## B\n\n- fixed\n${'- x\n'.repeat(4_000)}`, '')?.learnings).toBe(
      '## A\n\n- fixed\n\n## B\n\n- fixed\n- x\n',
    );
  });

  test('lines inside a fence are no entries', () => {
    const fence = `\`\`\`sh\n- no bullet\n\n# no heading\n${'make\n'.repeat(392)}\`\`\`\n`;
    expect(compactLearnings(`${bullets(0, 300)}\nLast:\n\n${fence}`, '')?.learnings).toBe(fence);
  });

  test('one entry that is too long by itself is archived whole and kept in part', () => {
    const { learnings, archive } = compactLearnings(`# L\n\n- ${'long 🙂 '.repeat(2_000)}`, '') ?? {};
    expect(learnings?.length).toBeLessThanOrEqual(KEPT_LEARNINGS_CHARS);
    expect(learnings).toMatch(/^# L\n\n- long 🙂[^]*…\n$/u);
    expect(learnings?.isWellFormed()).toBe(true);
    expect(archive).toContain('long 🙂 '.repeat(2_000));
  });

  test('CR LF stays', () => {
    expect(compactLearnings(`# L\r\n\r\n${bullets(0, 400).replaceAll('\n', '\r\n')}`, '')?.learnings).toMatch(
      /^# L\r\n\r\n(?:- Lesson \d+ is worth knowing\r\n)+$/,
    );
  });
});

const piece = fc.oneof(
  fc.stringMatching(/^[-*+] [a-z ]{1,60}\n$/),
  fc.stringMatching(/^ {2}[a-z ]{1,60}\n$/),
  fc.stringMatching(/^#{1,4} [a-z]{1,20}\n$/),
  fc.stringMatching(/^[a-z ]{0,90}\n$/),
  fc.constantFrom('\n', '```\n', '~~~\n', '\r\n', '- a\r\n', '# \n', '- [ ] box\n', '🙂🙂🙂\n'),
);

test('nothing is ever lost: every line is in one of the files, the notebook is short, and a second time changes nothing', () => {
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 40 }),
      fc.array(piece, { maxLength: 10 }),
      fc.integer({ min: 1, max: 60 }),
      (pieces, old, times) => {
        const text = Array.from({ length: times }, (_, round) =>
          pieces.map((line) => line.replace(/[a-z]/, `${String(round)} $&`)).join(''),
        ).join('');
        const archive = old.join('');
        const compacted = compactLearnings(text, archive);
        if (compacted === null) {
          expect(text.length).toBeLessThanOrEqual(MAX_LEARNINGS_CHARS);
          return;
        }
        expect(compacted.learnings.length).toBeLessThanOrEqual(KEPT_LEARNINGS_CHARS);
        expect(compacted.archive.startsWith(archive)).toBe(true);
        const kept = new Set([...linesOf(compacted.learnings), ...linesOf(compacted.archive)]);
        expect(linesOf(text).filter((line) => !kept.has(line))).toEqual([]);
        expect(compactLearnings(compacted.learnings, compacted.archive)).toBeNull();
        expect(compactLearnings(text, compacted.archive)).toEqual(compacted);
      },
    ),
  );
});
