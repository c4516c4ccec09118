import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_NAMES, CAPABILITIES } from '../src/core/agent-names.ts';
import { entriesIn } from './action-yml.ts';
import { JOB_ACTION, renderJobAction, renderReusableWorkflow, REUSABLE_WORKFLOW } from './reusable-workflow.ts';

const root = join(import.meta.dirname, '..');

/** The page that is made of action.yml, from the root. */
export const INPUTS_PAGE = 'docs/inputs-and-outputs.md';

/** The pages with whole workflows. */
export const WORKFLOW_PAGES = ['README.md', 'docs/recipes.md'];

/** Markdown of the page about inputs and outputs; comments between the inputs of `actionYml` become its headings. */
export function renderInputsPage(actionYml: string): string {
  const [inputs, outputs] = [entriesIn(actionYml, 'inputs'), entriesIn(actionYml, 'outputs')];
  const groups = [...new Set(inputs.map(({ group }) => group))];
  const tables = groups.map((name) => {
    const rows = inputs
      .filter(({ group }) => group === name)
      .map((entry) => `| \`${entry.name}\` | ${shown(entry.value)} | ${cell(entry.description)} |`);
    return [`### ${name}\n`, '| name | default | description |', '|---|---|---|', ...rows].join('\n');
  });
  const rows = outputs.map((entry) => `| \`${entry.name}\` | ${cell(entry.description)} |`);
  return `<!-- Generated from action.yml by \`npm run docs\`: change action.yml, then run it. -->

# Inputs and outputs

## Inputs

Numbers are plain (\`10\`, \`2.5\`), switches are \`true\` or \`false\`. Lists take commas and new lines. Anything unknown, unreadable or out of range is an error; the run reports all errors at once, before it makes a call.

${tables.join('\n\n')}

## Settings of other Ralphs

A repository that has a \`.ralphrc\` needs no inputs for what stands there. For each setting the first of these counts:

1. the input, if it is given: one that has the text of its default counts as not given;
2. the job's environment: \`RALPH_MAX_CALLS_PER_HOUR\`, then \`MAX_CALLS_PER_HOUR\`, and so on for every name that has a meaning;
3. \`.ralph/.ralphrc\`, or \`.ralphrc\` where that is missing, as it is on the base branch. What a branch or the agent changes in it counts once it is merged, and \`allow-protected-paths\` must name it to be published at all;
4. the default.

The file is read as \`KEY=VALUE\` lines with the quotes and comments of bash, and never run. Shell code such as \`$(…)\`, a variable of the environment, or a value out of range ends the run before a call, with every line that has one. A name without a meaning is not an error: the log and the job summary name it. [\`ralph status\` and \`ralph doctor\`](command-line.md) show every setting with its origin.

## Outputs

Give the step an \`id\` to use them: \`\${{ steps.ralph.outputs.outcome }}\`.

${['| name | description |', '|---|---|', ...rows].join('\n')}
`;
}

/** A page with its workflow as the template is now: the README's is that of three jobs, and the recipes' that of one. */
export function withCurrentWorkflow(page: string, templates: WorkflowTemplates): string {
  const workflow = page.startsWith('# ralph-action\n')
    ? templates.threeJobs.replace(INPUTS_PLACE, '    with:\n      $1\n')
    : templates.single;
  return page.replaceAll(/^```yaml\nname: ralph\n[^]*?^```$/gm, () => `\`\`\`yaml\n${withoutComments(workflow)}\`\`\``);
}

/** Where the template shows an input in a comment: a reader of the page sees where inputs go. */
const INPUTS_PLACE = /^ {4}# with:\n {4}# {3}(verify: .*?)(?: #.*)?\n/m;

/** Texts of templates/workflows/. */
interface WorkflowTemplates {
  readonly single: string;
  readonly threeJobs: string;
}

/** YAML without comments, and without what was only there for them. */
function withoutComments(yaml: string): string {
  return yaml
    .replaceAll(/^ *#.*\n/gm, '')
    .replaceAll(/ +#.*$/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .replace(/\n\n(?= {6}- )/g, '\n');
}

/** The page that compares the agents, from the root. */
export const AGENTS_PAGE = 'docs/agents.md';

/** The page with its table as the code has it. */
export function withCapabilities(page: string): string {
  const rows = AGENT_NAMES.map((name) => {
    const { title, resume, tokens, cost, denials, toolRules, turnLimit } = CAPABILITIES[name];
    const words = [resume, tokens, cost, denials].map(yesNo);
    return `| \`${name}\` | ${[title, ...words, RULES[toolRules], yesNo(turnLimit)].join(' | ')} |`;
  });
  const table = [
    '| `agent` | name | continues a conversation | tells tokens | tells cost | reports refused tools | rules of tools | limit of turns |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
  return page.replace(/(<!-- capabilities -->\n)[^]*(<!-- \/capabilities -->)/, `$1${table}\n$2`);
}

const RULES = { each: 'each command', sandbox: 'a sandbox', none: 'none' } as const;

function yesNo(is: boolean): string {
  return is ? 'yes' : 'no';
}

function shown(value: string | null): string {
  return value === null || value === '' ? 'empty' : `\`${cell(value)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

if (import.meta.main) {
  const templates = {
    single: read('templates/workflows/ralph.yml'),
    threeJobs: read('templates/workflows/three-jobs.yml'),
  };
  for (const path of WORKFLOW_PAGES) write(path, withCurrentWorkflow(read(path), templates));
  write(AGENTS_PAGE, withCapabilities(read(AGENTS_PAGE)));
  write(INPUTS_PAGE, renderInputsPage(read('action.yml')));
  write(REUSABLE_WORKFLOW, renderReusableWorkflow(read('action.yml')));
  write(JOB_ACTION, renderJobAction(read('action.yml')));
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function write(path: string, text: string): void {
  writeFileSync(join(root, path), text);
}
