import { listenOnLoopback } from '../../../src/isolation/listening.ts';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { TOOL_CACHE } from '../../../testbed/testbed.ts';
import { startScriptedModel, type ScriptedModel } from '../../../testbed/scripted-model/server.ts';
import type { Script } from '../../../testbed/scripted-model/step.ts';
import { claudeCli } from '../../../src/agents/claude/cli.ts';
import { installCli } from '../../../src/agents/cli/install.ts';
import { createAgentLogin } from '../../../src/wiring/agents/agent-settings.ts';
import type { AgentRun } from '../../../src/ports/agent.ts';
import { callOf, createAgentOn, createMachine, type AgentUnderTest, type Machine } from './agent-fixture.ts';

const VERSION = '2.1.330';

/** The real CLI; its 175 MB are downloaded once. */
export const claude = {
  kind: 'install',
  version: VERSION,
  folder: join(TOOL_CACHE, 'ralph-action', `claude-${VERSION}`),
} as const;

export async function installOnce(): Promise<void> {
  const environment = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  await installCli({ ...claudeCli, version: claude.version, folder: claude.folder, environment, runTag: randomUUID() });
}

/** A machine, a scripted model, and the real CLI between them. */
export interface World extends AgentUnderTest {
  readonly machine: Machine;
  readonly model: ScriptedModel;
  readonly environment: Readonly<Record<string, string>>;
  call(prompt: string): Promise<AgentRun>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface WorldOptions {
  readonly script: Script;
  /** Variables in addition to an API key; they may name the model's address. */
  readonly environment?: Readonly<Record<string, string>> | ((url: string) => Readonly<Record<string, string>>);
  readonly extraArgs?: readonly string[];
  readonly allowedTools?: readonly string[];
  readonly folder?: string;
}

export async function createWorld({ script, environment: given, ...rest }: WorldOptions): Promise<World> {
  const machine = await createMachine();
  const model = await startScriptedModel({ script });
  const environment = {
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'sk-ant-api03-not-a-key',
    ...(typeof given === 'function' ? given(model.url) : given),
  };
  const login = await createAgentLogin(
    'claude',
    { ...machine.environment, ...environment },
    { allowedTools: rest.allowedTools ?? [], model: null, prices: {}, listen: listenOnLoopback },
  );
  const under = createAgentOn(machine, { ...rest, command: claude, ...login });
  return {
    ...under,
    machine,
    model,
    environment,
    call: (prompt) => under.agent.call(callOf({ prompt })),
    [Symbol.asyncDispose]: async () => {
      await under.agent.sweep();
      await model[Symbol.asyncDispose]();
      await machine[Symbol.asyncDispose]();
    },
  };
}
