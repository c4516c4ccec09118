import { z } from 'zod';
import type { Account } from '../../ports/forge.ts';
import type { Dismissed, EventInputs, Intent } from './intent.ts';

// What GitHub itself allows is shorter: a payload beyond it was not made by GitHub.
/** A label, a branch or the like. */
export const name = z.string().max(1000);

/** What somebody wrote; empty: nothing. */
export const text = z
  .string()
  .max(262_144)
  .nullish()
  .transform((body) => body ?? '');

/** A number that GitHub counts from 1. */
export const number = z.int().positive();

/** A commit. */
export const sha = z.string().regex(/^[\da-f]{40,64}$/);

/** Who did something. */
export const account = z
  .object({ login: z.string().max(100), id: number, type: z.string().max(40) })
  .transform(({ login, id, type }): Account => ({ login, id, kind: type === 'Bot' ? 'bot' : 'user' }));

const repository = z.object({ full_name: z.string().max(300) });

/** Where a pull request comes from and goes to. */
export const ends = {
  number,
  head: z.object({ ref: name, sha, repo: repository.nullable() }),
  base: z.object({ repo: repository }),
} as const;

interface Pull {
  readonly number: number;
  readonly head: { readonly ref: string; readonly repo: { readonly full_name: string } | null };
  readonly base: { readonly repo: { readonly full_name: string } };
}

/** Why a pull request is none of Ralph's; null: it is one. */
export function notOfRalph({ number: its, head, base }: Pull, { branchPrefix }: EventInputs): Dismissed | null {
  if (head.repo?.full_name !== base.repo.full_name)
    return {
      kind: 'refused',
      why: `Pull request #${String(its)} comes from a fork. Ralph works on branches of this repository only.`,
    };
  return head.ref.startsWith(branchPrefix)
    ? null
    : notForUs(`Pull request #${String(its)} is not one of Ralph's: its branch does not start with ${branchPrefix}.`);
}

/** An event that asks for nothing that is done here. */
export function notForUs(why: string): Extract<Intent, { kind: 'not-for-us' }> {
  return { kind: 'not-for-us', why };
}
