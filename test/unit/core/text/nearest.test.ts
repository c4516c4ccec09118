import { expect, test } from 'vitest';
import { findNearest } from '../../../../src/core/text/nearest.ts';

test.each<[string, string, readonly string[], string | null]>([
  ['the word itself', 'status', ['run', 'status'], 'status'],
  ['in capitals', 'STATUS', ['status'], 'status'],
  ['one letter too many', 'statuss', ['status'], 'status'],
  ['one letter missing', 'statu', ['status'], 'status'],
  ['one letter wrong', 'statas', ['status'], 'status'],
  ['two neighbours swapped count as one', 'rnu', ['run'], 'run'],
  ['also at the end of a long name, beside another slip', 'sttaux', ['status'], 'status'],
  ['two letters wrong in a name of five', 'resxx', ['reset'], 'reset'],
  ['three letters wrong', 'rexxx', ['reset'], null],
  ['two letters wrong in a name of four', 'stxx', ['stop'], null],
  ['two letters wrong in a name of three', 'rxx', ['run'], null],
  ["two letters wrong, one of them at its neighbour's place", 'uxn', ['run'], null],
  ['also at the place before', 'xrn', ['run'], null],
  ['two neighbours swapped beside two other slips', 'xxatsu', ['status'], null],
  ['letters swapped that are not neighbours', 'nur', ['run'], null],
  ['the nearest of several, whatever their order', 'resum', ['reset', 'resumed', 'resume'], 'resume'],
  ['the first of equally near ones', 'rux', ['run', 'rum'], 'run'],
  ['another word', 'deploy', ['run', 'status'], null],
  ['nothing typed', '', ['run'], null],
  ['no names', 'run', [], null],
  ['only the first 40 characters are looked at', `${'a'.repeat(40)}bbbb`, ['a'.repeat(40)], 'a'.repeat(40)],
])('%s: %j in %j → %j', (_, word, names, expected) => {
  expect(findNearest(word, names)).toBe(expected);
});
