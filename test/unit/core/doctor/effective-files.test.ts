import { expect, test } from 'vitest';
import { withEffectiveInputs, type WorkflowFile } from '../../../../src/core/doctor/facts.ts';
import type { EffectiveSetting } from '../../../../src/core/settings/effective.ts';

const WORKFLOW = '.github/workflows/ralph.yml';
const step = {
  job: 'ralph',
  at: ['jobs', 'ralph', 'steps', 0],
  action: 'acme/ralph-action@v1',
  knownBy: 'name',
  condition: '',
  permissions: { kind: 'absent' },
  runsOn: ['ubuntu-latest'],
  timeoutMinutes: '60',
  cacheMode: null,
  hasEnvironment: false,
  inputs: { 'max-iterations': '3' },
  given: {},
  environment: {},
  checkout: {},
  caches: [],
} as const;
const file: WorkflowFile = {
  kind: 'workflow',
  text: '',
  workflow: { path: WORKFLOW, name: 'ralph', triggers: [], uses: [step] },
};
const settings: readonly EffectiveSetting[] = [
  { input: 'max-iterations', text: '3', origin: 'input', where: WORKFLOW },
  { input: 'task-label', text: 'ralph-task', origin: 'file', where: '.ralphrc:27 GITHUB_TASK_LABEL' },
  { input: 'label-prefix', text: 'ralph', origin: 'default', where: 'action.yml' },
  { input: 'verify', text: 'npm test', origin: 'environment', where: 'TEST_COMMAND' },
];

const inputsOf = (files: readonly WorkflowFile[]): unknown =>
  files.map((one) => (one.kind === 'workflow' ? one.workflow.uses.map(({ inputs }) => inputs) : one.why));

test('a text in the place of inputs that nobody gave is checked like inputs', () => {
  expect(inputsOf(withEffectiveInputs([file], [{ workflow: WORKFLOW, settings, problems: [] }]))).toEqual([
    [{ 'max-iterations': '3', 'task-label': 'ralph-task', verify: 'npm test' }],
  ]);
});

test('settings with problems, those of another workflow, and a file that cannot be read change nothing', () => {
  const unreadable: WorkflowFile = { kind: 'unreadable', path: 'x.yml', why: 'it is no YAML' };
  const answered = [
    { workflow: WORKFLOW, settings, problems: ['.ralphrc:1 …'] },
    { workflow: 'other.yml', settings, problems: [] },
  ];
  expect(withEffectiveInputs([file, unreadable], answered)).toEqual([file, unreadable]);
});
