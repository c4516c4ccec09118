import { describe, expect, test } from 'vitest';
import type { WorkflowFile } from '../../../src/core/doctor/facts.ts';
import { parseWorkflow } from '../../../src/core/doctor/workflow.ts';
import { readSharedInputs } from '../../../src/wiring/home/settings.ts';

const PATH = '.github/workflows/ralph.yml';

function workflowWith(inputs: Readonly<Record<string, string>>): WorkflowFile {
  const data = {
    on: 'push',
    jobs: { ralph: { uses: 'acme/ralph-action/.github/workflows/ralph.yml@v1', with: inputs } },
  };
  const workflow = parseWorkflow(PATH, data);
  if (workflow === null) throw new Error('It is not a workflow of the action.');
  return { kind: 'workflow', text: '', workflow };
}

describe('readSharedInputs', () => {
  test('takes verify and allowed-tools of the workflow, and nothing else', () => {
    const file = workflowWith({ verify: 'npm ci\nnpm test', 'allowed-tools': 'Read', 'max-iterations': '3' });

    expect(readSharedInputs([file], {})).toEqual({
      inputs: { verify: 'npm ci\nnpm test', 'allowed-tools': 'Read' },
      note: `Uses verify (npm ci; npm test) and allowed-tools from ${PATH} in this checkout.`,
    });
  });

  test('leaves out what the command line gives', () => {
    const file = workflowWith({ verify: 'npm test', 'allowed-tools': 'Read' });

    expect(readSharedInputs([file], { verify: 'make' })).toEqual({
      inputs: { 'allowed-tools': 'Read' },
      note: `Uses allowed-tools from ${PATH} in this checkout.`,
    });
  });

  test('cannot take an expression, and says so', () => {
    expect(readSharedInputs([workflowWith({ verify: '${{ vars.VERIFY }}' })], {})).toEqual({
      inputs: {},
      note: `The value of verify in ${PATH} is known only on GitHub; to set it, use --input.`,
    });
  });

  test('looks at the workflow of the same folder', () => {
    const files = [
      workflowWith({ verify: 'npm test' }),
      workflowWith({ verify: 'cargo test', 'working-directory': 'api' }),
    ];

    expect(readSharedInputs(files, { 'working-directory': 'api' }).inputs).toEqual({ verify: 'cargo test' });
    expect(readSharedInputs(files, { 'working-directory': 'web' })).toEqual({ inputs: {}, note: null });
  });

  test.each([
    ['no workflow', []],
    ['one that sets neither', [workflowWith({ verify: ' ' })]],
    ['one that cannot be read', [{ kind: 'unreadable', path: PATH, why: 'it is broken.' }] as const],
  ])('says nothing of %s', (_, files) => {
    expect(readSharedInputs(files, {})).toEqual({ inputs: {}, note: null });
  });
});
