import type { Findings } from './findings.ts';
import type { History } from './history.ts';
import { spread } from '../measure.ts';
import type { PolicyName } from './policies.ts';
import { atSpecCost, goalsOf } from './sweep.ts';
import { snapshotOf } from './world.ts';

const EXAMPLES = 3;

/** Renders one line per policy. */
export function renderPolicies(results: ReadonlyMap<PolicyName, readonly Findings[]>): string {
  const head = [
    'policy',
    'finished',
    'calls',
    'premature',
    '(by rule)',
    'after done',
    '(unsaid)',
    'stuck: burnt',
    'probes',
    'busy: burnt',
    'false alarms',
    'longest wait',
  ];
  return table([head, ...[...results].map(([policy, found]) => [policy, ...numbersOf(found)])]);
}

function numbersOf(found: readonly Findings[]): readonly string[] {
  const sum = (count: (finding: Findings) => number): string =>
    String(found.reduce((total, finding) => total + count(finding), 0));
  const stagnations = found.flatMap(({ stagnation }) => (stagnation === null ? [] : [stagnation]));
  const still = stagnations.filter(({ kind }) => kind === 'still');
  const busy = stagnations.filter(({ kind }) => kind === 'busy');
  const burnt = (of: typeof stagnations): string => (of.length === 0 ? '–' : range(of.map((one) => one.burnt)));
  return [
    `${String(found.filter(({ isFinished }) => isFinished).length)}/${String(found.length)}`,
    sum(({ calls }) => calls),
    sum(({ premature }) => premature.length),
    sum(({ demanded }) => demanded.length),
    sum(({ afterDone }) => afterDone.known),
    sum(({ afterDone }) => afterDone.unsaid),
    burnt(still),
    still.length === 0 ? '–' : range(still.map(({ probes }) => probes)),
    burnt(busy),
    sum(({ falseAlarms }) => falseAlarms.length),
    range(found.map(({ longestWait }) => longestWait.calls)),
  ];
}

function range(numbers: readonly number[]): string {
  const { median, max } = spread(numbers);
  return `${String(median)} (≤ ${String(max)})`;
}

/** Renders the goals of one policy, each with the first histories that miss it. */
export function renderGoals(policy: PolicyName, found: readonly Findings[]): string {
  const lines = goalsOf(found, policy).map(({ goal, missedBy }) =>
    missedBy.length === 0
      ? `  ok      ${goal}`
      : `  MISSED  ${goal}: ${String(missedBy.length)} histories, first ${replays(missedBy)}`,
  );
  return [`Goals, policy "${policy}":`, ...lines].join('\n');
}

/** Renders the cases in which the specification itself prevents a goal, and the reasons. */
export function renderSpecCosts(found: readonly Findings[]): string {
  const lines = atSpecCost(found).map(
    ({ what, why, by }) =>
      `  ${String(by.length).padStart(4)}  ${what} (${kinds(by)}): ${why}; e.g. ${replays(by.slice(0, 1))}`,
  );
  return [
    `Histories, of ${String(found.length)}, in which a rule or default of the specification stands against a goal:`,
    ...lines,
  ].join('\n');
}

function replays(found: readonly Findings[]): string {
  return found
    .slice(0, EXAMPLES)
    .map(({ of }) => `--case ${of.name} --seed ${String(of.seed)}`)
    .join(', ');
}

function kinds(found: readonly Findings[]): string {
  const names = [...new Set(found.map(({ of }) => of.name))];
  return names.length <= EXAMPLES ? names.join('; ') : `${names.slice(0, EXAMPLES).join('; ')}; …`;
}

/** Renders a history, call by call. */
export function renderHistory({ of, calls, ends }: History): string {
  const rows = ends.flatMap(({ run, outcome, calls: upTo }) => [
    ...calls.flatMap((call, at) => (call.run === run ? [rowOf(call, at)] : [])),
    [
      `run ${String(run)}`,
      `${outcome.kind} (${outcome.reason}${outcome.reason === 'circuit_open' ? `: ${outcome.circuitReason}` : ''}) after ${String(upTo)} calls`,
    ],
  ]);
  return `${of.name}, seed ${String(of.seed)}, steps ${Object.values(of.world.steps).join('+')}, a run every ${String(of.gapMs / 60_000)} min\n${table(rows)}`;
}

function rowOf({ act, after, entry }: History['calls'][number], at: number): readonly string[] {
  const {
    verdict,
    analysis: { signal },
  } = entry;
  const judged = [
    verdict.progress ? 'progress' : '',
    verdict.taskDone ? 'task done' : '',
    ...verdict.discrepancies,
    ...verdict.vetoes,
  ].filter((text) => text !== '');
  return [
    `  ${String(at + 1)}`,
    entry.taskId,
    act.deed,
    act.output.kind,
    `${signal.status ?? '-'}/${String(signal.exitSignal)}`,
    snapshotOf(after).tree,
    verdict.circuit,
    judged.join(' · '),
  ];
}

function table(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(...rows.map((row) => row.length)) - 1;
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.filter((row) => row.length > column + 1).map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
