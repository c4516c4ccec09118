import type { AgentError, UsageLimit } from '../../core/analysis/analysis.ts';
import { capped } from '../../core/text/cut.ts';
import type { Dialect, ErrorForm, Failure } from './agent-event.ts';
import { kindOfStatus } from './status-kind.ts';

const MAX_TEXT_CHARS = 2_000;

/** How providers say that a plan or a key has nothing left for now. */
const LIMIT =
  /hit your usage limit|quota exceeded|insufficient_quota|exhausted your daily quota|exceeded your current quota|no quota/i;
/** Statuses with which a limit is reported; others have their own meaning, whatever the text. */
const LIMIT_STATUSES: readonly (number | null)[] = [null, 400, 402, 403, 429];

/** What else providers say, where the status says too little. */
const SHARED: readonly ErrorForm[] = [
  ['rate-limit', /\brate.?limit(?:ed)?\b/i],
  [
    'prompt-too-long',
    /ran out of room|exceeds the maximum number of tokens|maximum context length|ContextOverflowError|exceeds the maximum length/i,
  ],
  ['model', /\bmodels?\b.{0,200}\b(?:does not exist|not found)\b/i],
];

/** Names the failure that ended a call: a limit first, then by the agent's own texts, by the status, and by what all providers say. */
export function classifyFailure(failure: Failure, { reported }: Pick<Dialect, 'reported'>): AgentError {
  const { text, status } = failure;
  const kind =
    (reportsLimit(failure) ? 'rate-limit' : null) ??
    kindIn(reported, text) ??
    kindOfStatus(status) ??
    kindIn(SHARED, text) ??
    'other';
  return { kind, text: capped(text, MAX_TEXT_CHARS) };
}

/** The limit that ended a call, if one did. Without words that say so it is only one of two signs. */
export function usageLimitOf(failure: Failure, kind: AgentError['kind'], resumeAt: string | null): UsageLimit | null {
  if (reportsLimit(failure)) return { window: 'unknown', resumeAt };
  return kind === 'rate-limit' ? { window: 'unknown', resumeAt, unconfirmed: true } : null;
}

function reportsLimit({ text, status }: Failure): boolean {
  return LIMIT_STATUSES.includes(status) && LIMIT.test(text);
}

/** What the CLI printed instead of events, if its first line that is no noise is an error of its own; null: something else. */
export function errorInText(text: string, { printed, noise }: Pick<Dialect, 'printed' | 'noise'>): AgentError | null {
  const lines = text
    .replace(COLOURS, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !OF_NODE.test(line) && noise?.test(line) !== true);
  const kind = kindIn(printed, lines[0] ?? '');
  return kind && { kind, text: capped(lines.join('\n'), MAX_TEXT_CHARS) };
}

function kindIn(forms: readonly ErrorForm[], text: string): AgentError['kind'] | null {
  return forms.find(([, form]) => form.test(text))?.[0] ?? null;
}

/** Warnings of the runtime that most of the CLIs are made with. */
const OF_NODE = /^\(node:\d+\) |^\(Use `node /;

const COLOURS = new RegExp(String.raw`\u001b\[[0-9;]{0,16}m`, 'g');
