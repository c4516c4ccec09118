import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TOKEN } from '../../../sandbox/sandbox.ts';
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
echo '# planted' >> "$HOME/.bashrc" && note home
test -w "$(readlink /proc/$main/exe)" && note node
test -w "$temp/_github_workflow_event.json" && note event
env -i setsid sh -c 'for i in $(seq 600); do [ -e "$0/stop" ] && exec touch "$0/survived"; sleep 0.1; done' "$temp" >/dev/null 2>&1 </dev/null &
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
    'home',
    'node',
    'event',
  ]);
  writeFileSync(join(temp, 'stop'), '');
  await expect.poll(() => existsSync(join(temp, 'survived')), { timeout: 10_000 }).toBe(true);
});
