import { quoteFailure } from '../facts.ts';
import { AGENT_NAMES, AGENTS } from '../../core/agent-names.ts';
import { formatInstant } from '../../core/countdown.ts';
import type { Circuit } from '../../core/lane/circuit.ts';
import { type LaneId, nameOfLane } from '../../core/tasks/ids.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { renderCode, renderProse, renderText } from '../markdown.ts';
import type { FoundLane } from '../overview/build-overview.ts';
import type { Overview } from '../overview/lane-waits.ts';

const TROUBLES = {
  limit: 'is at its usage limit',
  billing: 'has no credit',
  auth: 'refuses the key',
  failing: 'fails',
} as const;

/** The step that ends a provider's trouble; a limit ends by itself unless it needs a person. */
const NEXT = {
  limit: 'Raise the limit there, or give the agent another key or plan.',
  billing: 'Add credit there.',
  auth: 'Replace the key.',
  failing: null,
} as const;

/** A problem of the repository as a line of a list, and the step that only a person can take; null if none. */
export interface Trouble {
  readonly line: string;
  readonly next: string | null;
}

/**
 * Returns the problems of the repository: open circuits, providers, a red base, and unreadable states. The next step
 * for a circuit depends on its lane, so it is null here.
 */
export function listTroubles(facts: {
  readonly lanes: readonly FoundLane[];
  readonly overview: Overview;
  readonly now: number;
}): readonly Trouble[] {
  const { lanes, overview, now } = facts;
  const states = lanes.flatMap(({ lane, stored }) => (stored.kind === 'found' ? [{ lane, state: stored.state }] : []));
  const circuits = states.flatMap(({ lane, state: { circuit } }) =>
    circuit.kind === 'open' ? [{ line: `- ${describeOpenCircuit(lane, circuit)}`, next: null }] : [],
  );
  const providers = AGENT_NAMES.flatMap((name) => {
    const worst = states
      .flatMap(({ state }) => state.providers[name] ?? [])
      .flatMap((one) => (one.kind === 'open' && now < one.until ? [one] : []))
      .toSorted((one, other) => other.until - one.until)[0];
    if (worst === undefined) return [];
    const { why, until, needsPerson } = worst;
    const words = needsPerson === undefined ? '.' : `: ${renderCode(needsPerson.replace(/\.$/, ''), 300)}.`;
    return [
      {
        line: `- The provider of ${AGENTS[name].title} ${TROUBLES[why]}, until ${formatInstant(until)}${words}`,
        next: why === 'limit' && needsPerson === undefined ? null : NEXT[why],
      },
    ];
  });
  const bases = states.flatMap(({ state: { redBase } }) =>
    redBase === null || redBase.stage === 'repaired'
      ? []
      : [
          {
            line: `- ${renderCode(redBase.command, 120)} fails on the base branch: ${completeSentence(renderText(redBase.words, 200))}`,
            next: redBase.stage === 'tried' ? 'Fix the base branch, or correct `verify`.' : null,
          },
        ],
  );
  const red = [...new Map(bases.toSorted(byNext).map((base) => [base.line, base])).values()];
  const unread = overview.branches.flatMap((lane) =>
    lane.kind === 'branch' ? [] : [{ line: `- ${renderProse(lane.why, 300)}`, next: null }],
  );
  return [...circuits, ...providers, ...red, ...unread];
}

/** Sorts problems with a next step last. */
function byNext(one: Trouble, other: Trouble): number {
  return Number(one.next !== null) - Number(other.next !== null);
}

/** Describes the open circuit of a lane, with the agent's own words if a failed call opened it. */
export function describeOpenCircuit(lane: LaneId, { reason, failure }: Extract<Circuit, { kind: 'open' }>): string {
  return `The circuit of ${nameOfLane(lane)} is open (${wordsOfReason(reason)}).${failure === undefined ? '' : ` ${renderProse(`The last time, ${completeSentence(quoteFailure(failure))}`, 600)}`}`;
}

/** Renders the code of a reason as words. */
export function wordsOfReason(word: string): string {
  return renderText(word.replaceAll('_', ' '), 80);
}
