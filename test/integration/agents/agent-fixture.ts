import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { McpServer } from '../../../src/core/mcp/values.ts';
import type { Prices } from '../../../src/core/spending/prices.ts';
import type { Broker } from '../../../src/ports/broker.ts';
import { claudeCli } from '../../../src/agents/claude/cli.ts';
import type { AgentCli } from '../../../src/agents/cli/cli.ts';
import { createCliAgent } from '../../../src/agents/cli/agent.ts';
import type { AgentCommand } from '../../../src/agents/cli/call-cli.ts';
import type { Agent, AgentCall } from '../../../src/ports/agent.ts';
import type { Log } from '../../../src/ports/machine.ts';

/** A separate machine: HOME, a git repository to work in, and an environment that inherits only the PATH. */
export interface Machine {
  readonly home: string;
  readonly workFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function createMachine(): Promise<Machine> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'ralph-agent-')));
  const [home, workFolder] = [join(root, 'home'), join(root, 'work')];
  await mkdir(home);
  const environment = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'Agent',
    GIT_AUTHOR_EMAIL: 'agent@example.com',
    GIT_COMMITTER_NAME: 'Agent',
    GIT_COMMITTER_EMAIL: 'agent@example.com',
  };
  execFileSync('git', ['init', '-q', '-b', 'main', workFolder], { env: environment });
  return { home, workFolder, environment, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
}

/** Creates a log that collects its lines. */
export function createMemoryLog(): Log & { readonly lines: readonly string[] } {
  const lines: string[] = [];
  const add = (text: string): void => {
    lines.push(text);
  };
  return { lines, info: add, warning: add, error: add, group: async (_title, body) => body() };
}

export interface AgentUnderTest {
  readonly agent: Agent;
  readonly runTag: string;
  readonly configFolder: string;
  readonly log: ReturnType<typeof createMemoryLog>;
}

/** Creates an agent with a fresh config folder on `machine`; the CLI defaults to Claude Code. */
export function createAgentOn(
  machine: Machine,
  given: {
    readonly command: AgentCommand;
    readonly cli?: AgentCli;
    readonly environment?: Readonly<Record<string, string>>;
    readonly allowedTools?: readonly string[];
    readonly servers?: readonly McpServer[];
    readonly prices?: Prices;
    readonly broker?: Broker | null;
    readonly extraArgs?: readonly string[];
    readonly stallMs?: number;
    /** The folder of the repository in which the agent works. */
    readonly folder?: string;
  },
): AgentUnderTest {
  const [runTag, log, configFolder] = [randomUUID(), createMemoryLog(), join(machine.home, `config-${randomUUID()}`)];
  const agent = createCliAgent(given.cli ?? claudeCli, {
    command: given.command,
    model: null,
    allowedTools: given.allowedTools ?? [
      'Read',
      'Edit',
      'Write',
      'Glob',
      'Grep',
      'Bash(git add:*)',
      'Bash(git commit:*)',
    ],
    servers: given.servers ?? [],
    prices: given.prices ?? {},
    extraArgs: given.extraArgs ?? [],
    stallMs: given.stallMs ?? 180_000,
    environment: { ...machine.environment, ...given.environment },
    installEnvironment: { ...machine.environment, ...given.environment },
    broker: given.broker ?? null,
    agentSandbox: null,
    workFolder: join(machine.workFolder, given.folder ?? ''),
    alsoFolder: given.folder === undefined ? null : machine.workFolder,
    tree: machine.workFolder,
    checkoutFolder: machine.workFolder,
    configFolder,
    inbox: join(machine.home, 'inbox'),
    runTag,
    log,
    now: () => Date.now(),
    redact: (text) => text.replaceAll('s3cr3t-value', '***'),
    holdsSecret: (text) => text.includes('s3cr3t-value'),
  });
  return { agent, runTag, configFolder, log };
}

/** Creates a call without limits except those in `given`. */
export function callOf(given: Partial<AgentCall> & { readonly prompt: string }): AgentCall {
  return {
    doneTexts: [],
    resume: null,
    timeoutMs: 60_000,
    timeoutOf: 'call',
    budgetUsd: null,
    tokensLeft: null,
    model: null,
    allowedTools: null,
    signal: new AbortController().signal,
    ...given,
  };
}
