import type { FoundSetting } from '../core/settings/effective.ts';
import { findNearest } from '../core/text/nearest.ts';
import { capText, toOneLine, completeSentence } from '../core/text/phrase.ts';
import { UserError } from '../errors.ts';
import {
  agentInputs,
  type AgentTexts,
  chooseAgents,
  chooseFrom,
  type GivenSettings,
  listInputNames,
  type InputProblem,
  parseTexts,
  describeMovedInput,
} from './agent-inputs.ts';
import type { Config } from './config.ts';
import { inputTable, type Settings } from './input-schema.ts';
import { ACTION_INPUTS, DEFAULTS, JOB_INPUTS, SECRET_SETTINGS, SETTING_NAMES } from './setting-table.ts';
import { nameSettingPlace } from './settings/settings.ts';

/**
 * The texts of settings by name, and everything else that determines the Config. A setting without a text has its
 * default.
 */
export interface ConfigTexts {
  readonly texts: Readonly<Record<string, string | undefined>>;
  /** The settings whose texts replace inputs that are not given. */
  readonly counting: readonly FoundSetting[];
  readonly settings: Config['settings'];
  /** Problems of settings that were found before the inputs are parsed, as lines for people. */
  readonly problems: readonly string[];
  /** The place of the run. On a person's machine it starts processes for several branches, and needs no jobs. */
  readonly where: 'job' | 'home';
}

/** The settings of a run that only its inputs configure. */
export const NO_SETTINGS: Config['settings'] = { found: [], lines: [], unknown: null };

/**
 * Builds the Config from texts of settings; throws one UserError that lists every problem. A name that is not a setting
 * is a problem, because a limit with a misspelled name would not apply.
 */
export function buildConfigFromInputs(texts: Readonly<Record<string, string | undefined>>): Config {
  return buildConfig({ texts, counting: [], settings: NO_SETTINGS, problems: [], where: 'job' });
}

/**
 * Builds the Config from the inputs' texts, some of them replaced by settings; throws one UserError that lists every
 * problem of both.
 */
export function buildConfig({ texts, counting, settings: found, problems: unread, where }: ConfigTexts): Config {
  const trimmed = withDefaults(texts);
  const parsed = parseTexts(inputTable, trimmed);
  const ofAgents = parsed.settings.agent?.each;
  const agents = isWhole(ofAgents) ? chooseAgents(ofAgents) : null;
  const problems = [
    ...parsed.problems,
    ...(agents?.problems ?? []),
    ...missingFor(parsed.settings),
    ...(where === 'job' ? parallelProblems(parsed.settings) : []),
    ...unknownInputs(Object.keys(texts)),
  ];
  if (problems.length > 0 || unread.length > 0 || agents === null) {
    const lines = [
      ...new Set([
        ...problems.map(({ name, why }) => describeProblem({ name, why, value: trimmed[name] ?? '' }, counting)),
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
  // Every setting has a text, at least its default, so without problems the settings are complete.
  const { policy, agent, ...rest } = parsed.settings as Settings;
  const { envNames, mcp, stallMs } = agent;
  const [firstAgent, ...otherAgents] = agents.order;
  return {
    ...rest,
    agent: { order: agents.order, others: agents.others, envNames, mcp, stallMs },
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
    // Each job gets the secrets as separate inputs, so leave them out of the parcels and records.
    settings: { ...found, found: found.found.filter(({ input }) => !SECRET_SETTINGS.includes(input)) },
  };
}

/** Returns the given texts, trimmed, and the defaults of all other settings. */
function withDefaults(texts: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const given = Object.entries(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text.trim()] as const],
  );
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}

function isWhole(texts: GivenSettings<AgentTexts> | undefined): texts is AgentTexts {
  return texts !== undefined && Object.keys(agentInputs).every((field) => Object.hasOwn(texts, field));
}

/**
 * Returns the inputs with which a job takes its settings from another job, or null if they are unusable; parsing all
 * inputs then reports why.
 */
export function parseHandoff(texts: Readonly<Record<string, string | undefined>>): Config['handoff'] | null {
  const trimmed = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text?.trim()]));
  const { settings, problems } = parseTexts(inputTable.handoff, trimmed);
  return problems.length > 0 || Object.keys(settings).length < listInputNames(inputTable.handoff).length
    ? null
    : (settings as Config['handoff']);
}

/** Returns the problems of inputs that one phase needs and another does not use. */
function missingFor({ githubToken, handoff, policy }: GivenSettings<Settings>): readonly InputProblem[] {
  const phase = handoff?.phase ?? 'all';
  const isBehindGate = phase !== 'all' && phase !== 'gate';
  return [
    // Do not allow waiting in the job of the loop: it could not find out what other runs have used in the meantime.
    ...(phase !== 'all' && policy?.onLimit === 'wait'
      ? [{ name: 'on-limit', why: 'works in one job only: with three jobs, use `park`' }]
      : []),
    ...(githubToken === '' && phase !== 'loop'
      ? [{ name: 'github-token', why: 'is empty: give a token, for example ${{ github.token }}' }]
      : []),
    ...(phase !== 'all' && handoff?.path === ''
      ? [{ name: 'handoff-path', why: 'is empty: give the folder through which the jobs hand over' }]
      : []),
    ...(handoff !== undefined && (handoff.lane === 'each') !== (phase === 'gate') && handoff.lane !== ''
      ? [
          {
            name: 'handoff-branch',
            why: 'is `each` or empty with `phase: gate`, and `queue`, `issue-N` or empty in other jobs',
          },
        ]
      : []),
    ...(isBehindGate && handoff?.digest === ''
      ? [
          {
            name: 'handoff-digest',
            why: `is empty: with \`phase: ${phase}\` give it the output \`handoff-digest\` of the job with \`phase: gate\``,
          },
        ]
      : []),
  ];
}

/** Returns the reasons why the runs of a job cannot work on several branches at once; empty if they can. */
function parallelProblems({ handoff, parallel = 1, stateStore }: GivenSettings<Settings>): readonly InputProblem[] {
  if (parallel === 1) return [];
  const phase = handoff?.phase ?? 'all';
  return [
    ...(phase === 'all' || (phase === 'gate' && handoff?.lane !== 'each')
      ? [{ name: 'parallel', why: 'needs the reusable workflow, which runs a job for each: one job works on 1' }]
      : []),
    ...(stateStore === 'cache' || stateStore === 'none'
      ? [{ name: 'parallel', why: `needs \`state-store: auto\` or \`ref\`, which keep runs apart` }]
      : []),
  ];
}

/**
 * Returns a line for each input of a step that belongs elsewhere: a setting belongs under `settings`, and some inputs
 * exist only in the action of one job. The runner passes on every name under `with:`, and only warns of those that the
 * action does not declare.
 */
export function describeMisplaced(given: Readonly<Record<string, string | undefined>>): readonly string[] {
  const names = Object.keys(given).filter((name) => given[name] !== undefined);
  const isJob = isJobAction(given);
  return names
    .filter((name) => SETTING_NAMES.includes(name) && !ACTION_INPUTS.includes(name))
    .filter((name) => !isJob || !SECRET_SETTINGS.includes(name))
    .flatMap((name) => {
      const value = SECRET_SETTINGS.includes(name) ? '${{ secrets.NAME }}' : asYaml(given[name] ?? '');
      if (!JOB_INPUTS.includes(name))
        return [`${name}: is a setting, not an input. Put it under \`settings\`, as \`${name}: ${value}\`.`];
      return isJob ? [] : [`${name}: is an input of the action of one job. ${JOB_ACTION_HINT}`];
    });
}

/** Returns true in the action of one job, to which the runner passes all of its inputs. */
function isJobAction(given: Readonly<Record<string, unknown>>): boolean {
  return JOB_INPUTS.every((name) => given[name] !== undefined);
}

/**
 * Returns the inputs of a step without those of unknown names, of which the runner itself warns, and without those that
 * `describeMisplaced` sends to the action of one job.
 */
export function withoutUnknownInputs<T>(given: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  const isJob = isJobAction(given);
  const isKnown = (name: string): boolean =>
    name === 'settings' ||
    (SETTING_NAMES.includes(name) && (isJob || !JOB_INPUTS.includes(name))) ||
    describeMovedInput(name) !== null;
  return Object.fromEntries(Object.entries(given).filter(([name]) => isKnown(name)));
}

/** Returns a text as a YAML scalar on one line, cut to a readable length. */
function asYaml(text: string): string {
  const shown = capText(text.trim(), 80);
  return /^[\w.][\w .,/()+-]*$/.test(shown) ? shown : JSON.stringify(shown);
}

const JOB_ACTION_HINT =
  "In a job of your own, use the action in the folder `.github/actions/job` of this action's repository, or let the reusable workflow run the three jobs.";

/** Returns the problems of the texts of some inputs; an input that is not among them has no problem. */
export function findInputProblems(texts: Readonly<Record<string, string>>): readonly InputProblem[] {
  return [...parseTexts(inputTable, texts).problems, ...chooseFrom(texts).problems];
}

/**
 * The inputs that are needed to notify people when some other input stops the run. An unusable input is treated as
 * empty, and an unusable `notify` as `auto`.
 */
export type NotificationInputs = Pick<
  Config,
  'githubToken' | 'notify' | 'webhook' | 'taskLabel' | 'taskSources' | 'allowedBots' | 'command' | 'branchPrefix'
> & { readonly answers: Pick<Config['answers'], 'reviews' | 'checks'> };

/**
 * Parses the inputs that are needed to notify people; returns null without a token, because nobody can be reached then.
 */
export function parseReach(texts: Readonly<Record<string, string | undefined>>): NotificationInputs | null {
  const { githubToken: token, notify, taskLabel, taskSources, allowedBots, command, branchPrefix } = inputTable;
  const { reviews, checks } = inputTable.answers;
  const nested = { webhook: inputTable.webhook, answers: { reviews, checks } };
  const { settings } = parseTexts<NotificationInputs>(
    { githubToken: token, notify, taskLabel, taskSources, allowedBots, command, branchPrefix, ...nested },
    withDefaults(texts),
  );
  const { githubToken } = settings;
  if (githubToken === undefined || githubToken === '') return null;
  const nothing = { taskLabel: '', taskSources: [], allowedBots: [], command: '', branchPrefix: '' };
  const answered = { reviews: true, checks: true, ...settings.answers };
  const webhook = { address: null, secret: '', ...settings.webhook };
  return { ...nothing, notify: { kind: 'auto' }, ...settings, webhook, answers: answered, githubToken };
}

function unknownInputs(names: readonly string[]): readonly InputProblem[] {
  return names
    .filter((name) => name !== 'settings' && !SETTING_NAMES.includes(name))
    .map((name) => ({
      name,
      why: describeMovedInput(name) ?? `is not an input of this action${suggestSetting(name)}`,
    }));
}

/**
 * Returns the setting that was probably meant by an unknown name, as the end of a sentence; empty if no name is
 * similar.
 */
export function suggestSetting(name: string): string {
  const near = findNearest(name.replaceAll('_', '-'), SETTING_NAMES);
  return near === null ? '' : `. Did you mean ${near}?`;
}

/** Inputs whose text may contain a secret. */
const UNSHOWN: readonly string[] = ['github-token', 'mcp-config', ...SECRET_SETTINGS];

function describeProblem(
  { name, value, why }: InputProblem & { readonly value: string },
  counting: readonly FoundSetting[],
): string {
  // Do not show the value of a name that is not a setting, because it may be a key.
  if (!SETTING_NAMES.includes(name)) return `- ${toOneLine(name, 80)}: ${completeSentence(why)}`;
  const shown = UNSHOWN.includes(name) ? '' : ` ${JSON.stringify(capText(value, 81))}`;
  const places = placesOf(name, counting);
  if (places === null) return `- ${name}:${shown} ${completeSentence(why)}`;
  return `- ${places}${shown || ':'} ${completeSentence(why)}${places.endsWith(` ${name}`) ? '' : ` (${name})`}`;
}

/** Returns the names of the settings that replace an input, or null if the input itself is used. */
function placesOf(name: string, counting: readonly FoundSetting[]): string | null {
  return (
    counting
      .find(({ input: of }) => of === name)
      ?.places.map(nameSettingPlace)
      .join(' and ') ?? null
  );
}
