import type { FoundSetting } from '../core/settings/effective.ts';
import { nearest } from '../core/text/nearest.ts';
import { capped, oneLine, sentence } from '../core/text/phrase.ts';
import { UserError } from '../errors.ts';
import {
  agentInputs,
  type AgentTexts,
  chooseAgents,
  chooseFrom,
  type GivenSettings,
  inputNamesIn,
  type InputProblem,
  parseTexts,
  renamedTo,
} from './agent-inputs.ts';
import type { Config } from './config.ts';
import { INPUT_NAMES, inputs, type Settings } from './input-schema.ts';
import { placeName } from './settings/settings.ts';

/** The texts of the inputs, and what else decides about the Config. */
export interface ConfigTexts {
  readonly texts: Readonly<Record<string, string | undefined>>;
  /** Those of the settings in `texts` that are no input's own. */
  readonly counting: readonly FoundSetting[];
  readonly settings: Config['settings'];
  /** What is wrong with settings whatever the inputs say, as lines for a person. */
  readonly problems: readonly string[];
}

/** Of a run that nothing but its inputs sets up. */
export const NO_SETTINGS: Config['settings'] = { found: [], lines: [], unknown: null };

/** Parses the inputs' texts into a Config; throws one UserError that lists every problem. A name that is not an input is one: a limit with a slip in its name would not bind. */
export function parseInputs(texts: Readonly<Record<string, string | undefined>>): Config {
  return parseConfig({ texts, counting: [], settings: NO_SETTINGS, problems: [] });
}

/** Parses the inputs' texts, with settings in the place of some, into a Config; throws one UserError that lists every problem of both. */
export function parseConfig({ texts, counting, settings: found, problems: unread }: ConfigTexts): Config {
  const trimmed = Object.fromEntries(
    [...INPUT_NAMES, ...Object.keys(texts)].map((name) => [name, texts[name]?.trim()]),
  );
  const parsed = parseTexts(inputs, trimmed);
  const ofAgents = parsed.settings.agent?.each;
  const agents = isWhole(ofAgents) ? chooseAgents(ofAgents) : null;
  const problems = [
    ...parsed.problems,
    ...(agents?.problems ?? []),
    ...missingFor(parsed.settings),
    ...unknownInputs(Object.keys(texts)),
  ];
  if (problems.length > 0 || unread.length > 0 || agents === null) {
    const lines = [
      ...new Set([
        ...problems.map(({ name, why }) => describeProblem({ name, why, value: trimmed[name] }, counting)),
        ...unread.map((line) => `- ${line}`),
      ]),
    ];
    const count = new Set(problems.map(({ name }) => name)).size + unread.length;
    const isOfInputs = unread.length === 0 && problems.every(({ name }) => placesOf(name, counting) === null);
    const what = isOfInputs ? ['An input is', 'inputs are'] : ['A setting is', 'settings are'];
    throw new UserError(
      'configuration',
      `${count === 1 ? (what[0] ?? '') : `${String(count)} ${what[1] ?? ''}`} not usable:\n${lines.join('\n')}`,
    );
  }
  // Every text was there, so every setting is.
  const { policy, agent, ...rest } = parsed.settings as Settings;
  const { envNames, mcp, stallMs } = agent;
  const [firstAgent, ...otherAgents] = agents.order;
  return {
    ...rest,
    agent: { order: agents.order, envNames, mcp, stallMs },
    policy: {
      ...policy,
      agents: [firstAgent.name, ...otherAgents.map(({ name }) => name)],
      agentFailures: 'apart',
      verifies: rest.verify.length > 0,
      callsPerIteration: 1,
      agentSteps: [],
      otherSteps: [],
      maxCalls: 0,
      maxWaitMs: 0,
    },
    settings: found,
  };
}

function isWhole(texts: GivenSettings<AgentTexts> | undefined): texts is AgentTexts {
  return texts !== undefined && Object.keys(agentInputs).every((field) => Object.hasOwn(texts, field));
}

/** What a job that takes its settings from another one needs of its own inputs for that; null: they are not usable, and parsing all of them says why. */
export function parseHandoff(texts: Readonly<Record<string, string | undefined>>): Config['handoff'] | null {
  const trimmed = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text?.trim()]));
  const { settings, problems } = parseTexts(inputs.handoff, trimmed);
  return problems.length > 0 || Object.keys(settings).length < inputNamesIn(inputs.handoff).length
    ? null
    : (settings as Config['handoff']);
}

/** Inputs that one phase needs and another has no use for. */
function missingFor({ githubToken, handoff, policy }: GivenSettings<Settings>): readonly InputProblem[] {
  const phase = handoff?.phase ?? 'all';
  const needsDigest = phase === 'loop' || phase === 'publish';
  return [
    // The job of the loop cannot ask what other runs have used meanwhile.
    ...(phase !== 'all' && policy?.onLimit === 'wait'
      ? [{ name: 'on-limit', why: 'works in one job only (`phase: all`): with three jobs use `park`' }]
      : []),
    ...(githubToken === '' && phase !== 'loop'
      ? [{ name: 'github-token', why: 'is empty: give a token, for example ${{ github.token }}' }]
      : []),
    ...(needsDigest && handoff?.digest === ''
      ? [
          {
            name: 'handoff-digest',
            why: `is empty: with \`phase: ${phase}\` give it the output \`handoff-digest\` of the job with \`phase: gate\``,
          },
        ]
      : []),
  ];
}

/** What is wrong with the texts of some inputs; nothing is, where an input is not among them. */
export function inputProblems(texts: Readonly<Record<string, string>>): readonly InputProblem[] {
  return [...parseTexts(inputs, texts).problems, ...chooseFrom(texts).problems];
}

/** Whom to reach, and how, where some other input stops the run. What is not usable itself is as if it named nobody and nothing; for `notify` it is who asked. */
export type Reach = Pick<
  Config,
  'githubToken' | 'notify' | 'taskLabel' | 'taskSources' | 'allowedBots' | 'command' | 'branchPrefix'
> & { readonly answers: Pick<Config['answers'], 'reviews' | 'checks'> };

/** null: without a token nobody can be reached. */
export function parseReach(texts: Readonly<Record<string, string | undefined>>): Reach | null {
  const { githubToken: token, notify, taskLabel, taskSources, allowedBots, command, branchPrefix } = inputs;
  const { reviews, checks } = inputs.answers;
  const answers = { reviews, checks };
  const { settings } = parseTexts<Reach>(
    { githubToken: token, notify, taskLabel, taskSources, allowedBots, command, branchPrefix, answers },
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text?.trim()])),
  );
  const { githubToken } = settings;
  if (githubToken === undefined || githubToken === '') return null;
  const nothing = { taskLabel: '', taskSources: [], allowedBots: [], command: '', branchPrefix: '' };
  const answered = { reviews: true, checks: true, ...settings.answers };
  return { ...nothing, notify: { kind: 'auto' }, ...settings, answers: answered, githubToken };
}

function unknownInputs(names: readonly string[]): readonly InputProblem[] {
  return names
    .filter((name) => !INPUT_NAMES.includes(name))
    .map((name) => {
      const near = nearest(name.replaceAll('_', '-'), INPUT_NAMES);
      const why = `is not an input of this action${near === null ? '' : `. Did you mean ${near}?`}`;
      return { name, why: renamedTo(name) ?? why };
    });
}

/** Inputs whose text may hold a secret. */
const UNSHOWN: readonly string[] = ['github-token', 'mcp-config'];

function describeProblem(
  { name, value, why }: InputProblem & { readonly value: string | undefined },
  counting: readonly FoundSetting[],
): string {
  // What stands under a name that is not an input may be a key.
  if (!INPUT_NAMES.includes(name)) return `- ${oneLine(name, 80)}: ${sentence(why)}`;
  if (value === undefined)
    return `- ${name}: is missing. The runner sets it from action.yml; outside a runner set INPUT_${name.toUpperCase()}.`;
  const shown = UNSHOWN.includes(name) ? '' : ` ${JSON.stringify(capped(value, 81))}`;
  const places = placesOf(name, counting);
  return places === null ? `- ${name}:${shown} ${sentence(why)}` : `- ${places}${shown} ${sentence(why)} (${name})`;
}

/** Where the setting stands that is in the place of an input; null: the input is its own. */
function placesOf(name: string, counting: readonly FoundSetting[]): string | null {
  return (
    counting
      .find(({ input: of }) => of === name)
      ?.places.map(placeName)
      .join(' and ') ?? null
  );
}
