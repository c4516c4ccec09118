import type { Project, Stack } from './project.ts';

/** What a person decides about the workflow; `single`: one job that does everything. */
export interface WorkflowChoices {
  readonly shape: 'single';
  /** Commands that must pass, one per line; empty: none are known. */
  readonly verify: readonly string[];
  readonly key: 'api-key' | 'subscription';
  /** What `uses:` names; null: as the template has it. */
  readonly action: string | null;
}

const SETUP_PLACE = /^ {6}# What the project needs[^\n]*\n/m;
const VERIFY_PLACE = /^ {10}# verify:[^\n]*\n?/m;
const KEY_PLACE = /^ {10}anthropic-api-key:[^\n]*$/m;
const ACTION_PLACE = /^( {6}- uses: )\S*\/ralph-action@\S+$/m;

/** The workflow of a project, made of the template; `defaultTools` is the default of the input `allowed-tools`. */
export function renderWorkflow(
  template: string,
  project: Project,
  choices: WorkflowChoices,
  defaultTools: string,
): string {
  const setup = setupSteps(project.stacks).map((line) => `      ${line}\n`);
  const tools = toolsOf(project.stacks, defaultTools);
  const inputs = [
    ...verifyLines(choices.verify),
    ...(tools.length === 0
      ? []
      : ['allowed-tools: |', ...[...defaultTools.split(','), ...tools].map((rule) => `  ${rule}`)]),
  ];
  return template
    .replace(SETUP_PLACE, (comment) => (setup.length === 0 ? comment : setup.join('')))
    .replace(VERIFY_PLACE, (comment) =>
      [...(choices.verify.length === 0 ? [comment] : []), ...inputs.map((line) => `          ${line}\n`)].join(''),
    )
    .replace(KEY_PLACE, (line) =>
      choices.key === 'api-key' ? line : `          ${SUBSCRIPTION_INPUT}: \${{ secrets.${SECRETS.subscription} }}`,
    )
    .replace(ACTION_PLACE, (line, start: string) => (choices.action === null ? line : `${start}${choices.action}`));
}

const SUBSCRIPTION_INPUT = 'claude-code-oauth-token';

/** The secret that the workflow names, by the kind of key. */
export const SECRETS: Readonly<Record<WorkflowChoices['key'], string>> = {
  'api-key': 'ANTHROPIC_API_KEY',
  subscription: 'CLAUDE_CODE_OAUTH_TOKEN',
};

/** The commands that prove a project's work in a clean clone, one per folder and language; empty: no tests are known. */
export function verifyOf(stacks: readonly Stack[]): readonly string[] {
  return stacks.flatMap((stack) => {
    if (stack.test === null) return [];
    const commands = [stack.install, stack.test].filter((command) => command !== null).join(' && ');
    return [stack.folder === '' ? commands : `(cd ${stack.folder} && ${commands})`];
  });
}

/** Rules that the commands of a project need beyond the default ones. */
function toolsOf(stacks: readonly Stack[], defaultTools: string): readonly string[] {
  const given = defaultTools.split(',');
  const rules = stacks.flatMap(({ programs }) => programs.map((program) => `Bash(${program}:*)`));
  return [...new Set(rules)].filter((rule) => !given.includes(rule));
}

/** Steps that bring the tools, each once, and those that install. */
function setupSteps(stacks: readonly Stack[]): readonly string[] {
  const setups = new Map(stacks.map(({ setup }) => [setup.join('\n'), setup]));
  const installs = stacks.flatMap(({ install, folder }) =>
    install === null ? [] : [`- run: ${install}`, ...(folder === '' ? [] : [`  working-directory: ${folder}`])],
  );
  return [...[...setups.values()].flat(), ...installs];
}

function verifyLines(verify: readonly string[]): readonly string[] {
  const [only = ''] = verify;
  if (verify.length === 0) return [];
  return verify.length === 1 && PLAIN_SCALAR.test(only)
    ? [`verify: ${only}`]
    : ['verify: |', ...verify.map((line) => `  ${line}`)];
}

/** Commands that YAML reads as they are written. */
const PLAIN_SCALAR = /^[A-Za-z./][\w ./&=-]*$/;
