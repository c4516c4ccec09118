import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_NAMES, AGENTS, nameKeyInput, listKeyVariables } from '../src/core/agent-names.ts';
import { INPUT_ROWS, JOB_ROWS } from '../src/config/input-rows.ts';
import { SETTING_ROWS, type SettingGroup } from '../src/config/setting-rows.ts';
import { outputsIn, withInputs } from './action-yml.ts';
import {
  JOB_ACTION,
  KEYLESS,
  renderBranchWorkflow,
  renderJobAction,
  renderReusableWorkflow,
  WITH_KEYS,
} from './reusable-workflow.ts';

const root = join(import.meta.dirname, '..');

/** The path of the page that is generated from action.yml, from the root. */
export const INPUTS_PAGE = 'docs/inputs-and-outputs.md';

/** Renders the page about inputs, settings and outputs. */
export function renderInputsPage(actionYml: string): string {
  const rows = outputsIn(actionYml).map((entry) => `| \`${entry.name}\` | ${cell(entry.description)} |`);
  return `<!-- Generated from src/config/ and action.yml by \`npm run docs\`: change those, then run it. -->

# Inputs and outputs

Numbers are plain (\`10\`, \`2.5\`), switches are \`true\` or \`false\`. Lists take commas and new lines. Anything unreadable or out of range is an error, and so is an unknown name under \`settings\`; the runner only warns of an unknown input. The run reports all errors at once, before it makes a call.

## Inputs

An agent's key can also be an environment variable: its name in capitals, such as \`ANTHROPIC_API_KEY\`.

${settingTables(INPUT_ROWS)}

## Settings

These are names under the input \`settings\`:

\`\`\`yaml
with:
  verify: npm ci && npm test
  settings: |
    max-patch-kib: 4096
    answer-checks: false
    pr-labels: [automated, ralph]
\`\`\`

A value is a text, a number, \`true\`, \`false\` or a list; an empty one is not given, and \`[]\` is an empty list. It is not kept secret, so it takes no keys and tokens. A setting that stands directly under \`with\` is an error that says where it goes.

${settingTables(SETTING_ROWS)}

## Inputs of one job

The action \`OWNER/ralph-action/.github/actions/job\` has the inputs above and these. The [reusable workflow](security.md#three-jobs) sets them; use it yourself only to build other jobs.

${settingTables(JOB_ROWS)}

## Settings of other Ralphs

A repository that has a \`.ralphrc\` needs no inputs for the settings in it. For each setting the first of these counts:

1. the input, or its name under \`settings\`: one that has the text of its default counts as not given;
2. the job's environment: \`RALPH_MAX_CALLS_PER_HOUR\`, then \`MAX_CALLS_PER_HOUR\`, and so on for every name that has a meaning;
3. \`.ralph/.ralphrc\`, or \`.ralphrc\` where that is missing, as it is on the base branch. What a branch or the agent changes in it counts once it is merged, and \`allow-protected-paths\` must name it to be published at all;
4. the default.

The file is read as \`KEY=VALUE\` lines with the quotes and comments of bash, and never run. Shell code such as \`$(…)\`, a variable of the environment, or a value out of range ends the run before a call, with every line that has one. [\`ralph status\` and \`ralph doctor\`](command-line.md) show every setting with its origin.

## Outputs

Give the step an \`id\` to use them: \`\${{ steps.ralph.outputs.outcome }}\`.

${['| name | description |', '|---|---|', ...rows].join('\n')}
`;
}

function settingTables(groups: readonly SettingGroup[]): string {
  const tables = groups.map(({ group, rows }) =>
    [
      `### ${group}\n`,
      '| name | default | description |',
      '|---|---|---|',
      ...rows.map(([name, text, description]) => `| \`${name}\` | ${shown(text)} | ${cell(description)} |`),
    ].join('\n'),
  );
  return tables.join('\n\n');
}

/** Returns the README with its workflow updated from the template of three jobs. */
export function withCurrentWorkflow(page: string, template: string): string {
  const workflow = template.replace(INPUTS_PLACE, '    with:\n      $1\n');
  return page.replaceAll(/^```yaml\nname: ralph\n[^]*?^```$/gm, () => `\`\`\`yaml\n${workflow}\`\`\``);
}

/** The place where the template shows an input in a comment, so that readers of the page see where inputs go. */
const INPUTS_PLACE = /^ {4}# with:\n {4}# {3}(verify: .*?)(?: #.*)?\n/m;

/** The path of the page that compares the agents, from the root. */
export const AGENTS_PAGE = 'docs/agents.md';

/** Returns the page with its tables generated from the agents' manifests. */
export function withCapabilities(page: string): string {
  const rows = AGENT_NAMES.map((name) => {
    const { title, resume, tokens, cost, denials, toolRules, turnLimit } = AGENTS[name];
    const words = [resume, tokens, cost, denials].map(yesNo);
    return `| \`${name}\` | ${[title, ...words, RULES[toolRules], yesNo(turnLimit)].join(' | ')} |`;
  });
  const table = [
    '| `agent` | name | continues a conversation | reports tokens | reports cost | reports refused tools | tool rules | limit of turns |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
  const keys = AGENT_NAMES.filter((name) => listKeyVariables(name).length > 0).map((name) => {
    const inputs = listKeyVariables(name).map((variable) => `\`${nameKeyInput(variable)}\``);
    return `| \`${name}\` | ${inputs.join(' or ')} |`;
  });
  return page
    .replace(/(<!-- capabilities -->\n)[^]*(<!-- \/capabilities -->)/, `$1${table}\n$2`)
    .replace(/(<!-- keys -->\n)[^]*(<!-- \/keys -->)/, `$1| agent | inputs |\n|---|---|\n${keys.join('\n')}\n$2`);
}

const RULES = { each: 'each command', sandbox: 'a sandbox', none: 'none' } as const;

function yesNo(is: boolean): string {
  return is ? 'yes' : 'no';
}

function shown(value: string): string {
  return value === '' ? 'empty' : `\`${cell(value)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

if (import.meta.main) {
  write('README.md', withCurrentWorkflow(read('README.md'), read('templates/workflows/three-jobs.yml')));
  write(AGENTS_PAGE, withCapabilities(read(AGENTS_PAGE)));
  write('action.yml', withInputs(read('action.yml'), INPUT_ROWS));
  write(INPUTS_PAGE, renderInputsPage(read('action.yml')));
  for (const form of [WITH_KEYS, KEYLESS]) {
    write(form.reusable, renderReusableWorkflow(form));
    write(form.branch, renderBranchWorkflow(form));
  }
  write(JOB_ACTION, renderJobAction(read('action.yml')));
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function write(path: string, text: string): void {
  writeFileSync(join(root, path), text);
}
