import { expect, test } from 'vitest';
import { type Grant, type ConsentHistory, judgeConsent, withGrant } from '../../../../src/core/people/consent.ts';

type Person = Grant['by'];
const person = (login: string): Person => ({ login, id: 1, kind: 'user' });
const [ann, bea, eve] = [person('ann'), person('bea'), person('eve')];
const ralph: Person = { login: 'github-actions[bot]', id: 9, kind: 'bot' };
const grant: Grant = { by: ann, at: 10, text: 'approved', ceilingUsd: 2 };
const made: ConsentHistory<Person>['labelings'] = [{ kind: 'labeled', label: 'Ralph', by: ralph, at: 11 }];

interface Scene {
  readonly labelings?: ConsentHistory<Person>['labelings'];
  readonly edits?: ConsentHistory<Person>['edits'];
  readonly text?: string;
  readonly given?: Grant | null;
  readonly truncated?: boolean;
}

/** Judges the consent to a sub-issue that Ralph made and labelled at 11, of a proposal that ann approved at 10. */
function judge({ labelings = made, edits = [], text = 'approved', given = grant, truncated = false }: Scene): string {
  const known = given ?? undefined;
  const found: ConsentHistory<Person> = { labelings, edits, reopenings: [], given: [], truncated };
  const consent = judgeConsent({
    ...{
      history: withGrant(found, { taskLabel: 'ralph', text }, known),
      taskLabel: 'ralph',
      demands: [],
      text,
      now: 0,
    },
    approved: known ?? null,
    isTrusted: ({ login }) => login === 'ann' || login === 'bea',
  });
  return `${consent.kind} by ${consent.by ?? '?'}`;
}

test.each<[string, Scene, string]>([
  ['the approval is the consent', {}, 'given by ann'],
  ['also before GitHub lists the label', { labelings: [] }, 'given by ann'],
  ["without an approval, Ralph's own label is not consent", { given: null }, 'never by github-actions[bot]'],
  ['a person without permission approves nothing', { given: { ...grant, by: eve } }, 'never by eve'],
  ['an edit by a stranger', { text: 'other', edits: [{ by: eve, at: 12 }] }, 'changed by ann'],
  ['an edit between the approval and the label', { text: 'other', edits: [{ by: eve, at: 10 }] }, 'changed by ann'],
  ['an edit that was taken back', { edits: [{ by: eve, at: 12 }] }, 'given by ann'],
  ['an edit by a person with permission', { text: 'other', edits: [{ by: bea, at: 12 }] }, 'given by ann'],
  ['another text without a known edit', { text: 'other' }, 'changed by ann'],
  [
    'a label that was removed',
    { labelings: [...made, { kind: 'unlabeled', label: 'ralph', by: eve, at: 12 }] },
    'never by ?',
  ],
  [
    'a label that a stranger added again',
    {
      labelings: [
        ...made,
        { kind: 'unlabeled', label: 'ralph', by: bea, at: 12 },
        { kind: 'labeled', label: 'ralph', by: eve, at: 13 },
      ],
    },
    'never by eve',
  ],
  [
    "a stranger's label that replaces one of another name",
    { labelings: [{ kind: 'labeled', label: 'ralph', by: eve, at: 13 }] },
    'never by eve',
  ],
  ['a label in a cut history', { truncated: true }, 'never by github-actions[bot]'],
  [
    'a label that a person with permission added again',
    {
      text: 'other',
      edits: [{ by: eve, at: 12 }],
      labelings: [
        ...made,
        { kind: 'unlabeled', label: 'ralph', by: bea, at: 13 },
        { kind: 'labeled', label: 'ralph', by: bea, at: 14 },
      ],
    },
    'given by bea',
  ],
])('%s', (_what, scene, consent) => {
  expect(judge(scene)).toBe(consent);
});

test.each<[string, Scene['labelings'], string]>([
  ['comes before the label that Ralph adds', made, 'given by ann'],
  ['counts before GitHub lists that label', [], 'given by ann'],
  ['counts whoever added the label before', [{ kind: 'labeled', label: 'ralph', by: eve, at: 3 }], 'given by ann'],
  ['is overtaken by a removal', [...made, { kind: 'unlabeled', label: 'ralph', by: eve, at: 12 }], 'never by ?'],
  ["is overtaken by a stranger's label", [{ kind: 'labeled', label: 'ralph', by: eve, at: 12 }], 'never by eve'],
  [
    'is overtaken by another bot that adds the label again',
    [
      ...made,
      { kind: 'unlabeled', label: 'ralph', by: bea, at: 12 },
      { kind: 'labeled', label: 'ralph', by: ralph, at: 13 },
    ],
    'never by github-actions[bot]',
  ],
])('a request %s', (_what, labelings, consent) => {
  const given: Grant = { ...grant, ceilingUsd: null, isRequest: true };
  expect(judge({ labelings: labelings ?? [], given, truncated: true })).toBe(consent);
  expect(judge({ labelings: labelings ?? [], given: { ...given, by: eve } })).not.toMatch(/^given/);
});

test('a request holds for the text that its person saw, although the label came with the token of a person', () => {
  const labelings: Scene['labelings'] = [{ kind: 'labeled', label: 'ralph', by: bea, at: 12 }];
  const given: Grant = { ...grant, ceilingUsd: null, isRequest: true };
  expect(judge({ labelings, given })).toBe('given by ann');
  expect(judge({ labelings, given, text: 'other', edits: [{ by: eve, at: 11 }] })).toBe('changed by ann');
});
