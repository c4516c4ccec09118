import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACTION_FOLDER, TOKEN } from '../../../sandbox/sandbox.ts';
import type { Behaviour } from '../../../sandbox/scripted-agent.ts';
import { createScene } from '../e2e-fixture.ts';

// Each line of SECURITY.md about what an agent of the same user can still reach. One that fails here is closed: take it out there.

const LOOK = `
main=$(awk '{print $4}' /proc/$PPID/stat)
temp=$(dirname "$(dirname "$CLAUDE_CONFIG_DIR")")
note() { echo "$1" >> "$temp/reached"; }
grep -q '${TOKEN.slice(0, 20)}' /proc/$main/environ && note environment
start=$(grep -m1 rw-p /proc/$main/maps | cut -d- -f1)
dd if=/proc/$main/mem bs=1 count=1 skip=$((16#$start)) of=/dev/null 2>/dev/null && note memory
kill -0 $main && note signals
for process in /proc/[0-9]*; do
  [ "$(awk '{print $4}' $process/stat 2>/dev/null)" = $main ] || continue
  tr '\\0' ' ' < $process/cmdline | grep -q ' watchdog ' && kill -KILL \${process#/proc/} && note watchdog
done
echo '# planted' >> "$HOME/.bashrc" && note home
test -w "$(readlink /proc/$main/exe)" && note node
test -w "$temp/_github_workflow_event.json" && note event
(cd /; exec env -i setsid sh -c 'for i in $(seq 600); do [ -e "$0/stop" ] && exec touch "$0/survived"; sleep 0.1; done' "$temp") >/dev/null 2>&1 </dev/null &
sleep 0.5
true`;

test('what SECURITY.md says an agent of the same user can still reach', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({ agent: [{ kind: 'shell', script: LOOK, status: null }] });
  const temp = join(run.machine, 'temp');
  expect(readFileSync(join(temp, 'reached'), 'utf8').trim().split('\n')).toEqual([
    'environment',
    'memory',
    'signals',
    'watchdog',
    'home',
    'node',
    'event',
  ]);
  writeFileSync(join(temp, 'stop'), '');
  await expect.poll(() => existsSync(join(temp, 'survived')), { timeout: 10_000 }).toBe(true);
});

const FIND = `
main=$(awk '{print $4}' /proc/$PPID/stat)
run=$(dirname "$CLAUDE_CONFIG_DIR")
temp=$(dirname "$run")
`;
const shell = (script: string): Behaviour => ({ kind: 'shell', script: `${FIND}${script}`, status: null });
const work: Behaviour = { kind: 'work' };

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
  const record = await scene.sandbox.git('show', 'refs/ralph/state/queue:state.json');
  const { document } = JSON.parse(record) as { document: string };
  expect(JSON.parse(document)).toMatchObject({ tasks: { 'issue-1': { state: 'done' } } });
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
