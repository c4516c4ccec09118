import type { IsolationLevel } from './facts.ts';

/** What the user asked for; `auto`: the strongest that works here. */
export const wantedIsolations = ['auto', 'namespace', 'user', 'none'] as const;
export type WantedIsolation = (typeof wantedIsolations)[number];

/** A level that could not be had: `why` as a clause, such as `sudo asks for a password`. */
export interface FailedLevel {
  readonly level: Exclude<IsolationLevel, 'none'>;
  readonly why: string;
}

/** The levels to try, in this order, before there is none. */
export function levelsToTry(wanted: WantedIsolation): readonly FailedLevel['level'][] {
  if (wanted === 'auto') return ['namespace', 'user', 'sandbox'];
  return wanted === 'none' ? [] : [wanted];
}

/** Why a level is not taken that leaves the network open, or does not reach a service, as clauses. */
export const NO_BOUNDS = 'no firewall can be set up here, so `allowed-hosts` cannot be enforced';

export const NO_SERVICES = 'it reaches no service on localhost, which `allowed-hosts` names';

/** `why`: a sentence for people; null: it is what was asked for. */
type Settled =
  | { readonly kind: 'settled'; readonly level: IsolationLevel; readonly why: string | null }
  | { readonly kind: 'unusable'; readonly problem: string };

/**
 * What holds after `failed`, in the order of the tries; `reached`: the level that could be had, null: none of them.
 * `mustLimit`: the network has to be limited, see `asksForBounds`; a level that cannot do it is among the failed ones.
 * `byOutsiders`: people without write permission can bring about events like this run's; it does not fall to `none` unasked.
 */
export function settleLevel(
  wanted: WantedIsolation,
  tried: {
    readonly reached: FailedLevel['level'] | null;
    readonly failed: readonly FailedLevel[];
    readonly byOutsiders: boolean;
    readonly mustLimit: boolean;
  },
): Settled {
  const whys = tried.failed.map(({ level, why }) => `\`${level}\`: ${why}`).join('; ');
  if (tried.reached !== null)
    return {
      kind: 'settled',
      level: tried.reached,
      why: tried.failed.length === 0 ? null : `Stronger isolation is not available here (${whys}).`,
    };
  if (wanted === 'none' && tried.mustLimit)
    return {
      kind: 'unusable',
      problem:
        'With `isolation: none` the agent reaches the whole network, so `allowed-hosts` cannot be enforced. Remove `allowed-hosts`, or set `isolation: auto`.',
    };
  if (wanted === 'none') return { kind: 'settled', level: 'none', why: null };
  if (wanted !== 'auto')
    return {
      kind: 'unusable',
      problem: `\`isolation: ${wanted}\` is not available on this runner (${whys}). Use a runner where it is, such as GitHub's Ubuntu runners, or set \`isolation\` to a level that works here.${tried.mustLimit ? OPEN_IT : ''}`,
    };
  if (tried.mustLimit)
    return {
      kind: 'unusable',
      problem: `\`allowed-hosts\` cannot be enforced on this runner, because the agent cannot be isolated as it needs there (${whys}). Use a runner with sudo, such as GitHub's Ubuntu runners.${OPEN_IT}`,
    };
  if (tried.byOutsiders)
    return {
      kind: 'unusable',
      problem: `The agent cannot be isolated on this runner (${whys}), and issues and comments may contain text by anyone. Use a runner with sudo, such as GitHub's Ubuntu runners, or accept the risk with \`isolation: none\`.`,
    };
  return { kind: 'settled', level: 'none', why: `No isolation is available here (${whys}).` };
}

const OPEN_IT = ' To leave the network open, set `allowed-hosts: any`.';
