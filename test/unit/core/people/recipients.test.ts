import { expect, test } from 'vitest';
import { selectMentions, type Recipients } from '../../../../src/core/people/notifications.ts';

const auto: Recipients = { kind: 'auto' };

test.each<[string, Recipients, readonly (string | null)[], readonly string[]]>([
  ['who asked', auto, ['ann'], ['ann']],
  ['each once, whatever the case', auto, ['ann', 'Ann', 'bob'], ['ann', 'bob']],
  ['nobody whom GitHub does not name', auto, [null, ''], []],
  ['never a bot', auto, ['renovate[bot]', 'ann'], ['ann']],
  ['only logins', auto, ['a b', 'org/team', '@ann', 'x\n@everyone', '-a', 'a'.repeat(101)], []],
  ['five at most', auto, ['a', 'b', 'c', 'd', 'e', 'f'], ['a', 'b', 'c', 'd', 'e']],
  ['a managed user', auto, ['ann_corp'], ['ann_corp']],
  ['nobody, if that is wanted', { kind: 'none' }, ['ann'], []],
  ['those who are named, whoever asked', { kind: 'named', logins: ['carl'], teams: ['core'] }, ['ann'], ['carl']],
])('%s', (_, recipients, askers, expected) => {
  expect(selectMentions(recipients, askers)).toEqual(expected);
});
