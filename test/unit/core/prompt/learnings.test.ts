import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compactLearnings,
  KEPT_LEARNINGS_CHARS,
  MAX_LEARNINGS_CHARS,
  locateNotebook,
  selectShownNotes,
} from '../../../../src/core/prompt/learnings.ts';

const MARK = '(n.md, written on another task)\n';

function ofOthers(texts: readonly string[]): Parameters<typeof selectShownNotes>[1] {
  return texts.map((text) => ({ path: 'n.md', text }));
}

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

  test('an entry that is already in the archive, after a kill between the two files, is not archived twice', () => {
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

  test('the same words under another heading are not a repeat', () => {
    expect(compactLearnings(`## A\n\n- fixed\n\n## B\n\n- fixed\n${'- x\n'.repeat(4_000)}`, '')?.learnings).toBe(
      '## A\n\n- fixed\n\n## B\n\n- fixed\n- x\n',
    );
  });

  test('lines inside a fence are not entries', () => {
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

/** More than the maximum size of a notebook. */
const OLD = `- old ${'x'.repeat(8_000)}\n`;
/** Returns an entry that leaves little space for others. */
const wide = (bullet: string): string => `${bullet}${'w'.repeat(1_900)}\n`;

describe('where an entry begins', () => {
  const more = 'b'.repeat(200);

  test.each<[string, string, string]>([
    ['a bullet', '', `- ${more}`],
    ['a star', '', `* ${more}`],
    ['a plus', '', `+ ${more}`],
    ['a number', '', `1. ${more}`],
    ['a number of nine digits in brackets', '', `123456789) ${more}`],
    ['words behind a blank line', '\n', more],
    ['words behind a line of blanks', ' \t\n', more],
    ['a bullet below a fence that was closed', '  ```\n  ```\n', `- ${more}`],
    ['a bullet below code that is not a fence', '    ```\n', `- ${more}`],
    ['a bullet below two ticks', '  ``\n', `- ${more}`],
    ['a bullet below a closed fence of tildes', '~~~sh\n~~~\n', `- ${more}`],
    ['a bullet below a fence that a longer one closed', '```\n ````\n', `- ${more}`],
    ['a heading that nothing stands under', '', `###### ${more}`],
    ['a heading without words, at the very end', '', `#${' '.repeat(200)}\n`],
    ['the same, without a blank', `${more}\n`, '#'],
  ])('%s', (_, between, begin) => {
    expect(compactLearnings(`${OLD}${wide('- ')}${between}${begin}`, '')?.learnings).toBe(begin);
  });

  test.each<[string, string]>([
    ['words in the next line', more],
    ['a bullet without a blank', `-${more}`],
    ['a number without a blank', `1.${more}`],
    ['a number without its dot', `1 ${more}`],
    ['a number of ten digits', `1234567890. ${more}`],
    ['a bullet in the middle of a line', `b - ${more}`],
    ['a nested bullet', `  - ${more}`],
    ['a nested bullet behind a blank line', `\n\t- ${more}`],
    ['a heading without a blank', `#${more}`],
    ['a heading of seven signs', `####### ${more}`],
    ['a heading in the middle of a line', `b # ${more}`],
    ['a bullet in a fence', `\`\`\`\n- ${more}`],
    ['words behind a blank line in a fence', `~~~\n\n${more}`],
    ['a bullet in a fence that is indented by three', `   \`\`\`\n- ${more}`],
    ['a bullet in a fence that a shorter one does not close', `\`\`\`\`\n\`\`\`\n- ${more}`],
    ['nor does one of another kind', `~~~\n\`\`\`\n- ${more}`],
    ['nor one with a word', `\`\`\`\n\`\`\`sh\n- ${more}`],
  ])('not at %s', (_, text) => {
    expect(compactLearnings(`${OLD}${wide('- ')}${text}`, '')?.learnings).toMatch(/^- w{1900}/);
  });
});

describe('the title', () => {
  test.each<[string, string]>([
    ['is the first heading', '# L\n\n'],
    ['behind blank lines', '\n \t\r\n# L\n'],
    ['of 200 characters', `# ${'l'.repeat(197)}\n`],
  ])('%s, and is not archived', (_, title) => {
    expect(compactLearnings(`${title}${OLD}- last\n`, '')).toEqual({
      learnings: `${title}- last\n`,
      archive: `# Learnings, archived\n\n${OLD}`,
    });
  });

  test.each<[string, string]>([
    ['of the second level', '## L\n\n'],
    ['of more than 200 characters', `# ${'l'.repeat(198)}\n`],
  ])('is not a heading %s', (_, heading) => {
    expect(compactLearnings(`${heading}${OLD}- last\n`, '')).toEqual({
      learnings: `${heading}- last\n`,
      archive: `# Learnings, archived\n\n${heading}${OLD}`,
    });
  });
});

describe('the archive gets entries as they are written', () => {
  test.each<[string, string]>([
    ['one below the other', '- a\n- b\n'],
    ['with their blank lines', '- a\n\n\nwords\n \n- b\n'],
    ['headings of any depth, each once', '## A\n- a\n### B\n- b\n- c\n### C\n- d\n## D\n- e\n'],
    ['headings right below each other', '## A\n### B\n- b\n'],
    ['headings without words below them', '## A\n## B\n- a\n'],
    ['the same above an outer one', '### A\n## B\n- a\n'],
    ['the same heading twice', '## A\n- a\n## B\n- b\n## A\n- c\n'],
    ['what is indented below a heading', '## A\n  a\n  b\n'],
  ])('%s', (_, moved) => {
    const last = wide('# End\n- ');
    expect(compactLearnings(`# L\n${moved}${OLD}${last}`, '')).toEqual({
      learnings: `# L\n${last}`,
      archive: `# Learnings, archived\n\n${moved}${OLD}`,
    });
  });

  test.each<[string, string, string]>([
    ['behind what is there', '- old\n', '- old\n\n'],
    ['also when its last line has no end', '- old', '- old\n\n'],
  ])('%s', (_, archive, before) => {
    expect(compactLearnings(`${OLD}- last\n`, archive)?.archive).toBe(`${before}# Learnings, archived\n\n${OLD}`);
  });

  test('again when they were archived earlier than at its end', () => {
    const part = `# Learnings, archived\n\n${OLD}`;
    expect(compactLearnings(`${OLD}- last\n`, `${part}\nMore.\n`)?.archive).toBe(`${part}\nMore.\n\n${part}`);
  });

  test('text indented right below a heading, which is not part of it', () => {
    expect(compactLearnings(`## A\n  a\n${OLD}- last\n`, '')?.learnings).toBe('## A\n- last\n');
  });

  test('the last one with a line end', () => {
    const text = `- ${'x'.repeat(8_000)}`;
    expect(compactLearnings(text, '')?.archive).toBe(`# Learnings, archived\n\n${text}\n`);
  });

  test('of entries that differ in white space alone the last', () => {
    expect(compactLearnings(`## A\n\n- a\n\n${OLD}- b\n## A\n- a\n- c\n`, '')).toEqual({
      learnings: '## A\n\n- b\n## A\n- a\n- c\n',
      archive: `# Learnings, archived\n\n## A\n\n${OLD}`,
    });
  });
});

describe('the kept entries', () => {
  test.each<[string, string, string, string]>([
    ['an entry of exactly 2,000 characters', '', 'x'.repeat(2_000), 'x'.repeat(2_000)],
    ['of one that is longer as much as there is room for', '', 'x'.repeat(2_001), `${'x'.repeat(1_998)}…\n`],
    ['with the title within the limit', '# L\n', `- ${'x'.repeat(1_994)}`, `# L\n- ${'x'.repeat(1_994)}`],
    ['and beyond it', '# L\n', `- ${'x'.repeat(1_995)}`, `# L\n- ${'x'.repeat(1_992)}…\n`],
    ['what is too long by its blank lines alone', '', `xyz${'\n'.repeat(2_000)}`, 'xyz\n'],
  ])('%s', (_, title, last, kept) => {
    expect(compactLearnings(`${title}${OLD}\n${last}`, '')?.learnings).toBe(kept);
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

test.each([
  ['queue', '.ralph/learnings.md', '.ralph/learnings_archive.md'],
  ['issue-7', '.ralph/learnings/issue-7.md', '.ralph/learnings/archive/issue-7.md'],
])('the notebook of %s is its own, so that no two branches write the same file', (lane, path, archive) => {
  expect(locateNotebook(lane)).toEqual({ path, archive });
});

describe('the part of several notebooks in a prompt', () => {
  test.each<[string, string, readonly string[], string]>([
    ['nothing of nothing', ' \n', ['', '\n'], ''],
    ['its own alone', '- mine\n', ['', ''], '- mine'],
    [
      'its own last, the first of the others right before it',
      '- mine\n',
      ['- shared\n', '- of 9\n'],
      `${MARK}- of 9\n\n${MARK}- shared\n\n- mine`,
    ],
    ['those of others alone, marked as such', '', ['- shared'], `${MARK}- shared`],
    ['the end of its own, where there are no others', `a${'m'.repeat(2_000)}`, [], 'm'.repeat(2_000)],
    [
      'half of the room for its own at least',
      `a${'m'.repeat(2_000)}`,
      ['s'.repeat(3_000)],
      `${MARK}${'s'.repeat(998 - MARK.length)}\n\n${'m'.repeat(1_000)}`,
    ],
    [
      'all of others that is short',
      'm'.repeat(3_000),
      ['- shared'],
      `${MARK}- shared\n\n${'m'.repeat(1_990 - MARK.length)}`,
    ],
    [
      'no scrap of what there is no room for',
      'm'.repeat(1_000),
      ['s'.repeat(920), 'x'.repeat(500)],
      `${MARK}${'s'.repeat(920)}\n\n${'m'.repeat(1_000)}`,
    ],
  ])('%s', (_, own, others, expected) => {
    expect(selectShownNotes(own, ofOthers(others))).toBe(expected);
  });

  test('is never more than there is room for, and never half a character', () => {
    const text = fc.array(fc.constantFrom('n', '🚀', '\n'), { maxLength: 3_000 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 4 }), (own, others) => {
        const shown = selectShownNotes(own, ofOthers(others));
        expect(shown.length).toBeLessThanOrEqual(KEPT_LEARNINGS_CHARS);
        expect(shown.isWellFormed()).toBe(true);
      }),
    );
  });
});
