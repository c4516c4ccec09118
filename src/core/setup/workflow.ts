import { type AgentName, AGENTS, DEFAULT_AGENT, nameKeyInput, listKeyVariables } from '../agent-names.ts';
import { LOGINS } from '../agents/login-term.ts';
import { listFirstNames, quoteYamlText } from '../text/phrase.ts';
import { PLAIN_COMMAND } from './ci/render.ts';
import { convertServices } from './ci/services.ts';
import type { Project, Stack } from './project.ts';
import { makeLanguage, rootBuilds } from './root-builds.ts';

/** The forms of the workflow; in `three-jobs` it calls the reusable one, whose agent works in a job of its own. */
export const workflowShapes = ['three-jobs', 'single'] as const;

/** The kinds of Claude's key: a stored one, or a login of each run to a provider. */
export const keyKinds = ['api-key', 'subscription', 'aws', 'google', 'anthropic'] as const;

/** Returns true for an agent with several kinds of keys: an API key, a subscription's token, or a login of each run. */
export function hasKeyKinds(agent: AgentName): boolean {
  return AGENTS[agent].provider.ownLogin !== null;
}

/**
 * Returns the provider to which each run of the workflow logs in; null if the workflow has a stored key, or needs none.
 */
export function loginOfChoices({ agent, key }: AgentChoices): (typeof LOGINS)[keyof typeof LOGINS] | null {
  return !hasKeyKinds(agent) || key === 'api-key' || key === 'subscription' ? null : LOGINS[key];
}

type AgentChoices = Pick<WorkflowChoices, 'agent' | 'key'>;

/** Returns the input and the secret of the key that a workflow needs; null if it needs none. */
export function keyOfChoices(choices: AgentChoices): { readonly input: string; readonly secret: string } | null {
  const { agent, key } = choices;
  const [usual, other = usual] = listKeyVariables(agent);
  const secret = hasKeyKinds(agent) && key === 'subscription' ? other : usual;
  return secret === undefined || loginOfChoices(choices) !== null ? null : { input: nameKeyInput(secret), secret };
}

/** Maximum length of a command. */
const MAX_COMMAND_CHARS = 1000;

/** Returns the reason why a command cannot be written into a workflow, or null if it can be written. */
export function findVerifyProblem(command: string): string | null {
  if (/\p{Cc}/u.test(command)) return 'it is more than one line, or contains control characters.';
  if (command.includes('${{')) return 'it contains ${{, which GitHub would evaluate.';
  return command.length > MAX_COMMAND_CHARS ? `it is longer than ${MAX_COMMAND_CHARS} characters.` : null;
}

/** The decisions of a person about the workflow; in the shape `single`, one job does everything. */
export interface WorkflowChoices {
  readonly shape: (typeof workflowShapes)[number];
  /** Commands that must pass, one per line; empty if none are known. */
  readonly verify: readonly string[];
  readonly agent: AgentName;
  /** The program of the agent; empty for the package that runs install. */
  readonly agentPath: string;
  /** The kind of Claude's key; other agents have only one kind. A login needs the shape `three-jobs`. */
  readonly key: (typeof keyKinds)[number];
  /** The text after `uses:`; null for the text in the template. */
  readonly action: string | null;
  /** The label that makes an issue a task. */
  readonly label: string;
  /** OWNER/NAME of the repository, which determines the minute of the schedule; null if unknown. */
  readonly repository: string | null;
  /**
   * The settings file of another Ralph, with the inputs that it sets and the workflow therefore leaves out; null if
   * there is no such file.
   */
  readonly leftTo: { readonly path: string; readonly inputs: readonly string[] } | null;
}

/** Defaults of action.yml. */
export interface WorkflowDefaults {
  readonly allowedTools: string;
  readonly taskLabel: string;
}

/** Returns true if the workflow leaves out an input because the settings file of another Ralph sets it. */
export function isLeftToFile({ leftTo }: Pick<WorkflowChoices, 'leftTo'>, input: string): boolean {
  return leftTo?.inputs.includes(input) ?? false;
}

const SETUP_PLACE = /^ {6}# What the project needs[^\n]*\n/m;
const VERIFY_PLACE = /^ {10}# verify:[^\n]*\n?/m;
const STEPS_PLACE = /^ {4}steps:\n/m;
const CHECKOUT_PLACE = /^ {10}fetch-depth:[^\n]*\n/m;
const KEY_PLACE = /^ {10}anthropic-api-key:[^\n]*\n/m;
const WATCHED_PLACE = /^( {4}workflows: )\[[^\n]*\]$/m;
const LABEL_PLACE = /\blabel\.name == '[^':]*(:plan)?'/g;
const ACTION_PLACE = /^( {6}- uses: )\S*\/ralph-action@\S+$/m;

/** The templates of workflows by their shape. */
export type WorkflowTemplates = Readonly<Record<WorkflowChoices['shape'], string>>;

/** Renders the workflow of a project from its template. */
export function renderWorkflow(
  templates: WorkflowTemplates,
  project: Project,
  choices: WorkflowChoices,
  { allowedTools, taskLabel }: WorkflowDefaults,
): string {
  const tools = toolsOf(project, allowedTools);
  const variables = project.learned?.variables ?? [];
  const services = convertServices(project.learned?.services ?? {});
  const isStarted = services !== null && (choices.shape === 'single' || services.steps !== null);
  const downloads = selectUsedStacks(project).flatMap((stack) => stack.hosts);
  const hosts = new Set([...(isStarted ? services.hosts : []), ...downloads]);
  const inputs = [
    ...(loginOfChoices(choices)?.inputs ?? []).map((input) => `${input}: ''`),
    ...(choices.agent === DEFAULT_AGENT || isLeftToFile(choices, 'agent') ? [] : [`agent: ${choices.agent}`]),
    ...(choices.agentPath === '' ? [] : [`agent-path: ${quoteYamlText(choices.agentPath)}`]),
    ...(variables.length === 0 || isLeftToFile(choices, 'agent-env') ? [] : [`agent-env: ${variables.join(', ')}`]),
    ...(hosts.size === 0 || isLeftToFile(choices, 'allowed-hosts') ? [] : [`allowed-hosts: ${[...hosts].join(', ')}`]),
    ...(isLeftToFile(choices, 'verify') ? [] : verifyLines(choices.verify)),
    ...(tools.length === 0 || isLeftToFile(choices, 'allowed-tools')
      ? []
      : [`allowed-tools: ${tools.map((rule) => `+${rule}`).join(',')}`]),
  ];
  const template = withMinute(withWatchedWorkflows(templates[choices.shape], project.ci), choices.repository);
  return choices.shape === 'single'
    ? renderSingle(template, project, choices, { inputs, services: services?.lines ?? [] })
    : renderThreeJobs(template, choices, [...labelLines(choices, taskLabel), ...inputs]);
}

/**
 * Returns the minute of the hour at which a repository's schedule starts, from 1 to 59. Repositories thus start at
 * different times, and none at the full hour, when GitHub delays schedules most.
 */
export function computeScheduleMinute(repository: string): number {
  let hash = 0;
  for (const letter of repository.toLowerCase()) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 0xff_ff_fd;
  return 1 + (hash % 59);
}

function withMinute(template: string, repository: string | null): string {
  return repository === null
    ? template
    : template.replace(/(?<=cron: ')\d+(?= )/, String(computeScheduleMinute(repository)));
}

/** Puts the names of the workflows whose failures start a run into the template; unchanged without names. */
function withWatchedWorkflows(template: string, names: readonly string[]): string {
  return names.length === 0
    ? template
    : template.replace(WATCHED_PLACE, (_, start: string) => `${start}[${names.map(quoteYamlText).join(', ')}]`);
}

/**
 * Returns the lines that name the label as an input, because the reusable workflow compares labels before any file is
 * read.
 */
function labelLines({ label, leftTo }: WorkflowChoices, taskLabel: string): readonly string[] {
  if (label === taskLabel) return [];
  return [`task-label: ${quoteYamlText(label)}${leftTo === null ? '' : ` # the same as in ${leftTo.path}`}`];
}

/** Returns the comments in place of inputs: the file that sets them, and `verify` to fill in if no command is known. */
function verifyComment(choices: WorkflowChoices, toFillIn: string): readonly string[] {
  const left = ['verify', 'allowed-tools'].filter((input) => isLeftToFile(choices, input));
  if (left.length > 0) return [`# ${listFirstNames(left)}: set in ${choices.leftTo?.path ?? ''}`, ...openVerify()];
  return openVerify();

  function openVerify(): readonly string[] {
    return choices.verify.length === 0 && !isLeftToFile(choices, 'verify') ? [toFillIn] : [];
  }
}

/**
 * Renders the action with a project's set-up steps, which the reusable workflow runs in the agent's job; null if there
 * are no steps.
 */
export function renderSetupAction(project: Project): string | null {
  const submodules =
    project.submodules === null
      ? []
      : [`- run: git submodule update --init${project.submodules === 'recursive' ? ' --recursive' : ''}`];
  // Services start first, so that they are ready when the rest is installed.
  const services = convertServices(project.learned?.services ?? {})?.steps ?? [];
  const steps = [...services, ...submodules, ...setupSteps(project)];
  if (steps.length === 0) return null;
  const lines = steps.flatMap((line) => [line, ...(line.startsWith('- run: ') ? ['  shell: bash'] : [])]);
  return [
    'name: Set up for Ralph',
    "description: Installs what this project needs to build and test. The agent's job runs the version on the default branch.",
    'runs:',
    '  using: composite',
    '  steps:',
    ...lines.map((line) => `    ${line}`),
    '',
  ].join('\n');
}

/** Returns true if a workflow's text calls a reusable workflow of the action. */
export function callsWorkflow(text: string): boolean {
  return /^ +uses: ["']?[^/\s]+\/[^/\s]+\/\.github\/workflows\/ralph(?:-keyless)?\.yml@/m.test(text);
}

const WITH_PLACE = /^ {4}# with:\n {4}# {3}verify:[^\n]*\n/m;
const CALL_PLACE = /^( {4}uses: )\S*\/ralph-action(\/\S+)@\S+$/m;
const SECRET_PLACE = /^ {4}secrets: \{ anthropic-api-key:[^\n]*\n/m;

function renderThreeJobs(template: string, choices: WorkflowChoices, inputs: readonly string[]): string {
  const comments = verifyComment(choices, '# verify: npm ci && npm test');
  return template
    .replace(WITH_PLACE, (comment) => {
      if (inputs.length > 0) return ['    with:\n', ...indented([...comments, ...inputs], 6)].join('');
      return isLeftToFile(choices, 'verify') ? indented(comments, 4).join('') : comment;
    })
    .replace(SECRET_PLACE, () => {
      const key = keyOfChoices(choices);
      return key === null ? '' : `    secrets: { ${key.input}: '\${{ secrets.${key.secret} }}' }\n`;
    })
    .replace(CALL_PLACE, (line, start: string, path: string) => {
      const [name = '', version = ''] = (choices.action ?? '').split('@');
      return choices.action === null ? line : `${start}${name}${path}@${version}`;
    })
    .replace(/^permissions:\n|\/ralph(?=\.yml@)/gm, (found) =>
      loginOfChoices(choices) === null
        ? found
        : found.startsWith('/')
          ? '/ralph-keyless'
          : `${found}  id-token: write # log in to the model's provider\n`,
    );
}

function indented(lines: readonly string[], by: number): readonly string[] {
  return lines.map((line) => `${' '.repeat(by)}${line}\n`);
}

function renderSingle(
  template: string,
  project: Project,
  choices: WorkflowChoices,
  { inputs, services }: { readonly inputs: readonly string[]; readonly services: readonly string[] },
): string {
  const setup = setupSteps(project).map((line) => `      ${line}\n`);
  const { submodules } = project;
  return template
    .replace(STEPS_PLACE, (line) => [...indented(services, 4), line].join(''))
    .replace(CHECKOUT_PLACE, (line) => (submodules === null ? line : `${line}          submodules: ${submodules}\n`))
    .replace(SETUP_PLACE, (comment) => (setup.length === 0 ? comment : setup.join('')))
    .replace(VERIFY_PLACE, (comment) => indented([...verifyComment(choices, comment.trim()), ...inputs], 10).join(''))
    .replace(LABEL_PLACE, (_, more = '') => `label.name == '${choices.label.replaceAll("'", "''")}${more}'`)
    .replace(KEY_PLACE, () => {
      const key = keyOfChoices(choices);
      return key === null ? '' : `          ${key.input}: \${{ secrets.${key.secret} }}\n`;
    })
    .replace(ACTION_PLACE, (line, start: string) => (choices.action === null ? line : `${start}${choices.action}`));
}

/**
 * Returns the commands that prove a project's work in a clean clone: those of CI, or one per folder and language; empty
 * if no tests are known.
 */
export function proposeVerify({ stacks, learned }: Pick<Project, 'stacks' | 'learned'>): readonly string[] {
  if (learned !== null) return learned.verify;
  return withoutCovered(stacks).flatMap((stack) => {
    if (stack.test === null) return [];
    const commands = [stack.install, stack.test].filter((command) => command !== null).join(' && ');
    return [stack.folder === '' ? commands : `(cd ${stack.folder} && ${commands})`];
  });
}

/** Returns the stacks without those in folders that a build of the whole repository covers. */
function withoutCovered(stacks: readonly Stack[]): readonly Stack[] {
  const isWhole = [...rootBuilds, makeLanguage].some(({ tool }) => tool === stacks[0]?.packageManager);
  const covers = isWhole && stacks[0]?.test !== null;
  return covers ? stacks.filter(({ folder }) => folder === '') : stacks;
}

/**
 * Returns the stacks that the set-up installs. A folder that CI does not test may belong to another platform, and
 * nothing sets its tools up.
 */
export function selectUsedStacks({ stacks, learned }: Project): readonly Stack[] {
  if (learned === null) return withoutCovered(stacks);
  return stacks.filter(
    ({ folder, programs }) =>
      folder === '' || learned.byFolder.has(folder) || programs.some((program) => learned.programs.includes(program)),
  );
}

/** Returns the tool rules that the commands of a project need in addition to the default ones. */
function toolsOf(project: Project, defaultTools: string): readonly string[] {
  const given = defaultTools.split(',');
  const programs = [...selectUsedStacks(project), project.learned].flatMap((each) => each?.programs ?? []);
  // A rule for a program does not cover the program with variables before it.
  const withVariables = (project.learned?.verify ?? [])
    .flatMap((line) => line.split(/ && | \|\| /))
    .flatMap((part) => VARIABLES_AND_PROGRAM.exec(part)?.[1] ?? []);
  const rules = [...programs, ...withVariables].map((program) => `Bash(${program}:*)`);
  return [...new Set(rules)].filter((rule) => !given.includes(rule));
}

/** Matches a command that sets variables whose values a tool rule can contain. */
const VARIABLES_AND_PROGRAM = /^[({\s]*((?:[A-Z_]\w*=[\w./:@=+-]+ )+[\w./-]+)(?= |$)/;

/** Returns the steps of the set-up, from CI or from the languages: first each tool once, then the installations. */
function setupSteps(project: Project): readonly string[] {
  if (project.learned !== null) return project.learned.setup;
  const stacks = selectUsedStacks(project);
  const setups = new Map(stacks.map(({ setup }) => [setup.join('\n'), setup]));
  const installs = stacks.flatMap(({ install, folder }) =>
    install === null ? [] : [`- run: ${install}`, ...(folder === '' ? [] : [`  working-directory: ${folder}`])],
  );
  return [...[...setups.values()].flat(), ...installs];
}

function verifyLines(verify: readonly string[]): readonly string[] {
  const [only = ''] = verify;
  if (verify.length === 0) return [];
  return verify.length === 1 && PLAIN_COMMAND.test(only)
    ? [`verify: ${only}`]
    : ['verify: |', ...verify.map((line) => `  ${line}`)];
}
