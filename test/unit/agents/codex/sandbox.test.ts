import { expect, test } from 'vitest';
import { chooseCodexSandbox } from '../../../../src/agents/codex/cli.ts';
import type { CollectedOutput } from '../../../../src/processes/collect-output.ts';

const WORK = ['Read', 'Edit', 'Bash(git commit:*)'];
const LOOK = ['Read', 'Grep'];

let runs = 0;

/** Makes a call in a separate run, on a machine where the probe has this result. */
function sandboxOn(
  end: CollectedOutput['end'],
  { rules, isolated }: { readonly rules: readonly string[]; readonly isolated: boolean },
) {
  const asked: (readonly string[])[] = [];
  const place = {
    configFolder: `/run/${String(++runs)}`,
    workFolder: '/repo',
    alsoFolder: null,
    tree: '/repo',
    prices: {},
    isolated,
    run: (args: readonly string[]): Promise<CollectedOutput> => {
      asked.push(args);
      return Promise.resolve({ end, stdout: Buffer.alloc(0), stderr: Buffer.from('bwrap: no') });
    },
  };
  return { asked, sandbox: () => chooseCodexSandbox({ allowedTools: rules }, {}, place) };
}

const works: CollectedOutput['end'] = { kind: 'exited', code: 0 };
const fails: CollectedOutput['end'] = { kind: 'exited', code: 1 };

test.each([
  { rules: WORK, isolated: false, mode: 'workspace-write' },
  { rules: WORK, isolated: true, mode: 'workspace-write' },
  { rules: LOOK, isolated: true, mode: 'read-only' },
])('where a sandbox starts, $rules make it $mode', async ({ rules, isolated, mode }) => {
  expect(await sandboxOn(works, { rules, isolated }).sandbox()).toMatchObject({ mode });
});

test('where none starts, the sandbox is the limit', async () => {
  expect(await sandboxOn(fails, { rules: WORK, isolated: true }).sandbox()).toBeNull();
});

test.each([
  { rules: WORK, isolated: false, says: /^Codex cannot limit .*bwrap: no.*apparmor_restrict.*`isolation: user`/ },
  { rules: LOOK, isolated: false, says: /apparmor_restrict.*`isolation: user`/ },
  { rules: LOOK, isolated: true, says: /apparmor_restrict.*or allow the agent to edit files\.$/ },
])('where none starts and nothing else holds $rules, that is an error (isolated: $isolated)', async (on) => {
  await expect(sandboxOn(fails, on).sandbox()).rejects.toMatchObject({
    name: 'UserError',
    kind: 'configuration',
    message: expect.stringMatching(on.says),
  });
});

test('it is tried once in a run', async () => {
  const { asked, sandbox } = sandboxOn(works, { rules: WORK, isolated: false });
  await sandbox();
  await sandbox();
  expect(asked).toEqual([['sandbox', '-c', 'sandbox_mode="workspace-write"', '--', 'true']]);
});
