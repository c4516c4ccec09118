import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { analyze } from '../../core/analysis/analyze.ts';
import type { Transcript } from '../../core/analysis/transcript.ts';
import { billed } from '../../core/spending/bill.ts';
import type { AgentEnd } from '../../core/evidence.ts';
import { isWithin } from '../../core/isolation/view.ts';
import { asError, messageOf, UserError } from '../../errors.ts';
import type { Agent, AgentCall, AgentName, AgentRun } from '../../ports/agent.ts';
import type { Broker, ProviderSign } from '../../ports/broker.ts';
import type { Log } from '../../ports/machine.ts';
import type { Room } from '../../ports/room.ts';
import { logLine } from '../../processes/log-line.ts';
import { createTail } from '../../processes/output-tail.ts';
import { endTagged } from '../../processes/process-tree.ts';
import { cannotStart, programAt, runAlone, versionOf, type Program } from '../../processes/program.ts';
import { familyOf, runProgram, type ProgramEnd } from '../../processes/run-program.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { TEMPORARY_FOLDER, type AgentCli, type CliCall, type ExportedSession, type PreparedCall } from './cli.ts';
import { handsOf, type Lend } from './hands.ts';
import { installCli } from './install.ts';
import { createLingerWatch } from './linger-watch.ts';
import { stallText, type Retrying } from './stall.ts';
import { createStallWatch, type StallWatch } from './stall-watch.ts';

/** The CLI at hand, or one to be installed into `folder` when it is not there yet. */
export type AgentCommand =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'install'; readonly version: string; readonly folder: string };

/** How an agent's CLI is run. */
export interface AgentOptions {
  readonly command: AgentCommand;
  /** null = the CLI's choice. */
  readonly model: string | null;
  readonly allowedTools: readonly string[];
  readonly servers: CliCall['servers'];
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
  /** A CLI that has given its result so long ago is ended when it does not exit. */
  readonly lingerMs: number;
  readonly workFolder: string;
  /** Folder of the checkout in which a relative `agent-path` is looked up before a tree is laid. */
  readonly checkoutFolder: string;
  /** The tree that the CLI works in, see RoomProgram. */
  readonly tree: string;
  /** See CliPlace. */
  readonly alsoFolder: string | null;
  readonly configFolder: string;
  readonly inbox: string;
  /** A UUID; every process of the agent carries it, so that `sweep` finds it, in `post` too. */
  readonly runTag: string;
  readonly log: Log;
  readonly now: () => number;
  /** For transcripts, which hold what the agent's commands printed. */
  readonly redact: (text: string) => string;
  /** See Hiding. */
  readonly holdsSecret: (text: string) => boolean;
}

/** From SIGTERM to SIGKILL for what calls have left behind. */
const SWEEP_GRACE_MS = 500;
/** For what the CLI does beside a call, such as writing down a conversation. */
const ASIDE_MS = MINUTE_MS;

/** An agent that is one process per call, spoken to by stdin and stdout. */
export function createCliAgent(cli: AgentCli, options: AgentOptions): Agent {
  const { configFolder, workFolder, checkoutFolder, environment, room, runTag } = options;
  const hands = handsOf(room);
  let program: Promise<Program> | null = null;
  const ready = (): Promise<Program> => (program ??= programOf(cli, options));
  let folder: Promise<unknown> | null = null;
  return {
    prepare: async () => {
      const started = await ready();
      // Asked for its version, a program of the user's would do its work, or whatever else.
      if (cli.source === null) return programNamed(options);
      return cli.parseName(
        await versionOf(started, { cwd: room?.folders.home ?? checkoutFolder, environment, room, runTag }),
      );
    },
    call: async (call) => {
      const started = { cli, program: await ready() };
      await (folder ??= makeConfigFolder(options));
      return callThroughBroker(started, options, call);
    },
    kindOfDenial: cli.kindOfDenial,
    coAuthor: cli.coAuthor,
    exportSession: (id) => hands(() => keepSession(cli, options, id)),
    // In a folder where an agent works there may be anything in the way.
    importSession: (id, content) =>
      hands(() => cli.sessions.import({ configFolder, workFolder }, { id, content }).catch(() => false)),
    sweep: async () => {
      await room?.end(SWEEP_GRACE_MS);
      await endTagged(runTag);
    },
  };
}

/** A program of the user's, by the name of its file. One without a folder is looked for when it is started. */
async function programNamed({
  command,
  checkoutFolder,
}: Pick<AgentOptions, 'command' | 'checkoutFolder'>): Promise<AgentName> {
  const path = command.kind === 'path' ? command.path : '';
  if (path.includes('/') && !(await isFile(resolve(checkoutFolder, path))))
    throw new UserError(
      'configuration',
      `The agent's program ${path} is not there, or is not a file. Look at agent-path.`,
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

/** Logs what is not kept of it. */
async function keepSession(
  { sessions }: AgentCli,
  { configFolder, workFolder, redact, holdsSecret, log }: AgentOptions,
  id: string,
): Promise<Uint8Array | null> {
  const exported = await sessions
    .export({ configFolder, workFolder }, { id, redact, holdsSecret })
    .catch((error: unknown): ExportedSession => ({
      kind: 'left-behind',
      why: `it cannot be read: ${logLine(messageOf(error), 200)}`,
    }));
  if (exported.kind === 'left-behind')
    log.info(`session: its transcript is not kept (${exported.why}), so the next run begins a new one`);
  else if (exported.isCut) log.info('session: its transcript is long, so its oldest prompts are not kept');
  return exported.kind === 'exported' ? exported.content : null;
}

async function programOf(
  { title, source }: AgentCli,
  { command, installEnvironment: environment, runTag }: AgentOptions,
): Promise<Program> {
  return command.kind === 'path'
    ? programAt(command.path)
    : installCli({ title, source, version: command.version, folder: command.folder, environment, runTag });
}

/** Some CLIs start only where it exists. In a room its user makes it. */
async function makeConfigFolder({ configFolder, environment, room, runTag }: AgentOptions): Promise<void> {
  const temporary = join(configFolder, TEMPORARY_FOLDER);
  if (room === null) await mkdir(temporary, { recursive: true });
  else
    await runAlone(
      { file: 'mkdir', args: ['-p', '-m', '700', configFolder, temporary] },
      { cwd: room.folders.home, environment, room, runTag, timeoutMs: ASIDE_MS },
    );
}

/** The CLI, and how it is started. */
interface Started {
  readonly cli: AgentCli;
  readonly program: Program;
}

/** With what the broker counted, whatever became of the call. */
async function callThroughBroker(started: Started, options: AgentOptions, call: AgentCall): Promise<AgentRun> {
  const { tellsRetries } = started.cli;
  const watch = createStallWatch({ ...options, tellsRetries });
  if (options.broker === null) return callCli(started, { ...options, watch }, call);
  const hear = (sign: ProviderSign): void => {
    watch.hear(sign);
    if (!tellsRetries && sign.kind === 'failed') options.log.info(failedLine(sign));
  };
  const limits = { costUsd: call.budgetUsd, tokens: call.tokensLeft };
  const way = await options.broker.open(limits, hear, call.spending);
  const environment = { ...options.environment, ...way.environment };
  const run = await callCli(started, { ...options, environment, watch }, call).catch(brokenRun);
  const bill = await way.end();
  // What was spent must reach the books first; without a request there is nothing to book.
  if (run.broken !== undefined && bill.requests === 0 && run.analysis.tokens === null) throw run.broken;
  for (const why of bill.refused)
    options.log.warning(
      `Between the agent and its model, a request was stopped: ${logLine(why, 200)}. ${started.cli.title} does not ask for that by itself: look at what the agent read and ran.`,
    );
  return { ...run, analysis: billed(run.analysis, bill) };
}

/** Stands for a call that failed before it had a result: it says nothing, and may have cost something. */
function brokenRun(error: unknown): AgentRun {
  const { analysis } = analyze(NOTHING_PRINTED, []);
  return {
    broken: asError(error),
    analysis,
    end: { kind: 'cancelled' },
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

/** For who follows the job, where the CLI itself is silent. */
function failedLine({ status, words }: Extract<ProviderSign, { kind: 'failed' }>): string {
  return logLine(
    `the provider ${status === null ? 'gave no answer' : `answered HTTP ${String(status)}`}${words === null ? '' : `: ${words}`}`,
    300,
  );
}

async function callCli(
  { cli, program }: Started,
  { watch, ...options }: AgentOptions & { readonly watch: StallWatch },
  call: AgentCall,
): Promise<AgentRun> {
  const startedAt = options.now();
  const own = ownFolder(cli, options);
  const prepared = await own.inHand(() => prepare({ cli, program }, { ...options, lend: own.lend }, call));
  await handIn(options.inbox, prepared.files);
  const linger = createLingerWatch(options.lingerMs);
  const failedServers = new Set<string>();
  let isSaid = false;
  const reader = prepared.openReader({
    now: options.now,
    hear: (event) => {
      watch.see(event);
      linger.see(event);
      if (event.kind === 'servers') event.failed.forEach((name) => failedServers.add(name));
      if (event.line !== '' && !isSaid) options.log.info(event.line);
    },
  });
  const stderr = createTail(8 * 1024);
  let chunks = 0;
  const end = await runProgram({
    file: program.file,
    args: [...program.args, ...prepared.args],
    cwd: options.workFolder,
    environment: prepared.environment,
    input: call.prompt,
    timeoutMs: call.timeoutMs,
    signal: AbortSignal.any([call.signal, watch.signal, linger.signal]),
    family: familyOf(options),
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
  }).finally(() => {
    watch.end();
    linger.end();
  });
  if (end.kind === 'not-started') throw cannotStart(program.file, end);
  const complaint = stderr.text().trim();
  if (complaint !== '') options.log.info(`agent's error output: ${logLine(complaint, 1_000)}`);
  // A refused option or an unusable setting is reported on stderr alone, and is in the log already.
  isSaid = true;
  if (chunks === 0) reader.push(stderr.bytes());
  const isOurs = end.kind === 'cancelled' && !call.signal.aborted;
  const hasLingered = isOurs && linger.signal.aborted;
  const stalled = isOurs && !hasLingered ? watch.stalled() : null;
  if (hasLingered)
    options.log.info(
      `${cli.title} gave its result and did not exit for ${String(Math.round(options.lingerMs / 1000))} s, so its process was ended.`,
    );
  const succeeded = hasLingered || (end.kind === 'exited' && end.code === 0);
  const read = reader.end({ succeeded });
  const ended = succeeded || stalled !== null ? read : withoutResult(read, { end, wrote: chunks > 0, complaint });
  for (const name of failedServers)
    options.log.warning(logLine(`The agent has no tools of the MCP server ${name}.`, 300));
  const completed = await own
    .inHand(() => prepared.complete(ended))
    .then(
      (transcript) => ({ transcript, broken: null }),
      // What the CLI has printed still says what the call cost.
      (error: unknown) => ({ transcript: ended, broken: asError(error) }),
    );
  const { transcript: printed, broken } = completed;
  const judged = stalled === null ? printed : stalledTranscript(printed, stalled, { ...options, cli });
  const transcript = { ...judged, usageLimit: withReset(judged.usageLimit, watch.retryAt()) };
  if (stalled !== null) options.log.warning(logLine(transcript.agentError?.text ?? '', 500));
  const { analysis, finalChars, endsInFencedBlock } = analyze(transcript, call.doneTexts);
  return {
    ...(broken === null ? {} : { broken }),
    analysis,
    end: hasLingered ? { kind: 'exited', code: 0 } : stalled === null ? agentEnd(end, call) : { kind: 'stalled' },
    failedServers: [...failedServers].map((name) => options.redact(name)),
    outputChars: finalChars,
    fencedBlock: endsInFencedBlock,
    durationMs: options.now() - startedAt,
  };
}

/** The CLI's folder before and behind its process: in our hands where the CLI's adapter looks into it, and lent to what the adapter runs. */
function ownFolder(
  { looksIntoFolder }: AgentCli,
  { room }: Pick<AgentOptions, 'room'>,
): { readonly inHand: <T>(work: () => Promise<T>) => Promise<T>; readonly lend: Lend } {
  const hands = handsOf(looksIntoFolder ? room : null);
  let lend: Lend = (work) => work();
  return {
    inHand: (work) =>
      hands((lends) => {
        lend = lends;
        return work();
      }),
    lend: (work) => lend(work),
  };
}

/** What a call asks for goes before what the agent was set up with. */
function prepare(
  { cli, program }: Started,
  options: AgentOptions & { readonly lend: Lend },
  call: AgentCall,
): Promise<PreparedCall> {
  const { configFolder, workFolder, alsoFolder, tree, inbox, room, runTag, servers, extraArgs, environment } = options;
  return cli.prepare(
    {
      model: call.model ?? options.model,
      allowedTools: call.allowedTools ?? options.allowedTools,
      servers,
      extraArgs,
      resume: call.resume,
      budgetUsd: call.budgetUsd,
      environment,
    },
    {
      ...{ configFolder, workFolder, alsoFolder, tree, inbox, isolated: room !== null },
      run: (args, given) =>
        options.lend(() =>
          runAlone(
            { file: program.file, args: [...program.args, ...args] },
            { cwd: workFolder, environment: given, room, tree, runTag, timeoutMs: Math.min(ASIDE_MS, call.timeoutMs) },
          ),
        ),
    },
  );
}

/** Makes the folder again for each call, so that a call never sees the files of another. */
async function handIn(inbox: string, files: PreparedCall['files']): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(inbox, path);
    await mkdir(dirname(file), { recursive: true });
    // The room's user passes through and reads, whatever the mask of this process.
    for (let folder = dirname(file); isWithin(folder, inbox); folder = dirname(folder)) await chmod(folder, 0o755);
    await rm(file, { force: true });
    await writeFile(file, text, { flag: 'wx' });
    await chmod(file, 0o644);
  }
}

/** A call that failed and says nothing of it has what it printed last on stderr for its words; what a CLI wrote there alone is no message of the agent. */
function withoutResult(
  transcript: Transcript,
  { end, wrote, complaint }: { readonly end: ProgramEnd; readonly wrote: boolean; readonly complaint: string },
): Transcript {
  const { agentError, finished } = transcript;
  if (wrote && (agentError !== null || finished)) return transcript;
  const words = lastWords(complaint);
  // If we ended the call, its end says why there is no result.
  const own =
    words !== '' || end.kind !== 'exited' ? words : `it ended without a result (exit code ${String(end.code)})`;
  return {
    ...transcript,
    ...(wrote ? {} : { finalMessage: '', finished: false }),
    agentError: agentError ?? (own === '' ? null : { kind: 'other', text: own }),
  };
}

/** The last line that says something: neither a frame of a stack trace, nor what a runtime adds below it. */
function lastWords(complaint: string): string {
  const lines = complaint.split('\n').map((line) => line.trim());
  const said = lines.findLast((line) => /[a-z]{3}/i.test(line) && !OF_A_TRACE.test(line));
  return logLine(said ?? lines.at(-1) ?? '', 500);
}

const OF_A_TRACE =
  /^(?:at \S|Node\.js v\d|[\w$]{1,60}: ['"\d[{]|\(Use `node |note: run with `RUST_BACKTRACE|File "[^"]*", line \d)/;

/** Judged as if the CLI had given up by itself. */
function stalledTranscript(
  transcript: Transcript,
  stalled: Retrying,
  { cli, stallMs, now }: Pick<AgentOptions, 'stallMs' | 'now'> & { readonly cli: AgentCli },
): Transcript {
  const judged = cli.judgeStall({ ...stalled, text: stallText(stalled, stallMs), now: now() });
  const { agentError } = judged;
  return {
    ...transcript,
    // One that says no more is the provider's.
    agentError: agentError?.kind === 'other' ? { ...agentError, kind: 'server' } : agentError,
    usageLimit: transcript.usageLimit ?? judged.usageLimit,
  };
}

/** Few CLIs pass on how long the provider asks to wait. */
function withReset(limit: Transcript['usageLimit'], retryAt: number | null): Transcript['usageLimit'] {
  if (limit === null || limit.resumeAt !== null || retryAt === null) return limit;
  const { window, unconfirmed } = limit;
  const resumeAt = new Date(retryAt).toISOString();
  return { window, resumeAt, ...(unconfirmed === undefined ? {} : { unconfirmed }) };
}

function agentEnd(end: Exclude<ProgramEnd, { kind: 'not-started' }>, call: AgentCall): AgentEnd {
  return end.kind === 'timeout' ? { kind: 'timeout', of: call.timeoutOf } : end;
}
