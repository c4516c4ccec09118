import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import {
  changePolicy,
  type GivenInputs,
  parsePolicyInputs,
  POLICY_INPUT_NAMES,
  policyInputs,
} from '../../config/agent-inputs.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import { checkChain } from '../../core/journal/chain.ts';
import { isAboutJournal, type Journal, parseJournal } from '../../core/journal/parse-journal.ts';
import {
  type Difference,
  type KindsOfDenial,
  replayDecisions,
  replayUnderPolicy,
  type ReplayedEnd,
} from '../../core/journal/replay.ts';
import { describeReview } from '../../core/pipeline/review.ts';
import { listReviews } from '../../core/pipeline/step-record.ts';
import type { Outcome } from '../../core/outcome.ts';
import { renderMore } from '../../core/text/phrase.ts';
import { findNearest } from '../../core/text/nearest.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { formatCount } from '../../report/format.ts';
import { parseArguments, toPlainLine } from '../arguments.ts';
import {
  type CliCommand,
  type CommandEnd,
  COMMAND_LIST,
  describeSystemError,
  type Terminal,
  UsageError,
} from '../command.ts';
import type { ReplayResult } from './replay-schema.ts';

const MAX_DIFFERENCES = 10;

const HELP = `Usage: ralph replay JOURNAL [--json] [--set NAME=VALUE ...]

Repeats every decision of a recorded run, from its journal alone (the
action's output journal-path), and compares it with the recorded one: the task
of each iteration, its verdict, and why the run ended. Lists each iteration, and
between them what the run answered without calling the agent, such as a
suggested change.

Each line carries the hash of the one before, so every changed, added or removed
line is found except the last. For that one, compare the printed hash with the
action's output journal-hash.

  --json            prints one JSON object instead
  --set NAME=VALUE  asks "what if": where the run would have ended with this
                    setting if the agent and the clock had done the same; can be
                    repeated. A journal ends with its last iteration: if the run
                    would have continued, the answer says so.

Settings that can be set, with the values that the action takes:
${wrapped(POLICY_INPUT_NAMES)}

Exit codes: 0 every decision is the same, 1 one differs or the journal is
damaged, 2 the file is missing or not a journal, or wrong arguments. An answer
to "what if" that differs from what happened is not a failure.
`;

/** Loads each agent's rules about refused tool calls. */
type LoadKinds = () => Promise<KindsOfDenial>;

/** Creates `ralph replay`, which repeats the decisions of a recorded run under the rules of its agents. */
export function createReplayCommand(loadKinds: LoadKinds): CliCommand {
  return { ...COMMAND_LIST.replay, help: HELP, run: (args, terminal) => replayJournal(args, terminal, loadKinds) };
}

/** Maximum size of a journal; a run's iterations are some ten KB each. */
const MAX_BYTES = 256 * 1024 * 1024;

async function replayJournal(args: readonly string[], terminal: Terminal, loadKinds: LoadKinds): Promise<CommandEnd> {
  const given = parseArguments(args, { json: 'flag', set: 'values' }, { name: 'JOURNAL', min: 1, max: 1 });
  const [name] = given.positionals;
  const settings = parseSettings(given.values('set'));
  const read = name === undefined ? null : await readJournal(name);
  const wrong = [...given.problems, ...settings.problems];
  const misused = [...wrong, ...(read?.kind === 'missing' ? [read.why] : [])];
  if (read?.kind === 'unusable')
    terminal.error(`ralph replay: ${JSON.stringify(name)} cannot be replayed:${listed(read.problems)}\n`);
  if (misused.length > 0) throw new UsageError(misused, wrong.length > 0 ? 'help' : 'none');
  if (read?.kind !== 'journal') return 'failed';

  const { journal, chain } = read;
  const kindsOf = await loadKinds();
  const result: ReplayResult = {
    branchId: journal.start.lane,
    iterations: journal.entries.length,
    answers: journal.events.flatMap(({ after, event }) => {
      if (event.kind !== 'answer') return [];
      const { tasks, result, commit } = event;
      return [{ after, tasks, result, commit }];
    }),
    torn: journal.torn,
    outcome: journal.end?.outcome ?? null,
    chain,
    differences: replayDecisions(journal, kindsOf),
    whatIf: given.has('set')
      ? {
          set: settings.texts,
          ...replayUnderPolicy(journal, changePolicy(journal.start.policy, settings.inputs), kindsOf),
        }
      : null,
  };
  terminal.out(given.has('json') ? `${JSON.stringify(result, null, 2)}\n` : renderReplay(journal, result));
  return result.differences.length === 0 ? 'done' : 'different';
}

interface Settings {
  readonly texts: Readonly<Record<string, string>>;
  readonly inputs: Extract<GivenInputs, { kind: 'inputs' }>['inputs'];
  readonly problems: readonly string[];
}

/** Parses `NAME=VALUE` texts as the action parses its inputs. */
function parseSettings(given: readonly string[]): Settings {
  const problems: string[] = [];
  const texts: Record<string, string> = {};
  for (const setting of given) {
    const at = setting.indexOf('=');
    const name = setting.slice(0, at).trim();
    if (at < 1)
      problems.push(
        `--set ${JSON.stringify(setting)}: expected NAME=VALUE, for example ${policyInputs.circuit.noProgress.name}=2.`,
      );
    else if (Object.hasOwn(texts, name)) problems.push(`--set ${name}: is given twice.`);
    else texts[name] = setting.slice(at + 1).trim();
  }
  const parsed = parsePolicyInputs(texts);
  if (parsed.kind === 'inputs') return { texts, inputs: parsed.inputs, problems };
  return {
    texts,
    inputs: {},
    problems: [...problems, ...parsed.problems.map(({ name, why }) => describeProblem(name, texts[name] ?? '', why))],
  };
}

function describeProblem(name: string, value: string, why: string): string {
  if (POLICY_INPUT_NAMES.includes(name)) return `--set ${name}: ${JSON.stringify(value)} ${why}.`;
  const near = findNearest(name, POLICY_INPUT_NAMES);
  return `--set ${JSON.stringify(name)}: ${why}.${near === null ? '' : ` Did you mean ${near}?`}`;
}

type ReadJournal =
  | { readonly kind: 'journal'; readonly journal: Journal; readonly chain: ReplayResult['chain'] }
  | { readonly kind: 'unusable'; readonly problems: readonly string[] }
  | { readonly kind: 'missing'; readonly why: string };

async function readJournal(name: string): Promise<ReadJournal> {
  const text = await readJournalText(name);
  if (text.kind !== 'text') return text;
  if (!isAboutJournal(text.text)) return missing(name, `is not a journal: ${whyNot(text.text)}`);
  const chain = checkChain(text.text, (line) => createHash('sha256').update(line).digest('hex'));
  if (chain.kind === 'broken') return { kind: 'unusable', problems: [brokenAt(chain.line)] };
  const parsed = parseJournal(text.text);
  return parsed.kind === 'journal'
    ? { ...parsed, chain: { kind: chain.kind, last: chain.last ?? '' } }
    : { kind: 'unusable', problems: parsed.problems.map(({ line, why }) => `line ${String(line)}: ${why}`) };
}

/** Returns problems as the end of a sentence: one inline, several on a line each. */
function listed(problems: readonly string[]): string {
  return problems.length === 1 ? ` ${problems.join('')}` : problems.map((problem) => `\n  ${problem}`).join('');
}

/** Returns a sentence that says why the input is not a journal and which file to give. */
function missing(name: string, what: string): { readonly kind: 'missing'; readonly why: string } {
  return {
    kind: 'missing',
    why: `${JSON.stringify(toPlainLine(name))} ${what}; give the file that the action's output journal-path names.`,
  };
}

function whyNot(text: string): string {
  if (text.trim() === '') return 'it is empty';
  if (text.includes('\0')) return 'it is a binary file';
  return tryJson(text) === undefined && tryJson(text.split('\n')[0] ?? '') === undefined
    ? 'it does not contain JSON lines'
    : 'it has no line about a run';
}

function brokenAt(line: number): string {
  return line === 1
    ? 'line 1: the chain of hashes is broken: lines before it are missing'
    : `line ${String(line)}: the chain of hashes is broken: line ${String(line - 1)} was changed, or lines were added or removed between them`;
}

async function readJournalText(
  name: string,
): Promise<{ readonly kind: 'text'; readonly text: string } | Exclude<ReadJournal, { kind: 'journal' }>> {
  try {
    const file = await stat(name);
    if (file.isDirectory()) return missing(name, 'is a folder');
    const { size } = file;
    if (size > MAX_BYTES)
      return { kind: 'unusable', problems: [`it is larger than ${String(MAX_BYTES / 1024 / 1024)} MiB`] };
    return { kind: 'text', text: await readFile(name, 'utf8') };
  } catch (error) {
    return missing(name, `cannot be read: ${describeSystemError(error)}`);
  }
}

function wrapped(names: readonly string[]): string {
  const lines = [''];
  for (const name of names) {
    const line = lines.at(-1) ?? '';
    if (line.length + name.length > 74) lines.push(name);
    else lines[lines.length - 1] = line === '' ? name : `${line}, ${name}`;
  }
  return lines.map((line, index) => `  ${line}${index === lines.length - 1 ? '' : ','}`).join('\n');
}

function renderReplay({ start, entries }: Journal, result: ReplayResult): string {
  const answered = (after: number): readonly string[] =>
    result.answers.filter((answer) => answer.after === after).map(renderReplayedAnswer);
  const { differences, outcome } = result;
  const decisions = entries.length + (outcome === null ? 0 : 1);
  return [
    `Journal of ${toPlainLine(start.lane)}, started ${new Date(start.startedAt).toISOString()}, ${formatCount(entries.length, 'iteration')}.`,
    ...entries.flatMap((entry, index) => [...answered(index), renderEntry(entry)]),
    ...answered(entries.length),
    outcome === null
      ? 'The journal has no end: the run was killed, failed, or still continues.'
      : `End: ${renderOutcome(outcome)}`,
    result.chain.kind === 'intact'
      ? `Each line carries the hash of the one before. Hash of the last line: ${result.chain.last}`
      : `An earlier version wrote this journal: its lines carry no hashes. Hash of the last line: ${result.chain.last}`,
    ...(result.torn ? ['The last line is cut off, and left out.'] : []),
    '',
    ...(differences.length === 0
      ? [`${formatCount(decisions, 'decision')} repeated: no difference.`]
      : renderDifferences(differences)),
    ...(result.whatIf === null ? [] : ['', ...renderWhatIf(result.whatIf, result)]),
    '',
  ].join('\n');
}

function renderEntry({ iteration, taskId, taskTitle, verdict, evidence }: JournalEntry): string {
  const facts = [
    verdict.progress ? 'progress' : 'no progress',
    ...(verdict.taskDone ? ['task done'] : []),
    ...(verdict.alsoDone.length > 0 ? [`also done: ${verdict.alsoDone.length}`] : []),
    ...(verdict.testOnly ? ['tests only'] : []),
    ...(verdict.questionOnly ? ['only a question'] : []),
    ...(verdict.countedDenials > 0 ? ['denied'] : []),
    ...(verdict.discrepancies.length > 0 ? ['discrepancy'] : []),
    ...(verdict.vetoes.length > 0 ? ['vetoed'] : []),
    ...listReviews(evidence.steps).map(
      ({ step, review }) => `${toPlainLine(step)}: ${toPlainLine(describeReview(review))}`,
    ),
    `circuit ${verdict.circuit}`,
  ];
  return `  ${String(iteration).padStart(3)}  ${toPlainLine(`${taskId}: ${taskTitle}`)} · ${facts.join(', ')}`;
}

function renderReplayedAnswer({ tasks, result, commit }: ReplayResult['answers'][number]): string {
  const at = toPlainLine(commit.slice(0, 7));
  const what = result === 'changed' ? `changed in ${at}` : `${result === null ? 'done' : 'nothing changed'} at ${at}`;
  return `    –  ${toPlainLine(tasks.join(', '))} · answered without a call, ${what}`;
}

function renderDifferences(differences: readonly Difference[]): readonly string[] {
  const shown = differences.slice(0, MAX_DIFFERENCES);
  return [
    `${formatCount(differences.length, 'decision')} ${differences.length === 1 ? 'differs' : 'differ'} from the record:`,
    ...shown.map(
      ({ line, of, recorded, replayed }) =>
        `  line ${String(line)}: ${of} was ${renderValue(recorded)}, and is ${renderValue(replayed)} now`,
    ),
    ...(differences.length > shown.length ? [` ${renderMore(differences.length - shown.length)}`] : []),
  ];
}

function renderWhatIf(
  answer: NonNullable<ReplayResult['whatIf']>,
  { iterations, outcome }: ReplayResult,
): readonly string[] {
  const set = Object.entries(answer.set)
    .map(([name, value]) => `${name}=${toPlainLine(value)}`)
    .join(' ');
  return [
    `What if ${set}:`,
    `  ${describeAnswer(answer)}`,
    `  It was: ${outcome === null ? 'no recorded end' : renderOutcome(outcome)}, after ${formatCount(iterations, 'iteration')}.`,
  ];
}

function describeAnswer(answer: ReplayedEnd): string {
  const after = formatCount(answer.iterations, 'iteration');
  switch (answer.kind) {
    case 'ended':
      return `It would have ended after ${after}: ${renderOutcome(answer.outcome)}.`;
    case 'waits':
      return `After ${after} it would have waited: ${renderOutcome(answer.outcome)}; the journal does not say what would have happened next.`;
    case 'other-task':
      return `After ${after} it would have worked on ${toPlainLine(answer.taskId)}; the journal does not say what would have happened next.`;
    case 'goes-on':
      return `After ${after} it would have continued with ${toPlainLine(answer.taskId)}; the journal does not say what would have happened next.`;
  }
}

function renderOutcome(outcome: Outcome): string {
  const more =
    outcome.kind === 'parked'
      ? `, until ${new Date(outcome.resumeAt).toISOString()}`
      : outcome.reason === 'circuit_open'
        ? `, ${outcome.circuitReason}`
        : '';
  return `${outcome.kind} (${outcome.reason}${more})`;
}

function renderValue(value: unknown): string {
  return toPlainLine(JSON.stringify(value));
}
