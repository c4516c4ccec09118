import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judgeConsent, type ConsentHistory } from '../../../../src/core/people/consent.ts';
import { runs } from '../../../runs.ts';

interface Person {
  readonly login: string;
  readonly trusted: boolean;
}
const people: readonly Person[] = [
  { login: 'ann', trusted: true },
  { login: 'bea', trusted: true },
  { login: 'eve', trusted: false },
  { login: 'mallory', trusted: false },
];

/** A person's action on an issue, and whether Ralph looks at it then. */
type Deed = {
  readonly what: 'label' | 'unlabel' | 'reopen' | 'edit' | 'look';
  readonly by: Person | null;
  readonly text: number;
  readonly pause: number;
};
const deed: fc.Arbitrary<Deed> = fc.record({
  what: fc.constantFrom('label', 'unlabel', 'reopen', 'edit', 'edit', 'look'),
  by: fc.option(fc.constantFrom(...people), { freq: 8 }),
  // There are few texts, so that one is repeated.
  text: fc.nat({ max: 3 }),
  pause: fc.nat({ max: 2 }),
});

/**
 * Models the life independently, and records which texts a trusted person has seen when adding the label, or
 * has written since.
 */
function live(
  deeds: readonly Deed[],
  look: (world: {
    readonly history: ConsentHistory<Person>;
    readonly text: number;
    readonly approved: { readonly text: string; readonly at: number } | null;
  }) => ReturnType<typeof judgeConsent>,
): void {
  let history: ConsentHistory<Person> = { labelings: [], reopenings: [], edits: [], given: [], truncated: false };
  let [at, text, approved] = [1, 0, null as { readonly text: string; readonly at: number } | null];
  const vouched = new Set<number>();
  let isForeign = true;
  for (const { what, by, text: next, pause } of deeds) {
    at += pause;
    const isTrusted = by?.trusted === true;
    const isOn = history.labelings.at(-1)?.kind === 'labeled';
    if (what === 'label' && !isOn) {
      history = { ...history, labelings: [...history.labelings, { kind: 'labeled', label: 'ralph', by, at }] };
      isForeign &&= !isTrusted;
      // Texts that had been seen under another label no longer count.
      vouched.clear();
      if (isTrusted) vouched.add(text);
    } else if (what === 'unlabel' && isOn)
      history = { ...history, labelings: [...history.labelings, { kind: 'unlabeled', label: 'ralph', by, at }] };
    else if (what === 'reopen') history = { ...history, reopenings: [...history.reopenings, { by, at }] };
    else if (what === 'edit') {
      history = { ...history, edits: [...history.edits, { by, at }] };
      text = next;
      isForeign ||= !isTrusted;
      // A trusted author knows the whole text if only trusted authors have written it.
      if (isTrusted && !isForeign) vouched.add(text);
    } else if (what === 'look') {
      const consent = look({ history, text, approved });
      if (consent.kind !== 'given') continue;
      expect(vouched).toContain(text);
      approved = { text: String(text), at: consent.at };
    }
  }
}

const judge = ({
  history,
  text,
  approved,
}: {
  readonly history: ConsentHistory<Person>;
  readonly text: number;
  readonly approved: { readonly text: string; readonly at: number } | null;
}) =>
  judgeConsent({
    ...{ history, taskLabel: 'ralph', demands: [], text: String(text), approved, now: 0 },
    isTrusted: ({ trusted }) => trusted,
  });

test('no run ever works a text that nobody trusted has labelled or written on top of such a one', () => {
  fc.assert(
    fc.property(fc.array(deed, { maxLength: 30 }), (deeds) => {
      live([...deeds, { what: 'look', by: null, text: 0, pause: 0 }], judge);
    }),
    { numRuns: runs(3_000) },
  );
});

test('what a cut history gives, the whole one gives as well', () => {
  fc.assert(
    fc.property(fc.array(deed, { maxLength: 30 }), fc.integer({ min: 1, max: 5 }), (deeds, kept) => {
      live([...deeds, { what: 'look', by: null, text: 0, pause: 0 }], ({ history, text }) => {
        const whole = judge({ history, text, approved: null });
        // GitHub lists the newest edits.
        const edits = history.edits.slice(-kept);
        const isCut = edits.length < history.edits.length;
        const seen = judge({ history: { ...history, edits, truncated: isCut }, text, approved: null });
        if (seen.kind === 'given') expect(whole.kind).toBe('given');
        return whole;
      });
    }),
    { numRuns: runs(1_000) },
  );
});
