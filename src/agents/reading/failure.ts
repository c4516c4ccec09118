import type { AgentError, UsageLimit } from '../../core/analysis/analysis.ts';
import { nextReset } from '../../core/analysis/reset-time.ts';
import { capped } from '../../core/text/phrase.ts';
import type { Dialect, ErrorForm, Failure } from './agent-event.ts';

const MAX_TEXT_CHARS = 2_000;

/** How providers say that a plan or a key has nothing left for now. */
const LIMIT = new RegExp(
  [
    String.raw`\b(?:hit|reached|exceeded) (?:a|your|the) (?:[\w.'’-]+ ){0,4}(?:limit|quota)\b`,
    String.raw`\bquota[ _]exceeded\b|\binsufficient_quota\b|\bexceeded your current quota\b|\bno quota\b`,
    String.raw`\bexhausted your (?:daily quota|quota|capacity)\b`,
    String.raw`\busage_limit_(?:reached|exceeded)\b|\busage limit (?:has been |was )?(?:reached|exceeded)\b`,
    String.raw`\b(?:daily|weekly|monthly|five-hour|5-hour|session) (?:[\w-]+ ){0,2}limit (?:has been |was )?(?:reached|exceeded)\b`,
  ].join('|'),
  'i',
);

/** Limits that only a person can lift. Waiting does not help, even if the text names a time. */
const BY_PERSON =
  /insufficient_quota|exceeded your current quota|\bbilling\b|\bspend(?:ing)?\b|\bcredits?\b|\bmonthly\b|\ballowance\b|\bno quota\b|\bupgrade\b|\bpurchase\b/i;

/** Statuses with which a limit is reported; others have their own meaning, whatever the text. */
const LIMIT_STATUSES: readonly (number | null)[] = [null, 400, 402, 403, 429];

/** The provider has no room for anybody, whatever its status. */
const OVERLOADED: readonly ErrorForm[] = [
  [
    'server',
    /\boverloaded(?:_error)?\b|\bat capacity\b|\bno capacity available\b|\bMODEL_CAPACITY_EXHAUSTED\b|\bhigh demand\b/i,
  ],
];

/** What else providers say, where the status says too little. */
const SHARED: readonly ErrorForm[] = [
  ['rate-limit', /\brate.?limit(?:ed)?\b/i],
  [
    'auth',
    /\brefresh[ _]token\b.{0,40}\b(?:used|reused|expired|revoked|invalid)|\baccess token could not be refreshed\b|\btoken (?:has |is )?expired\b|\b(?:sign|log) in again\b|\binvalid_(?:api_key|grant)\b|\b(?:incorrect|invalid) api key\b/i,
  ],
  [
    'billing',
    /\binsufficient (?:credits?|balance|funds)\b|\b(?:credit|account) balance is too low\b|\bout of credits\b|\bbilling (?:hard )?limit\b|\bpayment required\b/i,
  ],
  [
    'prompt-too-long',
    /ran out of room|exceeds the maximum number of tokens|maximum context length|ContextOverflowError|exceeds the maximum length/i,
  ],
  [
    'model',
    /\bmodels?\b.{0,200}\b(?:does not exist|not found|(?:is |are )?not (?:available|supported)|is unavailable)\b|\bmodel_not_(?:found|available)\b|\bunknown model\b/i,
  ],
];

/** Names the failure that ended a call: a limit first, then by the agent's own texts, by the status, and by what all providers say. */
export function classifyFailure(failure: Failure, { reported }: Pick<Dialect, 'reported'>): AgentError {
  const { text, status } = failure;
  const kind =
    (reportsLimit(failure) ? 'rate-limit' : null) ??
    kindIn(OVERLOADED, text) ??
    kindIn(reported, text) ??
    kindOfStatus(status) ??
    kindIn(SHARED, text) ??
    'other';
  return { kind, text: capped(text, MAX_TEXT_CHARS) };
}

/** The limit that ended a call, if one did. Without words that say so it is only one of two signs. */
export function usageLimitOf(failure: Failure, kind: AgentError['kind'], resumeAt: string | null): UsageLimit | null {
  if (reportsLimit(failure))
    return { window: 'unknown', resumeAt, ...(isByPerson(failure, resumeAt) ? { byPerson: true } : {}) };
  return kind === 'rate-limit' ? { window: 'unknown', resumeAt, unconfirmed: true } : null;
}

/** The instant (ISO) from which a failure says that calls are taken again, counted from when it was said; null: it does not say. */
export function resetOf({ text, at }: Failure, now: number): string | null {
  return nextReset(text, Math.max(now, at ?? now));
}

function isByPerson({ text }: Failure, resumeAt: string | null): boolean {
  return resumeAt === null && BY_PERSON.test(text) && !/\btry again later\b/i.test(text);
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

/** What an HTTP status of a model's provider amounts to; null where it says too little. */
export function kindOfStatus(status: number | null): AgentError['kind'] | null {
  if (status === null) return null;
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'billing';
  if (status === 404) return 'model';
  if (status === 413) return 'prompt-too-long';
  if (status === 429) return 'rate-limit';
  return status >= 500 ? 'server' : null;
}
