import type { Project, Stack, WorkspacePackage } from './project.ts';
import {
  renderSetupAction,
  renderWorkflow,
  selectUsedStacks,
  type WorkflowChoices,
  type WorkflowDefaults,
  type WorkflowTemplates,
} from './workflow.ts';
import { quoteYamlText } from '../text/phrase.ts';

/** The texts of this package from which init makes files, and defaults of action.yml. */
export interface Templates extends WorkflowDefaults {
  readonly workflows: WorkflowTemplates;
  readonly prompt: string;
}

/** A file that init wants: `lines` are appended to a file; a `whole` file is written only if none exists. */
export type WantedFile =
  | { readonly kind: 'whole'; readonly path: string; readonly comment: 'yaml' | 'markdown'; readonly text: string }
  | { readonly kind: 'lines'; readonly path: string; readonly lines: readonly string[] };

/** All choices of a person. */
export interface SetupChoices extends WorkflowChoices {
  /** True if init also writes a prompt for them to edit. */
  readonly prompt: boolean;
}

/** Paths of the whole files that init writes, and of `.gitignore`. */
export const SETUP_PATHS = {
  workflow: '.github/workflows/ralph.yml',
  setUp: '.github/actions/ralph-setup/action.yml',
  agent: '.ralph/AGENT.md',
  form: '.github/ISSUE_TEMPLATE/ralph-task.yml',
  prompt: '.ralph/PROMPT.md',
  ignore: '.gitignore',
} as const;

/** Folders and files that runs keep on a machine and never publish. */
const MACHINE_PATHS: readonly string[] = [
  '.ralph/state/',
  '.ralph/logs/',
  '.ralph/status.json',
  '.ralph/progress.json',
  '.ralph/journal*.jsonl',
];

/** Returns the files of a project's set-up. */
export function buildSetUpFiles(project: Project, choices: SetupChoices, templates: Templates): readonly WantedFile[] {
  const { workflows, prompt } = templates;
  const setUp = choices.shape === 'three-jobs' ? renderSetupAction(project) : null;
  const yaml = (path: string, text: string): WantedFile => ({ kind: 'whole', path, comment: 'yaml', text });
  return [
    ...(project.ralphWorkflow === SETUP_PATHS.workflow
      ? [
          yaml(SETUP_PATHS.workflow, renderWorkflow(workflows, project, choices, templates)),
          ...(setUp === null ? [] : [yaml(SETUP_PATHS.setUp, setUp)]),
        ]
      : []),
    { kind: 'whole', path: SETUP_PATHS.agent, comment: 'markdown', text: renderAgentFile(project) },
    { kind: 'whole', path: SETUP_PATHS.form, comment: 'yaml', text: renderForm(choices.label) },
    ...(choices.prompt
      ? [{ kind: 'whole', path: SETUP_PATHS.prompt, comment: 'markdown', text: prompt } as const]
      : []),
    { kind: 'lines', path: SETUP_PATHS.ignore, lines: ignoredLines(project) },
  ];
}

function ignoredLines({ stacks }: Project): readonly string[] {
  return [...new Set([...MACHINE_PATHS, ...stacks.flatMap(({ leaves }) => leaves)])];
}

function renderAgentFile(project: Project): string {
  const { packages } = project;
  const stacks = selectUsedStacks(project);
  const others = [...(project.learned?.byFolder ?? [])].filter(([at]) => stacks.every(({ folder }) => folder !== at));
  const sections = [
    ...stacks.map((stack) => ({ ...stack, title: [stack.language, ...stack.frameworks].join(', ') })),
    ...others.map(([folder, commands]) => ({ ...commands, folder, title: 'Commands of CI' })),
  ].map((section) => {
    const where = section.folder === '' ? '' : ` in \`${section.folder}/\``;
    const rows = stackCommandsOf(section).map(([use, command]) => `- ${use}: \`${command}\``);
    return [`## ${section.title}${where}`, '', ...(rows.length === 0 ? ['- (no commands were found)'] : rows), ''].join(
      '\n',
    );
  });
  return [
    '# Building and testing this project',
    '',
    ...(sections.length === 0
      ? ['## Tests', '', '- (how to check a change: a command, or what to look at)', '']
      : sections),
    ...(packages.length === 0 ? [] : ['## Packages', '', ...packages.map(packageLine), '']),
    '## Conventions',
    '',
    '- (what the code does not show: naming, where things go, what never to touch)',
    '',
  ].join('\n');
}

function packageLine({ folder, name, commands }: WorkspacePackage): string {
  const listed = commands.map(([use, command]) => `${use.toLowerCase()} \`${command}\``).join(', ');
  return `- \`${folder}/\` (\`${name}\`)${listed === '' ? '' : `: ${listed}`}`;
}

function stackCommandsOf({
  install,
  build,
  test,
  lint,
}: Pick<Stack, 'install' | 'build' | 'test' | 'lint'>): readonly (readonly [string, string])[] {
  const uses = [
    ['Install', install],
    ['Build', build],
    ['Test', test],
    ['Lint', lint],
  ] as const;
  return uses.flatMap(([use, command]) => (command === null ? [] : [[use, command] as const]));
}

function renderForm(label: string): string {
  return `name: Task for Ralph
description: Work that an unattended coding agent can do and that tests can prove
labels: [${quoteYamlText(label)}]
body:
  - type: textarea
    id: task
    attributes:
      label: What should be different afterwards?
      description: One change. Name files, commands and examples; the agent cannot ask you.
    validations:
      required: true
  - type: textarea
    id: done
    attributes:
      label: How can it be checked?
      description: A test that must pass, a command and its output, or what must be true.
  - type: textarea
    id: bounds
    attributes:
      label: What must stay as it is?
`;
}
