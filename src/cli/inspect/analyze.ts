import { z } from 'zod';
import { DEFAULT_AGENT, READ_AGENTS, type ReadAgent } from '../../core/agent-names.ts';
import {
  type Analysis,
  buildPrintedAnalysis,
  type Signal,
  type TranscriptReader,
} from '../../core/analysis/analysis.ts';
import { analyzeTranscript } from '../../core/analysis/analyze.ts';
import { KNOWN_SIGNALS } from '../../core/analysis/done-signals.ts';
import type { CleanedText } from '../../core/text/cleaned.ts';
import { renderMore } from '../../core/text/phrase.ts';
import { findNearest } from '../../core/text/nearest.ts';
import { parseArguments, toPlainLine } from '../arguments.ts';
import {
  type CliCommand,
  type CommandEnd,
  COMMAND_LIST,
  openInput,
  describeSystemError,
  type Terminal,
  UsageError,
} from '../command.ts';

const CLEAN_HELP = `Usage: ralph clean [FILE|-] [--json]

Prints the text of a task (FILE; stdin for - or without FILE) as the prompt
contains it: what a reader sees on the page that GitHub renders, still as
Markdown. The error output counts what was removed.

  --json  prints one JSON object instead, described by
          schemas/ralph-clean.schema.json

Exit codes: 0 whenever it printed an answer, 1 if reading failed halfway, 2 for
a missing file or wrong arguments.
`;

/** Prints the text of a task without invisible content (`ralph clean`). */
export const cleanCommand: CliCommand = { ...COMMAND_LIST.clean, help: CLEAN_HELP, run: clean };

const MAX_ITEMS = 20;

const HELP = `Usage: ralph analyze [FILE|-] [--agent NAME] [--json] [--now ISO]

Reads what an agent printed in one call (FILE; stdin for - or without FILE) and
shows what the loop reads from it: its status block, errors, denials, usage
limit and usage.

  --agent NAME  the agent that printed it (default: ${DEFAULT_AGENT}), one of
                ${READ_AGENTS.join(', ')}
  --json        prints one JSON object instead, described by
                schemas/ralph-analysis.schema.json
  --now ISO     the instant from which texts such as "resets 5pm (UTC)" are
                understood, for example 2026-11-21T12:00:00Z (default: now, by
                this machine's clock)

Exit codes: 0 whenever it printed an answer, 1 if reading failed halfway, 2 for
a missing file or wrong arguments.
`;

/** Opens a reader for the agent's output; `now` (ms) is the clock by which it reads texts such as `resets 5pm`. */
export type OpenReader = (agent: ReadAgent, now: number) => Promise<TranscriptReader>;

/** Creates `ralph analyze`, which turns one agent output into its analysis. */
export function createAnalyzeCommand(openReader: OpenReader): CliCommand {
  return { ...COMMAND_LIST.analyze, help: HELP, run: (args, terminal) => analyzeOutput(openReader, args, terminal) };
}

const instant = z.iso.datetime({ offset: true });

async function analyzeOutput(openReader: OpenReader, args: readonly string[], terminal: Terminal): Promise<CommandEnd> {
  const given = parseArguments(args, { agent: 'value', json: 'flag', now: 'value' }, { name: 'FILE', min: 0, max: 1 });
  const [now] = given.values('now');
  const [agentName = DEFAULT_AGENT] = given.values('agent');
  const agent = READ_AGENTS.find((known) => known === agentName);
  const name = given.positionals[0] ?? '-';
  const input = await openInput(name, terminal);
  const problems = [
    ...given.problems,
    ...(agent === undefined ? [unknownAgent(agentName)] : []),
    ...(now === undefined || instant.safeParse(now).success
      ? []
      : [`--now: ${JSON.stringify(now)} is not an ISO instant such as 2026-11-21T12:00:00Z.`]),
    ...(input.kind === 'missing' ? [input.why] : []),
  ];
  if (problems.length > 0 || agent === undefined || input.kind === 'missing') throw new UsageError(problems);

  const reader = await openReader(agent, now === undefined ? terminal.now() : Date.parse(now));
  try {
    for await (const chunk of input.bytes) reader.push(chunk);
  } catch (error) {
    terminal.error(`ralph analyze: reading ${JSON.stringify(name)} failed: ${describeSystemError(error)}.\n`);
    return 'failed';
  }
  const { analysis, endsInFencedBlock } = analyzeTranscript(reader.end(), KNOWN_SIGNALS.done);
  terminal.out(
    given.has('json')
      ? `${JSON.stringify(buildPrintedAnalysis(analysis), null, 2)}\n`
      : renderAnalysis(analysis, endsInFencedBlock),
  );
  return 'done';
}

function unknownAgent(name: string): string {
  const meant = findNearest(name, READ_AGENTS);
  return `--agent: ${JSON.stringify(name)} is not one of ${READ_AGENTS.join(', ')}.${meant === null ? '' : ` Did you mean ${meant}?`}`;
}

/** Renders an analysis as text, with a line per finding. */
function renderAnalysis(analysis: Analysis, fencedBlock: boolean): string {
  const { format, agentError, usageLimit, errors, denials, turns, tokens, costUsd, sessionId } = analysis;
  const facts: readonly (readonly [string, string])[] = [
    ['format', format],
    ['signal', describeSignal(analysis.signal)],
    ...(fencedBlock
      ? [['note', 'the message ends in a status block in a code fence, which does not count'] as const]
      : []),
    ...(analysis.signal.unreadable.length > 0
      ? [['unreadable', analysis.signal.unreadable.map((field) => toPlainLine(field)).join(', ')] as const]
      : []),
    ...ownWords(analysis.signal),
    [
      'completion',
      `${analysis.completionIndicator ? 'indicated' : 'not indicated'}, confidence ${String(analysis.confidence)}`,
    ],
    ['kind', kindsOf(analysis).join(', ') || 'nothing special'],
    ['agent error', agentError === null ? 'none' : `${agentError.kind}: ${toPlainLine(agentError.text)}`],
    [
      'usage limit',
      usageLimit === null
        ? 'none'
        : `${usageLimit.window}, ${usageLimit.resumeAt === null ? 'reset time unknown' : `resets at ${usageLimit.resumeAt}`}`,
    ],
    ...listed(
      'error',
      errors.map(({ text }) => text),
    ),
    ...listed(
      'denied',
      denials.map(({ tool, command }) => (command === null ? tool : `${tool}: ${command}`)),
    ),
    [
      'usage',
      `${known(turns)} turns, ${known(tokens)} tokens, ${costUsd === null ? 'unknown cost' : `$${costUsd.toFixed(4)}`}`,
    ],
    ['session', sessionId ?? 'unknown'],
  ];
  return facts.map(([name, value]) => `${`${name}:`.padEnd(13)}${value}\n`).join('');
}

function describeSignal(signal: Signal): string {
  const { from, status, exitSignal, testsStatus, workType, tasksCompleted, filesModified } = signal;
  if (from === 'none') return 'no status block, and no phrase that indicates anything';
  if (from === 'phrases') return 'no status block; read from phrases';
  const fields = {
    STATUS: status,
    EXIT_SIGNAL: exitSignal,
    TESTS_STATUS: testsStatus,
    WORK_TYPE: workType,
    TASKS_COMPLETED_THIS_LOOP: tasksCompleted,
    FILES_MODIFIED: filesModified,
  };
  const read = Object.entries(fields).filter(([, value]) => value !== null);
  return `status block${read.length === 0 ? '' : ` with ${read.map(([name, value]) => `${name} ${String(value)}`).join(', ')}`}`;
}

function ownWords({ summary, asks, recommendation }: Signal): readonly (readonly [string, string])[] {
  const words = [
    ['summary', summary],
    ['asks', asks],
    ['recommends', recommendation],
  ] as const;
  return words.flatMap(([name, text]) => (text === null ? [] : [[name, toPlainLine(text)] as const]));
}

function kindsOf({ testOnly, noWork, question }: Analysis): readonly string[] {
  return [
    ...(testOnly ? ['tests only'] : []),
    ...(noWork ? ['no work found'] : []),
    ...(question ? ['a question'] : []),
  ];
}

function listed(name: string, texts: readonly string[]): readonly (readonly [string, string])[] {
  const shown = texts.slice(0, MAX_ITEMS).map((text) => [name, toPlainLine(text)] as const);
  return texts.length > MAX_ITEMS ? [...shown, [name, renderMore(texts.length - MAX_ITEMS).trim()]] : shown;
}

function known(count: number | null): string {
  return count === null ? 'unknown' : String(count);
}

async function clean(args: readonly string[], terminal: Terminal): Promise<CommandEnd> {
  const given = parseArguments(args, { json: 'flag' }, { name: 'FILE', min: 0, max: 1 });
  const name = given.positionals[0] ?? '-';
  const input = await openInput(name, terminal);
  if (given.problems.length > 0 || input.kind === 'missing')
    throw new UsageError([...given.problems, ...(input.kind === 'missing' ? [input.why] : [])]);

  // Keep a byte order mark: it is one of the invisible characters to report.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  try {
    for await (const chunk of input.bytes) text += decoder.decode(chunk, { stream: true });
  } catch (error) {
    terminal.error(`ralph clean: reading ${JSON.stringify(name)} failed: ${describeSystemError(error)}.\n`);
    return 'failed';
  }
  // Load the Markdown parser only when it is needed, so that the other commands start faster.
  const { cleanMarkdown } = await import('../../core/text/clean.ts');
  const cleaned = cleanMarkdown(text + decoder.decode());
  if (given.has('json')) {
    terminal.out(`${JSON.stringify(cleaned, null, 2)}\n`);
    return 'done';
  }
  terminal.out(cleaned.text === '' || cleaned.text.endsWith('\n') ? cleaned.text : `${cleaned.text}\n`);
  terminal.error(`${describeRemoved(cleaned)}\n`);
  return 'done';
}

/** Returns a summary with the most frequent kind first: `removed 12 characters: html-comment 10, invisible 2`. */
function describeRemoved({ removed, kinds }: CleanedText): string {
  if (removed === 0) return 'removed nothing';
  const counts = Object.entries(kinds)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${kind} ${String(count)}`);
  return `removed ${String(removed)} ${removed === 1 ? 'character' : 'characters'}: ${counts.join(', ')}`;
}
