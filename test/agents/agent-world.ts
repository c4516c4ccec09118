import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { TOOL_CACHE } from '../../testbed/testbed.ts';
import { startScriptedModel, type ScriptedModel } from '../../testbed/scripted-model/server.ts';
import type { Script } from '../../testbed/scripted-model/step.ts';
import { createCliAgent } from '../../src/agents/cli/agent.ts';
import type { AgentCli } from '../../src/agents/cli/cli.ts';
import { installCli } from '../../src/agents/cli/install.ts';
import type { McpServer } from '../../src/core/mcp/values.ts';
import { listenOnLoopback } from '../../src/isolation/listening.ts';
import type { Agent, AgentCall, AgentRun } from '../../src/ports/agent.ts';
import type { AgentName } from '../../src/core/agent-names.ts';
import { createAgentLogin } from '../../src/wiring/agents/agent-settings.ts';
import {
  callOf,
  createMachine,
  createMemoryLog,
  type AgentUnderTest,
  type Machine,
} from '../integration/agents/agent-fixture.ts';

/** A real CLI, with the adapter that runs it. */
export interface Subject {
  readonly name: AgentName;
  readonly cli: AgentCli;
  readonly version: string;
  /** The program that is started, unless it is the installed CLI. */
  readonly program?: string;
  /** Returns the variables that point the CLI to a model at an address, with a key that opens nothing. */
  readonly environment: (url: string) => Readonly<Record<string, string>>;
  readonly model: string | null;
}

/** A machine, a scripted model, and the real CLI between them; the broker holds its key. */
export interface World extends AgentUnderTest {
  readonly machine: Machine;
  readonly model: ScriptedModel;
  readonly calls: (prompt: string, more?: Partial<AgentCall>) => Promise<AgentRun>;
  /** Creates a second agent with a fresh folder and another work folder. */
  readonly elsewhere: () => Promise<AgentUnderTest & { readonly machine: Machine }>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface WorldOptions {
  readonly script: Script;
  readonly allowedTools?: readonly string[];
  readonly servers?: readonly McpServer[];
  readonly extraArgs?: readonly string[];
  readonly stallMs?: number;
  /** Further variables in addition to the subject's own. */
  readonly environment?: (url: string) => Readonly<Record<string, string>>;
  /** True if nothing counts its requests: it gets the keys themselves. */
  readonly isDirect?: boolean;
}

const WORK = ['Read', 'Edit', 'Write', 'Glob', 'Grep', 'Bash(git add:*)', 'Bash(git commit:*)'];

/** Returns the command of the CLI in this repository's cache. */
export function commandOf({ name, version }: Subject) {
  return { kind: 'install', version, folder: join(TOOL_CACHE, 'ralph-action', `${name}-${version}`) } as const;
}

/** Installs the CLI into this repository's cache, unless it is there. */
export async function installOnce(subject: Subject): Promise<void> {
  const environment = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  await installCli({ ...subject.cli, ...commandOf(subject), environment, runTag: randomUUID() });
}

export async function createWorld(subject: Subject, options: WorldOptions): Promise<World> {
  const model = await startScriptedModel({ script: options.script });
  const machine = await createMachine();
  const machines = [machine];
  const agents: Agent[] = [];
  const on = async (place: Machine): Promise<AgentUnderTest> => {
    const under = await createAgentOn(subject, { ...options, machine: place, url: model.url });
    agents.push(under.agent);
    return under;
  };
  const under = await on(machine);
  return {
    ...under,
    machine,
    model,
    calls: (prompt, more = {}) => under.agent.call(callOf({ prompt, ...more })),
    elsewhere: async () => {
      const other = await createMachine();
      machines.push(other);
      return { ...(await on(other)), machine: other };
    },
    [Symbol.asyncDispose]: async () => {
      for (const agent of agents) await agent.sweep();
      await model[Symbol.asyncDispose]();
      for (const one of machines) await one[Symbol.asyncDispose]();
    },
  };
}

async function createAgentOn(
  subject: Subject,
  { machine, url, ...given }: Omit<WorldOptions, 'script'> & { readonly machine: Machine; readonly url: string },
): Promise<AgentUnderTest> {
  const environment = { ...machine.environment, ...subject.environment(url), ...given.environment?.(url) };
  const allowedTools = given.allowedTools ?? WORK;
  const setting = { allowedTools, model: null, listen: listenOnLoopback, prices: {} };
  const login =
    given.isDirect === true
      ? { environment, broker: null, hasPrice: null }
      : await createAgentLogin(subject.name, environment, setting);
  const [runTag, log, configFolder] = [randomUUID(), createMemoryLog(), join(machine.home, `config-${randomUUID()}`)];
  const agent = createCliAgent(subject.cli, {
    ...login,
    command: subject.program === undefined ? commandOf(subject) : { kind: 'path', path: subject.program },
    model: subject.model,
    allowedTools,
    servers: given.servers ?? [],
    prices: {},
    extraArgs: given.extraArgs ?? [],
    stallMs: given.stallMs ?? 180_000,
    installEnvironment: machine.environment,
    agentSandbox: null,
    workFolder: machine.workFolder,
    tree: machine.workFolder,
    checkoutFolder: machine.workFolder,
    alsoFolder: null,
    configFolder,
    inbox: join(machine.home, 'inbox'),
    runTag,
    log,
    now: () => Date.now(),
    redact: (text) => text.replaceAll('s3cr3t-value', '***'),
    holdsSecret: () => false,
  });
  return { agent, runTag, configFolder, log };
}
