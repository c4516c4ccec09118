import { expect, test } from 'vitest';
import { completeSentence } from '../../../../src/core/text/phrase.ts';

test.each<[string, string]>([
  ['connection refused', 'connection refused.'],
  ['Connection refused.', 'Connection refused.'],
  ['  connection refused\n', 'connection refused.'],
  ['Is it up?', 'Is it up?'],
  ['It is down!', 'It is down!'],
  ['and so on …', 'and so on …'],
  ['The rules say:', 'The rules say:'],
  ['It says "no."', 'It says "no."'],
  ['It says "no"', 'It says "no".'],
  ['(see the log.)', '(see the log.)'],
  ['it failed (exit code 1)', 'it failed (exit code 1).'],
  ['set `contents: write`', 'set `contents: write`.'],
  ['ENOSPC: no space left on device, write', 'ENOSPC: no space left on device, write.'],
  ['', ''],
  [' \n ', ''],
])('%j is followed by another sentence as %j', (text, expected) => {
  expect(completeSentence(text)).toBe(expected);
});
