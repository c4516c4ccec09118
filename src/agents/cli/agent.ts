import { mkdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Transcript } from '../../core/analysis/analysis.ts';
import { analyzeTranscript } from '../../core/analysis/analyze.ts';
import { withBilledUsage } from '../../core/spending/meter.ts';
import { asError, getErrorMessage, UserError } from '../../errors.ts';
import type { Agent, AgentCall, AgentIdentity, AgentRun } from '../../ports/agent.ts';
import type { ProviderSign } from '../../ports/broker.ts';
import {
  type LaunchCommand,
  createLaunchCommand,
  runWithoutInput,
  readProgramVersion,
} from '../../processes/collect-output.ts';
import { toLogLine } from '../../processes/output-tail.ts';
import { endTagged } from '../../processes/process-tree.ts';
import { type AgentOptions, SIDE_TASK_MS, callCli, type CliProgram } from './call-cli.ts';
import { type AgentCli, type ExportedSession, TEMPORARY_FOLDER } from './cli.ts';
import { withOwnership, installCli } from './install.ts';
import { createStallWatch } from './stall-watch.ts';

/** Time in ms from SIGTERM to SIGKILL for processes that calls left behind. */
const SWEEP_GRACE_MS = 500;

/** Creates an agent that is one process per call, with stdin and stdout. */
export function createCliAgent(cli: AgentCli, options: AgentOptions): Agent {
  const { configFolder, workFolder, checkoutFolder, environment, agentSandbox, runTag } = options;
  const asOwner = withOwnership(agentSandbox);
  let program: Promise<LaunchCommand> | null = null;
  const ready = (): Promise<LaunchCommand> => (program ??= programOf(cli, options));
  let folder: Promise<unknown> | null = null;
  return {
    prepare: async () => {
      const started = await ready();
      // Do not run a user's program for its version: it may ignore `--version` and start to work.
      if (cli.source === null) return identifyUserProgram(options);
      return identifyProgram(
        cli,
        await readProgramVersion(started, {
          cwd: agentSandbox?.folders.home ?? checkoutFolder,
          environment,
          agentSandbox,
          runTag,
        }),
      );
    },
    call: async (call) => {
      const started = { cli, program: await ready() };
      await (folder ??= makeConfigFolder(options));
      return callThroughBroker(started, options, call);
    },
    kindOfDenial: cli.kindOfDenial,
    coAuthor: cli.coAuthor,
    exportSession: (id) => asOwner(() => exportAgentSession(cli, options, id)),
    // Continue without the session if the import fails: the agent owns the folder and may have put entries in the way.
    importSession: (id, content) =>
      asOwner(() => cli.sessions.import({ configFolder, workFolder }, { id, content }).catch(() => false)),
    sweep: async () => {
      await agentSandbox?.end(SWEEP_GRACE_MS);
      await endTagged(runTag);
    },
  };
}

/**
 * Returns the program's name and version from its output for `--version`; the output itself is the name if it has
 * another form.
 */
export function identifyProgram(
  { title, printedVersion }: Pick<AgentCli, 'title' | 'printedVersion'>,
  printed: string,
): AgentIdentity {
  const { version, name = title } = printedVersion.exec(printed)?.groups ?? {};
  return version === undefined ? { name: printed, version: '' } : { name, version };
}

/**
 * Returns the file name of a user's program, without a version. Throws a UserError if a path with a folder is not a
 * file; a bare name is looked up on PATH when it starts.
 */
async function identifyUserProgram({
  command,
  checkoutFolder,
}: Pick<AgentOptions, 'command' | 'checkoutFolder'>): Promise<AgentIdentity> {
  const path = command.kind === 'path' ? command.path : '';
  if (path.includes('/') && !(await isFile(resolve(checkoutFolder, path))))
    throw new UserError(
      'configuration',
      `The agent's program ${path} does not exist or is not a file. Check agent-path.`,
    );
  return { name: basename(path), version: '' };
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** Exports the session, and logs which part of it is not kept. */
async function exportAgentSession(
  { sessions }: AgentCli,
  { configFolder, workFolder, redact, holdsSecret, log }: AgentOptions,
  id: string,
): Promise<Uint8Array | null> {
  const exported = await sessions
    .export({ configFolder, workFolder }, { id, redact, holdsSecret })
    .catch((error: unknown): ExportedSession => ({
      kind: 'left-behind',
      why: `it cannot be read: ${toLogLine(getErrorMessage(error), 200)}`,
    }));
  if (exported.kind === 'left-behind')
    log.info(`session: its transcript is not kept (${exported.why}), so the next run begins a new one`);
  else if (exported.isCut) log.info('session: its transcript is long, so its oldest prompts are not kept');
  return exported.kind === 'exported' ? exported.content : null;
}

async function programOf(
  { title, source }: AgentCli,
  { command, installEnvironment: environment, runTag }: AgentOptions,
): Promise<LaunchCommand> {
  return command.kind === 'path'
    ? createLaunchCommand(command.path)
    : installCli({ title, source, version: command.version, folder: command.folder, environment, runTag });
}

/** Creates the config folder, without which some CLIs do not start; in a sandbox as the sandbox's user. */
async function makeConfigFolder({ configFolder, environment, agentSandbox, runTag }: AgentOptions): Promise<void> {
  const temporary = join(configFolder, TEMPORARY_FOLDER);
  if (agentSandbox === null) await mkdir(temporary, { recursive: true });
  else
    await runWithoutInput(
      { file: 'mkdir', args: ['-p', '-m', '700', configFolder, temporary] },
      { cwd: agentSandbox.folders.home, environment, agentSandbox, runTag, timeoutMs: SIDE_TASK_MS },
    );
}

/**
 * Runs a call through the broker, if there is one, and adds the usage that the broker counted, even if the call failed.
 */
async function callThroughBroker(started: CliProgram, options: AgentOptions, call: AgentCall): Promise<AgentRun> {
  const { printsRetries } = started.cli;
  const watch = createStallWatch({ ...options, printsRetries });
  if (options.broker === null) return callCli(started, { ...options, watch }, call);
  const hear = (sign: ProviderSign): void => {
    watch.hear(sign);
    if (!printsRetries && sign.kind === 'failed') options.log.info(failedLine(sign));
  };
  const limits = { costUsd: call.budgetUsd, tokens: call.tokensLeft };
  const way = await options.broker.open(limits, hear, call.spending);
  const environment = { ...options.environment, ...way.environment };
  const run = await callCli(started, { ...options, environment, watch }, call).catch(brokenRun);
  const bill = await way.end();
  // Throw only if nothing was used; otherwise the caller must book the cost first.
  if (run.broken !== undefined && bill.requests === 0 && run.analysis.tokens === null) throw run.broken;
  for (const why of bill.refused)
    options.log.warning(
      `A request from the agent to its model was blocked: ${toLogLine(why, 200)}. ${started.cli.title} does not send such requests by itself: check what the agent read and ran.`,
    );
  return { ...run, analysis: withBilledUsage(run.analysis, bill) };
}

/** Returns an empty result for a call that failed before it had one; the caller adds the cost that it may have had. */
function brokenRun(error: unknown): AgentRun {
  const { analysis } = analyzeTranscript(NOTHING_PRINTED, []);
  return {
    broken: asError(error),
    analysis,
    end: { kind: 'cancelled' },
    finalMessage: '',
    outputChars: 0,
    fencedBlock: false,
    failedServers: [],
    durationMs: 0,
  };
}

const NOTHING_PRINTED: Transcript = {
  ...{ format: 'text', finalMessage: '', finished: false, askedPerson: false },
  ...{ agentError: null, denials: [], usageLimit: null, sessionId: null, turns: null, tokens: null, costUsd: null },
};

/** Returns the log line for a failed request, for CLIs that do not print their retries. */
function failedLine({ status, words }: Extract<ProviderSign, { kind: 'failed' }>): string {
  return toLogLine(
    `the provider ${status === null ? 'gave no answer' : `answered HTTP ${String(status)}`}${words === null ? '' : `: ${words}`}`,
    300,
  );
}
