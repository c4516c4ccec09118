import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cleanCommitMessage,
  cleanCommitSubject,
  buildIterationMessage,
  problemOfOwnMessage,
  buildSignOff,
  parseTaskInMessage,
} from '../../../../src/core/text/commit-message.ts';
import { toPlainTitle } from '../../../../src/core/text/phrase.ts';
import { cpuMs } from '../../../cpu.ts';
import { runs } from '../../../runs.ts';

/** Makes zero-width spaces visible. */
const visible = (text: string): string => text.replaceAll('\u200B', '·');

describe('words that keep CI from running lose their effect', () => {
  test.each([
    ['Add x [skip ci]', 'Add x (skip ci)'],
    ['Add x [ci skip]', 'Add x (ci skip)'],
    ['[NO CI] Add x', '(NO CI) Add x'],
    ['[skip actions] Add x', '(skip actions) Add x'],
    ['[actions skip] Add x', '(actions skip) Add x'],
    ['Add [[skip ci]] x', 'Add [(skip ci)] x'],
    ['Add x [skip-ci]', 'Add x (skip-ci)'],
    ['Add x [skip netlify]', 'Add x (skip netlify)'],
    ['Add x ***NO_CI***', 'Add x (no ci)'],
    ['Add x [sk\u200Bip ci]', 'Add x (skip ci)'],
    ['Add x [skip\u202Eci]', 'Add x [skipci]'.replace('[skipci]', '(skipci)')],
  ])('%j → %j', (subject, expected) => {
    expect(cleanCommitSubject(subject)).toBe(expected);
    expect(cleanCommitMessage(`Add y\n\n${subject}`)).toBe(`Add y\n\n${expected}`);
    expect(toPlainTitle(subject, 120)).not.toMatch(/\[skip|skip\]|\[no ci|\*no_ci/i);
  });

  test.each(['skip-checks: true', 'skip-checks:true', 'Skip-Checks: true', 'request-checks: true'])('%s', (line) => {
    expect(cleanCommitMessage(`Add x\n\nBody.\n\n\n${line}`)).toBe('Add x\n\nBody.');
    expect(cleanCommitMessage(`Add x\n${line}\nBody.`)).toBe('Add x\n\nBody.');
    expect(cleanCommitSubject(line)).not.toMatch(/-checks/i);
  });
});

describe('nothing is closed and nobody is mentioned', () => {
  test.each([
    ['Fixes #2', 'Fixes #·2'],
    ['closes owner/repo#3', 'closes owner/repo#·3'],
    ['Resolved: GH-3', 'Resolved: GH-·3'],
    ['fix https://github.com/a/b/issues/4', 'fix https:·//github.com/a/b/issues/4'],
    ['Thanks to @octocat and @acme/team', 'Thanks to @·octocat and @·acme/team'],
  ])('%j → %j', (subject, expected) => {
    expect(visible(cleanCommitMessage(subject))).toBe(expected);
    expect(visible(cleanCommitMessage(`Add x\n\nIt ${subject}`))).toBe(`Add x\n\nIt ${expected}`);
  });
});

describe('trailers of others are left out', () => {
  test.each([
    ['at the end', 'Add x\n\nBody.\n\nSigned-off-by: A <a@b>\nCo-authored-by: B <b@c>'],
    ['behind the body', 'Add x\n\nBody.\nSigned-off-by: A <a@b>'],
    ['with a continuation', 'Add x\n\nBody.\n\nRalph-Run: 1\n  2\n  3\nRalph-Task: other'],
    ['in small letters', 'Add x\n\nBody.\n\nco-authored-by: B <b@c>'],
    ['with any name', 'Add x\n\nBody.\n\nbug: 17\nReviewed: yes'],
    ['before the body', 'Add x\n\nRalph-Iteration: 9\n\nBody.'],
    ['before a divider', 'Add x\n\nBody.\n\nforged: 1\n---\n'],
    ['before scissors', 'Add x\n\nBody.\n\nforged: 1\n# ------------------------ >8 ------------------------\n'],
    ['of a cherry-pick', `Add x\n\nBody.\n\n(cherry picked from commit ${'a'.repeat(40)})`],
    ['behind the subject', 'Add x\nSigned-off-by: A <a@b>\n\nBody.'],
  ])('%s', (_, message) => {
    expect(cleanCommitMessage(message)).toBe('Add x\n\nBody.');
  });

  test('a conventional subject does not count, nor does a sentence with a colon', () => {
    expect(cleanCommitMessage('fix: add x\n\nTwo things: a and b.\nMore.')).toBe(
      'fix: add x\n\nTwo things: a and b.\nMore.',
    );
  });
});

test('control, direction and invisible characters go, colours with them', () => {
  expect(cleanCommitMessage('Add \u001B[31mx\u001B[0m\u0007\u202E y\uFEFF\u{E0041}\r\n\r\nBody\u0000.\u2028Next')).toBe(
    'Add x y\n\nBody.\nNext',
  );
});

test('a message is cut', () => {
  const cleaned = cleanCommitMessage(`${'s'.repeat(500)}\n\n${'line\n'.repeat(1000)}${'b'.repeat(50_000)}`);
  expect(cleaned.split('\n')[0]).toHaveLength(120);
  expect(cleaned.split('\n').length).toBeLessThan(45);
  expect(cleanCommitMessage(`s\n\n${'b'.repeat(50_000)}`).length).toBeLessThan(2_100);
});

test.each(['', '\n\n', '\u200B', 'skip-checks: true'])('%j says nothing', (message) => {
  expect(cleanCommitMessage(message)).toBe('');
});

test('long hostile messages cost nothing', () => {
  const hostile = ['[', '[skip', '***', 'a-a-a', '\u001B[', '@#', 'x: y\n', '- '].map((piece) => piece.repeat(100_000));
  expect(cpuMs(() => hostile.forEach((text) => cleanCommitMessage(text) + cleanCommitSubject(text)))).toBeLessThan(
    1000,
  );
});

describe('the message of what an iteration left uncommitted', () => {
  const iteration = { title: 'Greet people', name: '#12', summary: '', earlier: [], attempt: 1 };
  test.each<[string, Partial<Parameters<typeof buildIterationMessage>[0]>, string]>([
    ['nothing was said', {}, 'Greet people\n\nPart of #12'],
    ['nothing was said in a later one', { attempt: 3 }, 'Greet people (iteration 3)\n\nPart of #12'],
    [
      'the first sentence of what was said',
      { summary: 'Add `greet` to src/a.js. Version 1.2 is assumed.' },
      'Add `greet` to src/a.js\n\nPart of #12: Greet people',
    ],
    ['a number is not an end', { summary: 'Use 1.2 of x' }, 'Use 1.2 of x\n\nPart of #12: Greet people'],
    ['only the first line', { summary: 'Add x\nFixes #3' }, 'Add x\n\nPart of #12: Greet people'],
    [
      'words that steer GitHub do nothing',
      { summary: '[skip ci] Fixes #99, thanks @octocat.' },
      '(skip ci) Fixes #\u200B99, thanks @\u200Boctocat\n\nPart of #12: Greet people',
    ],
    [
      'what was said before, of this task',
      { summary: 'Fix the bug. Again.', earlier: ['Add x.', 'Fix the bug.'], attempt: 2 },
      'Greet people (iteration 2)\n\nPart of #12',
    ],
    ['what was said about another task', { summary: 'Done', earlier: ['Done.'] }, 'Greet people\n\nPart of #12'],
    ['nothing that can be seen', { summary: '\u200B', attempt: 2 }, 'Greet people (iteration 2)\n\nPart of #12'],
  ])('%s', (_, change, expected) => {
    expect(buildIterationMessage({ ...iteration, ...change })).toBe(expected);
  });
});

describe('whether a message was made here', () => {
  const own = {
    names: ['#12', 'plan.md:7'],
    coAuthors: ['Claude <noreply@anthropic.com>'],
    identity: { name: 'ralph', email: 'r@example.com' },
  };
  const trailers = 'Ralph-Run: 71\nRalph-Iteration: 2\nRalph-Task: issue-12';
  const texts = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          ...['@octo', '#12', 'GH-3', 'Closes ', 'https://x.y', 'www.x', '[skip ci]', '[[no ci]]', '***no_ci***'],
          ...[
            'skip-checks: true',
            'Co-authored-by: A <a@b>',
            '\n',
            '\n\n',
            '---',
            '- ',
            '\u202E',
            '\u200B',
            '::error::',
            ' ',
          ],
        ),
        fc.string({ unit: 'grapheme', maxLength: 20 }),
        fc.string({ unit: 'binary', maxLength: 20 }),
      ),
      { maxLength: 40 },
    )
    .map((parts) => parts.join(''));

  test('whatever the agent writes, the message that is made of it was', () => {
    fc.assert(
      fc.property(texts, texts, (message, title) => {
        const words = cleanCommitMessage(message) || 'Add x';
        expect(problemOfOwnMessage(`${words}\n\n${trailers}\n`, own)).toBeNull();
        expect([parseTaskInMessage(`${words}\n\n${trailers}\n`), parseTaskInMessage(words)]).toEqual([
          'issue-12',
          null,
        ]);
        const made = buildIterationMessage({
          ...{ title: toPlainTitle(title, 120), name: '#12', summary: message, earlier: [], attempt: 2 },
        });
        expect(problemOfOwnMessage(`${made}\n\n${trailers}\n`, own)).toBeNull();
        const list = `Combines these commits by the agent:\n- ${cleanCommitSubject(message)}`;
        expect(
          problemOfOwnMessage(`${made}\n\n${list}\n\n${trailers}\nCo-authored-by: ${own.coAuthors[0] ?? ''}\n`, own),
        ).toBeNull();
      }),
      { numRuns: runs(2000) },
    );
  });

  test('a message signed off by the author of the commit was', () => {
    expect(problemOfOwnMessage(`Add x\n\n${trailers}\nSigned-off-by: ralph <r@example.com>\n`, own)).toBeNull();
    expect(buildSignOff(own.identity)).toEqual({ 'Signed-off-by': 'ralph <r@example.com>' });
  });

  test.each([
    ['a mention', 'Add x for @octo'],
    ['a reference', 'Add x\n\nCloses #99'],
    ['a reference behind a task', 'Add x\n\nPart of #12: and fixes #99'],
    ['a task of another run', 'Add x\n\nPart of #13: y'],
    ['a link', 'Add x https://example.com'],
    ['an order to CI', 'Add x [ci skip]'],
    ['signs that turn the text around', 'Add x \u202Eevil'],
  ])('%s was not', (_, words) => {
    expect(problemOfOwnMessage(`${words}\n\n${trailers}\n`, own)).toMatch(/message/);
  });

  test.each([
    ['another trailer', 'Reviewed-by: Ada <ada@example.com>'],
    ['the sign-off of a person', 'Signed-off-by: Ada <ada@example.com>'],
    ['another co-author', 'Co-authored-by: Ada <ada@example.com>'],
    ['a value that Ralph does not write', 'Ralph-Task: x y'],
  ])('%s was not', (_, line) => {
    expect(problemOfOwnMessage(`Add x\n\n${trailers}\n${line}\n`, own)).toMatch(/trailers/);
  });
});
