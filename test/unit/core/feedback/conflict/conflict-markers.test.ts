import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countConflicts, hasNewMarkers } from '../../../../../src/core/feedback/conflict/conflict-markers.ts';
import { runs } from '../../../../runs.ts';

const WHOLE = 'a\n<<<<<<< lane\nb\n=======\nc\n>>>>>>> main\nd\n';
const HEADING = 'Title\n=======\n';

test.each<[what: string, now: string, sides: readonly (string | null)[], conflicted: boolean, holds: boolean]>([
  ['all three', WHOLE, ['b\n', 'c\n'], true, true],
  ['all three in a file that did not conflict', WHOLE, ['b\n', 'c\n'], false, true],
  ['all three in a file that is new', WHOLE, [null, null], false, true],
  ['the first alone', '<<<<<<< lane\nb\n', ['b\n', 'c\n'], true, true],
  ['the middle alone', 'b\n=======\nc\n', ['b\n', 'c\n'], true, true],
  ['the middle alone with a carriage return', 'b\r\n=======\r\nc\r\n', ['b\r\n', 'c\r\n'], true, true],
  ['the last alone', 'b\n>>>>>>> main\n', ['b\n', 'c\n'], true, true],
  ['none', 'b\nc\n', ['b\n', 'c\n'], true, false],
  ['a heading in a file that did not conflict', HEADING, ['', ''], false, false],
  ['a heading that one side has', HEADING, [HEADING, ''], true, false],
  ['headings of both sides', HEADING + HEADING, [HEADING, HEADING], true, false],
  ['one more than both sides have', HEADING.repeat(3), [HEADING, HEADING], true, true],
  ['a text about conflicts that one side has', WHOLE, [WHOLE, null], true, false],
  ['a text about conflicts that both have, and one more', WHOLE + WHOLE, [WHOLE, WHOLE], true, true],
  ['eight signs', '<<<<<<<< lane\n========\n>>>>>>>> main\n', [''], true, false],
  ['signs without a name', '<<<<<<<\n>>>>>>>\n', [''], true, false],
  ['signs within a line', 'x <<<<<<< lane\n', [''], true, false],
])('%s', (_what, now, sides, conflicted, holds) => {
  expect(hasNewMarkers({ now, sides, conflicted })).toBe(holds);
});

test('what one of the sides has is never a conflict', () => {
  const line = fc.constantFrom('<<<<<<< a', '=======', '>>>>>>> b', 'text');
  const text = fc.array(line).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, text, fc.boolean(), (now, other, conflicted) => {
      expect(hasNewMarkers({ now, sides: [now, other], conflicted })).toBe(false);
    }),
    { numRuns: runs(200) },
  );
});

test.each<[what: string, text: string, conflicts: number]>([
  ['one', WHOLE, 1],
  ['two', WHOLE + WHOLE, 2],
  ['one with the common ancestor', 'a\n<<<<<<< ours\n||||||| base\n=======\n>>>>>>> theirs', 1],
  ['one with carriage returns', WHOLE.replaceAll('\n', '\r\n'), 1],
  ['a heading', HEADING, 0],
  ['a beginning without an end', '<<<<<<< lane\nb\n=======\nc\n', 0],
  ['an end before the beginning', '=======\n>>>>>>> main\n<<<<<<< lane\n', 0],
  ['a patch that quotes one', WHOLE.replaceAll(/^/gm, '+'), 0],
  ['many beginnings', '<<<<<<< lane\n'.repeat(50_000), 0],
])('conflicts with all of their markers: %s', (_what, text, conflicts) => {
  expect(countConflicts(text)).toBe(conflicts);
});
