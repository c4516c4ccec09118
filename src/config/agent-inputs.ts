import { z } from 'zod';
import { AGENT_NAMES, type AgentName } from '../core/agent-names.ts';
import type { ChosenAgent } from './config.ts';
import { listField } from './fields.ts';
import { input, parseTexts, type InputProblem, type InputTable } from './table.ts';

/** What the inputs say of the agents, each by itself. */
export interface AgentTexts {
  readonly agent: AgentName;
  /** Empty: `agent` alone. */
  readonly agents: readonly AgentName[];
  readonly version: ForAgents;
  readonly path: ForAgents;
  readonly args: ForAgents;
  readonly model: ForAgents;
}

/** A text for the one agent there is, or lines for each. */
type ForAgents =
  | { readonly kind: 'one'; readonly text: string }
  | { readonly kind: 'named'; readonly lines: readonly (readonly [name: AgentName, value: string])[] };

const name = z.enum(AGENT_NAMES, { error: `must be one of: ${AGENT_NAMES.join(', ')}` });

export const agentInputs: InputTable<AgentTexts> = {
  agent: input('agent', name),
  agents: input(
    'agents',
    listField()
      .pipe(z.array(z.enum(AGENT_NAMES, { error: `must be a list of: ${AGENT_NAMES.join(', ')}` })))
      .refine((names) => new Set(names).size === names.length, 'names an agent twice'),
  ),
  version: input('agent-version', forAgents({ isList: true })),
  path: input('agent-path', forAgents({ isList: true })),
  args: input('agent-args', forAgents({ isList: false })),
  model: input('model', forAgents({ isList: true })),
};

/** `isList`: a comma ends an item like the end of a line. */
function forAgents({ isList }: { readonly isList: boolean }) {
  return z.string().transform((text): ForAgents => {
    const lines = isList ? linesOf(text.replaceAll(',', '\n')) : linesOf(text);
    const named = lines.flatMap((line) => {
      const [, of = '', value = ''] = NAMED.exec(line) ?? [];
      const agent = AGENT_NAMES.find((known) => known === of);
      return agent === undefined ? [] : [[agent, value.trim()] as const];
    });
    return named.length > 0 && named.length === lines.length ? { kind: 'named', lines: named } : { kind: 'one', text };
  });
}

const NAMED = /^([a-z]+)\s*=(.*)$/s;

function linesOf(text: string): readonly string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);
}

/** The agents in their order, or what is wrong with them together. */
export function chooseAgents(texts: AgentTexts): {
  readonly order: readonly [ChosenAgent, ...ChosenAgent[]];
  readonly problems: readonly InputProblem[];
} {
  const { agent, agents } = texts;
  const [first = agent, ...others] = agents;
  const order = [first, ...others] as const;
  const problems = (['version', 'path', 'args', 'model'] as const).flatMap((field) =>
    problemsOf(field, texts[field], order),
  );
  const chosen = (of: AgentName): ChosenAgent => ({
    name: of,
    version: valueFor(texts.version, of),
    path: valueFor(texts.path, of) || null,
    args: valuesFor(texts.args, of),
    model: valueFor(texts.model, of) || null,
  });
  const withoutPath = order.some((of) => of === 'command' && valueFor(texts.path, of) === '');
  return {
    order: [chosen(first), ...others.map(chosen)],
    problems: [
      ...problems,
      ...(withoutPath
        ? [{ name: 'agent-path', why: 'is empty: the agent `command` is a program of yours, so give its path' }]
        : []),
      ...order.flatMap((of) => versionProblem(of, texts)),
    ],
  };
}

/** The same of some of the texts, which may be unusable: for a look from outside. `problems` are those of the inputs that are there. */
export function chooseFrom(texts: Readonly<Record<string, string | undefined>>): ReturnType<typeof chooseAgents> {
  const { settings } = parseTexts(agentInputs, texts);
  const { order, problems } = chooseAgents({
    ...{ agent: 'claude', agents: [], version: NOTHING, path: NOTHING, args: NOTHING, model: NOTHING },
    ...settings,
  });
  return { order, problems: problems.filter(({ name: of }) => Object.hasOwn(texts, of)) };
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
  const strangers = field === 'version' ? [] : names.filter((of) => !order.includes(of));
  const twice = field === 'args' ? [] : names.filter((of, at) => names.indexOf(of) !== at);
  return [
    ...[...new Set(strangers)].map((of) => problem(`has a line for ${of}, which is not among the agents`)),
    ...[...new Set(twice)].map((of) => problem(`has two lines for ${of}`)),
  ];
}

function versionProblem(of: AgentName, { version, path }: AgentTexts): readonly InputProblem[] {
  if (of === 'command') return [];
  const text = valueFor(version, of);
  // Nothing is installed where there is a path.
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
    ? linesOf(given.text)
    : given.lines.flatMap(([name, value]) => (name === of && value !== '' ? [value] : []));
}
