import { changePolicy, parsePolicyInputs, policyInputs } from '../../config/agent-inputs.ts';
import { getDefault } from '../../config/setting-table.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import { parseJournal } from '../../core/journal/parse-journal.ts';
import type { KindsOfDenial } from '../../core/journal/replay.ts';
import type { Policy } from '../../core/policy.ts';
import { listStoredRuns, type StoredRun } from '../../core/snapshot/stored-run.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import {
  type ReplayLimit,
  recommendValues,
  selectReplayableRuns,
  RUNS_TO_RECOMMEND,
  sumSpentOn,
  replayWithValue,
  tuneLimit,
} from '../../core/tuning/tuning.ts';
import { parseArguments, toPlainLine, type ReadEffectiveSettings } from '../arguments.ts';
import {
  type CheckoutFile,
  type CliCommand,
  type CommandEnd,
  COMMAND_LIST,
  type Terminal,
  UsageError,
  writeCheckoutFile,
} from '../command.ts';
import { unpackJournal } from '../unpack.ts';
import type { OpenPlaces } from '../lane/read-lane.ts';
import { renderPreview } from '../setup/setup-text.ts';
import { renderTuning, type TuneResult } from './tune-text.ts';

const THRESHOLDS = ['noProgress', 'sameError', 'permissionDenials', 'outputDeclinePercent'] as const;
const LIMITS = [
  ...(['testOnlyIterations', 'maxIterationsPerTask', 'maxIterations', 'maxRunMs'] as const),
  ...(['maxCostUsd', 'maxCostUsdPerDay', 'maxCallsPerHour', 'maxTokensPerHour'] as const),
];

/** The limits that are tuned, in the units of their inputs. */
const TUNED: readonly ReplayLimit[] = [
  ...THRESHOLDS.map((field) => ({
    name: policyInputs.circuit[field].name,
    of: ({ circuit }: Policy) => circuit[field],
    change: (policy: Policy, value: number) => changePolicy(policy, { circuit: { [field]: value } }),
    isWhole: true,
  })),
  ...LIMITS.map((field) => {
    const unit = field === 'maxRunMs' ? MINUTE_MS : 1;
    return {
      name: policyInputs[field].name,
      of: (policy: Policy) => policy[field] / unit,
      change: (policy: Policy, value: number) => changePolicy(policy, { [field]: value * unit }),
      isWhole: !field.startsWith('maxCost'),
    };
  }),
];

const HELP = `Usage: ralph tune [NAME=VALUE ...] [--write] [--json]
                  [--workflow FILE] [--dir FOLDER] [--remote NAME]

Replays the journals of the remembered runs with stricter limits and thresholds,
and says what each would have saved or lost. NAME=VALUE asks about these values
alone, for example ${policyInputs.circuit.noProgress.name}=2.

Each run is replayed alone, from the state that it began with, as if agent and
clock had done the same. Iterations that no run would have made are saved; tasks
that these finished, or that would have been given up, are lost. What a limit of
the run, the hour or the day leaves to later runs is neither, nor is progress
that a later run would have made. A looser limit cannot be replayed, because a
journal ends with its run: you see how many runs the present one held back.

  --write          writes the named values into the workflow, or else those that
                   saved money and lost nothing in ${String(RUNS_TO_RECOMMEND)} runs or more
  --workflow FILE  which workflow, if several use the action
  --dir FOLDER     any folder of the checkout (default: the current one)
  --remote NAME    the remote that holds the state (default: origin)
  --json           prints one JSON object instead, described by
                   schemas/ralph-tune.schema.json

Settings:
${TUNED.map(({ name }) => `  ${name}\n`).join('')}
Exit codes: 0 the answer is printed, 1 the state cannot be read or the workflow
cannot be changed, 2 wrong arguments.
`;

/** A workflow with changed settings that is not yet written, or a sentence that says why it could not be made. */
export type WorkflowPlan =
  | {
      readonly kind: 'planned';
      readonly path: string;
      readonly file: Extract<CheckoutFile, { kind: 'text' }>;
      readonly after: string;
    }
  | { readonly kind: 'refused'; readonly why: string };

/** The workflow to change and its new settings by name; a null `path` means the only workflow that uses the action. */
export interface WorkflowChange {
  readonly path: string | null;
  readonly values: Readonly<Record<string, string>>;
}

/** The access of `ralph tune` to a checkout. */
export interface TuneWorld {
  readonly open: OpenPlaces;
  readonly readEffective: ReadEffectiveSettings;
  readonly loadKinds: () => Promise<KindsOfDenial>;
  readonly plan: (folder: string, change: WorkflowChange) => Promise<WorkflowPlan>;
}

/** Creates `ralph tune`, which replays the remembered runs with other limits. */
export function createTuneCommand(world: TuneWorld): CliCommand {
  return { ...COMMAND_LIST.tune, help: HELP, run: (args, terminal) => tune(args, terminal, world) };
}

async function tune(args: readonly string[], terminal: Terminal, world: TuneWorld): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    { write: 'flag', json: 'flag', workflow: 'value', dir: 'value', remote: 'value' },
    { name: 'NAME=VALUE', min: 0, max: TUNED.length },
  );
  const { values: named, problems } = parseNamed(given.positionals);
  if (given.problems.length + problems.length > 0) throw new UsageError([...given.problems, ...problems]);
  const opened = await world.open({ folder: given.values('dir')[0] ?? '.', remote: given.values('remote')[0] ?? null });
  if (opened.kind === 'missing') throw new UsageError([opened.why], 'none');
  const [path = null] = given.values('workflow');
  const [reads, effective, kindsOf] = await Promise.all([
    Promise.all(opened.places.map(({ store }) => store.read())),
    world.readEffective(opened.folder),
    world.loadKinds(),
  ]);
  const stored = reads.flatMap((read) => (read.kind === 'snapshot' ? listStoredRuns(read.snapshot) : []));
  const settings = effective.find(({ workflow }) => path === null || workflow === path)?.settings ?? [];
  const texts = new Map(settings.map(({ input, text }) => [input, text.trim()]));
  const result = tuneRuns(stored, { named, texts, kindsOf });

  const unread = reads.flatMap((read) => (read.kind === 'unavailable' ? [read.why] : []));
  const values =
    named.size > 0
      ? Object.fromEntries([...named].map(([{ name }, value]) => [name, String(value)]))
      : result.recommended;
  const isWriting = given.has('write') && unread.length === 0 && Object.keys(values).length > 0;
  const plan = isWriting ? await world.plan(opened.folder, { path, values }) : null;
  const unwritten = plan?.kind === 'planned' ? await writeCheckoutFile(plan.file, plan.after) : (plan?.why ?? null);
  const written = plan?.kind === 'planned' && unwritten === null ? plan : null;
  if (given.has('json')) terminal.out(`${JSON.stringify({ ...result, written: written?.path ?? null }, null, 2)}\n`);
  else {
    terminal.out(renderTuning(result, named.size > 0));
    if (written !== null) terminal.out(`\n${diffText(written)}`);
    else if (given.has('write')) terminal.out('Nothing was changed.\n');
  }
  const failures = [...unread, ...(unwritten === null ? [] : [unwritten])];
  for (const failure of failures) terminal.error(`ralph tune: ${toPlainLine(completeSentence(failure), 600)}\n`);
  return failures.length === 0 ? 'done' : 'failed';
}

function diffText({ path, file, after }: Extract<WorkflowPlan, { kind: 'planned' }>): string {
  return renderPreview([{ kind: 'extend', path, before: file.text, after }], false);
}

/**
 * Replays the stored runs. `texts` are the settings in force, and `named` are the values that the person wants to try.
 */
function tuneRuns(
  stored: readonly StoredRun[],
  options: {
    readonly named: ReadonlyMap<ReplayLimit, number>;
    readonly texts: ReadonlyMap<string, string>;
    readonly kindsOf: KindsOfDenial;
  },
): TuneResult {
  const { named, texts, kindsOf } = options;
  const packed = stored.flatMap(({ journal }) => journal ?? []);
  const replays = selectReplayableRuns(
    packed
      .map(unpackJournal)
      .map(parseJournal)
      .flatMap((parsed) => (parsed.kind === 'journal' ? [parsed.journal] : [])),
    kindsOf,
  );
  const { journals } = replays;
  const nowOf = ({ name }: ReplayLimit): string => texts.get(name) ?? getDefault(name);
  const isNamed = named.size > 0;
  const tuned = isNamed
    ? [...named].map(([limit, value]) => replayWithValue(replays, limit, value))
    : TUNED.map((limit) => tuneLimit(replays, limit, Number(nowOf(limit))));
  const recommended = isNamed ? [] : recommendValues(replays, tuned);
  return {
    runs: {
      ...{ stored: stored.length, replayed: journals.length, withoutJournal: stored.length - packed.length },
      differing: packed.length - journals.length,
    },
    spent: sumSpentOn(journals.flatMap(({ entries }) => entries)),
    settings: tuned.map(({ limit, heldBack, tried }) => ({
      name: limit.name,
      now: Number.isNaN(Number(nowOf(limit))) ? null : nowOf(limit),
      heldBack,
      tried: tried.map(({ value, effect }) => ({ value: String(value), effect })),
    })),
    recommended: Object.fromEntries(recommended.map(({ limit, value }) => [limit.name, String(value)])),
    written: null,
  };
}

/** Parses `NAME=VALUE` texts as the action parses its inputs. */
function parseNamed(given: readonly string[]): {
  readonly values: ReadonlyMap<ReplayLimit, number>;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const values = new Map<ReplayLimit, number>();
  for (const text of given) {
    const [, name = text, value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? [];
    const limit = TUNED.find((one) => one.name === name.trim());
    const parsed = parsePolicyInputs({ [name.trim()]: value.trim() });
    if (limit === undefined)
      problems.push(`${JSON.stringify(text)}: expected NAME=VALUE with one of the settings in the help.`);
    else if (parsed.kind === 'problems') problems.push(...parsed.problems.map(({ why }) => `${name}: it ${why}.`));
    else if (values.has(limit)) problems.push(`${name} is given twice.`);
    else values.set(limit, Number(value));
  }
  return { values, problems };
}
