import { capitalizeFirst, completeSentence } from '../../../core/text/phrase.ts';
import { selectEffectiveOrders } from '../../../core/sharing/orders.ts';
import { isHashedId, nameOfTaskId } from '../../../core/tasks/ids.ts';
import { MINUTE_MS, formatInstant } from '../../../core/countdown.ts';
import { formatCost, formatDuration, renderBar } from '../../../report/format.ts';
import { nameOutcome } from '../../../report/sentences/ends/outcome-name.ts';
import { DEFAULT_COOLDOWN_MINUTES } from '../../defaults.ts';
import type { ReportedLane } from '../../lane/lane-schema.ts';
import type { LocalPicture } from '../monitor-schema.ts';
import { createPiece, type Line, type TextStyle, type Piece } from './columns.ts';

/** A fact about a run, in parts. */
export interface RunFact {
  readonly name: string;
  readonly parts: readonly Line[];
  /** The piece between two parts. */
  readonly gap: Piece;
  /** The part that changes every second; the view that prints only changes leaves it out. */
  readonly clock: Line | null;
  /** The rank; on a small screen the fact with the lowest rank is kept longest. */
  readonly rank: number;
}

const BAR_CELLS = 10;
/** The share of a limit at which usage is shown as near the limit. */
const NEAR = 0.8;

type OurRun = Extract<LocalPicture['run'], { kind: 'ours' }>;
type OtherRun = Extract<LocalPicture['run'], { kind: 'other' }>;

/** Returns the facts about the local run, in the order of the screen. */
export function listLocalFacts(local: LocalPicture, now: number): readonly RunFact[] {
  const lane = parseKnownLane(local);
  switch (local.run.kind) {
    case 'ours':
      return [...ourFacts(local.run, local, now), ...local.beside.map(besideFact), ...laneFacts(lane, local.run, now)];
    case 'other':
      return [...otherFacts(local.run, local), ...laneFacts(lane, local.run, now)];
    case 'unreadable':
      return [sentenceFact('run', 0, local.run.why, 'bad'), ...laneFacts(lane, local.run, now)];
    case 'none':
      return [
        lane?.saved == null
          ? sentenceFact('run', 0, 'No local run yet: "ralph run" starts one, and it shows here.', 'faint')
          : fact('run', 0, [createPiece('There is no local run now.', 'faint')]),
        ...laneFacts(lane, local.run, now),
      ];
  }
}

/** Returns the local run's lane from the state directory, or null if it cannot be read. */
export function parseKnownLane(local: LocalPicture): ReportedLane | null {
  const [place] = local.state?.places ?? [];
  return place?.kind === 'branch' ? place : null;
}

/** Returns true if the run is alive and has not ended. */
export function isContinuing(run: LocalPicture['run']): boolean {
  return run.kind === 'ours' && run.isAlive && run.status.doing !== 'ended';
}

const doings = {
  starting: 'starting',
  agent: 'the agent works',
  steps: 'the steps run',
  verify: 'verify runs',
  waiting: 'waiting',
  ended: 'ended',
} as const;

function ourFacts(run: OurRun, { agent }: LocalPicture, now: number): readonly RunFact[] {
  const { status } = run;
  const { task, tasks, calls, cost, signals, iteration, maxIterations } = status;
  const isWaiting = isContinuing(run) && status.resumeAt !== null;
  // Some agents report no cost, and the first call has none yet.
  const costBar = (used: number, limit: number, when: string): Line =>
    used === 0 && calls.used > 0 ? [createPiece(`no known cost${when}`)] : bar(used, limit, formatCost, when);
  return [
    {
      ...fact('run', 0, stateOf(run), [createPiece(`iteration ${iteration} of ${maxIterations}`)]),
      clock: isContinuing(run) && status.doing === 'agent' ? agentClock(agent) : null,
    },
    ...(isWaiting
      ? [
          {
            ...fact('waits', 1, [createPiece(`until ${formatInstant(Date.parse(status.resumeAt))}`, 'warning')]),
            clock: countdown(Date.parse(status.resumeAt), now),
          },
        ]
      : []),
    fact(
      'task',
      2,
      task === null
        ? [createPiece('none', 'faint')]
        : [
            ...(isHashedId(task.id) ? [] : [createPiece(`${nameOfTaskId(task.id)} `, 'strong')]),
            createPiece(task.title),
          ],
    ),
    fact(
      'tasks',
      4,
      tasks.all === 0
        ? [createPiece('none', 'faint')]
        : [
            createPiece(`${renderBar({ done: tasks.done, total: tasks.all, cells: BAR_CELLS })} `, 'good'),
            createPiece(`${tasks.done}/${tasks.all} done`),
          ],
    ),
    fact(
      'calls',
      5,
      bar(calls.used, calls.limit, (n) => String(n), ' calls this hour'),
    ),
    fact('cost', 6, costBar(cost.run, cost.runLimit, ' this run'), costBar(cost.day, cost.dayLimit, ' today')),
    fact(
      'signals',
      8,
      streak('done', signals.done, signals.doneLimit, 'good'),
      streak('test-only', signals.testOnly, signals.testOnlyLimit, 'warning'),
    ),
    circuitFact(status.circuit),
  ];
}

/** Returns the fact about another branch that the run works on in parallel. */
function besideFact(beside: LocalPicture['beside'][number]): RunFact {
  const { branchId: lane, iteration, maxIterations, task } = beside.status;
  return fact(
    nameOfTaskId(lane),
    3,
    stateOf({ kind: 'ours', ...beside }),
    [createPiece(`iteration ${iteration} of ${maxIterations}`)],
    ...(task === null ? [] : [[createPiece(task.title)]]),
  );
}

function stateOf({ status, isAlive }: OurRun): Line {
  const { doing, outcome, pid, updatedAt } = status;
  if (outcome !== null) {
    const look = outcome.kind === 'complete' ? 'good' : badEnds.has(outcome.kind) ? 'bad' : 'warning';
    return [createPiece(`ended: ${nameOutcome(outcome)}`, look)];
  }
  if (doing === 'ended') return [createPiece('ended', 'warning')];
  if (!isAlive)
    return [
      createPiece(
        `The run (PID ${pid}) is gone; its last update was at ${formatInstant(Date.parse(updatedAt))}`,
        'bad',
      ),
    ];
  return [createPiece(doings[doing], doing === 'waiting' ? 'warning' : 'good')];
}

const badEnds: ReadonlySet<string> = new Set(['failed', 'halted', 'blocked']);

function agentClock(agent: LocalPicture['agent']): Line | null {
  if (agent === null || agent.elapsedSeconds === null || agent.status !== 'executing') return null;
  return [createPiece(`this call: ${formatDuration(agent.elapsedSeconds * 1000)}`, 'faint')];
}

function otherFacts({ status, circuit }: OtherRun, { agent }: LocalPicture): readonly RunFact[] {
  const { lastAction, exitReason, iteration, calls, at } = status;
  return [
    {
      ...fact(
        'run',
        0,
        [createPiece(status.status ?? 'of another Ralph', 'good')],
        ...(iteration === null ? [] : [[createPiece(`loop ${iteration}`)]]),
        ...(exitReason === null ? [] : [[createPiece(`ended: ${exitReason}`, 'warning')]]),
        ...(at === null ? [] : [[createPiece(`at ${formatInstant(Date.parse(at))}`, 'faint')]]),
      ),
      clock: agentClock(agent),
    },
    ...(lastAction === null ? [] : [fact('does', 2, [createPiece(lastAction)])]),
    ...(agent === null || agent.lastOutput === null
      ? []
      : [fact('agent', 7, [createPiece(agent.lastOutput, 'faint')])]),
    ...(calls === null
      ? []
      : [
          fact(
            'calls',
            5,
            bar(calls.used, calls.limit, (n) => String(n), ' calls this hour'),
          ),
        ]),
    ...(circuit === null ? [] : [circuitFact(circuit)]),
  ];
}

function circuitFact(circuit: OurRun['status']['circuit']): RunFact {
  const look = { closed: 'good', 'half-open': 'warning', open: 'bad' } as const;
  return fact('circuit', 8, [
    createPiece(circuit === 'half-open' ? 'half-open: one iteration probes' : circuit, look[circuit]),
  ]);
}

/** Returns the facts that the lane's state adds to the run's own status. */
function laneFacts(lane: ReportedLane | null, run: LocalPicture['run'], now: number): readonly RunFact[] {
  if (lane === null) return [];
  const { circuit, park, pause, ordersWaiting, warnings, lastRun } = lane;
  const isParked = park !== null && !isContinuing(run);
  const probeAt = circuit.kind === 'open' ? Date.parse(circuit.openedAt) + DEFAULT_COOLDOWN_MINUTES * MINUTE_MS : 0;
  return [
    ...(run.kind === 'none' && lastRun !== null
      ? [
          fact('last run', 2, [
            createPiece(
              `${nameOutcome({ kind: lastRun.outcome, reason: lastRun.reason })}, ${formatInstant(Date.parse(lastRun.at))}`,
            ),
          ]),
        ]
      : []),
    ...(isParked
      ? [
          {
            ...fact('parked', 1, [
              createPiece(`${park.reason}, continues from ${formatInstant(Date.parse(park.resumeAt))}`, 'warning'),
            ]),
            clock: countdown(Date.parse(park.resumeAt), now),
          },
        ]
      : []),
    ...(circuit.kind === 'open' && !hasClosed(run)
      ? [
          {
            ...fact('cooldown', 3, [
              createPiece(
                probeAt <= now
                  ? `${circuit.reason}: over by the default cooldown, the next run probes`
                  : `${circuit.reason}: probe from ${formatInstant(probeAt)} by default`,
                'bad',
              ),
            ]),
            clock: countdown(probeAt, now),
          },
        ]
      : []),
    ...(circuit.kind === 'open' && circuit.failure !== undefined && !hasClosed(run)
      ? [sentenceFact('failure', 3, capitalizeFirst(completeSentence(circuit.failure)), 'bad')]
      : []),
    ...(pause === null
      ? []
      : [fact('paused', 3, [createPiece(`by ${pause.by}, ${formatInstant(Date.parse(pause.at))}`, 'warning')])]),
    ...selectEffectiveOrders(ordersWaiting.map((waiting) => ({ ...waiting, kind: waiting.order }))).map(
      ({ order, task, by }) =>
        fact('order', 4, [createPiece(`${order}${task === null ? '' : ` ${task}`}, by ${by}: obeyed next`, 'warning')]),
    ),
    ...warnings.map((warning) => sentenceFact('warning', 7, completeSentence(warning), 'warning')),
  ];
}

/** Returns true if the run has closed a circuit that is still open in its lane's saved state. */
function hasClosed(run: LocalPicture['run']): boolean {
  return run.kind === 'ours' && isContinuing(run) && run.status.circuit === 'closed';
}

function fact(name: string, rank: number, ...parts: readonly Line[]): RunFact {
  return { name, rank, parts, gap: createPiece('  '), clock: null };
}

/** Creates a fact that may take several lines. */
function sentenceFact(name: string, rank: number, text: string, look: TextStyle): RunFact {
  return {
    name,
    rank,
    parts: text.split(' ').map((word) => [createPiece(word, look)]),
    gap: createPiece(' ', look),
    clock: null,
  };
}

/** Renders `[████░░░░░░] 12/100 calls this hour`; without a bar if there is no limit. */
function bar(used: number, limit: number, format: (amount: number) => string, what: string): Line {
  if (limit === 0) return [createPiece(`${format(used)}${what}, no limit`)];
  const look: TextStyle = used >= limit ? 'bad' : used >= limit * NEAR ? 'warning' : 'good';
  return [
    createPiece(`${renderBar({ done: used, total: limit, cells: BAR_CELLS })} `, look),
    createPiece(`${format(used)}/${format(limit)}${what}`),
  ];
}

function streak(name: string, inARow: number, limit: number, look: TextStyle): Line {
  return [createPiece(`${name} ${inARow}${limit === 0 ? '' : `/${limit}`}`, inARow === 0 ? 'plain' : look)];
}

/** Renders `in 42:10`, or returns null after the instant has passed. */
function countdown(until: number, now: number): Line | null {
  return until <= now ? null : [createPiece(`in ${clockOf(until - now)}`, 'strong')];
}

/** Renders `42:10` or `1:02:03`. */
function clockOf(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (number: number): string => String(number).padStart(2, '0');
  return hours === 0 ? `${minutes}:${two(seconds % 60)}` : `${hours}:${two(minutes)}:${two(seconds % 60)}`;
}
