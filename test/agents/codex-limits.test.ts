import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { TOOL_CACHE } from '../../testbed/testbed.ts';
import { startScriptedModel } from '../../testbed/scripted-model/server.ts';
import { createCliAgent } from '../../src/agents/cli/agent.ts';
import { codexCli } from '../../src/agents/codex/cli.ts';
import type { AgentSandbox } from '../../src/ports/agent-sandbox.ts';
import { callOf, createMachine, createMemoryLog } from '../integration/agents/agent-fixture.ts';
import { installOnce, type Subject } from './agent-world.ts';
import { DONE } from './adapter-spec.ts';

// These tests show the limits of the real CLI on a machine where its own sandbox does not start, as on many runners.

const VERSION = '0.169.0';
const codex: Subject = { name: 'codex', cli: codexCli, version: VERSION, environment: () => ({}), model: null };
const BINARY = join(
  TOOL_CACHE,
  ...['ralph-action', `codex-${VERSION}`, 'node_modules', '@openai', 'codex-linux-x64'],
  ...['vendor', 'x86_64-unknown-linux-musl', 'bin', 'codex'],
);

beforeAll(() => installOnce(codex), 300_000);

/** Opens a sandbox whose programs run as this user, but which claims to confine them. */
function openAgentSandbox(home: string): AgentSandbox {
  return {
    folders: { home, trees: join(home, 'trees'), session: join(home, 'session'), inbox: join(home, 'inbox') },
    enter: ({ file, args, cwd, environment }) => Promise.resolve({ file, args, cwd, environment }),
    seenAt: (tree) => tree,
    end: () => Promise.resolve([]),
    refresh: () => Promise.resolve(home),
    give: () => Promise.resolve(),
    takeBack: () => Promise.resolve(false),
  };
}

async function createPlace({ isolated, allowedTools }: { isolated: boolean; allowedTools: readonly string[] }) {
  const machine = await createMachine();
  const model = await startScriptedModel({
    script: [{ kind: 'run', command: 'echo x > ../outside; git commit -q --allow-empty -m x && echo committed' }, DONE],
  });
  const program = join(machine.home, 'codex.sh');
  await writeFile(
    program,
    `#!/bin/sh\nif [ "$1" = sandbox ]; then echo "bwrap: loopback: Failed RTM_NEWADDR" >&2; exit 1; fi\nexec '${BINARY}' "$@"\n`,
  );
  await chmod(program, 0o755);
  const environment = { ...machine.environment, OPENAI_API_KEY: 'sk-no', OPENAI_BASE_URL: `${model.url}/v1` };
  const configFolder = join(machine.home, 'session', 'codex');
  const agent = createCliAgent(codexCli, {
    command: { kind: 'path', path: program },
    model: 'gpt-5.5',
    allowedTools,
    servers: [],
    prices: {},
    extraArgs: [],
    environment,
    installEnvironment: environment,
    agentSandbox: isolated ? openAgentSandbox(machine.home) : null,
    broker: null,
    stallMs: 60_000,
    workFolder: machine.workFolder,
    tree: machine.workFolder,
    checkoutFolder: machine.workFolder,
    alsoFolder: null,
    configFolder,
    inbox: join(machine.home, 'inbox'),
    runTag: randomUUID(),
    log: createMemoryLog(),
    now: () => Date.now(),
    redact: (text) => text,
    holdsSecret: () => false,
  });
  return {
    machine,
    model,
    agent,
    configFolder,
    [Symbol.asyncDispose]: async () => {
      await agent.sweep();
      await model[Symbol.asyncDispose]();
      await machine[Symbol.asyncDispose]();
    },
  };
}

test('in a sandbox, the sandbox is the limit, and its user makes the folder of the CLI', async () => {
  await using place = await createPlace({ isolated: true, allowedTools: ['Edit', 'Bash'] });
  const { analysis } = await place.agent.call(callOf({ prompt: 'work' }));
  expect(analysis).toMatchObject({ agentError: null, signal: { status: 'COMPLETE' } });
  const results = place.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
  expect(results[0]?.text).toContain('committed');
  expect(existsSync(join(place.machine.workFolder, '..', 'outside'))).toBe(true);
  expect(existsSync(place.configFolder)).toBe(true);
});

test.each([
  { what: 'without a sandbox', isolated: false, allowedTools: ['Edit', 'Bash'], remedy: '`isolation: user`' },
  { what: 'that may only read', isolated: true, allowedTools: ['Read'], remedy: 'allow the agent to edit files' },
])('an agent $what is not started, and both remedies are named', async ({ remedy, ...given }) => {
  await using place = await createPlace(given);
  const message = await place.agent.call(callOf({ prompt: 'work' })).then(
    () => 'it was called',
    (error: unknown) => String(error),
  );
  expect(message).toContain('Failed RTM_NEWADDR');
  expect(message).toContain('apparmor_restrict_unprivileged_userns=0');
  expect(message).toContain(remedy);
  expect(place.model.requests).toEqual([]);
});
