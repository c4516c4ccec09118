import { z } from 'zod';
import { countSchema, type Immutable } from '../policy.ts';
import { joinCountedNames } from '../text/phrase.ts';

/** Maximum number of tests that a proof names. */
export const MAX_NAMES = 3;
/** Maximum length of a test's name, in UTF-16 units. */
export const MAX_NAME_CHARS = 120;

/**
 * Reasons why a proof cannot be decided. `no-time`: `verify` does not fit into the rest of the run. `timeout`: it did
 * not end in time. `cannot-run`: it cannot run on that tree. `not-run`: it passes there without running the new tests.
 * `too-long`: its output is too long to be parsed. `in-code`: the tests are in code files.
 */
const undecided = ['no-time', 'timeout', 'cannot-run', 'not-run', 'too-long', 'in-code'] as const;

export type UndecidedProof = (typeof undecided)[number];

const named = z.array(z.string().max(MAX_NAME_CHARS)).max(MAX_NAMES);

/**
 * The result without the change. `new`: of `count` new tests (or whole files of them), `passing` pass. `changed`: no
 * new test is named, but `failing` tests fail. `whole`: the output names no test, so only the result of `verify` is
 * known.
 */
const withoutSchema = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('new'), of: z.enum(['test', 'file']), count: countSchema, passing: countSchema, named }),
    z.object({ kind: z.literal('changed'), failing: countSchema }),
    z.object({ kind: z.literal('whole'), passed: z.boolean() }),
    z.object({ kind: z.literal('undecided'), why: z.enum(undecided) }),
  ]),
);

/** `failed`: `failing` changed tests fail in their old form; 0 if the output names none. */
const oldSchema = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('passed') }),
    z.object({ kind: z.literal('failed'), failing: countSchema, named }),
    z.object({ kind: z.literal('undecided'), why: z.enum(undecided) }),
  ]),
);

export const proofSchema = z.lazy(() =>
  z.object({
    /** The result of `verify` without the task's change. */
    without: withoutSchema,
    /** The result of `verify` with the old form of the task's changed tests; null if none. */
    old: oldSchema.nullable(),
  }),
);

/** The proof of a task's change by its tests. */
export type Proof = Immutable<z.infer<typeof proofSchema>>;

/** The placeholder until a proof is made; a run that is cut off leaves the proof to the next run. */
export const UNDECIDED_FOR_TIME: Proof = { without: { kind: 'undecided', why: 'no-time' }, old: null };

/** Returns true if a run had no time for the proof, so that another one may make it. */
export function isProofCutOff({ without }: Proof): boolean {
  return without.kind === 'undecided' && without.why === 'no-time';
}

/** A sentence about a proof. */
export interface ProofSentence {
  readonly text: string;
  /** The tests concerned. */
  readonly names: readonly string[];
  /** The reason why a reviewer should look at it first; null if none. */
  readonly concern: 'proves-too-little' | 'old-form-fails' | null;
}

/** Returns a proof in one or two sentences. */
export function describeProof({ without, old }: Proof): readonly ProofSentence[] {
  return [withoutSentence(without), ...(old === null ? [] : oldSentences(old))];
}

/** Returns a sentence with the names of its tests, without markup. */
export function renderPlainProof({ text, names }: ProofSentence): string {
  return names.length === 0 ? text : `${text.replace(/\.$/, '')} (${names.join(', ')}).`;
}

function withoutSentence(without: Proof['without']): ProofSentence {
  switch (without.kind) {
    case 'new': {
      const { count, passing, named: names } = without;
      const [what, many] =
        without.of === 'test' ? ['new test', 'new tests'] : ['new file of tests', 'new files of tests'];
      if (passing === 0)
        return good(
          count === 1
            ? `The ${what} fails without the change, as it should.`
            : `All ${count} ${many} fail without the change, as they should.`,
        );
      const text =
        count === 1
          ? `The ${what} passes without the change: it does not test the change.`
          : `${passing === count ? 'All' : `${passing} of`} ${count} ${many} ${passing === 1 ? 'passes' : 'pass'} without the change: ${passing === 1 ? 'it does' : 'they do'} not test the change.`;
      return { text, names: withRest(names, passing), concern: 'proves-too-little' };
    }
    case 'changed':
      return good(
        `${without.failing} ${without.failing === 1 ? 'test fails' : 'tests fail'} without the change, as ${without.failing === 1 ? 'it' : 'they'} should; no new test is named.`,
      );
    case 'whole':
      return without.passed
        ? {
            text: 'All of `verify` passes without the change: the new or changed tests do not test the change.',
            names: [],
            concern: 'proves-too-little',
          }
        : good('`verify` fails without the change, as it should; its output does not say which tests do.');
    case 'undecided':
      return good(`Not known whether the tests fail without the change: ${WHY[without.why]}.`);
  }
}

function oldSentences(old: NonNullable<Proof['old']>): readonly ProofSentence[] {
  switch (old.kind) {
    case 'passed':
      return [good('The old form of the changed tests passes.')];
    case 'failed': {
      const { failing, named: names } = old;
      const text =
        failing === 0
          ? '`verify` fails with the old form of the changed tests; its output does not say which fail.'
          : `In ${failing === 1 ? 'its old form, 1 changed test fails' : `their old form, ${failing} changed tests fail`} on the new code.`;
      return [{ text, names: withRest(names, failing), concern: 'old-form-fails' }];
    }
    case 'undecided':
      return [good(`Not known whether the old form of the changed tests passes: ${WHY[old.why]}.`)];
  }
}

function good(text: string): ProofSentence {
  return { text, names: [], concern: null };
}

function withRest(names: readonly string[], count: number): readonly string[] {
  return names.length >= count || names.length === 0 ? names : [joinCountedNames(names, count)];
}

const WHY: Readonly<Record<UndecidedProof, string>> = {
  'no-time': '`verify` does not fit into the rest of the run',
  timeout: '`verify` did not end in time',
  'cannot-run': '`verify` cannot run there',
  'not-run': '`verify` does not run them there',
  'too-long': '`verify` prints too much to be read',
  'in-code': 'tests in code files cannot be separated from the code',
};
