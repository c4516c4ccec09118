import { mkdir } from 'node:fs/promises';
import { analyze } from '../../core/analysis/analyze.ts';
import type { Transcript } from '../../core/analysis/transcript.ts';
import { billed } from '../../core/spending/bill.ts';
import type { AgentEnd } from '../../core/evidence.ts';
import type { Agent, AgentCall, AgentRun } from '../../ports/agent.ts';
import type { Broker } from '../../ports/broker.ts';
import type { Log } from '../../ports/machine.ts';
import type { Room } from '../../ports/room.ts';
import { claudeArguments, claudeEnvironment, parseName } from './command-line.ts';
import { kindOfDenial } from './events/allow-rules.ts';
import { missingResult } from './events/failure.ts';
import { classifyStall, stallFailure, type Retrying } from './events/stall.ts';
import { usageLimitOf } from './events/usage-limit.ts';
import { createOutputReader } from './output/reader.ts';
import { lineOf } from './log-events.ts';
import { installClaude } from './install.ts';
import { logLine } from '../../processes/log-line.ts';
import { createTail } from '../../processes/output-tail.ts';
import { endTagged } from '../../processes/process-tree.ts';
import { cannotStart, programAt, versionOf, type Program } from '../../processes/program.ts';
import { familyOf, runProgram, type ProgramEnd } from '../../processes/run-program.ts';
import { CO_AUTHOR } from './provider.ts';
import { exportSession, importSession } from './session-files.ts';
import { createStallWatch } from './stall-watch.ts';

/** The CLI at hand, or one to be installed into `folder` when it is not there yet. */
export type AgentCommand =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'install'; readonly version: string; readonly folder: string };

interface ClaudeOptions {
  readonly command: AgentCommand;
  /** null = the CLI's choice. */
  readonly model: string | null;
  readonly allowedTools: readonly string[];
  readonly extraArgs: readonly string[];
  /** The allow-list that config/ made; with the provider's keys where no broker holds them. */
  readonly environment: Readonly<Record<string, string>>;
  /** What installs the CLI, which runs as this user, gets its own of. */
  readonly installEnvironment: Readonly<Record<string, string>>;
  /** Where the CLI runs; null: as this user. */
  readonly room: Room | null;
  readonly broker: Broker | null;
  /** A call of which nothing but retries has come for so long is ended. */
  readonly stallMs: number;
  readonly workFolder: string;
  /** Where it may edit files as well, since `workFolder` is a part of it; null: nowhere. */
  readonly alsoFolder: string | null;
  /** The agent's own home for settings and transcripts (CLAUDE_CONFIG_DIR). */
  readonly configFolder: string;
  /** A UUID; every process of the agent carries it, so that `sweep` finds it, in `post` too. */
  readonly runTag: string;
  readonly log: Log;
  readonly now: () => number;
  /** For transcripts, which hold what the agent's commands printed. */
  readonly redact: (text: string) => string;
}

/** From SIGTERM to SIGKILL for what calls have left behind. */
const SWEEP_GRACE_MS = 500;

/** Claude Code: one process per call, spoken to by stdin and stream-json. */
export function createClaudeAgent(options: ClaudeOptions): Agent {
  const { configFolder, workFolder, environment, room, runTag } = options;
  let program: Promise<Program> | null = null;
  const ready = (): Promise<Program> => (program ??= programOf(options));
  return {
    prepare: async () =>
      parseName(await versionOf(await ready(), { cwd: room?.folders.home ?? workFolder, environment, room, runTag })),
    call: async (call) => callThroughBroker(await ready(), options, call),
    kindOfDenial,
    coAuthor: CO_AUTHOR,
    exportSession: (id) => keepSession(options, id),
    importSession: (id, content) => importSession({ configFolder, workFolder }, { id, content }),
    sweep: async () => {
      await room?.end(SWEEP_GRACE_MS);
      await endTagged(runTag);
    },
  };
}

/** Logs what is not kept of it. */
async function keepSession(
  { configFolder, workFolder, redact, log }: ClaudeOptions,
  id: string,
): Promise<Uint8Array | null> {
  const exported = await exportSession({ configFolder, workFolder }, { id, redact });
  if (exported.kind === 'left-behind')
    log.info(`session: its transcript is not kept (${exported.why}), so the next run begins a new one`);
  else if (exported.isCut) log.info('session: its transcript is long, so its oldest prompts are not kept');
  return exported.kind === 'exported' ? exported.content : null;
}

async function programOf({
  command,
  configFolder,
  installEnvironment: environment,
  room,
  runTag,
}: ClaudeOptions): Promise<Program> {
  // In a room its user makes it.
  if (room === null) await mkdir(configFolder, { recursive: true });
  return command.kind === 'path'
    ? programAt(command.path)
    : installClaude({ version: command.version, folder: command.folder, environment, runTag });
}

/** With what the broker counted, whatever became of the call. */
async function callThroughBroker(program: Program, options: ClaudeOptions, call: AgentCall): Promise<AgentRun> {
  if (options.broker === null) return callClaude(program, options, call);
  const way = await options.broker.open({ costUsd: call.budgetUsd, tokens: call.tokensLeft });
  const environment = { ...options.environment, ...way.environment };
  const run = await callClaude(program, { ...options, environment }, call).catch(async (error: unknown) => {
    await way.end();
    throw error;
  });
  const bill = await way.end();
  for (const why of bill.refused)
    options.log.warning(
      `Between the agent and its model, a request was stopped: ${logLine(why, 200)}. Claude Code does not ask for that by itself: look at what the agent read and ran.`,
    );
  return { ...run, analysis: billed(run.analysis, bill) };
}

async function callClaude(program: Program, options: ClaudeOptions, call: AgentCall): Promise<AgentRun> {
  const startedAt = options.now();
  const watch = createStallWatch(options);
  const reader = createOutputReader({
    now: startedAt,
    onEvent: (event) => {
      watch.see(event);
      const line = lineOf(event);
      if (line !== '') options.log.info(line);
    },
  });
  const stderr = createTail(8 * 1024);
  let chunks = 0;
  const end = await runProgram({
    file: program.file,
    args: [...program.args, ...claudeArguments({ ...options, ...call, ...settingOf(options, call) })],
    cwd: options.workFolder,
    environment: claudeEnvironment(options.environment, options.configFolder),
    input: call.prompt,
    timeoutMs: call.timeoutMs,
    signal: AbortSignal.any([call.signal, watch.signal]),
    family: familyOf(options),
    outputs: [
      (chunk) => {
        chunks += 1;
        reader.push(chunk);
      },
      stderr.push,
    ],
  }).finally(watch.end);
  if (end.kind === 'not-started') throw cannotStart(program.file, end);
  const complaint = stderr.text().trim();
  if (complaint !== '') options.log.info(`agent's error output: ${logLine(complaint, 1_000)}`);
  // A refused option or an unusable setting is reported on stderr alone.
  if (chunks === 0) reader.push(stderr.bytes());
  const stalled = end.kind === 'cancelled' && !call.signal.aborted ? watch.stalled() : null;
  const printed = reader.end();
  const transcript = stalled === null ? endedTranscript(printed, end) : stalledTranscript(printed, stalled, options);
  if (stalled !== null) options.log.warning(logLine(transcript.agentError?.text ?? '', 500));
  const { analysis, finalChars, endsInFencedBlock } = analyze(transcript, call.doneTexts);
  return {
    analysis,
    end: stalled === null ? agentEnd(end, call) : { kind: 'stalled' },
    outputChars: finalChars,
    fencedBlock: endsInFencedBlock,
    durationMs: options.now() - startedAt,
  };
}

function endedTranscript(transcript: Transcript, end: ProgramEnd): Transcript {
  const succeeded = end.kind === 'exited' && end.code === 0;
  return succeeded ? { ...transcript, agentError: missingResult(transcript) } : transcript;
}

/** Judged as if the CLI had given up by itself. */
function stalledTranscript(
  transcript: Transcript,
  stalled: Retrying,
  { stallMs, now }: Pick<ClaudeOptions, 'stallMs' | 'now'>,
): Transcript {
  const failure = stallFailure(stalled, stallMs);
  return {
    ...transcript,
    agentError: classifyStall(failure),
    usageLimit: transcript.usageLimit ?? usageLimitOf(failure, null, now()),
  };
}

/** What a call asks for goes before what the agent was set up with. */
function settingOf(
  options: Pick<ClaudeOptions, 'model' | 'allowedTools'>,
  call: Pick<AgentCall, 'model' | 'allowedTools'>,
): Pick<ClaudeOptions, 'model' | 'allowedTools'> {
  return { model: call.model ?? options.model, allowedTools: call.allowedTools ?? options.allowedTools };
}

function agentEnd(end: Exclude<ProgramEnd, { kind: 'not-started' }>, call: AgentCall): AgentEnd {
  return end.kind === 'timeout' ? { kind: 'timeout', of: call.timeoutOf } : end;
}
