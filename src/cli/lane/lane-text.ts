import { renderSettings } from '../../core/settings/effective.ts';
import { andMore } from '../../core/text/lists.ts';
import { count, formatCost, formatInstantFrom, formatTokens } from '../../report/format.ts';
import { renderContinuation } from '../../report/next/step.ts';
import { feedbackWords } from '../../report/sentences/feedback.ts';
import type { KnownLane, LaneReport } from './lane-schema.ts';
import { openedBy } from '../../core/others/opened-by.ts';
import { formatInstant, MINUTE_MS } from '../../core/time.ts';
import { DEFAULT_COOLDOWN_MINUTES } from '../defaults.ts';
import { plainLine } from '../plain-line.ts';

const MAX_TASKS = 30;
/** More than any limit: what counters that could not be read count for. */
const USED_UP = 1e15;

/** A lane as a person reads it, place by place; what could not be read is left to the caller. `sameLane`: the options that name it again. */
export function renderLane({ lane, at, places, settings }: LaneReport, sameLane: string): string {
  const known = places.filter((place) => place.kind === 'lane');
  const cooldown = cooldownOf(settings ?? []);
  return [
    ...(places.length === 0 && settings !== undefined
      ? ['No state yet: there is no remote "origin", and no folder .ralph/state.\n']
      : []),
    ...known.map((place) => renderPlace(place, { lane, sameLane, cooldown, now: Date.parse(at) })),
    ...(settings ?? []).map(settingsOf),
  ].join('\n');
}

function settingsOf({ workflow, settings, problems }: NonNullable<LaneReport['settings']>[number]): string {
  const lines = [...renderSettings(settings), ...problems.map((line) => `not usable: ${line}`)];
  return `${[`settings (${workflow})`, ...lines.map((line) => `  ${plainLine(line, 1_000)}`)].join('\n')}\n`;
}

interface Place {
  readonly sameLane: string;
  readonly cooldown: Cooldown;
  readonly now: number;
}

function renderPlace(place: KnownLane, { lane, sameLane, cooldown, now }: Place & { readonly lane: string }): string {
  const { saved, working, pause, park, session, lastRun, usage } = place;
  const facts: readonly (readonly [string, string])[] = [
    [
      'state',
      saved === null
        ? 'none yet'
        : `restored #${String(saved.sequence)} (${saved.origin}), saved ${formatIso(saved.at)}`,
    ],
    [
      'works now',
      working === null
        ? 'nobody'
        : `${working.runUrl || `run ${working.runId}`}, until ${formatIsoFrom(working.until, now)} at the latest`,
    ],
    [
      'pause',
      pause === null
        ? 'none'
        : `by ${pause.by}, since ${formatIso(pause.at)}; to continue: ${renderContinuation('pause', 'terminal')}${sameLane}`,
    ],
    ['circuit', describeCircuit(place, { sameLane, cooldown, now })],
    ['parked', park === null ? 'no' : `${park.reason}, continues from ${formatIsoFrom(park.resumeAt, now)}`],
    [
      'session',
      session === null ? 'none' : `since ${formatIso(session.startedAt)}, last used ${formatIso(session.lastUsedAt)}`,
    ],
    ...(usage === null ? [] : describeUsage(usage, now)),
    ['last run', lastRun === null ? 'none yet' : `${lastRun.outcome} (${lastRun.reason}), ${formatIso(lastRun.at)}`],
    ...(lastRun?.pullRequest ? [['pull request', lastRun.pullRequest] as const] : []),
    ...(place.feedback.length === 0 ? [] : [['feedback', describeFeedback(place)] as const]),
    ...place.ordersWaiting.map(
      ({ order, task, by, from, at }) =>
        [
          'waits',
          `${order.replace('-', ' ')}${task === null ? '' : ` ${task}`}, by ${by} (${from}), ${formatIso(at)}: the next run obeys it first`,
        ] as const,
    ),
    ...place.warnings.map((warning) => ['warning', warning] as const),
  ];
  return [
    `${lane} (${place.place})`,
    ...facts.map(([name, value]) => `  ${`${name}:`.padEnd(14)}${value}`),
    ...listed('Tasks', describeTasks(place)),
    ...listed(
      'Last changes',
      place.transitions.map(
        ({ at, subject, from, to, reason }) => `${formatIso(at)}  ${subject}: ${from} → ${to} (${reason})`,
      ),
    ),
    '',
  ].join('\n');
}

interface Cooldown {
  readonly ms: number;
  /** The runs may have another one. */
  readonly isDefault: boolean;
}

/** The one of all workflows; where they have several or none is known, the default. */
function cooldownOf(settings: NonNullable<LaneReport['settings']>): Cooldown {
  const texts = settings.flatMap((of) => of.settings.filter(({ input }) => input === 'circuit-cooldown-minutes'));
  const minutes = new Set(texts.map(({ text }) => Number(text)));
  const [one = Number.NaN] = minutes;
  return minutes.size === 1 && one >= 0
    ? { ms: one * MINUTE_MS, isDefault: false }
    : { ms: DEFAULT_COOLDOWN_MINUTES * MINUTE_MS, isDefault: true };
}

function describeCircuit(
  { circuit, transitions }: Pick<KnownLane, 'circuit' | 'transitions'>,
  { sameLane, cooldown, now }: Place,
): string {
  if (circuit.kind === 'open') {
    const left = openedBy(transitions) === 'another-ralph' ? ', left by another Ralph,' : '';
    const until = Date.parse(circuit.openedAt) + cooldown.ms;
    const byDefault = cooldown.isDefault ? ' by the default cooldown' : '';
    const then =
      until <= now
        ? `has cooled down${byDefault === '' ? '' : `,${byDefault}`}: the next run probes with one iteration`
        : `cools down until ${formatInstantFrom(until, now)}${byDefault}, then one iteration probes`;
    return `open (${circuit.reason})${left} since ${formatIso(circuit.openedAt)}; ${then}; to close it now: ${renderContinuation('circuit', 'terminal')}${sameLane}`;
  }
  return `closed${circuit.noProgress === 0 ? '' : `, ${count(circuit.noProgress, 'iteration')} without progress in a row`}`;
}

function describeUsage(
  { hour, day, reservations }: NonNullable<KnownLane['usage']>,
  now: number,
): readonly (readonly [string, string])[] {
  return [
    [
      'this hour',
      hour === null
        ? 'nothing used'
        : hour.calls >= USED_UP
          ? `used up, until ${formatIsoFrom(hour.endsAt, now)}`
          : `${count(hour.calls, 'call')}, ${formatTokens(hour.tokens)} tokens, until ${formatIsoFrom(hour.endsAt, now)}`,
    ],
    [
      'this day',
      day === null
        ? 'nothing used'
        : day.costUsd >= USED_UP
          ? `used up, until ${formatIsoFrom(day.endsAt, now)}`
          : `${formatCost(day.costUsd)}, until ${formatIsoFrom(day.endsAt, now)}`,
    ],
    ...reservations.map(({ lane, runUrl, calls, tokens, costUsd }) => {
      const parts = [
        count(calls, 'call'),
        ...(tokens > 0 ? [`${formatTokens(tokens)} tokens`] : []),
        ...(costUsd > 0 ? [formatCost(costUsd)] : []),
      ];
      return [
        'reserved',
        `${parts.join(', ')} of these, by a run of ${lane}${runUrl === '' ? '' : ` (${runUrl})`}`,
      ] as const;
    }),
  ];
}

function describeFeedback({ feedback }: KnownLane): string {
  return feedbackWords(
    feedback.map(({ kind, state }) => ({ item: { kind }, isOpen: state === 'open' || state === 'given-up' })),
  );
}

function describeTasks({ tasks, currentTask }: KnownLane): readonly string[] {
  const shown = tasks
    .slice(0, MAX_TASKS)
    .map(
      ({ id, state, attempts }) =>
        `${id}: ${state}, ${count(attempts, 'iteration')}${id === currentTask ? ' (current)' : ''}`,
    );
  return tasks.length > MAX_TASKS ? [...shown, andMore(tasks.length - MAX_TASKS).trim()] : shown;
}

function listed(heading: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`  ${heading}:`, ...lines.map((line) => `    ${line}`)];
}

function formatIso(instant: string): string {
  return formatInstant(Date.parse(instant));
}

function formatIsoFrom(instant: string, now: number): string {
  return formatInstantFrom(Date.parse(instant), now);
}
