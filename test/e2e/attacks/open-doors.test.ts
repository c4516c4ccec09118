import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { ACTION_FOLDER } from '../../../testbed/testbed.ts';
import { rows } from '../../runs.ts';
import type { Run, Scene, SceneJob } from '../e2e-fixture.ts';
import { attackBy, isIsolated, leftBy, repel, scratchFolder, storedState, type Attack } from './attack-fixture.ts';

// Targets that an agent of the same user can still reach; the rows hold as soon as it is isolated.

interface Aftermath {
  readonly run: Run;
  readonly scene: Scene;
}

const byAgent = (does: string, never: string, holds: Attack<Aftermath>['holds']): Attack<Aftermath> => ({
  who: 'the agent',
  does,
  never,
  holds,
});

const working = (script: string, job: SceneJob = {}) => {
  return async (scene: Scene): Promise<Aftermath> => {
    scene.openIssue('Count');
    const agent = [attackBy(`mkdir -p src; echo 'export const count = 1;' > src/count.js\n${script}`)];
    const inputs = { 'max-iterations': '1', ...job.inputs };
    return { run: await scene.run({ ...job, inputs, agent }), scene };
  };
};

const REACH = `
token=$(tr '\\0' '\\n' < /proc/$main/environ | sed -n 's/^INPUT_GITHUB-TOKEN=//p')
git -c http.extraheader="Authorization: Basic $(printf 'x-access-token:%s' "$token" | base64 -w0)" \\
  push -q origin HEAD:refs/heads/by-the-agent
start=$(grep -m1 rw-p /proc/$main/maps | cut -d- -f1)
dd if=/proc/$main/mem bs=1 count=1 skip=$((16#\${start:-0})) of=/dev/null 2>/dev/null && touch "$scratch/memory"
for process in /proc/[0-9]*; do
  [ "$(awk '{print $4}' $process/stat 2>/dev/null)" = $main ] || continue
  tr '\\0' ' ' < $process/cmdline | grep -q ' watchdog ' && kill -KILL \${process#/proc/} && touch "$scratch/watchdog"
done
grep -q extraheader "$temp"/../work/*/*/.git/config && touch "$scratch/checkout"
echo 'echo planted in home' >> "$home/.bashrc"
echo '{"planted":true}' > "$temp/_github_workflow_event.json"
(cd /; exec env -i setsid sh -c 'for i in $(seq 600); do [ -e "$0/stop" ] && exec touch "$0/survived"; sleep 0.1; done' "$scratch") >/dev/null 2>&1 </dev/null &
sleep 0.5
true`;

/** Returns true if the kernel forbids reading another process's memory: root may up to 2, everyone else at 0. */
function isMemoryForbidden(): boolean {
  const yama = '/proc/sys/kernel/yama/ptrace_scope';
  const scope = existsSync(yama) ? Number(readFileSync(yama, 'utf8')) : 0;
  return scope > (process.getuid?.() === 0 ? 2 : 0);
}

repel<Aftermath>('What a process of the same user reaches', {
  stage: working(REACH),
  attacks: [
    byAgent(
      'reads the token in the environment of main and pushes with it',
      'a branch of its own',
      async ({ scene }) => {
        expect(await scene.testbed.git('for-each-ref', '--format=%(refname)')).not.toContain('by-the-agent');
      },
    ),
    ...(isMemoryForbidden()
      ? []
      : [
          byAgent('reads the memory of main', 'a byte of it', ({ run }) => {
            expect(leftBy(run, 'memory')).toBeNull();
          }),
        ]),
    byAgent('ends the watchdog', 'a run without one', ({ run }) => {
      expect(leftBy(run, 'watchdog')).toBeNull();
    }),
    byAgent('reads the credentials in the checkout', 'the header of the job', ({ run }) => {
      expect(leftBy(run, 'checkout')).toBeNull();
    }),
    byAgent('adds a line to .bashrc', 'a shell of a later step that runs it', ({ run }) => {
      const env = { PATH: process.env.PATH, HOME: join(run.machine, 'home') };
      const shown = execFileSync('bash', ['-i', '-c', 'true'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
      expect(shown.toString()).not.toContain('planted');
    }),
    byAgent("writes into the event, among the runner's own files", 'a later step that reads it', ({ run }) => {
      const event = join(run.machine, 'temp', '_github_workflow_event.json');
      expect(readFileSync(event, 'utf8')).not.toContain('planted');
    }),
    {
      who: "the agent's leftover process",
      does: 'drops its environment and its session',
      never: 'a process that lives on after the job',
      holds: async ({ run, scene }) => {
        writeFileSync(join(scratchFolder(run), 'stop'), '');
        const until = performance.now() + (isIsolated(scene) ? 1_000 : 10_000);
        while (performance.now() < until && leftBy(run, 'survived') === null) await sleep(50);
        expect(leftBy(run, 'survived')).toBeNull();
      },
    },
  ],
});

/** Reports itself and ends any program that loads it. */
const PRELOADED = `
#include <unistd.h>
__attribute__((constructor)) static void planted(void) { if (write(1, "planted by LD_PRELOAD\\n", 22)) _exit(0); }`;

/** Post is the action's own. */
const notPlanted: Attack<Aftermath>['holds'] = ({ run }) => {
  expect(run.post.log).not.toContain('planted');
};

if (existsSync('/usr/bin/cc'))
  repel<Aftermath>('LD_PRELOAD for the post step', {
    heldBy: 'e2e/isolation/sandboxes.test.ts',
    stage: (scene) => {
      const library = join(scene.testbed.folder, 'planted.so');
      execFileSync('/usr/bin/cc', ['-shared', '-fPIC', '-x', 'c', '-o', library, '-'], { input: PRELOADED });
      return working(`echo 'LD_PRELOAD=${library}' >> "$runner_files/env"; kill -KILL $main`)(scene);
    },
    attacks: [
      byAgent(
        'puts LD_PRELOAD into GITHUB_ENV and ends main before it could undo it',
        'a post step that it made',
        notPlanted,
      ),
    ],
  });

repel<Aftermath>('A post.js that was changed', {
  stage: (scene) => {
    const action = join(scene.testbed.folder, 'action');
    for (const name of ['action.yml', 'dist', 'templates'])
      cpSync(join(ACTION_FOLDER, name), join(action, name), { recursive: true });
    const post = join(action, 'dist', 'post.js');
    return working(`sed -i '1i console.log("planted in post"); process.exit(0);' '${post}'; kill -KILL $main`, {
      action,
    })(scene);
  },
  attacks: [byAgent('changes post.js, and ends main', 'a post step that it made', notPlanted)],
});

repel<Aftermath>('A Node that was replaced', {
  heldBy: 'e2e/isolation/sandboxes.test.ts',
  stage: (scene) => {
    const node = join(scene.testbed.folder, 'node');
    symlinkSync(process.execPath, node);
    const replace = `rm '${node}'; printf '#!/bin/sh\\necho planted in node\\n' > '${node}'; chmod +x '${node}'`;
    return working(replace, { node })(scene);
  },
  attacks: [
    byAgent("replaces the runner's Node, where its user can write it", 'a post step that runs with it', notPlanted),
  ],
});

repel<Aftermath>('An older record of the same run', {
  heldBy: 'e2e/isolation/sandboxes.test.ts',
  stage: async (scene) => {
    scene.openIssue('Count');
    scene.openIssue('Count on');
    const run = await scene.run({
      inputs: { 'max-iterations': '4' },
      agent: [
        { kind: 'work' },
        attackBy('cp "$run_folder/run.json" "$scratch/older"', { status: null }),
        { kind: 'work' },
        attackBy('rm "$run_folder/run.json"; cp "$scratch/older" "$run_folder/run.json"; kill -KILL $main', {
          status: null,
        }),
      ],
    });
    return { run, scene };
  },
  attacks: [
    byAgent(
      'puts back an older record of the same run, and ends main',
      'a summary of less than was done',
      ({ run }) => {
        expect(run.summary).not.toContain('| Iterations | 1 of');
      },
    ),
    byAgent('does so', 'the loss of what was done', async ({ run, scene }) => {
      expect(run.post.log).not.toContain('is not the one that the main step wrote');
      expect(await scene.commitsOf('ralph/queue')).toEqual(['Count', 'Count, with a test']);
      expect((await storedState(scene))?.tasks['issue-1']?.state).toBe('done');
    }),
  ],
});

/** Seals a record that says that the run ended, with the values in main's environment. */
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
const text = JSON.stringify({ ...JSON.parse(record), stage: 'ended', claimed: [] });
writeFileSync(folder + '/run.json', digest(key, 'run record\\n' + text).toString('hex') + '\\n' + text);`;

repel<Aftermath>('A record that was sealed with the token', {
  stage: async (scene) => {
    scene.openIssue('Count');
    const seal = `cat > "$scratch/seal.mjs" <<'JS'\n${FORGE}\nJS\nnode "$scratch/seal.mjs" $main "$run_folder"; kill -KILL $main`;
    const run = await scene.run({
      inputs: { 'max-iterations': '2' },
      agent: [{ kind: 'work' }, attackBy(seal, { status: null })],
    });
    return { run, scene };
  },
  attacks: [
    byAgent(
      'seals a record with the token, which says that the run ended',
      'a run that ends in silence, and keeps its lane',
      async ({ run, scene }) => {
        expect(run.summary).not.toBe('');
        expect(scene.testbed.github.state.pulls).toHaveLength(1);
        const record = await scene.testbed.git('show', 'refs/ralph/v2/state:lanes/queue.json');
        expect(JSON.parse(record)).toMatchObject({ lease: null });
      },
    ),
  ],
});

repel<Aftermath>('What waits in the quarantine', {
  heldBy: 'e2e/isolation/sandboxes.test.ts',
  stage: async (scene) => {
    scene.openIssue('Count');
    const destroy = `cd "$run_folder/git/quarantine" && {
  git --git-dir=. hash-object -w --stdin <<< planted; rm -rf objects/??; rm -rf objects/pack; }`;
    const run = await scene.run({
      inputs: { 'max-iterations': '2' },
      agent: [{ kind: 'work' }, attackBy(destroy, { status: null })],
    });
    return { run, scene };
  },
  attacks: [
    byAgent('destroys what waits in the quarantine', 'a run that fails', ({ run }) => {
      expect(run.outputs['outcome']).toBe('limit');
    }),
    byAgent('does so', 'another commit, or the loss of what was pushed', async ({ scene }) => {
      expect(await scene.commitsOf('ralph/queue')).toEqual(['Count']);
      expect(scene.pullOf('ralph/queue').draft).toBe(true);
    }),
  ],
});

/** verify fails unless the agent controls its result. */
const notDone: Attack<Aftermath>['holds'] = ({ run }) => {
  expect(run.main.log).toMatch(/verify (passed|failed)/);
  expect(run.outputs['tasks-done']).toBe('0');
  expect(run.outputs['outcome']).not.toBe('complete');
};

describe.each(
  rows(1, [
    { does: 'replaces a tool in a large folder of the home folder', folder: 'home/.cargo/bin' },
    { does: 'replaces a tool in a folder of PATH outside of it', folder: 'toolcache' },
  ]),
)('A tool of the verification: $does', ({ does, folder }) => {
  repel<Aftermath>('its word', {
    stage: (scene) => {
      // The second machine is the loop's, if there are three jobs.
      const places = [1, 2].map((nth) => join(scene.testbed.folder, `machine-${String(nth)}`, folder));
      return working(`printf '#!/bin/sh\\n' > "$(command -v check-counts)"`, {
        env: { PATH: [...places, dirname(process.execPath), process.env.PATH ?? ''].join(':') },
        prepare: () => {
          for (const tools of places) {
            mkdirSync(tools, { recursive: true });
            writeFileSync(join(tools, 'check-counts'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
            writeFileSync(join(tools, 'large'), Buffer.alloc(1024 * 1024));
          }
          return Promise.resolve();
        },
        inputs: { verify: 'check-counts' },
      })(scene);
    },
    attacks: [byAgent(does, 'a task that counts as done', notDone)],
  });
});

describe.each(
  rows(1, [
    {
      does: 'leaves a file where a path in an ignored file of a kind that nobody knows leads',
      verify: 'test -f "$(cat node_modules/built-in)/passed"',
      script: 'touch node_modules/passed',
    },
    {
      does: 'leaves a file above the clean clone under a name that nobody knows',
      verify: 'd=$PWD; until [ "$d" = / ]; do d=$(dirname "$d"); test -f "$d/settings.of-a-tool" && exit; done; exit 1',
      script: 'touch "$temp/../settings.of-a-tool"',
    },
    {
      does: 'leaves a file in a fixed place of the machine',
      verify: 'test -f "$(cat node_modules/cache-folder)/passed"',
      script: 'touch "$(cat node_modules/cache-folder)/passed"',
    },
  ]),
)('What the verification finds: $does', ({ does, verify, script }) => {
  repel<Aftermath>('its word', {
    stage: (scene) =>
      working(script, {
        prepare: (workspace) => {
          const packages = join(workspace, 'node_modules');
          mkdirSync(packages);
          writeFileSync(join(packages, 'built-in'), packages);
          writeFileSync(join(packages, 'cache-folder'), scene.testbed.folder);
          return Promise.resolve();
        },
        inputs: { verify },
      })(scene),
    attacks: [byAgent(does, 'a task that counts as done', notDone)],
  });
});

/**
 * Writes into every clean clone, that of the base and that of the head, until the run removes its folder; for a minute
 * at most.
 */
const WRITE_INTO_CLONE = `for i in $(seq 1200); do
  [ -d "$0" ] || exit
  (cd "$0"/git/clean/*/.git 2>/dev/null && touch ../passed.log)
  sleep 0.05
done`;

repel<Aftermath>('A process that writes into the clean clone', {
  stage: working(
    `touch passed.log\n(cd /; exec env -i PATH="$PATH" setsid sh -c '${WRITE_INTO_CLONE}' "$run_folder") >/dev/null 2>&1 </dev/null &`,
    { inputs: { verify: 'for i in $(seq 20); do sleep 0.1; test -f passed.log && exit; done; exit 1' } },
  ),
  attacks: [
    {
      who: "the agent's leftover process",
      does: 'writes into the clean clone without the mark of the run',
      never: 'a task that counts as done',
      holds: notDone,
    },
  ],
});
