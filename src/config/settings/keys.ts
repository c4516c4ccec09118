import { findNearest } from '../../core/text/nearest.ts';
import { splitList } from '../fields.ts';

/** A tool rule of another Ralph that has another form here. */
interface ChangedRule {
  readonly from: string;
  readonly to: string;
}

/** The meaning of another Ralph's setting here. */
type Meaning =
  /** The text of the input; `note` says as a sentence what is different here, or is null. */
  | { readonly kind: 'input'; readonly text: string; readonly note: string | null }
  /** The action always works this way, whatever the value. */
  | { readonly kind: 'as-always' }
  /** The setting has no effect. `note` is a sentence for people who expect an effect, or null if nobody does. */
  | { readonly kind: 'none'; readonly note: string | null }
  /** The value cannot be used; `why` is a verb phrase. */
  | { readonly kind: 'unusable'; readonly why: string };

/** A setting of another Ralph. */
export interface OtherRalphKey {
  readonly name: string;
  /** Other names of the setting, which are accepted in the environment only. */
  readonly aliases: readonly string[];
  /** The input that the setting sets, or null if it sets none. */
  readonly input: string | null;
  readonly meaning: (value: string) => Meaning;
  /**
   * The environment variables that are this setting: those with its name or with the prefix `RALPH_`; only those with
   * the prefix, because other programs may use the name; or no variable.
   */
  readonly variables: 'named' | 'prefixed' | 'none';
}

/** All settings of other Ralphs that have a meaning here, or whose lack of meaning must be reported. */
export const OTHER_RALPH_KEYS: readonly OtherRalphKey[] = [
  named('PROJECT_NAME'),
  named('PROJECT_TYPE'),
  same('MAX_CALLS_PER_HOUR', 'max-calls-per-hour'),
  same('MAX_TOKENS_PER_HOUR', 'max-tokens-per-hour'),
  same('CLAUDE_TIMEOUT_MINUTES', 'agent-timeout-minutes'),
  same('CLAUDE_MODEL', 'model'),
  key('CLAUDE_CODE_CMD', 'agent-path', agentCommand),
  alsoCalled('CLAUDE_ALLOWED_TOOLS', key('ALLOWED_TOOLS', 'allowed-tools', allowedTools)),
  alsoCalled('CLAUDE_USE_CONTINUE', key('SESSION_CONTINUITY', 'session', oneOf({ true: 'resume', false: 'fresh' }))),
  alsoCalled('CLAUDE_SESSION_EXPIRY_HOURS', same('SESSION_EXPIRY_HOURS', 'session-expiry-hours')),
  same('CB_NO_PROGRESS_THRESHOLD', 'circuit-no-progress'),
  same('CB_SAME_ERROR_THRESHOLD', 'circuit-same-error'),
  same('CB_OUTPUT_DECLINE_THRESHOLD', 'circuit-output-decline'),
  same('CB_PERMISSION_DENIAL_THRESHOLD', 'circuit-permission-denials'),
  same('CB_COOLDOWN_MINUTES', 'circuit-cooldown-minutes'),
  same('CB_AUTO_RESET', 'circuit-auto-reset'),
  key('TASK_SOURCES', 'task-sources', parseTaskSources),
  same('GITHUB_TASK_LABEL', 'task-label'),
  same('OPTIONAL_SECTIONS', 'optional-sections'),
  // The two settings together form `verify`, in this order.
  key('TEST_COMMAND', 'verify', (value) => inputText(commandOf(value))),
  key('QUALITY_GATES', 'verify', (value) => inputText(value.split(';').map(commandOf).filter(Boolean).join('\n'))),
  key(
    'PERMISSION_DENIAL_MODE',
    'on-permission-denied',
    oneOf({ continue: 'continue', halt: 'halt', threshold: 'count' }),
  ),
  same('MAX_CONSECUTIVE_TEST_LOOPS', 'test-only-iterations'),
  same('MAX_CONSECUTIVE_DONE_SIGNALS', 'completion-signals'),
  same('TEST_PERCENTAGE_THRESHOLD', 'test-only-percent'),
  key('PROMPT_FILE', 'prompt-file', (value) => inputText(value.includes('/') ? value : `.ralph/${value}`)),
  key('PLATFORM_DRIVER', null, (value) =>
    value === 'claude-code'
      ? { kind: 'as-always' }
      : none(`PLATFORM_DRIVER is ${JSON.stringify(value.slice(0, 40))}: the agent here is Claude Code.`),
  ),
  key('REVIEW_MODE', null, (value) =>
    none(
      value === 'off'
        ? null
        : 'REVIEW_MODE: people review the pull request; an agent step of a pipeline can review before them.',
    ),
  ),
  meaningless('CLAUDE_PERMISSION_MODE', 'CLAUDE_PERMISSION_MODE: `allowed-tools` decides what the agent may do.'),
  ...[
    'CLAUDE_OUTPUT_FORMAT',
    'CLAUDE_MIN_VERSION',
    'CLAUDE_AUTO_UPDATE',
    'CLAUDE_EFFORT',
    'RALPH_VERBOSE',
    'BEADS_FILTER',
    'FIX_PLAN_FILE',
    'WRITE_TIMEOUT_MINUTES',
    'CB_READ_ONLY_TIMEOUT_THRESHOLD',
    'QUALITY_GATE_MODE',
    'QUALITY_GATE_TIMEOUT',
    'QUALITY_GATE_ON_COMPLETION_ONLY',
    'REVIEW_ENABLED',
    'REVIEW_INTERVAL',
    'RALPH_SHELL_INIT_FILE',
    'LIVE_SHOW_TOOL_ARGS',
  ].map((name) => meaningless(name, null)),
  ...['AGENT_FILE', 'ENABLE_NOTIFICATIONS', 'ENABLE_BACKUP', 'SANDBOX_PROVIDER'].map((name) =>
    onlyPrefixed(meaningless(name, null)),
  ),
];

const NAMES = OTHER_RALPH_KEYS.map(({ name }) => name);

/** Returns the setting of that name, or undefined if there is no such setting. */
export function findOtherRalphKey(name: string): OtherRalphKey | undefined {
  return OTHER_RALPH_KEYS.find((known) => known.name === name);
}

/** Returns the name of the setting that was probably meant, or null if no name is similar. */
export function findNearestKey(name: string): string | null {
  const plain = name.replace(/^RALPH_/, '');
  if (findOtherRalphKey(plain) !== undefined) return plain;
  // Ignore short names: one that differs in two letters may be the name of something else.
  return name.length < 8 ? null : (NAMES.find((known) => findNearest(plain, [known.toLowerCase()]) !== null) ?? null);
}

function key(name: string, input: string | null, meaning: OtherRalphKey['meaning']): OtherRalphKey {
  return { name, input, meaning, aliases: [], variables: 'named' };
}

function alsoCalled(alias: string, known: OtherRalphKey): OtherRalphKey {
  return { ...known, aliases: [alias] };
}

/** Creates a setting that means the same here as in other Ralphs. */
function same(name: string, input: string): OtherRalphKey {
  return key(name, input, inputText);
}

/** Creates a setting that is shown with its file. */
function named(name: string): OtherRalphKey {
  return { ...key(name, null, () => ({ kind: 'as-always' })), variables: 'none' };
}

/** Returns the setting with only its prefixed variable, because other programs may use a variable of its name. */
function onlyPrefixed(known: OtherRalphKey): OtherRalphKey {
  return { ...known, variables: 'prefixed' };
}

function meaningless(name: string, note: string | null): OtherRalphKey {
  return key(name, null, () => none(note));
}

function inputText(text: string): Meaning {
  return { kind: 'input', text, note: null };
}

function none(note: string | null): Meaning {
  return { kind: 'none', note };
}

function oneOf(texts: Readonly<Record<string, string>>): OtherRalphKey['meaning'] {
  return (value) => {
    const text = texts[value.trim().toLowerCase()];
    return text === undefined
      ? { kind: 'unusable', why: `must be one of: ${Object.keys(texts).join(', ')}` }
      : inputText(text);
  };
}

/**
 * Returns the meaning of the program that another Ralph starts. The CLI's usual names mean the program that the action
 * installs itself.
 */
function agentCommand(value: string): Meaning {
  const command = value.trim();
  if (/^(?:claude|npx (?:-y |--yes )?@anthropic-ai\/claude-code(?:@latest)?)$/.test(command))
    return { kind: 'as-always' };
  if (/\s/.test(command))
    return {
      kind: 'unusable',
      why: 'is a command with arguments: give its program as the input `agent-path` and its arguments as `agent-args`',
    };
  return inputText(command);
}

function allowedTools(value: string): Meaning {
  const { rules, changed } = toolRulesHere(value);
  const [example] = changed;
  return {
    kind: 'input',
    text: rules.join(','),
    note:
      example === undefined
        ? null
        : `ALLOWED_TOOLS: rules such as \`${example.from}\` are read as \`${example.to}\`, which every version of the CLI understands.`,
  };
}

/** The task sources of other Ralphs, with their names here. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  local: ['plan', 'prd'],
  github: ['issues'],
  issues: ['issues'],
  plan: ['plan'],
  prd: ['prd'],
  beads: ['beads'],
  prompt: ['prompt'],
};

function parseTaskSources(value: string): Meaning {
  const names = value
    .split(/[\s,]+/)
    .map((name) => name.toLowerCase())
    .filter(Boolean);
  const unknown = names.filter((name) => !Object.hasOwn(SOURCES, name));
  return names.length === 0 || unknown.length > 0
    ? { kind: 'unusable', why: `must be a list of: ${Object.keys(SOURCES).join(', ')}` }
    : inputText([...new Set(names.flatMap((name) => SOURCES[name] ?? []))].join(','));
}

/** Returns a command as one line of `verify`. */
function commandOf(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim();
}

/**
 * Returns the agent's allow rules of another Ralph in the form that works here, without duplicates: `Bash(git add *)` →
 * `Bash(git add:*)`, and `Bash(*)` → `Bash`.
 */
function toolRulesHere(text: string): { readonly rules: readonly string[]; readonly changed: readonly ChangedRule[] } {
  const pairs = splitList(text).map((from) => ({ from, to: ruleHere(from) }));
  return { rules: [...new Set(pairs.map(({ to }) => to))], changed: pairs.filter(({ from, to }) => from !== to) };
}

function ruleHere(rule: string): string {
  if (rule === 'Bash(*)') return 'Bash';
  const [, command] = /^Bash\(([^()*]*[^()*\s:]) +\*\)$/.exec(rule) ?? [];
  return command === undefined ? rule : `Bash(${command}:*)`;
}
