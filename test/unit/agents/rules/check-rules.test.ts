import { expect, test } from 'vitest';
import type { AgentName } from '../../../../src/core/agent-names.ts';
import type { AgentStep } from '../../../../src/core/pipeline/pipeline.ts';
import { checkRules, checkStepRules } from '../../../../src/wiring/agents/agent-settings.ts';

type Level = Parameters<typeof checkRules>[2]['level'];

/**
 * Returns the messages about a run with these `allowed-tools` and one step with its own rules; an error begins with
 * `refused`.
 */
async function saidOf(
  name: AgentName,
  level: Level,
  { run, step }: { readonly run: readonly string[]; readonly step: readonly string[] | null },
): Promise<readonly string[]> {
  const said: string[] = [];
  const world = {
    config: { policy: { allowedTools: run }, agent: { order: [{ name }] } },
    log: { warning: (text: string) => said.push(text) },
  } as unknown as Parameters<typeof checkRules>[0];
  const steps = [{ kind: 'agent', agent: null, name: 'plan', allowedTools: step } as AgentStep];
  try {
    await checkRules(world, name, { level });
    await checkStepRules(world, name, { level, pipeline: { steps } });
  } catch (error) {
    said.push(`refused: ${(error as Error).message}`);
  }
  return said;
}

const OF_STEP = /^Step plan has rules of its own\. /;

test.each<AgentName>(['codex', 'copilot', 'command'])(
  'without isolation a step of %s may not do more than it was given, whatever the run may do',
  async (name) => {
    const said = await saidOf(name, 'none', { run: ['Bash', 'Edit'], step: ['Edit(docs/**)', 'Bash(git add -A)'] });
    expect(said).toEqual([expect.stringMatching(/^refused: Step plan has rules of its own\. /)]);
  },
);

test.each<Level>(['user', 'namespace'])('with isolation `%s` the run says so and continues', async (level) => {
  const rules = { run: ['Bash', 'Edit'], step: ['Bash(git add:*)'] };
  expect(await saidOf('codex', level, rules)).toEqual([expect.stringMatching(OF_STEP)]);
});

test('a step by which nothing differs is not spoken of', async () => {
  expect(await saidOf('codex', 'none', { run: ['Bash'], step: ['Read'] })).toEqual([]);
  expect(await saidOf('claude', 'none', { run: ['Bash'], step: ['Bash(git add:*)'] })).toEqual([]);
});

test("a step without rules of its own has the run's, and the same gap is reported once", async () => {
  const rules = ['Bash(git add:*)'];
  expect(await saidOf('codex', 'user', { run: rules, step: null })).toHaveLength(1);
  expect(await saidOf('codex', 'user', { run: rules, step: rules })).toHaveLength(1);
});

test('no step is checked without a pipeline', async () => {
  const world = {
    config: { policy: { allowedTools: [] }, agent: { order: [{ name: 'codex' }] } },
    log: {},
  } as unknown as Parameters<typeof checkRules>[0];
  await expect(checkStepRules(world, 'codex', { level: 'none', pipeline: null })).resolves.toBeUndefined();
});
