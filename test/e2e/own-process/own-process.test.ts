import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACTION_FOLDER, TOKEN } from '../../../testbed/testbed.ts';
import type { Behaviour } from '../../../testbed/scripted-agent.ts';
import { createScene, type Run } from '../e2e-fixture.ts';
import { deepTest, rows } from '../../runs.ts';

/**
 * The agent's shell finds the action's process, its folder and the runner's files, as any program of the same user can.
 */
const FIND = `
main=$(awk '{print $4}' /proc/$PPID/stat)
run=$(dirname "$(dirname "$CLAUDE_CONFIG_DIR")")
temp=$(dirname "$run")
files=$temp/_runner_file_commands
`;
const shell = (script: string): Behaviour => ({ kind: 'shell', script: `${FIND}${script}`, status: null });
const work: Behaviour = { kind: 'work' };
/**
 * Without the record, post cannot tell whether proxies and certificates are main's; if any are set, it makes no
 * requests.
 */
const withoutProxies = Object.fromEntries(
  ['https_proxy', 'HTTPS_PROXY', 'no_proxy', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'].map(
    (name) => [name, ''],
  ),
);

// Also tested by attacks/post.
deepTest(
  'a forged record and a killed main: post says so in one error, believes nothing of it, and frees the lane',
  async () => {
    await using scene = await createScene();
    scene.openIssue('Count');
    const run = await scene.run({
      env: withoutProxies,
      agent: [
        shell(`
sed -i 's/"approvals":{}/"approvals":{"issue-99":{"hash":"x"}}/; s/"outcome":{[^}]*}/"outcome":{"kind":"complete","reason":"plan_complete"}/' "$run/run.json"
printf 'run-folder=/tmp/evil\\nrun-tag=\\nmark=\\nlane=\\n' >> "$files/state"
kill -KILL $main`),
      ],
    });
    expect(run.main.signal).toBe('SIGKILL');
    expect(run.post.log.match(/^::error::.*/gm)).toEqual([
      expect.stringMatching(/The record of this run in .* is not the one that the main step wrote/),
    ]);
    expect(run.summary.match(/^## Ralph: .*/gm)).toEqual(['## Ralph: Failed: infrastructure; you are needed']);
    expect(scene.testbed.github.state.pulls).toEqual([]);
    expect(readFileSync(join(run.workspace, '.git/config'), 'utf8')).toContain('extraheader');
    expect(await scene.run()).toMatchObject({ outputs: { outcome: 'complete' } });
  },
);

// Also tested by attacks/post.
deepTest('lines in GITHUB_STATE change nothing of what post does after a killed main', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    agent: [
      work,
      shell(`printf 'run-folder=/tmp/evil\\nrun-tag=\\nmark=\\nlane=issue-9\\n' >> "$files/state"; kill -KILL $main`),
    ],
  });
  expect(run.main.signal).toBe('SIGKILL');
  expect(run.post.log).toContain('saved #2 (cache ✓ ref ✓)');
  expect(scene.pullOf('ralph/queue')).toMatchObject({ status: { outcome: 'cancelled', reason: 'killed' } });
});

// Also tested by attacks/post and unit/runner/files.
deepTest(
  "the runner's files hold what the action wrote and nothing else, and the log says so once for each; SIGUSR1 opens no inspector",
  async () => {
    await using scene = await createScene();
    scene.openIssue('Count');
    const spoil = `
for name in env path output state summary; do echo 'SPOILT=1' >> "$files/$name"; done
rm "$files/path"; mkfifo "$files/path"
kill -USR1 $main; sleep 0.5
(exec 3<>/dev/tcp/127.0.0.1/9229) 2>/dev/null && echo open > "$temp/inspector"`;
    const run = await scene.run({ agent: [shell(spoil), shell(spoil), work] });
    expect(run.outputs).toMatchObject({ outcome: 'complete' });
    expect(spoiltFiles(run)).toEqual([]);
    const warned = run.main.log.match(/^::warning::Something else wrote to the file of \w+/gm) ?? [];
    expect(warned.map((line) => line.split(' ').at(-1)).sort()).toEqual([
      'GITHUB_ENV',
      'GITHUB_OUTPUT',
      'GITHUB_PATH',
      'GITHUB_STATE',
      'GITHUB_STEP_SUMMARY',
    ]);
    expect(run.summary).toMatch(/^## Ralph: /);
    expect(run.main.log).not.toContain('Debugger listening');
    expect(existsSync(join(run.machine, 'temp', 'inspector'))).toBe(false);
  },
);

// Also tested by attacks/post; cancel tests that the credentials are restored.
deepTest('hidden credentials are nowhere on disk while the agent works, and back afterwards', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const secret = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
  const run = await scene.run({
    // The pattern is only a part of the secret, because the prompt's script would contain the whole.
    agent: [shell(`grep -rlF '${secret.slice(0, 40)}' "$temp" .git > "$temp/found" 2>/dev/null; true`), work],
  });
  expect(readFileSync(join(run.machine, 'temp', 'found'), 'utf8')).toBe('');
  expect(readFileSync(join(run.workspace, '.git/config'), 'utf8')).toContain(secret);
});

test('credentials that are found in the checkout are masked, redacted and never published', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const password = 'horse-battery-staple';
  const run = await scene.run({
    prepare: async (workspace) => {
      const config = join(workspace, '.git/config');
      await appendFile(config, `[remote "other"]\n\turl = https://me:${password}@example.com/r.git\n`);
    },
    agent: [
      {
        kind: 'shell',
        script: `mkdir -p src; echo 1 > src/count.js; echo '${password}' > src/found.js; echo "Found ${password}."`,
      },
    ],
  });
  expect(run.main.log).toContain(`::add-mask::${password}`);
  expect(await scene.testbed.git('ls-tree', '-r', '--name-only', 'ralph/queue', 'src/')).not.toContain('found.js');
  expect(await scene.testbed.git('log', '--all', '-p')).not.toContain(password);
  const { body } = scene.pullOf('ralph/queue');
  expect(body).toContain('src/found.js');
  const shown = run.main.log.replaceAll(/^::add-mask::.*/gm, '') + run.post.log + run.summary + body;
  expect(shown).not.toContain(password);
});

test.each(
  rows(2, [
    {
      name: 'and main lives: it is put back and the run ends with one error',
      file: 'licenses.txt',
      does: '',
      end: 'main' as const,
    },
    ...['licenses.txt', 'index.js'].flatMap((file) => [
      {
        name: `(${file}) and main is killed: post publishes nothing`,
        file,
        does: 'kill -KILL $main',
        end: 'post' as const,
      },
      {
        name: `(${file}), the record is removed and main is killed: post publishes nothing`,
        file,
        does: 'rm -f "$run/run.json"; kill -KILL $main',
        end: 'post' as const,
      },
    ]),
  ]),
)("the action's own files are changed, $name", async ({ file, does, end }) => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const action = join(scene.testbed.folder, 'action');
  for (const name of ['action.yml', 'dist', 'templates'])
    cpSync(join(ACTION_FOLDER, name), join(action, name), { recursive: true });
  const chunk = join(action, 'dist', file);
  const original = readFileSync(chunk, 'utf8');
  const planted = "console.log('PLANTED');";
  const run = await scene.run({
    action,
    agent: [
      work,
      shell(`echo "${planted}" | cat - '${chunk}' > "$temp/planted"; cp "$temp/planted" '${chunk}'; ${does}`),
    ],
  });
  expect(run[end].log.match(/^::error::.*/gm)).toEqual([
    expect.stringContaining("The action's own files were changed"),
  ]);
  expect(run.post.log).not.toContain('PLANTED');
  expect(run.summary).toContain("The action's own files were changed");
  if (end === 'main') expect(readFileSync(chunk, 'utf8')).toBe(original);
  else expect(scene.testbed.github.state.pulls).toEqual([]);
});

/** Returns the runner's files that a later step would read and that were changed. */
function spoiltFiles({ machine }: Run): string[] {
  const folder = join(machine, 'temp', '_runner_file_commands');
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name), 'utf8').includes('SPOILT'));
}
