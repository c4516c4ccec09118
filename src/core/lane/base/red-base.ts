import { z } from 'zod';
import { countSchema, type Immutable } from '../../policy.ts';

/** Maximum number of distinct failures that are compared per verification; later ones are ignored. */
export const MAX_FAILURES = 20;
/** Maximum length of the text shown for a failure, in UTF-16 units. */
export const MAX_FAILURE_TEXT_CHARS = 300;

/**
 * The stages of a red base. `found`: no iteration has tried to fix it. `tried`: an iteration failed to fix it, so no
 * call is made. `reverify`: the base branch or `verify` changed since then, or hours have passed, so the next
 * verification of the base decides. `repaired`: the newest base passes, but the lane does not contain it yet.
 */
const stages = ['found', 'tried', 'reverify', 'repaired'] as const;

export const redBaseSchema = z.object({
  stage: z.enum(stages),
  /** The base commit that failed. */
  commit: z.string().max(64),
  /** First 32 hex digits of the SHA-256 of the verify commands. */
  commands: z.string().max(64),
  command: z.string().max(200),
  /**
   * The failures of the base that the lane still has: the ends of the names of failing tests or, if a reporter names
   * none, fingerprints of the output.
   */
  failures: z.array(z.string().max(64)).max(MAX_FAILURES),
  /** The failures of the base that the lane's iterations have fixed; absent if none. */
  fixed: z.array(z.string().max(64)).max(MAX_FAILURES).optional(),
  /** True if the commit was verified a second time, because an iteration failed in another way; absent otherwise. */
  verifiedTwice: z.literal(true).optional(),
  /** The last failure, for people; empty if the command printed nothing. */
  words: z.string().max(MAX_FAILURE_TEXT_CHARS),
  /**
   * Index of a later command that failed once iterations had fixed the ones before it, and whether the base was
   * verified from there on; absent if no later command failed. If the base fails there as well, `command` is the later
   * one, and `first` is the one that fails on the base before it.
   */
  beyond: z
    .object({
      from: countSchema,
      isVerified: z.boolean(),
      first: z
        .object({
          command: z.string().max(200),
          failures: z.array(z.string().max(64)).max(MAX_FAILURES),
          words: z.string().max(MAX_FAILURE_TEXT_CHARS),
        })
        .exactOptional(),
    })
    .exactOptional(),
});

/** A base branch on which `verify` fails. */
export type RedBase = Immutable<z.infer<typeof redBaseSchema>>;

/** Returns the base as a lane without any fixes finds it. */
export function withAllFailures({ fixed = [], beyond, ...base }: RedBase): RedBase {
  return { ...base, failures: [...base.failures, ...fixed], ...beyond?.first };
}

/** The only failure of a base whose failures differ each time. */
export const ANY_FAILURE = '(another failure each time)';

/** Returns true if a red base has other failures each time, so that a failure of its command is not the branch's. */
export function isUnstable({ failures }: Pick<RedBase, 'failures'>): boolean {
  return failures.includes(ANY_FAILURE);
}

/** Returns the index of the command from which the base must be verified again, or null if it need not be. */
export function unknownFrom(base: RedBase | null): number | null {
  return base?.beyond?.isVerified === false ? base.beyond.from : null;
}

/**
 * Returns true if people who know of the second red base know of the first one: it is the same commit, or has no other
 * failures. A branch may remember a base that was fixed long ago.
 */
export function isSameRedBase(base: RedBase, known: RedBase): boolean {
  const failures = [...known.failures, ...withAllFailures(known).failures];
  const hasNoOther =
    (isUnstable(known) && base.command === known.command) ||
    (base.failures.length > 0 && base.failures.every((failure) => failures.includes(failure)));
  return base.commands === known.commands && (base.commit === known.commit || hasNoOther);
}
