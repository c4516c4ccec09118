import { isLaneId, type LaneId, QUEUE } from '../../core/tasks/ids.ts';
import { parseArguments } from '../arguments.ts';
import { UsageError } from '../command.ts';
import type { OpenedPlaces, OpenPlaces } from './state-places.ts';
import { cut } from '../../core/text/cut.ts';

/** The arguments that all state commands have. */
export interface LaneArguments {
  readonly lane: LaneId;
  readonly json: boolean;
  /** Every lane is meant, where the command takes that. */
  readonly all: boolean;
  /** As given; null: origin, if there is one. */
  readonly remote: string | null;
  /** The one argument of the command; empty when it takes none. */
  readonly subject: string;
  /** The options that name the same lane again, as they are typed behind another command: ` --lane issue-7`, or nothing. */
  readonly sameLane: string;
  readonly opened: Extract<OpenedPlaces, { kind: 'open' }>;
}

/** The one argument that a command may take. */
export interface Subject {
  /** What is called missing: `circuit or session`. */
  readonly name: string;
  readonly isRequired: boolean;
  /** Why it cannot be what was given, as a sentence; null: it can. */
  readonly problem: (given: string) => string | null;
}

/** The help text of the options below. */
export const LANE_OPTIONS_HELP = `  --lane LANE    queue, or issue-N for an issue with its own branch (default: queue)
  --dir FOLDER   any folder of the checkout: its state is the same for every working-directory (default: the current one)
  --remote NAME  the remote that holds the state (default: origin)
  --json         prints one JSON object instead, described by schemas/ralph-lane.schema.json`;

/** Reads the options of a state command and opens the places; `takes`: the command's one argument, `all-lanes`: the option --all instead, null: neither; throws one UsageError with every problem. */
export async function readLaneArguments(
  args: readonly string[],
  open: OpenPlaces,
  takes: Subject | 'all-lanes' | null = null,
): Promise<LaneArguments> {
  const argument = takes === 'all-lanes' ? null : takes;
  const given = parseArguments(
    args,
    { lane: 'value', dir: 'value', remote: 'value', json: 'flag', ...(takes === 'all-lanes' ? { all: 'flag' } : {}) },
    { name: argument?.name ?? '', min: argument?.isRequired === true ? 1 : 0, max: argument === null ? 0 : 1 },
  );
  const [lane = QUEUE] = given.values('lane');
  const [folder = '.'] = given.values('dir');
  const [remote = null] = given.values('remote');
  const [subject] = given.positionals;
  // Which checkout is meant is not known when one of these lacks its value.
  const opened = ['dir', 'remote'].some((name) => given.has(name) && given.values(name).length === 0)
    ? null
    : await open({ folder, remote });
  const problem = subject === undefined ? null : (argument?.problem(subject) ?? null);
  const problems = [
    ...given.problems,
    ...(problem === null ? [] : [problem]),
    ...(given.has('all') && given.has('lane') ? ['--all and --lane cannot be used together.'] : []),
    ...(isLaneId(lane)
      ? []
      : [`--lane: ${JSON.stringify(cut(lane, 80))} is neither queue nor issue-N (for example issue-7).`]),
    ...(opened?.kind === 'missing' ? [opened.why] : []),
  ];
  if (problems.length > 0 || opened?.kind !== 'open') throw new UsageError(problems);
  const named = { lane: lane === QUEUE ? [] : [lane], dir: given.values('dir'), remote: given.values('remote') };
  const sameLane = Object.entries(named)
    .flatMap(([name, values]) => values.map((value) => ` --${name} ${typed(value)}`))
    .join('');
  return { lane, json: given.has('json'), all: given.has('all'), remote, subject: subject ?? '', sameLane, opened };
}

/** A value as a shell takes it. */
function typed(value: string): string {
  return /^[\w./:@+-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
