import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startScriptedModel } from '../../testbed/scripted-model/server.ts';
import type { ModelStep } from '../../testbed/scripted-model/step.ts';
import { createCliAgent } from '../../src/agents/cli/agent.ts';
import { loadableAgents } from '../../src/agents/all.ts';
import type { AgentName } from '../../src/core/agent-names.ts';
import type { Analysis } from '../../src/core/analysis/analysis.ts';
import { buildSandboxEnvironment } from '../../src/core/isolation/environment.ts';
import { openAgentSandbox } from '../../src/isolation/namespaces/open-sandbox.ts';
import { collectOutput } from '../../src/processes/collect-output.ts';
import { createAgentLogin } from '../../src/wiring/agents/agent-settings.ts';
import { callOf, createMemoryLog } from '../integration/agents/agent-fixture.ts';

// A runner's process, of root or of a user with sudo, that lets a real CLI work in two sandboxes, one after the other.
// Its only argument is a SandboxPlay, as JSON; it writes the result to its folder, as JSON.

export interface SandboxPlay {
  /** The process's own folder. */
  readonly base: string;
  readonly name: AgentName;
  readonly command: { readonly kind: 'install'; readonly version: string; readonly folder: string };
  readonly model: string | null;
  /** Environment of the CLI; URL is replaced by the model's address. */
  readonly environment: Readonly<Record<string, string>>;
  readonly allowedTools: readonly string[];
  /** The first two calls share a sandbox, the third has another; each continues the conversation. */
  readonly calls: readonly {
    readonly script: readonly ModelStep[];
    /** A command that the agent's user runs afterwards in the work tree; CONFIG is the CLI's folder. */
    readonly then: string;
  }[];
  readonly worker: AgentSandboxWorker;
}

type AgentSandboxWorker = Parameters<typeof openAgentSandbox>[1]['worker'];

/** The result of a call. */
export interface SandboxCall {
  readonly analysis: Pick<Analysis, 'agentError' | 'denials' | 'sessionId' | 'signal' | 'tokens'>;
  /** Number of prompts in the last request; `asked` contains the text of all requests. */
  readonly prompts: number;
  readonly asked: string;
  readonly then: string;
  readonly exportedBytes: number | null;
  readonly log: readonly string[];
}

const play = JSON.parse(process.argv[2] ?? '') as SandboxPlay;
const [agentSandboxes, reservations] = [at('sandboxes'), at('reservations')];
const answers: SandboxCall[] = [];
let session: { readonly id: string; readonly content: Uint8Array } | null = null;
for (const [nth, calls] of [play.calls.slice(0, 2), play.calls.slice(2)].entries()) {
  const place = await openPlace(nth, calls);
  for (const call of calls) answers.push(await make(place, call));
  await place.opened.close();
}
// A pipe would lose output that is not read before the end.
writeFileSync(join(play.base, 'answers.json'), JSON.stringify(answers));
process.exit();

type Place = Awaited<ReturnType<typeof openPlace>>;

async function openPlace(nth: number, calls: SandboxPlay['calls']) {
  const { allowedTools } = play;
  const checkout = at('runner', '_work', `shop-${String(nth)}`, 'shop');
  mkdirSync(checkout, { recursive: true });
  const opened = await openAgentSandbox('namespace', {
    environment: { PATH: process.env['PATH'], HOME: at('runner') },
    runFolder: at('runner', '_work', '_temp', `run-${String(nth)}`),
    checkout,
    hidden: [at('runner')],
    visible: [dirname(process.execPath), play.command.folder],
    localPorts: [],
    worker: play.worker,
    places: { agentSandboxes, reservations },
  });
  const { agentSandbox } = opened;
  const tree = join(agentSandbox.folders.trees, 'work', 'shop');
  execFileSync('git', ['init', '-q', '-b', 'main', tree]);
  for (const folder of [tree, dirname(tree)]) chmodSync(folder, 0o755);
  const model = await startScriptedModel({ script: calls.flatMap(({ script }) => script) });
  const own = Object.entries(play.environment).map(([name, value]) => [name, value.replace('URL', model.url)]);
  const given: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    HOME: at('runner'),
    ...{ GIT_AUTHOR_NAME: 'Agent', GIT_AUTHOR_EMAIL: 'agent@example.com' },
    ...{ GIT_COMMITTER_NAME: 'Agent', GIT_COMMITTER_EMAIL: 'agent@example.com' },
    ...(Object.fromEntries(own) as Record<string, string>),
  };
  const login = await createAgentLogin(play.name, given, {
    allowedTools,
    model: null,
    prices: {},
    listen: opened.listen,
  });
  const cli = await loadableAgents[play.name].adapter();
  const [log, configFolder] = [createMemoryLog(), join(agentSandbox.folders.session, play.name)];
  const agent = createCliAgent(cli, {
    command: play.command,
    model: play.model,
    allowedTools,
    servers: [],
    prices: {},
    extraArgs: [],
    stallMs: 180_000,
    environment: buildSandboxEnvironment(login.environment, {
      home: agentSandbox.folders.home,
      proxyPort: null,
      isVisible: () => true,
    }),
    installEnvironment: login.environment,
    broker: login.broker,
    agentSandbox,
    workFolder: agentSandbox.seenAt(tree),
    tree,
    checkoutFolder: checkout,
    alsoFolder: null,
    configFolder,
    inbox: join(agentSandbox.folders.inbox, 'agent-files'),
    runTag: randomUUID(),
    log,
    now: () => Date.now(),
    redact: (text) => text,
    holdsSecret: () => false,
  });
  if (session !== null && !(await agent.importSession(session.id, session.content))) session = null;
  // A run prepares its folders in this way.
  mkdirSync(configFolder, { recursive: true });
  for (const folder of [agentSandbox.folders.session, tree]) await agentSandbox.give(folder);
  return { opened, model, agent, configFolder, tree, log };
}

async function make(
  { opened: { agentSandbox }, model, agent, configFolder, tree, log }: Place,
  { then }: SandboxPlay['calls'][number],
): Promise<SandboxCall> {
  const before = model.requests.length;
  const { analysis } = await agent.call(callOf({ prompt: 'do it', resume: session?.id ?? null, timeoutMs: 100_000 }));
  const asked = model.requests.slice(before).filter(({ conversation }) => conversation !== null);
  const { stdout } = await collectOutput(
    {
      ...{ file: 'sh', args: ['-c', then], cwd: agentSandbox.seenAt(tree), input: '', timeoutMs: 20_000 },
      environment: { PATH: process.env['PATH'] ?? '', HOME: agentSandbox.folders.home, CONFIG: configFolder },
      family: { kind: 'sandbox', agentSandbox, tree },
    },
    1024 * 1024,
  );
  const { agentError, denials, sessionId, signal, tokens } = analysis;
  const content = await agent.exportSession(sessionId ?? '');
  if (sessionId !== null && content !== null) session = { id: sessionId, content };
  return {
    analysis: { agentError, denials, sessionId, signal, tokens },
    prompts: asked.at(-1)?.conversation?.prompts.length ?? 0,
    asked: JSON.stringify(asked.map(({ body }) => body)),
    then: stdout.toString(),
    exportedBytes: content?.length ?? null,
    log: log.lines,
  };
}

function at(...names: readonly string[]): string {
  const path = join(play.base, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}
