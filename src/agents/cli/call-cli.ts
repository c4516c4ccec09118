import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Transcript } from '../../core/analysis/analysis.ts';
import { analyzeTranscript } from '../../core/analysis/analyze.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import type { AgentEnd } from '../../core/evidence.ts';
import { isWithin } from '../../core/isolation/view.ts';
import { selectAllowedServers } from '../../core/mcp/values.ts';
import { asError } from '../../errors.ts';
import type { AgentCall, AgentRun } from '../../ports/agent.ts';
import type { Broker } from '../../ports/broker.ts';
import type { Log } from '../../ports/machine.ts';
import type { AgentSandbox } from '../../ports/agent-sandbox.ts';
import { withNamedWait } from '../../ports/waits.ts';
import { createStartError, type LaunchCommand, runWithoutInput } from '../../processes/collect-output.ts';
import { createOutputTail, toLogLine } from '../../processes/output-tail.ts';
import { describeFamily, type ProgramCall, type ProgramEnd, runProgram } from '../../processes/run-program.ts';
import { classifyFailure, findUsageLimit } from '../reading/failure.ts';
import type { AgentCli, CliCall, CliPlace, PreparedCall } from './cli.ts';
import { withOwnership, type LendFolder } from './install.ts';
import { createLingerWatch, LINGER_MS, type RetryingCall, describeStall, type StallWatch } from './stall-watch.ts';

/** The CLI on this machine, or one to install into `folder` if it is missing. */
export type AgentCommand =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'install'; readonly version: string; readonly folder: string };

/** The options for running an agent's CLI. */
export interface AgentOptions {
  readonly command: AgentCommand;
  /** The model; null leaves the choice to the CLI. */
  readonly model: string | null;
  readonly allowedTools: readonly string[];
  readonly servers: CliCall['servers'];
  readonly prices: CliPlace['prices'];
  readonly extraArgs: readonly string[];
  /** The allow-listed environment from config/; it includes the provider's keys if no broker holds them. */
  readonly environment: Readonly<Record<string, string>>;
  /** The environment for installing the CLI; the installation runs as this user. */
  readonly installEnvironment: Readonly<Record<string, string>>;
  /** The agent's sandbox, in which the CLI runs; null to run it as this user. */
  readonly agentSandbox: AgentSandbox | null;
  readonly broker: Broker | null;
  /** Maximum time in ms for which a call may only retry before it is ended. */
  readonly stallMs: number;
  readonly workFolder: string;
  /** Folder of the checkout; a relative `agent-path` is looked up there before the work tree exists. */
  readonly checkoutFolder: string;
  /** The tree that the CLI works in, see SandboxProgram. */
  readonly tree: string;
  /** See CliPlace. */
  readonly alsoFolder: string | null;
  readonly configFolder: string;
  readonly inbox: string;
  /** A UUID that marks every process of the agent, by which `sweep` finds them, even in `post`. */
  readonly runTag: string;
  readonly log: Log;
  readonly now: () => number;
  /** Redacts transcripts, which contain the output of the agent's commands. */
  readonly redact: (text: string) => string;
  /** See Hiding. */
  readonly holdsSecret: (text: string) => boolean;
}

/** Maximum time in ms for programs that the CLI's adapter runs outside the call, such as the export of a session. */
export const SIDE_TASK_MS = MINUTE_MS;

/** The CLI and the program that starts it. */
export interface CliProgram {
  readonly cli: AgentCli;
  readonly program: LaunchCommand;
}

/** Makes one agent call with the CLI; its processes have ended when the call settles. */
export async function callCli(
  { cli, program }: CliProgram,
  { watch, ...options }: AgentOptions & { readonly watch: StallWatch },
  call: AgentCall,
): Promise<AgentRun> {
  const startedAt = options.now();
  const prompt = plainPrompt(call.prompt);
  const own = ownFolder(cli, options);
  const prepared = await own.asOwner(() => prepare({ cli, program }, { ...options, lendFolder: own.lendFolder }, call));
  await writeInboxFiles(options.inbox, prepared.files);
  const lingerMs = prepared.lingerMs ?? LINGER_MS;
  const linger = createLingerWatch(lingerMs);
  const failedServers = new Set<string>();
  let isStderrLogged = false;
  const reader = prepared.openReader({
    prompt,
    now: options.now,
    hear: (event) => {
      watch.see(event);
      linger.see(event);
      if (event.kind === 'servers') event.failed.forEach((name) => failedServers.add(name));
      // Shorten absolute paths of files, because people know only the part below the work tree.
      const line = event.line.replaceAll(`${options.workFolder}/`, '');
      if (line !== '' && !isStderrLogged) options.log.info(line, 'words');
    },
  });
  // Keep 16 KiB, because the CLI names a refused option above its help text of up to 12 KiB.
  const stderr = createOutputTail(16 * 1024);
  let chunks = 0;
  const started: ProgramCall = {
    file: program.file,
    args: [...program.args, ...prepared.args],
    cwd: options.workFolder,
    environment: prepared.environment,
    input: reader.conversation?.input ?? prompt,
    farewell: reader.conversation?.cancel ?? null,
    timeoutMs: call.timeoutMs,
    signal: AbortSignal.any([call.signal, watch.signal, linger.signal]),
    family: describeFamily(options),
    outputs: [
      (chunk) => {
        chunks += 1;
        reader.push(chunk);
      },
      (chunk) => {
        stderr.push(chunk);
        reader.pushError(chunk);
      },
    ],
  };
  const end = await withNamedWait(cli.title, () => runProgram(started)).finally(() => {
    watch.end();
    linger.end();
  });
  if (end.kind === 'not-started') throw createStartError(program.file, end);
  const complaint = stderr.text().trim();
  if (complaint !== '') options.log.info(`agent's error output: ${toLogLine(complaint, 1_000)}`);
  // Without stdout, read stderr, which reports refused options and unusable settings, and is already in the log.
  isStderrLogged = true;
  if (chunks === 0) reader.push(stderr.bytes());
  const isOurs = end.kind === 'cancelled' && !call.signal.aborted;
  const hasLingered = isOurs && linger.signal.aborted;
  const stalled = isOurs && !hasLingered ? watch.stalled() : null;
  if (hasLingered)
    options.log.info(
      `${cli.title} gave its result and did not exit for ${String(Math.round(lingerMs / 1000))} s, so its process was ended.`,
    );
  const succeeded = hasLingered || (end.kind === 'exited' && end.code === 0);
  const read = await reader.end({ succeeded, hasExited: end.kind === 'exited' });
  const ended = succeeded || stalled !== null ? read : withoutResult(read, { end, wrote: chunks > 0, complaint });
  for (const name of failedServers)
    options.log.warning(toLogLine(`The agent has no tools of the MCP server ${name}.`, 300));
  const completed = await own
    .asOwner(() => prepared.complete(ended))
    .then(
      (transcript) => ({ transcript, broken: null }),
      // Keep the transcript of a broken call, which contains its cost.
      (error: unknown) => ({ transcript: ended, broken: asError(error) }),
    );
  const { transcript: printed, broken } = completed;
  const failure = watch.failure();
  const judged =
    stalled === null
      ? withProviderStatus(printed, failure?.status ?? null)
      : stalledTranscript(printed, stalled, { ...options, cli });
  const transcript = { ...judged, usageLimit: withReset(judged.usageLimit, failure?.retryAt ?? null) };
  if (stalled !== null) options.log.warning(toLogLine(transcript.agentError?.text ?? '', 500));
  const { analysis, finalChars, endsInFencedBlock } = analyzeTranscript(transcript, call.doneTexts);
  return {
    ...(broken === null ? {} : { broken }),
    analysis,
    end: hasLingered ? { kind: 'exited', code: 0 } : stalled === null ? agentEnd(end, call) : { kind: 'stalled' },
    failedServers: [...failedServers].map((name) => options.redact(name)),
    finalMessage: transcript.finalMessage,
    outputChars: finalChars,
    fencedBlock: endsInFencedBlock,
    durationMs: options.now() - startedAt,
  };
}

/** Puts a line before a prompt that begins with `/`, `!`, `@`, `$` or `#x`, which CLIs would read as a command. */
function plainPrompt(prompt: string): string {
  return /^\s*(?:[/!@$]|#+[^#\s])/.test(prompt) ? `Prompt:\n\n${prompt}` : prompt;
}

/**
 * Returns functions with which the adapter works in the CLI's folder before and after the call: `asOwner` runs the
 * adapter's own code and, within it, `lendFolder` runs a program of the agent.
 */
function ownFolder(
  { usesConfigFolder }: AgentCli,
  { agentSandbox }: Pick<AgentOptions, 'agentSandbox'>,
): { readonly asOwner: <T>(work: () => Promise<T>) => Promise<T>; readonly lendFolder: LendFolder } {
  const asOwner = withOwnership(usesConfigFolder ? agentSandbox : null);
  let lendFolder: LendFolder = (work) => work();
  return {
    asOwner: (work) =>
      asOwner((lends) => {
        lendFolder = lends;
        return work();
      }),
    lendFolder: (work) => lendFolder(work),
  };
}

/** Prepares a call; the call's settings override those of the agent. */
function prepare(
  { cli, program }: CliProgram,
  options: AgentOptions & { readonly lendFolder: LendFolder },
  call: AgentCall,
): Promise<PreparedCall> {
  const {
    configFolder,
    workFolder,
    alsoFolder,
    tree,
    inbox,
    agentSandbox,
    runTag,
    servers,
    extraArgs,
    environment,
    prices,
  } = options;
  const allowedTools = call.allowedTools ?? options.allowedTools;
  return cli.prepare(
    {
      model: call.model ?? options.model,
      allowedTools,
      servers: selectAllowedServers(servers, allowedTools),
      extraArgs,
      resume: call.resume,
      budgetUsd: call.budgetUsd,
      environment,
    },
    {
      ...{ configFolder, workFolder, alsoFolder, tree, inbox, isolated: agentSandbox !== null, prices },
      run: (args, given) =>
        options.lendFolder(() =>
          runWithoutInput(
            { file: program.file, args: [...program.args, ...args] },
            {
              cwd: workFolder,
              environment: given,
              agentSandbox,
              tree,
              runTag,
              timeoutMs: Math.min(SIDE_TASK_MS, call.timeoutMs),
            },
          ),
        ),
    },
  );
}

/** Writes a call's files below the inbox, replacing those of earlier calls. */
async function writeInboxFiles(inbox: string, files: PreparedCall['files']): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(inbox, path);
    await mkdir(dirname(file), { recursive: true });
    // The sandbox's user must be able to enter the folders and read the file, regardless of this process's umask.
    for (let folder = dirname(file); isWithin(folder, inbox); folder = dirname(folder)) await chmod(folder, 0o755);
    await rm(file, { force: true });
    await writeFile(file, text, { flag: 'wx' });
    await chmod(file, 0o644);
  }
}

/**
 * Returns the transcript of a call without a result: if it failed silently, the last words on stderr are its error.
 * Words that are only on stderr are not a message of the agent.
 */
function withoutResult(
  transcript: Transcript,
  { end, wrote, complaint }: { readonly end: ProgramEnd; readonly wrote: boolean; readonly complaint: string },
): Transcript {
  const { agentError, finished } = transcript;
  if (wrote && (agentError !== null || finished)) return transcript;
  const words = lastComplaintLine(complaint);
  // If Ralph ended the call, `end` says why there is no result.
  const own =
    words !== '' || end.kind !== 'exited' ? words : `it ended without a result (exit code ${String(end.code)})`;
  return {
    ...transcript,
    ...(wrote ? {} : { finalMessage: '', finished: false }),
    agentError: agentError ?? (own === '' ? null : { kind: 'other', text: own }),
  };
}

/**
 * Returns the last meaningful line, which is neither a frame of a stack trace nor a line that a runtime adds around it.
 */
function lastComplaintLine(complaint: string): string {
  const lines = complaint.split('\n').map((line) => line.trim());
  const readable = lines.filter((line) => /[a-z]{3}/i.test(line) && !STACK_TRACE_LINE.test(line));
  const last = readable.findLast((line) => /^(?:panic\b|FATAL ERROR\b)/i.test(line)) ?? readable.at(-1);
  return toLogLine(last ?? lines.at(-1) ?? '', 500);
}

const STACK_TRACE_LINE =
  /^(?:at \S|Node\.js v\d|[\w$]{1,60}: ['"\d[{]|\(Use `node |note: run with `RUST_BACKTRACE|File "[^"]*", line \d|-{3,} |\d+: 0x|\(node:\d+\) |npm (?:notice|warn)\b)/;

/** Returns the transcript of a stalled call as if the CLI had given up by itself. */
function stalledTranscript(
  transcript: Transcript,
  stalled: RetryingCall,
  { cli, stallMs, now }: Pick<AgentOptions, 'stallMs' | 'now'> & { readonly cli: AgentCli },
): Transcript {
  const judged = cli.judgeStall({ ...stalled, text: describeStall(stalled, stallMs), now: now() });
  const { agentError } = judged;
  return {
    ...transcript,
    // An unclassified error is treated as an error of the provider.
    agentError: agentError?.kind === 'other' ? { ...agentError, kind: 'server' } : agentError,
    usageLimit: transcript.usageLimit ?? judged.usageLimit,
  };
}

/** Classifies an error with a vague text by the provider's last answer, which the CLI may not have printed. */
function withProviderStatus(transcript: Transcript, status: number | null): Transcript {
  const { agentError } = transcript;
  if (agentError?.kind !== 'other' || status === null) return transcript;
  const failure = { text: agentError.text, status, at: null };
  const { kind } = classifyFailure(failure, { reported: [] });
  return {
    ...transcript,
    agentError: { ...agentError, kind },
    usageLimit: transcript.usageLimit ?? findUsageLimit(failure, kind, null),
  };
}

/** Adds the provider's requested wait, which few CLIs report. */
function withReset(limit: Transcript['usageLimit'], retryAt: number | null): Transcript['usageLimit'] {
  if (limit === null || limit.resumeAt !== null || retryAt === null) return limit;
  const { window, unconfirmed } = limit;
  const resumeAt = new Date(retryAt).toISOString();
  return { window, resumeAt, ...(unconfirmed === undefined ? {} : { unconfirmed }) };
}

function agentEnd(end: Exclude<ProgramEnd, { kind: 'not-started' }>, call: AgentCall): AgentEnd {
  return end.kind === 'timeout' ? { kind: 'timeout', of: call.timeoutOf } : end;
}
