import { andMore } from '../../core/text/lists.ts';
import type { Analysis, Signal } from '../../core/analysis/analysis.ts';
import { plainLine } from '../plain-line.ts';

const MAX_ITEMS = 20;

/** An analysis as a person reads it: a line per finding. */
export function renderAnalysis(analysis: Analysis, fencedBlock: boolean): string {
  const { format, agentError, usageLimit, errors, denials, turns, tokens, costUsd, sessionId } = analysis;
  const facts: readonly (readonly [string, string])[] = [
    ['format', format],
    ['signal', describeSignal(analysis.signal)],
    ...(fencedBlock
      ? [['note', 'the message ends in a status block in a code fence, which does not count'] as const]
      : []),
    ...(analysis.signal.unreadable.length > 0
      ? [['unreadable', analysis.signal.unreadable.map((field) => plainLine(field)).join(', ')] as const]
      : []),
    ...ownWords(analysis.signal),
    [
      'completion',
      `${analysis.completionIndicator ? 'indicated' : 'not indicated'}, confidence ${String(analysis.confidence)}`,
    ],
    ['kind', kindsOf(analysis).join(', ') || 'nothing special'],
    ['agent error', agentError === null ? 'none' : `${agentError.kind}: ${plainLine(agentError.text)}`],
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

function describeSignal({
  from,
  status,
  exitSignal,
  testsStatus,
  workType,
  tasksCompleted,
  filesModified,
}: Signal): string {
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
  return words.flatMap(([name, text]) => (text === null ? [] : [[name, plainLine(text)] as const]));
}

function kindsOf({ testOnly, noWork, question }: Analysis): readonly string[] {
  return [
    ...(testOnly ? ['tests only'] : []),
    ...(noWork ? ['no work found'] : []),
    ...(question ? ['a question'] : []),
  ];
}

function listed(name: string, texts: readonly string[]): readonly (readonly [string, string])[] {
  const shown = texts.slice(0, MAX_ITEMS).map((text) => [name, plainLine(text)] as const);
  return texts.length > MAX_ITEMS ? [...shown, [name, andMore(texts.length - MAX_ITEMS).trim()]] : shown;
}

function known(count: number | null): string {
  return count === null ? 'unknown' : String(count);
}
