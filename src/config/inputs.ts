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

/** The texts of the inputs, and everything else that determines the Config. */
export interface ConfigTexts {
  readonly texts: Readonly<Record<string, string | undefined>>;
  /** The settings that are in `texts` in place of inputs. */
  readonly counting: readonly FoundSetting[];
  readonly settings: Config['settings'];
  /** Problems of settings that exist whatever the inputs say, as lines for people. */
  readonly problems: readonly string[];
}

/** The settings of a run that nothing but its inputs configures. */
export const NO_SETTINGS: Config['settings'] = { found: [], lines: [], unknown: null };

/**
 * Parses the inputs' texts into a Config; throws one UserError that lists every problem. A name that is not an input is
 * a problem, because a limit with a misspelled name would not apply.
 */
export function parseInputs(texts: Readonly<Record<string, string | undefined>>): Config {
  return parseConfig({ texts, counting: [], settings: NO_SETTINGS, problems: [] });
}

/**
 * Parses the inputs' texts, some of them replaced by settings, into a Config; throws one UserError that lists every
 * problem of both.
 */
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
  // Every text was there, so every setting is there.
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

/**
 * Returns the inputs that a job needs to take its settings from another job, or null if they are unusable; parsing all
 * inputs then says why.
 */
export function parseHandoff(texts: Readonly<Record<string, string | undefined>>): Config['handoff'] | null {
  const trimmed = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text?.trim()]));
  const { settings, problems } = parseTexts(inputs.handoff, trimmed);
  return problems.length > 0 || Object.keys(settings).length < inputNamesIn(inputs.handoff).length
    ? null
    : (settings as Config['handoff']);
}

/** Returns the problems of inputs that one phase needs and another does not use. */
function missingFor({ githubToken, handoff, policy }: GivenSettings<Settings>): readonly InputProblem[] {
  const phase = handoff?.phase ?? 'all';
  const needsDigest = phase === 'loop' || phase === 'publish';
  return [
    // The job of the loop cannot ask what other runs have used in the meantime.
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

/** Returns the problems of the texts of some inputs; an input that is not among them has no problem. */
export function inputProblems(texts: Readonly<Record<string, string>>): readonly InputProblem[] {
  return [...parseTexts(inputs, texts).problems, ...chooseFrom(texts).problems];
}

/**
 * The inputs that are needed to notify people when some other input stops the run. An unusable input counts as empty;
 * an unusable `notify` means the person who asked.
 */
export type Reach = Pick<
  Config,
  'githubToken' | 'notify' | 'taskLabel' | 'taskSources' | 'allowedBots' | 'command' | 'branchPrefix'
> & { readonly answers: Pick<Config['answers'], 'reviews' | 'checks'> };

/** Returns what is needed to notify people, or null without a token, because nobody can be reached then. */
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

/** Inputs whose text may contain a secret. */
const UNSHOWN: readonly string[] = ['github-token', 'mcp-config'];

function describeProblem(
  { name, value, why }: InputProblem & { readonly value: string | undefined },
  counting: readonly FoundSetting[],
): string {
  // The value of a name that is not an input may be a key.
  if (!INPUT_NAMES.includes(name)) return `- ${oneLine(name, 80)}: ${sentence(why)}`;
  if (value === undefined)
    return `- ${name}: is missing. The runner sets it from action.yml; outside a runner set INPUT_${name.toUpperCase()}.`;
  const shown = UNSHOWN.includes(name) ? '' : ` ${JSON.stringify(capped(value, 81))}`;
  const places = placesOf(name, counting);
  return places === null ? `- ${name}:${shown} ${sentence(why)}` : `- ${places}${shown} ${sentence(why)} (${name})`;
}

/** Returns the place of the setting that replaces an input, or null if the input itself counts. */
function placesOf(name: string, counting: readonly FoundSetting[]): string | null {
  return (
    counting
      .find(({ input: of }) => of === name)
      ?.places.map(placeName)
      .join(' and ') ?? null
  );
}
