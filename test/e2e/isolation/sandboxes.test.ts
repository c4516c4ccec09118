import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { noOwnMachine } from '../../own-machine.ts';
import { deepTest, IS_DEEP } from '../../runs.ts';
import { createScene, KEY, type Run, type Scene } from '../e2e-fixture.ts';
import { startScriptedModel } from '../../../testbed/scripted-model/server.ts';
import { TOKEN, TOOL_CACHE } from '../../../testbed/testbed.ts';
import { createWorkerScript } from '../../../testbed/worker-script.ts';

/** The text of an agent that hangs. */
const THINKS = 'I think for a very long time.';

/** Expects that no part of an agent's sandbox is left. */
function expectNothingLeft({ own, testbed }: Scene, { workspace }: Run): void {
  if (own === null) throw new Error('not on a machine of its own');
  expect(own.run('sh', '-c', 'ls -A /var/tmp /run | grep ralph; grep -c ralph /etc/passwd; true')).toBe('0\n');
  // Other tests use sandboxes at the same time.
  expect(processesOf(testbed.folder)).toEqual([]);
  expect(filesOf(workspace).filter((path) => lstatSync(path).uid !== process.getuid?.())).toEqual([]);
}

/** Returns the processes that work in a folder or have it in their arguments. */
function processesOf(folder: string): readonly string[] {
  const isOf = (pid: string): boolean => {
    try {
      const told = ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'utf8'));
      return [readlinkSync(`/proc/${pid}/cwd`), ...told].some((text) => text.includes(folder));
    } catch {
      // The process has ended.
      return false;
    }
  };
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOf(name));
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    join(entry.parentPath, entry.name),
  );
}

/** Encodes input so that no scanner takes it for a key: everything that the agent found is published. */
const HIDDEN = "tr '\\0' '\\n' | base64 -w 0 | tr 'A-Za-z' 'N-ZA-Mn-za-m'";

function foundIn(workspace: string): string {
  const text = readFileSync(join(workspace, 'found.txt'), 'utf8');
  const turned = text.replace(/[A-Za-z]/g, (letter) =>
    String.fromCharCode(letter.charCodeAt(0) + (letter.toLowerCase() < 'n' ? 13 : -13)),
  );
  return Buffer.from(turned, 'base64').toString();
}

describe.skipIf(noOwnMachine !== null).each(['namespace', 'user'])('the agent in a sandbox (%s)', (level) => {
  /** Rules that both levels share are tested at the second one only in `npm run test:deep`. */
  const often = test.runIf(level === 'namespace' || IS_DEEP);

  often('works as it does without one, and leaves nothing', async () => {
    await using scene = await createScene({ level });
    scene.openIssue('Add a test');
    const run = await scene.run({ inputs: { verify: 'npm test' } });
    expect(run.outputs['outcome'], run.main.log).toBe('complete');
    expect(run.summary).toContain(`Isolation: ${level} — own user`);
    expect(run.summary).toContain('the agent never held the model key; 0 processes left');
    expect(await scene.commitsOf('ralph/queue')).toHaveLength(2);
    expectNothingLeft(scene, run);
  });

  // Also tested by integration/isolation/agent-sandbox.
  deepTest('what it leaves running ends with its call, whatever it did', async () => {
    await using scene = await createScene({ level });
    scene.openIssue('Add a test');
    const run = await scene.run({
      inputs: { 'max-iterations': '1' },
      agent: [
        {
          kind: 'shell',
          script: `
            setsid sh -c 'trap "" TERM HUP INT; sleep 3001; sleep 3001' > /dev/null 2>&1 &
            (setsid env -i sh -c 'sleep 3002 & exit' > /dev/null 2>&1 < /dev/null &)
            echo done > done.txt`,
        },
      ],
    });
    expect(run.summary, run.main.log).toContain('0 processes left');
    expectNothingLeft(scene, run);
  });

  test('finds neither keys nor tokens, and cannot write where later steps look', async () => {
    await using scene = await createScene({ level });
    scene.openIssue('Add a test');
    const run = await scene.run({
      inputs: { 'max-iterations': '1' },
      agent: [
        {
          kind: 'shell',
          script: `
            { env; cat /proc/*/environ; cat /proc/[0-9]*/cmdline; git config --list; cat .git/config; } 2>/dev/null | ${HIDDEN} > found.txt
            for file in $(find / -name '*file_commands*' -o -name 'set_env*' -o -name 'env' -path '*machine*' 2>/dev/null); do echo 'STOLEN=1' >> "$file"; done
            touch /usr/local/bin/stolen /etc/stolen ~/../../stolen 2>/dev/null
            true`,
        },
      ],
    });
    // The findings that may be published.
    const found = foundIn(run.workspace);
    for (const secret of [TOKEN, KEY, Buffer.from(`x-access-token:${TOKEN}`).toString('base64')])
      expect(found).not.toContain(secret);
    expect(found).toContain('ralph-placeholder');
    expect(scene.own?.run('sh', '-c', 'ls /usr/local/bin/stolen /etc/stolen /stolen 2>/dev/null; true')).toBe('');
    expectNothingLeft(scene, run);
  });

  often('of several agents, each has a broker of its own, and none sees a key of any', async () => {
    await using scene = await createScene({ level });
    scene.openIssue('Add a test');
    const keys = {
      OPENAI_API_KEY: 'sk-proj-0123456789abcdef',
      CODEX_API_KEY: 'sk-codex-0123456789abcdef',
      GEMINI_API_KEY: 'AIzaSy0123456789abcdef',
      COPILOT_GITHUB_TOKEN: 'github_pat_0123456789abcdef',
      COPILOT_PROVIDER_API_KEY: 'sk-copilot-0123456789abcdef',
    };
    const run = await scene.run({
      inputs: {
        agent: 'claude, codex',
        'agent-path': `claude=${join(inject('programs'), 'scripted-agent.mjs')}`,
        'max-iterations': '1',
        // verify passes on the base. The output is reversed because masks would hide the environment in the log.
        verify: 'test ! -e found.txt || { env | rev; false; }',
      },
      env: keys,
      agent: [{ kind: 'shell', script: `cat /proc/*/environ 2>/dev/null | ${HIDDEN} > found.txt; true` }],
    });
    expect(run.outputs['outcome'], run.main.log).toBe('limit');
    const found = foundIn(run.workspace);
    expect(found).toContain('ralph-placeholder');
    const log = run.main.log.replaceAll(/^::add-mask::.*$/gm, '');
    expect(log).toContain('lacol/rsu/');
    for (const secret of [KEY, ...Object.values(keys)]) {
      expect(found).not.toContain(secret);
      expect(log).not.toContain(secret);
      expect(log).not.toContain([...secret].reverse().join(''));
    }
    expectNothingLeft(scene, run);
  });

  often('a main that is killed in the middle of a call leaves nothing that post does not remove', async () => {
    await using scene = await createScene({ level });
    scene.openIssue('Add a test');
    const run = await scene.run({
      agent: [{ kind: 'work' }, { kind: 'hang', ignoreSigterm: true }],
      when: { text: THINKS, act: (main) => main.kill('SIGKILL') },
    });
    expect(run.post.exitCode, run.post.log).toBe(0);
    expect(await scene.commitsOf('ralph/queue')).toHaveLength(1);
    expectNothingLeft(scene, run);
  });

  often('a run that is cancelled is gone in time', async () => {
    await using scene = await createScene({ level });
    scene.openIssue('Add a test');
    const run = await scene.run({
      agent: [{ kind: 'hang', ignoreSigterm: true }],
      when: { text: THINKS, act: (main) => main.cancel() },
    });
    // The agent takes three of main's five seconds; on a busy machine, post may have to do the rest.
    expect(run.outputs['outcome'] ?? run.main.log).toMatch(/^cancelled$|\n::warning::.* the post step does the rest/);
    expect(run.main.signal).toBeNull();
    expect(run.summary).toMatch(/^## Ralph: (?:Cancelled|Killed)$/m);
    expectNothingLeft(scene, run);
  });

  often('the real Claude Code CLI works in it, through the broker', { timeout: 400_000 }, async () => {
    await using model = await startScriptedModel({ script: createWorkerScript() });
    await using scene = await createScene({ level });
    scene.openIssue('Count');
    const run = await scene.run({
      inputs: { 'agent-path': '' },
      env: { RUNNER_TOOL_CACHE: TOOL_CACHE, ANTHROPIC_BASE_URL: model.url },
    });
    expect(run.outputs['outcome'], run.main.log).toBe('complete');
    expect(new Set(model.requests.map(({ headers }) => headers['x-api-key']))).toEqual(new Set([KEY]));
    expect(await scene.commitsOf('ralph/queue')).toEqual(['Count', 'Test issue-1']);
    expectNothingLeft(scene, run);
  });

  // Also tested by attacks/state and integration/agents/agent-session-files.
  deepTest('the conversation goes on in the next run', async () => {
    await using scene = await createScene({ level });
    scene.openIssue('Add a test');
    await scene.run({ inputs: { 'max-iterations': '1' } });
    const next = await scene.run({ inputs: { 'max-iterations': '1' } });
    expect(next.main.log).toContain('session: resumed');
  });
});
