import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { ACTION_FOLDER } from '../../../testbed/testbed.ts';
import type { Run, Scene, SceneJob } from '../e2e-fixture.ts';
import { COLLECTOR_KEY, startReceiver } from '../outward/receiver.ts';
import {
  attackBy,
  everythingPushed,
  filesOf,
  isIsolated,
  leftBy,
  repel,
  shownBy,
  storedState,
  type Attack,
} from './attack-fixture.ts';

/** Kills main like the kernel does when memory is short, and waits until post is about to begin. */
const KILL_MAIN = 'kill -KILL $main; sleep 0.2';

/**
 * Makes a call that ends together with main. An isolated agent cannot kill main: its call ends without a claim, and the
 * run has two calls.
 */
const killingBy = (...script: readonly string[]): SceneJob => ({
  inputs: { 'max-iterations': '2' },
  agent: [{ kind: 'work' }, attackBy([...script, KILL_MAIN].join('\n'), { status: { finishes: false, exit: false } })],
});

/** Expects that main was killed, or that it survived because the agent is isolated. */
function expectKilled(scene: Scene, { main }: Run): void {
  expect(main.signal).toBe(isIsolated(scene) ? null : 'SIGKILL');
}

/** Expects that a record was sealed with the real key as well, unless the agent is isolated. */
function expectSealed(scene: Scene, run: Run): void {
  expect(leftBy(run, 'sealed')).toBe(isIsolated(scene) ? null : '');
}

/** Rewrites the run's record: `edit` is JavaScript over `record`; `sh` returns a command's output. */
const forge = (edit: string, folder = '$run_folder'): string =>
  `cat > "$scratch/forge.mjs" <<'JS'
import { execSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
const file = process.argv[2] + '/run.json';
const record = JSON.parse(readFileSync(file, 'utf8'));
const sh = (command) => execSync(command, { encoding: 'utf8' }).trim();
${edit}
writeFileSync(file, JSON.stringify(record));
JS
node "$scratch/forge.mjs" "${folder}"`;

/**
 * Rewrites the run's record and seals it as main does, with a key that anyone who can read main's environment can
 * derive.
 */
const forgeSealed = (edit: string): string =>
  `cat > "$scratch/seal.mjs" <<'JS'
import { readFileSync } from 'node:fs';
import { deriveRunIdentities } from '${join(ACTION_FOLDER, 'src/runner/run-context.ts')}';
import { readRunRecord, writeRunRecord } from '${join(ACTION_FOLDER, 'src/run/run-record.ts')}';
const variables = readFileSync('/proc/' + process.argv[2] + '/environ', 'utf8').split(String.fromCharCode(0)).filter(Boolean);
const environment = Object.fromEntries(variables.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
const [{ runFolder, key }] = deriveRunIdentities(environment);
const record = readRunRecord(runFolder, key);
const { work } = record;
${edit}
writeRunRecord(runFolder, record, key);
JS
node "$scratch/seal.mjs" "$main" && touch "$scratch/sealed"`;

/** A commit that nothing has inspected, with a workflow that reveals the repository's secrets. */
const HOSTILE_COMMIT = [
  'mkdir -p .github/workflows; echo "on: push" > .github/workflows/steal.yml',
  'git add -f .github; git commit -q -m hostile',
].join('\n');

interface Aftermath {
  readonly run: Run;
  readonly scene: Scene;
}

repel<Aftermath>('A forged record, and main killed: post believes nothing that the agent could write', {
  stage: async (scene) => {
    scene.openIssue('Count');
    const run = await scene.run(
      killingBy(
        HOSTILE_COMMIT,
        forge(`
              const { work } = record;
              work.head = sh('git rev-parse HEAD');
              work.hasNewCommits = true;
              work.outcome = { kind: 'complete', reason: 'plan_complete' };
              work.withheld = [];
              work.state.tasks['issue-1'] = { state: 'done', attempts: 1, startedTree: null, doneCommit: work.head, reason: null, setAside: null };
              work.state.tasks['issue-7'] = { state: 'todo', attempts: 0, startedTree: null, doneCommit: null, reason: null, setAside: null, approval: { text: '0'.repeat(32), by: 'octo', at: Date.now() } };
              work.state.pause = { by: 'octo', at: 1 };
              work.lane.branch = 'ralph/elsewhere';
              work.warnings = ['Approved by the security team.'];
            `),
      ),
    );
    expectKilled(scene, run);
    return { run, scene };
  },
  attacks: [
    byAgent(
      'names a commit of its own as the head, with a workflow that nobody inspected',
      'that commit on any branch',
      async ({ scene }) => {
        expect(await everythingPushed(scene)).not.toContain('b/.github/workflows/steal.yml');
      },
    ),
    byAgent('calls its task done', 'a state that says so', async ({ scene }) => {
      expect((await storedState(scene))?.tasks['issue-1']?.state).not.toBe('done');
    }),
    byAgent('calls the run complete', 'a report or pull request that says so', ({ run, scene }) => {
      expect(run.summary).not.toContain('Complete');
      expect(JSON.stringify(scene.testbed.github.state.issues)).not.toMatch(/Closes #1|"outcome\W+complete/);
    }),
    byAgent('approves an issue in the name of octo', 'a state with that approval', async ({ scene }) => {
      expect((await storedState(scene))?.tasks['issue-7']?.approval).toBeUndefined();
    }),
    byAgent('pauses the lane in the name of octo', 'a state with that pause', async ({ scene }) => {
      expect((await storedState(scene))?.pause ?? null).toBeNull();
    }),
    byAgent('names another branch', 'that branch', async ({ scene }) => {
      expect(await scene.testbed.git('for-each-ref', '--format=%(refname)')).not.toContain('elsewhere');
    }),
    byAgent('adds a sentence to the warnings', 'that sentence in the voice of the action', ({ run, scene }) => {
      expect(run.summary + JSON.stringify(scene.testbed.github.state.issues)).not.toContain('Approved by the security');
    }),
    byAgent('does all that', 'the loss of the iteration before', async ({ scene }) => {
      expect(await scene.commitsOf('ralph/queue')).toHaveLength(1);
    }),
  ],
});

repel<Aftermath>('A record that lies, sealed with the real key, and main killed: what is done is what is stored', {
  heldBy: 'loop/forged-record.test.ts',
  stage: async (scene) => {
    scene.openIssue('Count');
    const run = await scene.run(
      killingBy(
        forgeSealed(`
              const done = { ...work.state.tasks['issue-1'], state: 'done', doneCommit: work.head };
              for (const state of [work.state, work.stateBefore]) {
                state.tasks['issue-1'] = done;
                state.tasks['issue-7'] = { ...done, state: 'todo', attempts: 0, doneCommit: null, approval: { text: '0'.repeat(32), by: 'octo', at: Date.now() } };
                state.pause = { by: 'octo', at: 1 };
                state.ledger = [];
                state.windows = { hour: null, day: null };
              }
              work.outcome = { kind: 'complete', reason: 'plan_complete' };
            `),
      ),
    );
    expectKilled(scene, run);
    // The seal was valid, so post has read the forged values.
    expectSealed(scene, run);
    expect(run.post.log).not.toContain('is not the one that the main step wrote');
    return { run, scene };
  },
  attacks: [
    byAgent('says with the real seal that its task is done', 'a state that says so', async ({ scene }) => {
      expect((await storedState(scene))?.tasks['issue-1']?.state).toBe('in-progress');
    }),
    byAgent(
      'says with the real seal that the run is complete',
      'a report or pull request that says so',
      ({ run, scene }) => {
        const [ended, outcome] = isIsolated(scene) ? ['Iteration limit', 'limit'] : ['Killed', 'cancelled'];
        expect(run.summary).toContain(ended);
        expect(run.summary).not.toContain('Complete');
        expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: true, status: { outcome } });
        expect(scene.pullOf('ralph/queue').body).not.toContain('Closes #1');
      },
    ),
    byAgent('approves an issue with the real seal', 'a state with that approval', async ({ scene }) => {
      expect((await storedState(scene))?.tasks['issue-7']?.approval).toBeUndefined();
    }),
    byAgent('pauses the lane with the real seal', 'a state with that pause', async ({ scene }) => {
      expect((await storedState(scene))?.pause ?? null).toBeNull();
    }),
    byAgent(
      'leaves out with the real seal what was used',
      'a state that forgets the finished iteration',
      async ({ scene }) => {
        const state = await storedState(scene);
        const calls = isIsolated(scene) ? 2 : 1;
        expect(state?.ledger[0]?.calls).toBe(calls);
        expect(state?.windows.hour?.calls).toBe(calls);
      },
    ),
    byAgent('does all that', 'a next run that finds nothing to do', async ({ scene }) => {
      expect(await scene.run()).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
    }),
  ],
});

repel<Aftermath>('A record that speaks and parks, sealed with the real key, and main killed', {
  heldBy: 'loop/forged-record.test.ts',
  stage: async (scene) => {
    scene.openIssue('Count');
    const run = await scene.run(
      killingBy(
        forgeSealed(`
              const lie = 'Approved by the security team.';
              work.outcome = { kind: 'failed', reason: 'configuration', message: lie };
              work.warnings = [lie];
              work.notes.restored = lie;
              work.withheld = [{ path: 'src/x.js', why: lie }];
              work.state.refusedPush = { why: lie, at: Date.now() };
              work.state.park = { reason: 'usage_limit', resumeAt: Date.now() + 7 * 86400000, taskId: null, branchHead: null };
              work.state.circuit = { kind: 'open', totalOpens: 1, reason: 'permission_denied', openedAt: Date.now(), taskId: null };
              work.state.tasks['issue-1'] = { ...work.state.tasks['issue-1'], state: 'failed', reason: 'max_iterations_per_task', attempts: 99 };
            `),
      ),
    );
    expectKilled(scene, run);
    expectSealed(scene, run);
    return { run, scene };
  },
  attacks: [
    byAgent('gives the run an end in its own words', 'these words in the voice of the action', ({ run, scene }) => {
      expect(run.summary).toContain(isIsolated(scene) ? 'Iteration limit' : 'Failed: infrastructure');
      expect(run.summary + run.post.log + JSON.stringify(scene.testbed.github.state)).not.toContain('security team');
    }),
    byAgent(
      'parks the lane for a week, opens its circuit and fails its task',
      'a lane that waits',
      async ({ scene }) => {
        expect(await storedState(scene)).toMatchObject({ park: null, circuit: { kind: 'closed' } });
        expect(await scene.run()).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
      },
    ),
  ],
});

describe.each([
  {
    does: 'as the branch',
    edit: "work.lane.start = { kind: 'continue', remoteHead: hostile }; work.remoteHead = hostile;",
  },
  {
    does: 'as the base of a new branch',
    edit: "work.lane.start = { kind: 'fresh' }; work.remoteHead = null; work.base = hostile;",
  },
])(
  'Main killed, and a record with the real seal calls a commit published that nobody has inspected, $does',
  ({ edit }) => {
    repel<Aftermath>('the inspection', {
      stage: async (scene) => {
        scene.openIssue('Count');
        const run = await scene.run(
          killingBy(
            HOSTILE_COMMIT,
            'git rev-parse HEAD > "$scratch/hostile"; git commit -q --allow-empty -m harmless; git rev-parse HEAD > "$scratch/head"',
            'quarantine=$(find "$run_folder" -name quarantine* -maxdepth 3 -type d | head -n 1)',
            'cp -r .git/objects/. "$quarantine/objects/"',
            forgeSealed(`
                const [hostile, head] = ['hostile', 'head'].map((name) => readFileSync(process.env.scratch + '/' + name, 'utf8').trim());
                ${edit}
                work.head = head;
                work.hasNewCommits = true;
              `),
          ),
        );
        expectKilled(scene, run);
        expectSealed(scene, run);
        return { run, scene };
      },
      attacks: [
        byAgent('has its commit begin behind a workflow', 'that workflow on any branch', async ({ scene }) => {
          expect(await everythingPushed(scene)).not.toContain('b/.github/workflows/steal.yml');
        }),
        byAgent('does so', 'the loss of the iteration before', async ({ scene }) => {
          expect(await scene.commitsOf('ralph/queue')).toHaveLength(1);
        }),
      ],
    });
  },
);

describe.each([
  { does: 'names a proxy of its own', forgery: null },
  { does: 'names a proxy of its own and removes the record', forgery: 'rm -r "$run_folder"; mkdir "$run_folder"' },
])('Main killed, and the agent $does in GITHUB_ENV, which holds for post', ({ does, forgery }) => {
  repel<Aftermath & { readonly heard: readonly string[] }>('the way to the server', {
    stage: async (scene) => {
      scene.openIssue('Count');
      const heard: string[] = [];
      const proxy = createServer((request, response) => {
        heard.push(`${request.url ?? ''} ${request.headers.authorization ?? ''}`);
        response.writeHead(502).end();
      });
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      const { port } = proxy.address() as AddressInfo;
      const names = ['http_proxy', 'https_proxy', 'all_proxy', 'HTTPS_PROXY'];
      const lines = names.map((name) => `echo "${name}=http://127.0.0.1:${String(port)}" >> "$runner_files/env"`);
      const run = await scene.run(killingBy(...lines, ...(forgery === null ? [] : [forgery])));
      proxy.close();
      expectKilled(scene, run);
      return { run, scene, heard };
    },
    attacks: [
      byAgent(does, 'a request of post through it', ({ heard, run, scene }) => {
        expect(heard).toEqual([]);
        // None of an isolated agent's variables reached post.
        const refuses = expect(run.post.log);
        const words = 'The post step sends the token nowhere';
        if (isIsolated(scene)) refuses.not.toContain(words);
        else refuses.toContain(words);
      }),
    ],
  });
});

repel<Aftermath & { readonly heard: number }>('Main killed, and the agent directs the spans elsewhere', {
  stage: async (scene) => {
    await using receiver = await startReceiver();
    await using other = await startReceiver();
    scene.openIssue('Count');
    const run = await scene.run({
      ...killingBy(`echo "OTEL_EXPORTER_OTLP_ENDPOINT=${other.origin}" >> "$runner_files/env"`),
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin, OTEL_EXPORTER_OTLP_HEADERS: `a=${COLLECTOR_KEY}` },
    });
    expectKilled(scene, run);
    return { run, scene, heard: other.traces().length };
  },
  attacks: [
    byAgent('names a collector of its own in GITHUB_ENV', 'spans and the headers there', async ({ heard, scene }) => {
      expect(heard).toBe(0);
      expect(await scene.commitsOf('ralph/queue')).toHaveLength(1);
    }),
  ],
});

/** Sleep time of the orphan, an argument that no other process has. */
const ORPHAN = `1000.${String(process.pid)}`;

/** Returns the orphans by their process id on this machine; inside a sandbox the ids differ. */
function orphans(): readonly number[] {
  const isOrphan = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').endsWith(`\0${ORPHAN}\0`);
    } catch {
      // The process has ended.
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isOrphan(name))
    .map(Number);
}

repel<Aftermath>('Lines added to GITHUB_STATE, and main killed', {
  stage: async (scene) => {
    scene.openIssue('Count');
    const run = await scene
      .run(
        killingBy(
          HOSTILE_COMMIT,
          'cp -r "$run_folder" "$scratch/elsewhere"',
          forge(
            `record.work.head = sh('git rev-parse HEAD'); record.work.hasNewCommits = true; record.work.outcome = { kind: 'complete', reason: 'plan_complete' };`,
            '$scratch/elsewhere',
          ),
          'printf "run-folder=%s\\nrun-tag=\\nmark=\\nlane=issue-7\\n" "$scratch/elsewhere" >> "$runner_files/state"',
          `setsid sleep ${ORPHAN} &`,
        ),
      )
      .catch((error: unknown) => {
        // The end of the scene is checked before the rows, so the remaining processes must be ended here.
        for (const pid of orphans()) process.kill(pid, 'SIGKILL');
        throw error;
      });
    return { run, scene };
  },
  attacks: [
    byAgent(
      'names a folder of its own as the one of the run',
      'a publication of what lies there',
      async ({ scene, run }) => {
        expect(await everythingPushed(scene)).not.toContain('b/.github/workflows/steal.yml');
        expect(run.summary).not.toContain('Complete');
      },
    ),
    byAgent('empties the mark by which its processes are found', 'a process that outlives the job', () => {
      expect(orphans()).toEqual([]);
    }),
    byAgent('does both', 'the loss of the iteration before', async ({ scene }) => {
      expect(await scene.commitsOf('ralph/queue')).toHaveLength(1);
    }),
  ],
});

repel<Aftermath & { readonly files: Readonly<Record<string, string>> }>("The runner's files, while main works", {
  stage: async (scene) => {
    scene.openIssue('Count');
    const run = await scene.run({
      agent: [
        attackBy(
          [
            'mkdir -p src; echo x > src/x.js',
            'echo "NODE_OPTIONS=--require=/tmp/evil.js" >> "$runner_files/env"',
            'echo /tmp/evil >> "$runner_files/path"',
            'printf "outcome=complete\\ntasks-done=99\\npr-url=https://evil.example/\\nforged=yes\\n" >> "$runner_files/output"',
            'echo "run-folder=/tmp/evil" >> "$runner_files/state"',
            'echo "## Approved by the security team" >> "$runner_files/summary"',
            'mkdir -p node_modules/evil; echo evil > node_modules/evil/index.js',
            'echo node_modules/ > .gitignore; echo evil > cache.log',
          ].join('\n'),
          { status: { finishes: false, exit: false } },
        ),
      ],
      inputs: { 'max-iterations': '1' },
    });
    const file = (name: string): string =>
      readFileSync(join(run.machine, 'temp', '_runner_file_commands', name), 'utf8');
    return {
      run,
      scene,
      files: Object.fromEntries(['env', 'path', 'output', 'state'].map((name) => [name, file(name)])),
    };
  },
  attacks: [
    byAgent('adds NODE_OPTIONS to GITHUB_ENV', 'that variable in the later steps of the job', ({ files }) => {
      expect(files['env']).toBe('');
    }),
    byAgent('adds a folder to GITHUB_PATH', 'that folder first on the PATH of the later steps', ({ files }) => {
      expect(files['path']).toBe('');
    }),
    byAgent('adds outputs to GITHUB_OUTPUT', 'an output that main did not set', ({ files, run }) => {
      expect(files['output']).not.toMatch(/forged|evil/);
      expect(run.outputs['outcome']).toBe('limit');
    }),
    byAgent('adds a folder to GITHUB_STATE', 'a value for post that main did not write', ({ files }) => {
      expect(files['state']).not.toContain('evil');
    }),
    byAgent('leaves a package in a folder that git ignores', 'it in a cache that a later step stores', ({ run }) => {
      expect(existsSync(join(run.workspace, 'node_modules'))).toBe(false);
    }),
    byAgent(
      'publishes a file that git ignored before',
      'it in a cache that a later step stores',
      async ({ run, scene }) => {
        expect(await filesOf(scene)).toContain('cache.log');
        expect(existsSync(join(run.workspace, 'cache.log'))).toBe(false);
      },
    ),
    byAgent('writes into the job summary', 'its words there', ({ run }) => {
      expect(run.summary).not.toContain('security team');
    }),
  ],
});

repel<Aftermath & { readonly seen: (name: string) => string }>("The action's own process and memory", {
  stage: async (scene) => {
    scene.openIssue('Count');
    const run = await scene.run({
      agent: [
        attackBy(
          [
            'mkdir -p src; echo x > src/x.js',
            'kill -USR1 $main; sleep 0.3',
            `(echo > /dev/tcp/127.0.0.1/9229) 2>/dev/null && echo open > "$scratch"/inspector`,
            `grep -rlia 'authorization: *basic' "$(dirname "$run_folder")" .git > "$scratch"/credentials 2>/dev/null`,
            `env > "$scratch"/environment; git config --list > "$scratch"/config`,
            `git ls-remote origin > "$scratch"/remote 2>&1`,
          ].join('\n'),
        ),
      ],
    });
    return { run, scene, seen: (name) => leftBy(run, name) ?? '' };
  },
  attacks: [
    byAgent('sends SIGUSR1 to main', 'an open inspector, in which it could run code as the action', ({ seen, run }) => {
      expect(seen('inspector')).toBe('');
      expect(run.main.log).not.toContain('Debugger listening');
      expect(run.main.exitCode).toBe(0);
    }),
    byAgent("searches the disk for the checkout's credentials", 'a file with them', ({ seen }) => {
      expect(seen('credentials')).toBe('');
    }),
    byAgent('reads its own environment', "the job's token, or the runner's files by name", ({ seen }) => {
      expect(seen('environment')).toContain('PATH=');
      expect(seen('environment')).not.toMatch(/ghs_|GITHUB_(ENV|PATH|OUTPUT|STATE|TOKEN)=|ACTIONS_/);
    }),
    byAgent("asks git for the checkout's credentials", 'a header or a helper that has them', ({ seen }) => {
      expect(seen('config')).toContain('remote.origin.url=');
      expect(seen('config')).not.toMatch(/extraheader|authorization/i);
    }),
    byAgent('asks the private remote for its branches', 'an answer', ({ seen }) => {
      expect(seen('remote')).not.toContain('refs/heads');
    }),
  ],
});

const PLANTED = ['git', 'tar', 'zstd', 'gzip', 'npm', 'bash', 'ps'];

repel<Aftermath & { readonly used: string }>('Programs planted in a folder of the PATH', {
  stage: async (scene) => {
    scene.openIssue('Count');
    const tools = join(scene.testbed.folder, 'tools');
    const used = join(scene.testbed.folder, 'used');
    await mkdir(tools);
    const run = await scene.run({
      env: { PATH: `${tools}:${process.env['PATH'] ?? ''}` },
      inputs: { verify: 'true' },
      agent: [
        attackBy(
          [
            'mkdir -p src; echo x > src/x.js',
            ...PLANTED.map(
              (name) => `cat > ${tools}/${name} <<SH
#!/bin/sh
if [ -n "\\$GIT_DIR\\$GIT_CONFIG_VALUE_0\\$ACTIONS_RUNTIME_TOKEN\\$ACTIONS_RESULTS_URL" ]; then echo ${name} >> ${used}; fi
exec $(command -v ${name} || echo false) "\\$@"
SH`,
            ),
            `chmod +x ${tools}/*`,
          ].join('\n'),
        ),
      ],
    });
    return { run, scene, used: existsSync(used) ? readFileSync(used, 'utf8') : '' };
  },
  attacks: PLANTED.slice(0, 4).map((name) =>
    byAgent(
      `plants a ${name} of its own`,
      'its use by the action, with the token or the secrets of the cache',
      ({ used, run }) => {
        expect(run.outputs['outcome']).toBe('complete');
        expect(used.split('\n')).not.toContain(name);
      },
    ),
  ),
});

repel<Aftermath & { readonly used: string }>('A cp planted in a folder of the PATH, before the clean clone is laid', {
  heldBy: 'integration/processes/trusted-programs.test.ts',
  stage: async (scene) => {
    scene.openIssue('Count');
    const tools = join(scene.testbed.folder, 'tools');
    const used = join(scene.testbed.folder, 'used');
    await mkdir(tools);
    const run = await scene.run({
      env: { PATH: `${tools}:${process.env['PATH'] ?? ''}` },
      // Only cp brings ignored files into a clean clone.
      prepare: async (workspace) => {
        await mkdir(join(workspace, 'node_modules'));
        await writeFile(join(workspace, 'node_modules', 'installed'), '');
      },
      inputs: { verify: 'test -e node_modules/installed' },
      agent: [
        attackBy(
          [
            'mkdir -p src; echo x > src/x.js',
            `printf '#!/bin/sh\necho "$@" >> ${used}\nexec %s "$@"\n' "$(command -v cp)" > ${tools}/cp`,
            `chmod +x ${tools}/cp`,
          ].join('\n'),
        ),
      ],
    });
    return { run, scene, used: existsSync(used) ? readFileSync(used, 'utf8') : '' };
  },
  attacks: [
    byAgent('plants a cp of its own on the PATH', 'its use when the clean clone is laid', ({ used, run }) => {
      expect(run.main.log).toMatch(/verify runs in a clean clone/);
      expect(run.outputs['outcome']).toBe('complete');
      expect(used).toBe('');
    }),
  ],
});

repel<Aftermath>('The files of the run, removed or spoilt', {
  heldBy: 'e2e/boundary.test.ts',
  stage: async (scene) => {
    scene.openIssue('Count');
    const run = await scene.run(
      killingBy(
        'printf "{\\"version\\":1,\\"stage\\":\\"ended\\"}" > "$run_folder/run.json"; rm -f "$run_folder/journal.jsonl"',
      ),
    );
    expectKilled(scene, run);
    return { run, scene };
  },
  attacks: [
    byAgent(
      'writes into the record that main ended by itself, and kills it',
      'a run that ends in silence',
      ({ run, scene }) => {
        const ended = isIsolated(scene) ? /Iteration limit/ : /Killed|Failed|gone or unreadable|tampered|changed/;
        expect(shownBy(run)).toMatch(ended);
      },
    ),
    byAgent('does so', 'the loss of the iteration before', async ({ scene }) => {
      expect(await scene.commitsOf('ralph/queue')).toHaveLength(1);
    }),
  ],
});

function byAgent<After>(does: string, never: string, holds: Attack<After>['holds']): Attack<After> {
  return { who: 'the agent', does, never, holds };
}
