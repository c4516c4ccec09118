import {
  AGENT_NAMES,
  type AgentName,
  AGENTS,
  DEFAULT_AGENT,
  KEY_VARIABLES,
  nameKeyInput,
} from '../core/agent-names.ts';
import { denialModes, limitModes, type Policy, sessionModes } from '../core/policy.ts';
import type { Prices } from '../core/spending/prices.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/countdown.ts';
import type { IssueQuery } from '../core/tasks/issue-query.ts';
import type { ConfiguredAgent } from './config.ts';
import {
  checkField,
  choiceField,
  choiceListField,
  durationField,
  type Field,
  flagField,
  numberField,
  parseInputText,
  splitLines,
  splitList,
  wholeNumberField,
} from './fields.ts';
import { getDefault } from './setting-table.ts';
import { findRuleProblem } from './tool-rules.ts';

/** An input: its name in action.yml, and the field that parses its text into the value of a setting. */
interface Input<Value> {
  readonly name: string;
  readonly field: Field<Value>;
}

/** A table with an input for each setting, nested like the settings. */
export type InputTable<Settings> = {
  readonly [Field in keyof Settings]: Settings[Field] extends Leaf
    ? Input<Settings[Field]>
    : InputTable<Settings[Field]>;
};

export type GivenSettings<Settings> = {
  readonly [Field in keyof Settings]?: Settings[Field] extends Leaf ? Settings[Field] : GivenSettings<Settings[Field]>;
};

/** A setting that is not nested further. A union with `kind`, a list by names, and a search are single values. */
type Leaf = string | number | boolean | null | readonly unknown[] | { readonly kind: string } | Prices | IssueQuery;

export interface InputProblem {
  readonly name: string;
  /** The problem of the text, as a verb phrase: `is not a branch name`. */
  readonly why: string;
}

const OLD_CIRCUIT_INPUT = /^cb-(no-progress|same-error|permission-denials|output-decline|cooldown-minutes|auto-reset)$/;

/** Matches the names of the agent's key in other actions and tools. */
const KEY_ELSEWHERE = /^(?:(?:claude|anthropic)-)?(?:api-)?key$/;

const TOKEN_ELSEWHERE = /^(?:(?:claude|anthropic)-)?oauth-token$/;

/** Maximum duration, because a job on GitHub ends after five days at the latest. */
export const MAX_MINUTES = (5 * DAY_MS) / MINUTE_MS;

/**
 * The settings of a policy that inputs set directly; the rest comes from other inputs, the pipeline and the
 * reservation.
 */
export type PolicySettings = Omit<
  Policy,
  'agents' | 'agentFailures' | 'verifies' | 'callsPerIteration' | 'agentSteps' | 'otherSteps' | 'maxCalls' | 'maxWaitMs'
>;

export const policyInputs: InputTable<PolicySettings> = {
  allowedTools: createInput('allowed-tools', (text, report) => {
    const rules = toolRules(text, report);
    if (rules.length === 0) report('is empty: name at least one tool, for example Read,Edit,Write');
    for (const problem of rules.map(findRuleProblem)) if (problem !== null) report(problem);
    return rules;
  }),
  session: createInput('session', choiceField(...sessionModes)),
  sessionExpiryMs: createInput('session-expiry-hours', durationField(HOUR_MS, { min: 1, max: 720 })),
  maxIterations: createInput('max-iterations', wholeNumberField({ min: 1, max: 1000 })),
  // At least 2 minutes, because no call begins in the last minute of a run.
  maxRunMs: createInput('max-minutes', durationField(MINUTE_MS, { min: 2, max: MAX_MINUTES })),
  maxIterationsPerTask: createInput('max-iterations-per-task', wholeNumberField({ min: 0, max: 1000 })),
  agentTimeoutMs: createInput('agent-timeout-minutes', durationField(MINUTE_MS, { min: 0.1, max: MAX_MINUTES })),
  maxCallsPerHour: createInput('max-calls-per-hour', wholeNumberField({ min: 1, max: 10_000 })),
  maxTokensPerHour: createInput('max-tokens-per-hour', wholeNumberField({ min: 0, max: 1_000_000_000_000 })),
  maxCostUsd: createInput('max-cost-usd', numberField({ min: 0, max: 100_000 })),
  maxCostUsdPerDay: createInput('max-cost-usd-per-day', numberField({ min: 0, max: 100_000 })),
  onLimit: createInput('on-limit', choiceField(...limitModes)),
  onPermissionDenied: createInput('on-permission-denied', choiceField(...denialModes)),
  circuit: {
    noProgress: createInput('circuit-no-progress', wholeNumberField({ min: 1, max: 100 })),
    sameError: createInput('circuit-same-error', wholeNumberField({ min: 1, max: 100 })),
    permissionDenials: createInput('circuit-permission-denials', wholeNumberField({ min: 1, max: 100 })),
    outputDeclinePercent: createInput('circuit-output-decline', wholeNumberField({ min: 1, max: 100 })),
    cooldownMs: createInput('circuit-cooldown-minutes', durationField(MINUTE_MS, { min: 0, max: MAX_MINUTES })),
    autoReset: createInput('circuit-auto-reset', flagField()),
  },
  completionSignals: createInput('completion-signals', wholeNumberField({ min: 1, max: 100 })),
  testOnlyIterations: createInput('test-only-iterations', wholeNumberField({ min: 1, max: 100 })),
  maxTasksPerPr: createInput('max-tasks-per-pr', wholeNumberField({ min: 0, max: 1000 })),
  maxLinesPerPr: createInput('max-lines-per-pr', wholeNumberField({ min: 0, max: 1_000_000 })),
};

export const POLICY_INPUT_NAMES = listInputNames(policyInputs);

/** Some of the inputs, checked, or all problems with them at once. */
export type GivenInputs =
  | { readonly kind: 'inputs'; readonly inputs: GivenSettings<PolicySettings> }
  | { readonly kind: 'problems'; readonly problems: readonly InputProblem[] };

type Environment = Readonly<Record<string, string | undefined>>;

/** The inputs about the agents, each parsed by itself. */
export interface AgentTexts {
  /** The agents in their order. */
  readonly names: readonly [AgentName, ...AgentName[]];
  readonly version: ForAgents;
  readonly path: ForAgents;
  readonly args: ForAgents;
  readonly model: ForAgents;
}

/** A text for the only agent, or lines for each agent. */
type ForAgents =
  | { readonly kind: 'one'; readonly text: string }
  | { readonly kind: 'named'; readonly lines: readonly (readonly [name: AgentName, value: string])[] };

const agentNames = checkField(
  choiceListField(AGENT_NAMES, {
    expected: `must be one of: ${AGENT_NAMES.join(', ')}, or an ordered list of them`,
    empty: `is empty: name at least one of ${AGENT_NAMES.join(', ')}`,
  }),
  [(names) => new Set(names).size === names.length, 'names an agent twice'],
);

export const agentInputs: InputTable<AgentTexts> = {
  names: createInput('agent', (text, report) => agentNames(text, report) as [AgentName, ...AgentName[]]),
  version: createInput('agent-version', parseForAgents),
  path: createInput('agent-path', parseForAgents),
  args: createInput('agent-args', (text) => parseLinesForAgents(text)),
  model: createInput('model', parseForAgents),
};

/** Parses a text for one agent or several, in which commas separate items as line ends do. */
function parseForAgents(text: string): ForAgents {
  return parseLinesForAgents(text, splitLines(text.replaceAll(',', '\n')));
}

/** Parses lines for one agent or several. */
function parseLinesForAgents(text: string, lines = splitLines(text)): ForAgents {
  const named = lines.flatMap((line) => {
    const [, of = '', value = ''] = NAMED.exec(line) ?? [];
    const agent = AGENT_NAMES.find((known) => known === of);
    return agent === undefined ? [] : [[agent, value.trim()] as const];
  });
  return named.length > 0 && named.length === lines.length ? { kind: 'named', lines: named } : { kind: 'one', text };
}

const NAMED = /^([a-z]+)\s*=(.*)$/s;

/** Returns the agents of the order, all other agents, and the problems of inputs that do not fit the order. */
export function chooseAgents(texts: AgentTexts): {
  readonly order: readonly [ConfiguredAgent, ...ConfiguredAgent[]];
  readonly others: readonly ConfiguredAgent[];
  readonly problems: readonly InputProblem[];
} {
  const { names: order } = texts;
  const [first, ...others] = order;
  const problems = (['version', 'path', 'args', 'model'] as const).flatMap((field) =>
    problemsOf(field, texts[field], order),
  );
  const chosen = (of: AgentName): ConfiguredAgent => ({
    name: of,
    version: valueFor(texts.version, of),
    path: valueFor(texts.path, of) || null,
    args: valuesFor(texts.args, of),
    model: valueFor(texts.model, of) || null,
  });
  const withoutPath = order.find((of) => AGENTS[of].source === null && valueFor(texts.path, of) === '');
  return {
    order: [chosen(first), ...others.map(chosen)],
    others: AGENT_NAMES.filter((of) => !order.includes(of)).map((of) => chooseOther(texts, of)),
    problems: [
      ...problems,
      ...(withoutPath === undefined
        ? []
        : [
            { name: 'agent-path', why: `is empty: the agent \`${withoutPath}\` is your own program, so give its path` },
          ]),
      ...order.flatMap((of) => agentVersionProblem(of, texts)),
    ],
  };
}

/** Returns an agent that is not in the order. A text without agent names does not apply to it. */
function chooseOther({ version, path, args, model }: AgentTexts, of: AgentName): ConfiguredAgent {
  const textOfAgent = (given: ForAgents): string => (given.kind === 'one' ? '' : valueFor(given, of));
  return {
    name: of,
    version: textOfAgent(version) || valueFor(parseForAgents(getDefault('agent-version')), of),
    path: textOfAgent(path) || null,
    args: args.kind === 'one' ? [] : valuesFor(args, of),
    model: textOfAgent(model) || null,
  };
}

/**
 * Chooses agents outside of a run, from some of the texts, which may be unusable. Returns problems only of those inputs
 * whose texts are given.
 */
export function chooseFrom(texts: Readonly<Record<string, string | undefined>>): ReturnType<typeof chooseAgents> {
  const { settings } = parseTexts(agentInputs, texts);
  const { order, others, problems } = chooseAgents({
    ...{ names: [DEFAULT_AGENT] as const, version: NOTHING, path: NOTHING, args: NOTHING, model: NOTHING },
    ...settings,
  });
  return { order, others, problems: problems.filter(({ name: of }) => Object.hasOwn(texts, of)) };
}

const NOTHING: ForAgents = { kind: 'one', text: '' };

const INPUT = { version: 'agent-version', path: 'agent-path', args: 'agent-args', model: 'model' } as const;

function problemsOf(field: keyof typeof INPUT, given: ForAgents, order: readonly AgentName[]): readonly InputProblem[] {
  const problem = (why: string): InputProblem => ({ name: INPUT[field], why });
  if (given.kind === 'one') {
    const isUnclear = order.length > 1 && given.text !== '';
    return isUnclear
      ? [problem(`must be of the form NAME=VALUE, since there are several agents, for example \`${order[0] ?? ''}=…\``)]
      : [];
  }
  const names = given.lines.map(([of]) => of);
  const twice = field === 'args' ? [] : names.filter((of, at) => names.indexOf(of) !== at);
  return [...new Set(twice)].map((of) => problem(`has two lines for ${of}`));
}

function agentVersionProblem(of: AgentName, { version, path }: AgentTexts): readonly InputProblem[] {
  if (AGENTS[of].source === null) return [];
  const text = valueFor(version, of);
  // An agent with a path is not installed, so its version does not matter.
  if (text === '' && valueFor(path, of) !== '') return [];
  if (/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]{1,40})?$/.test(text)) return [];
  const why = text === '' ? `has no version for ${of}` : 'is not an exact version such as 2.1.330';
  return [{ name: 'agent-version', why }];
}

function valueFor(given: ForAgents, of: AgentName): string {
  return given.kind === 'one' ? given.text : (given.lines.find(([name]) => name === of)?.[1] ?? '');
}

function valuesFor(given: ForAgents, of: AgentName): readonly string[] {
  return given.kind === 'one'
    ? splitLines(given.text)
    : given.lines.flatMap(([name, value]) => (name === of && value !== '' ? [value] : []));
}

/** Returns the environment with the keys that were given as inputs; an input takes precedence over the variable. */
export function withKeyInputs(environment: Environment): Environment {
  const given: Record<string, string> = {};
  for (const variable of KEY_VARIABLES) {
    const key = (environment[`INPUT_${nameKeyInput(variable).toUpperCase()}`] ?? '').trim();
    if (key !== '') given[variable] = key;
  }
  return { ...environment, ...given };
}

/** Parses some of the inputs' texts as the action does. */
export function parsePolicyInputs(texts: Readonly<Record<string, string>>): GivenInputs {
  const { settings, problems } = parseTexts(policyInputs, texts);
  const unknown = Object.keys(texts).filter((name) => !POLICY_INPUT_NAMES.includes(name));
  const all = [
    ...problems,
    ...unknown.map((name) => ({ name, why: describeMovedInput(name) ?? 'is not a setting that decisions depend on' })),
  ];
  if (all.length === 0) return { kind: 'inputs', inputs: settings };
  // Report only one problem for each input.
  return { kind: 'problems', problems: [...new Map(all.map((problem) => [problem.name, problem])).values()] };
}

/** Returns the policy with some of its settings replaced. */
export function changePolicy(policy: Policy, given: GivenSettings<PolicySettings>): Policy {
  return { ...policy, ...given, circuit: { ...policy.circuit, ...given.circuit } };
}

/**
 * Returns the new name or place of an input that was renamed or moved, as a verb phrase, or null if the name is
 * unknown. Inputs of the circuit had shorter names before the first release.
 */
export function describeMovedInput(name: string): string | null {
  if (name === 'agents') return 'is now part of `agent`: name the agents there, in their order';
  if (OLD_CIRCUIT_INPUT.test(name)) return `is now called ${name.replace(/^cb-/, 'circuit-')}`;
  const plain = name.replaceAll('_', '-');
  if (KEY_ELSEWHERE.test(plain)) return 'is called anthropic-api-key here';
  return TOKEN_ELSEWHERE.test(plain) ? 'is called claude-code-oauth-token here' : null;
}

/** Parses tool rules: a list replaces the default; a list whose rules all begin with `+` is added to it. */
function toolRules(text: string, report: (why: string) => void): readonly string[] {
  const rules = splitList(text);
  const added = rules.flatMap((rule) => (rule.startsWith('+') ? [rule.slice(1).trim()] : []));
  if (added.length === 0) return rules;
  if (added.length < rules.length)
    report(
      'has rules with and without a +: put a + before each rule to add them to the default, or before none to replace it',
    );
  return [...new Set([...getDefault('allowed-tools').split(','), ...added])];
}

/** Returns the rules of an `allowed-tools` text, or the items of the text if it is unusable. */
export function parseToolRules(text: string): readonly string[] {
  const { value, problems } = parseInputText(toolRules, text);
  return problems.length === 0 ? value : splitList(text);
}

/** Creates a row of an input table: the name of the input and the field of its text. */
export function createInput<Value>(name: string, field: Field<Value>): Input<Value> {
  return { name, field };
}

/** Returns the names of all inputs of the table, in its order. */
export function listInputNames(table: object): readonly string[] {
  return Object.values(table).flatMap((entry: object) => (isInput(entry) ? [entry.name] : listInputNames(entry)));
}

/**
 * Parses the given texts, by the names of their inputs; returns all problems together, in the order of the table.
 */
export function parseTexts<Settings>(
  table: InputTable<Settings>,
  texts: Readonly<Record<string, string | undefined>>,
): { readonly settings: GivenSettings<Settings>; readonly problems: readonly InputProblem[] } {
  const settings: Record<string, unknown> = {};
  const problems: InputProblem[] = [];
  for (const [field, entry] of Object.entries<object>(table)) {
    if (!isInput(entry)) {
      const inner = parseTexts(entry as InputTable<Record<string, unknown>>, texts);
      settings[field] = inner.settings;
      problems.push(...inner.problems);
      continue;
    }
    const text = texts[entry.name];
    if (text === undefined) continue;
    const parsed = parseInputText(entry.field, text);
    if (parsed.problems.length === 0) settings[field] = parsed.value;
    problems.push(...parsed.problems.map((why) => ({ name: entry.name, why })));
  }
  return { settings: settings as GivenSettings<Settings>, problems };
}

function isInput(entry: object): entry is Input<unknown> {
  return 'field' in entry;
}
