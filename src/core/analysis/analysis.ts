import { z } from 'zod';
import type { Immutable } from '../policy.ts';
import { capText } from '../text/phrase.ts';

const amount = z.number().nonnegative().nullable();

/** The values that the fields of a status block may have. */
export const claimedStatuses = ['IN_PROGRESS', 'COMPLETE', 'BLOCKED'] as const;

export const claimedTestsStatuses = ['PASSING', 'FAILING', 'NOT_RUN'] as const;

export const offeredWorkTypes = ['IMPLEMENTATION', 'TESTING', 'DOCUMENTATION', 'REFACTORING'] as const;

/** The work types that a block may contain. `OTHER` stands for any word that is not offered. */
const claimedWorkTypes = [...offeredWorkTypes, 'OTHER'] as const;

const limitSchema = z.object({
  window: z.enum(['five-hour', 'weekly', 'extra', 'unknown']),
  resumeAt: z.iso.datetime().nullable(),
});

/**
 * The analysis in a journal, which is also the output of `ralph analyze --json`. A change that breaks readers needs a
 * new major version.
 */
export const analysisSchema = z.object({
  format: z
    .enum(['json', 'json-array', 'jsonl', 'text'])
    .describe("Form of the output: the CLI's one object, its array, its lines, or plain text."),
  signal: z
    .object({
      from: z.enum(['block', 'phrases', 'none']).describe('Source of the claims.'),
      status: z.enum(claimedStatuses).nullable(),
      exitSignal: z.boolean().nullable().describe('After inference from STATUS: COMPLETE.'),
      testsStatus: z.enum(claimedTestsStatuses).nullable(),
      workType: z.enum(claimedWorkTypes).nullable(),
      tasksCompleted: z.number().int().nonnegative().nullable(),
      filesModified: z.number().int().nonnegative().nullable(),
      recommendation: z.string().nullable(),
      summary: z.string().nullable().default(null).describe('SUMMARY: the work done, assumptions, and open points.'),
      asks: z.string().nullable().default(null).describe('QUESTION: the decision that a person must make.'),
      lastWords: z
        .string()
        .exactOptional()
        .describe('The end of the final message; only set if there is no status block.'),
      unreadable: z.array(z.string()).describe('Names of fields that exist but could not be parsed.'),
    })
    .describe("The agent's claims about itself. null: absent or unreadable."),
  completionIndicator: z.boolean(),
  confidence: z.number().min(0).max(100).describe('100 with a status block; phrases count from 60.'),
  testOnly: z.boolean(),
  noWork: z.boolean(),
  question: z.boolean(),
  agentError: z
    .object({
      kind: z.enum([
        'auth',
        'billing',
        'rate-limit',
        'server',
        'model',
        'prompt-too-long',
        'unknown-session',
        'max-turns',
        'budget',
        'other',
      ]),
      text: z.string(),
    })
    .nullable()
    .describe("A failure of the agent's CLI itself."),
  errors: z
    .array(z.object({ text: z.string(), fingerprint: z.string() }))
    .describe('Errors in the final message; one entry per fingerprint.'),
  denials: z
    .array(z.object({ tool: z.string(), command: z.string().nullable() }))
    .describe('Tool calls that were refused, in order.'),
  usageLimit: limitSchema
    // Set if the limit has only one of its two signs: a structured event or field, and the text of the CLI's own error.
    .extend({
      unconfirmed: z.literal(true).exactOptional(),
      // Set if only a person can lift the limit, so that its end is unknown.
      byPerson: z.literal(true).exactOptional(),
    })
    .nullable(),
  sessionId: z.string().nullable(),
  turns: amount,
  tokens: amount.describe('Input, output and cache tokens added up.'),
  // Output tokens, which `tokens` includes; missing if the agent does not report them separately, and in earlier
  // journals.
  outputTokens: amount.optional(),
  costUsd: amount.describe('Cost of this process in US dollars.'),
});

/** The analysis of one agent output. `null` means absent or unreadable throughout. */
export type Analysis = Immutable<z.infer<typeof analysisSchema>>;

/** The agent's claims about itself. */
export type Signal = Analysis['signal'];

/** A failure of the agent's CLI itself. */
export type AgentError = NonNullable<Analysis['agentError']>;

/** An error in the final message; repetitions of the same error have equal fingerprints. */
type FingerprintedError = Analysis['errors'][number];

/** A refused tool call; `command` is null for a tool without one. */
export type Denial = Analysis['denials'][number];

/** The provider's limit that ended a call; `resumeAt` is an ISO instant. */
export type UsageLimit = NonNullable<Analysis['usageLimit']>;

const printedSchema = analysisSchema
  .omit({ outputTokens: true })
  .extend({ usageLimit: limitSchema.nullable().describe('The limit of the provider that ended the call.') });

/** Returns the analysis as `ralph analyze --json` prints it. */
export function buildPrintedAnalysis(analysis: Analysis): object {
  return printedSchema.parse(analysis);
}

/** Returns the published JSON Schema of `ralph analyze --json`. */
export function buildAnalysisSchema(): object {
  return { title: 'ralph analyze --json', ...z.toJSONSchema(printedSchema) };
}

/** The output of one process of any agent; `null` means that the agent did not report the value. */
export interface Transcript extends Pick<
  Analysis,
  'format' | 'agentError' | 'denials' | 'usageLimit' | 'sessionId' | 'turns' | 'tokens' | 'outputTokens' | 'costUsd'
> {
  readonly finalMessage: string;
  /** True if the output is complete: it contains the agent's result or, in plain text, at least one word. */
  readonly finished: boolean;
  /** True if the agent used its tool for asking a person. */
  readonly askedPerson: boolean;
}

/**
 * Reads the bytes that an agent's process prints into a transcript in one pass; never throws, even if the bytes are
 * malformed.
 */
export interface TranscriptReader {
  push(chunk: Uint8Array): void;
  /** Returns the transcript. Must be called once, after the last chunk. */
  end(): Transcript;
}

const MAX_ERRORS = 20;

const MAX_LINE_CHARS = 1_000;

const MAX_TEXT_CHARS = 300;

/** Finds actual error reports in a text without code; returns one entry per fingerprint, in order. */
export function findErrors(prose: string): readonly FingerprintedError[] {
  const found = new Map<string, FingerprintedError>();
  for (const line of prose.split('\n')) {
    const text = errorIn(line.slice(0, MAX_LINE_CHARS));
    if (text === null) continue;
    const fingerprint = computeFingerprint(text);
    if (!found.has(fingerprint)) found.set(fingerprint, { text: capText(text, MAX_TEXT_CHARS), fingerprint });
    if (found.size === MAX_ERRORS) break;
  }
  return [...found.values()];
}

/**
 * Patterns for the beginning of an error. Each matches a report of a program, not a word of a sentence or a field name.
 */
const FORMS: readonly RegExp[] = [
  // Matches `Error: …`, `TypeError [ERR_X]: …`, `java.io.IOException: …`, `FATAL: …`, also after a few words of prose.
  /(?:^|[\s("'[*])((?:(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)|(?:API )?Error|Exception|ERROR|FATAL|Fatal error|PANIC)(?:\s?\[[A-Z][A-Z0-9_]{1,60}\]|\s?\[?[A-Z_]{0,20}\d{1,6}\]?)?:\s.*)/,
  // Matches `error: …`, `error[E0308]: …`, `error TS2322: …`, `fatal: …`, `panic: …` at the start of a line or after a
  // position in a file.
  /(?:^[\s*_+-]*|[\])\d]:\s?|:\d{1,9} - )((?:fatal error|error|fatal|panic)(?:\s?\[?[A-Za-z]{1,10}\d{1,6}\]?)?:\s.*)/i,
  /^[\s*_+-]*((?:npm (?:ERR!|error)|\[(?:ERROR|FATAL)\]) .*)/i,
  /^\s*(Exception in thread "[^"]{1,100}" .*|thread '[^']{1,100}' (?:\(\d{1,20}\) )?panicked at .*|ERROR in \S{0,200}[./\\]\S.*|g?make(?:\[\d{1,4}\])?: \*\*\* .*)/,
  /\b((?:failed with error|error occurred)\b.*)/i,
  // Matches `Link: error 404`, `[worker]: error while reading`, but neither an item of a list nor a description of
  // error handling.
  new RegExp(
    String.raw`(?:(?<!\[.?)\]|\blink):\s(error\b(?![:-])(?! (?:${[
      'handl|messag|bound|state|case|type|class|page|recover|report|log|track|code path|path|text|check|test|toast|dialog',
    ].join('|')})).*)`,
    'i',
  ),
];

/** Matches preceding words which show that the error was fixed or is only talked about. */
const MENTION_BEFORE =
  /\b(?:fix(?:ed|es|ing)|resolv(?:ed|es|ing)|solved|mended|handl(?:ed|es|ing)|avoid(?:ed|s|ing)|prevent(?:ed|s|ing)|removed|no more|no longer)\b[^,;:.]{0,80}$|(?:^|[.!?]\s)\W*(?:the|an?|this|each|every)\s+$/i;

/** Matches a label in a report that is not an error, such as `**Error:** handling of timeouts is done`. */
const DONE_LABEL =
  /^\W*\*\*(?:[^*]{1,80}):?\*\*.*\b(?:is|are|was|were|has been|have been) (?:(?:now |also |all )?(?:done|fixed|added|completed?|finished|implemented|resolved|handled|improved)|now \w{1,30}ed|\w{1,30}ed now)\W*$/i;

/** Matches bold marks, but not the three stars of make. */
const BOLD = /(?<!\*|: )\*{2,3}/g;

/** Matches reports without an error (`Error: none`) and declarations of a field (`error: Error`). */
const NO_REPORT = new RegExp(
  String.raw`:\s*(?:${[
    'n/a|0|false|true|nil|no|none',
    String.raw`(?:none|no|0) (?:(?:errors?|issues?|problems?|failures?)(?: (?:was|were))? ?)?(?:found|reported|detected|seen|occurred|so far)?`,
    String.raw`(?:null|undefined|string|unknown|any|boolean|never|error)(?:\s*\|\s*\w{1,60})*`,
  ].join('|')})\W*$`,
  'i',
);

const WORTH_A_LOOK = /error|exception|fatal|panic|ERR!|: \*\*\* /i;

function errorIn(markdown: string): string | null {
  if (!WORTH_A_LOOK.test(markdown) || DONE_LABEL.test(markdown)) return null;
  const line = markdown.replace(BOLD, '');
  for (const form of FORMS) {
    const report = form.exec(line)?.[1];
    if (report === undefined || MENTION_BEFORE.test(line.slice(0, line.length - report.length))) continue;
    const text = report.replace(/[\s*_]+$/, '');
    if (!NO_REPORT.test(text)) return text;
  }
  return null;
}

/**
 * Returns a key that is equal for repetitions of an error: times, addresses, paths, hex and numbers are removed. The
 * key is a hash, so that no text of the agent gets into the state.
 */
export function computeFingerprint(text: string): string {
  let essence = text.slice(0, MAX_LINE_CHARS).toLowerCase();
  for (const [pattern, stand] of PLACEHOLDERS) essence = essence.replace(pattern, stand);
  essence = essence.replace(/\s+/g, ' ').trim();
  return hash(essence, 0x811c9dc5) + hash(essence, 0x9747b28c);
}

const NAME = String.raw`[\p{L}\p{M}\p{N}_.@~+$%#-]`;

/** Matches a step of a path; routers name directories `(group)` and `[id]`. */
const STEP = String.raw`(?:${NAME}|\(${NAME}{1,80}\)|\[{1,2}${NAME}{1,80}\]{1,2}){1,200}`;

/** File endings that make a word with a dot a file name; other words with a dot, such as `list.map`, are code. */
const FILE_ENDING = String.raw`(?:[cm]?[jt]sx?|json[5cl]?|mdx?|txt|ya?ml|toml|lock|py|rb|rs|go|java|kts?|c|h|cc|cpp|hpp|cs|php|swift|sh|sql|html?|s?css|less|vue|svelte|xml|csv|log|ini|cfg|conf|ipynb|png|jpe?g|svg|gif|pdf|zip|tar|t?gz|exe|dll|so|snap|tmp|bak)`;

const MONTH = String.raw`(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`;

/** Patterns with their placeholders, in order: paths and times must be replaced before numbers. */
const PLACEHOLDERS: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z+.-]{1,15}:\/\/[^\s"'`)\]>,]+/g, '<path>'],
  [/\b\d{1,4}[/.]\d{1,2}[/.]\d{4}\b|\b\d{4}\/\d{1,2}\/\d{1,2}\b/g, '<time>'],
  // A path between quotation marks may contain blanks.
  [/(?<!\w)(['"`])[^'"`\\/\n]{0,200}[\\/][^'"`\n]{0,400}\1(?!\w)/g, '$1<path>$1'],
  [/\b[a-z]:[\\/]{1,2}(?:[^\\/:*?"'`<>|\n]{1,100}[\\/]{1,2}){0,40}[^\s\\/:*?"'`<>|,;)]{0,200}/g, '<path>'],
  [new RegExp(String.raw`(?<!${NAME})${NAME}{0,200}(?:[\\/]{1,2}${STEP})+[\\/]?`, 'gu'), '<path>'],
  [
    new RegExp(
      String.raw`(?<!${NAME})${NAME}{1,200}\.${FILE_ENDING}(?![\p{L}\p{N}_(]|\.\w| is not (?:a|an|defined|iterable)\b)`,
      'gu',
    ),
    '<path>',
  ],
  [/(?<=[a-z>)]):\d{1,9}(?::\d{1,9})?\b/g, ''],
  // Parsers print a line and a column in this form, so these numbers are replaced before those of times.
  [/\(\d{1,9}:\d{1,9}\)/g, '<place>'],
  [/\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:z|[+-]\d\d:?\d\d)?)?/g, '<time>'],
  [/\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:\s?[ap]m\b)?|\b\d{1,2}\s?[ap]m\b/g, '<time>'],
  [
    new RegExp(
      String.raw`\b(?:${MONTH}\s+\d{1,2}(?:st|nd|rd|th)?(?:,?\s+\d{4})?|\d{1,2}\s+${MONTH}(?:\s+\d{4})?)\b`,
      'g',
    ),
    '<time>',
  ],
  [/\b(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,?\s+(?=<time>)/g, ''],
  [/<time>(?:,?\s+(?:<time>|\d{4}\b|utc\b|gmt\b|[+-]\d{4}\b))+/g, '<time>'],
  [/\b(?:0x[\da-f]+|[\da-f]{8}-[\da-f-]{9,27}|(?=[a-f]{0,40}\d)[\da-f]{7,64})\b/g, '<hex>'],
  // Matches a name that is made for one run: `test-bucket-k3jx9q`.
  [/(?<=\w[-_])(?=[a-z]{0,40}\d[\da-z]{0,40}[a-z])[\da-z]{5,40}\b/g, '<hex>'],
  [/(?:(?<![\w>)])[-+−])?\bv?\d[\d.,]*(?:e[+-]?\d{1,4}\b|[a-z]{1,3}\b|%)?/g, '<n>'],
];

/** Returns the 32-bit FNV-1a hash over UTF-16 units as eight hex digits. */
function hash(text: string, seed: number): string {
  let value = seed;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, '0');
}
