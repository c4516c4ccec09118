import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadableAgents } from '../agents/all.ts';
import { ALL_PROVIDERS } from './agents/providers.ts';
import { findCliFolder } from './home/login.ts';
import { DEFAULT_AGENT_STALL_MINUTES } from '../cli/defaults.ts';
import type { AskedAgent, AskedIssues, ImportWorld, OpenImport } from '../cli/tasks/import.ts';
import { buildAgentEnvironment, listSecretValues } from '../config/agent-environment.ts';
import { createRedactor, createSecretFinder } from '../core/text/redact.ts';
import { MAX_LIST_BYTES, type FoundTask } from '../core/tasks/files/requirements.ts';
import type { Issue } from '../ports/forge.ts';
import { UserError } from '../errors.ts';
import { createPrintingLog, lookAtGitHub } from './own-github.ts';
import { MINUTE_MS } from '../core/countdown.ts';
import { cutText } from '../core/text/phrase.ts';
import { usePlainFile } from '../files/plain-file.ts';

/** The agent that turns documents into tasks, with the person's own login. */
const AGENT = loadableAgents.claude;

const LOGIN = AGENT.provider.ownLogin;

const now = (): number => Date.now();
const CALL_MS = 15 * MINUTE_MS;
const STALL_MS = DEFAULT_AGENT_STALL_MINUTES * MINUTE_MS;

/**
 * Creates the environment of the command line's `import` on this machine: the person's own agent, token and checkout.
 */
export const openImport: OpenImport = () =>
  Promise.resolve<ImportWorld>({
    askAgent: (asked) => asAnswer(() => askAgent(asked)),
    issues: (asked) => asAnswer(() => listIssues(asked)),
  });

async function askAgent(asked: AskedAgent): Promise<Awaited<ReturnType<ImportWorld['askAgent']>>> {
  const { document, answerName, prompt, agentPath, model, maxCostUsd, log } = asked;
  const [{ createCliAgent }, cli, { endTagged }] = await Promise.all([
    import('../agents/cli/agent.ts'),
    AGENT.adapter(),
    import('../processes/process-tree.ts'),
  ]);
  const workFolder = await mkdtemp(join(tmpdir(), 'ralph-import-'));
  const runTag = randomUUID();
  const interrupted = new AbortController();
  const interrupt = (): void => {
    interrupted.abort();
  };
  process.once('SIGINT', interrupt);
  try {
    await writeFile(join(workFolder, document.name), document.text);
    const agent = createCliAgent(cli, {
      command: { kind: 'path', path: agentPath ?? LOGIN.program },
      model,
      allowedTools: ['Read', 'Write'],
      servers: [],
      prices: {},
      extraArgs: [],
      stallMs: STALL_MS,
      environment: buildAgentEnvironment(process.env, [], AGENT.provider),
      installEnvironment: {},
      broker: null,
      agentSandbox: null,
      workFolder,
      tree: workFolder,
      checkoutFolder: workFolder,
      alsoFolder: null,
      // Use this folder, because it contains the person's own login.
      configFolder: findCliFolder(LOGIN, process.env),
      inbox: join(workFolder, '.inbox'),
      runTag,
      log: createPrintingLog(log),
      now,
      redact: createRedactor(listSecretValues(process.env, [], ALL_PROVIDERS)),
      holdsSecret: createSecretFinder(listSecretValues(process.env, [], ALL_PROVIDERS)),
    });
    const { name, version } = await agent.prepare().catch((error: unknown) => {
      throw withoutAgent(error, agentPath);
    });
    log(`agent: ${version === '' ? name : `${version} (${name})`}`);
    const { analysis, end, broken } = await agent.call({
      prompt,
      resume: null,
      timeoutMs: CALL_MS,
      timeoutOf: 'call',
      budgetUsd: maxCostUsd,
      tokensLeft: null,
      doneTexts: [],
      model: null,
      allowedTools: null,
      signal: interrupted.signal,
    });
    if (broken !== undefined) throw broken;
    if (analysis.agentError !== null) return { kind: 'failed', why: `The agent failed: ${analysis.agentError.text}` };
    if (end.kind !== 'exited')
      return {
        kind: 'failed',
        why: {
          stalled: 'The agent only retried its provider.',
          timeout: 'The agent took longer than 15 minutes.',
          signalled: 'The agent was ended by a signal.',
          cancelled: 'You stopped it.',
          withdrawn: 'The task was taken back.',
        }[end.kind],
      };
    const text = await readAnswer(join(workFolder, answerName));
    return text === null
      ? { kind: 'failed', why: `The agent ended (exit code ${String(end.code)}) without a list of tasks.` }
      : { kind: 'answer', text };
  } finally {
    process.removeListener('SIGINT', interrupt);
    await endTagged(runTag);
    await rm(workFolder, { recursive: true, force: true });
  }
}

/** Replaces the agent's own advice, which is for users of the action. */
function withoutAgent(error: unknown, agentPath: string | null): unknown {
  const isMissing =
    error instanceof UserError &&
    error.cause instanceof Error &&
    'code' in error.cause &&
    error.cause.code === 'ENOENT';
  if (!isMissing) return error;
  return new UserError(
    'configuration',
    `There is no ${agentPath === null ? `${LOGIN.program} on the PATH` : `agent ${agentPath}`}. Install ${AGENT.title} (npm install -g ${AGENT.source.name}), or name the agent's program with --agent-path.`,
  );
}

/** Reads the agent's answer, as a plain file of limited size, or null if none. */
async function readAnswer(path: string): Promise<string | null> {
  return usePlainFile(path, async (file, { size }) => {
    // Read one more byte, so that the parser sees that the text is too long.
    return (await file.read(Buffer.alloc(Math.min(size, MAX_LIST_BYTES + 1)), 0)).buffer.toString('utf8');
  }).catch(() => null);
}

async function listIssues({ folder, label, log }: AskedIssues): Promise<Awaited<ReturnType<ImportWorld['issues']>>> {
  const [{ cleanText, cleanTitle }, { NORMAL_PRIORITY, priorityOfLabel }] = await Promise.all([
    import('../core/text/clean.ts'),
    import('../core/tasks/priority.ts'),
  ]);
  const seen = await lookAtGitHub({ folder, remote: null, log }, ({ forge }) => forge.openIssuesWithLabel(label));
  if (seen.kind === 'failed') return seen;
  if (seen.kind === 'no-token')
    return {
      kind: 'failed',
      why: 'There is no token: set GITHUB_TOKEN to one that may read the issues, for example `GITHUB_TOKEN=$(gh auth token) ralph import --issues`.',
    };
  const toTask = ({ number, title, body, labels }: Issue): FoundTask => {
    const name = cleanTitle(title).text;
    const priority = Math.min(
      ...labels.map((label) => priorityOfLabel(label)).filter((given) => given !== null),
      Number.POSITIVE_INFINITY,
    );
    const known = Number.isFinite(priority) ? priority : NORMAL_PRIORITY;
    return {
      title: `${cutText(name, 180)} (#${String(number)})`,
      body: cutText(cleanText(body).text, 4_000),
      priority: known < NORMAL_PRIORITY ? 'high' : known === NORMAL_PRIORITY ? 'medium' : 'low',
      optional: false,
    };
  };
  return { kind: 'tasks', tasks: seen.value.map(toTask) };
}

/** Returns a failure that a person can fix as an answer instead of throwing it. */
async function asAnswer<T>(ask: () => Promise<T>): Promise<T | { readonly kind: 'failed'; readonly why: string }> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { kind: 'failed', why: error.message };
  }
}
