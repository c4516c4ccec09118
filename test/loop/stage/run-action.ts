import { findNamedTools } from '../../../src/core/feedback/conflict/lock-tools.ts';
import { withWishes } from '../../../src/github/wishes/with-wishes.ts';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, RunContext } from '../../../src/config/config.ts';
import { buildConfig, buildConfigFromInputs } from '../../../src/config/inputs.ts';
import { parseWorkingFolder } from '../../../src/config/fields.ts';
import { parseRunSettings, mergeConfigTexts, mergeFoundTexts } from '../../../src/config/settings/run-texts.ts';
import { NO_SETTINGS_MAPPING } from '../../../src/config/settings/settings-input.ts';
import { findStart } from '../../../src/gate/lane/start.ts';
import { type GateResult, type HandedIntake, parseHandedIntake, type Work } from '../../../src/handover/intake.ts';
import type { Claim } from '../../../src/core/sharing/lease.ts';
import { meaningOfRun } from '../../../src/gate/event/event-table.ts';
import { runGate } from '../../../src/gate/gate.ts';
import { toRootPath } from '../../../src/core/folder.ts';
import type { AgentName } from '../../../src/core/agent-names.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
import { parseSignalFiles } from '../../../src/core/pipeline/reading/signals-in-files.ts';
import type { Policy } from '../../../src/core/policy.ts';
import { findFirstPrompt, SETUP_PROMPT_PATH } from '../../../src/core/prompt/places.ts';
import type { UserPrompt } from '../../../src/ports/prompt.ts';
import { CHAIN_START, chainJournalLine } from '../../../src/core/journal/chain.ts';
import { parseJournal } from '../../../src/core/journal/parse-journal.ts';
import { kindOfDenialBy } from '../../../src/agents/rules/shell-rules.ts';
import { replayDecisions } from '../../../src/core/journal/replay.ts';
import { checkJournal } from '../../../src/core/receipt/check-journal.ts';
import type { Budget } from '../../../src/core/sharing/budget.ts';
import { createLaneRecord, type LaneRecord } from '../../../src/core/sharing/lane-record.ts';
import { parseBudgetIn, parseLaneIn, withRecord } from '../../../src/core/snapshot/snapshot.ts';
import { listStoredRuns, type StoredRun } from '../../../src/core/snapshot/stored-run.ts';
import { type LaneState, parseState } from '../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import { rescueRun } from '../../../src/run/rescue.ts';
import type { Verifier } from '../../../src/ports/agent.ts';
import type { Issue } from '../../../src/ports/forge.ts';
import type { Log } from '../../../src/ports/machine.ts';
import type { StateCopy } from '../../../src/ports/state.ts';
import type { PublishDeps } from '../../../src/publish/deps.ts';
import type { RunReport, SavedReport, ParallelEnd } from '../../../src/handover/report.ts';
import { listSettingWarnings } from '../../../src/report/facts.ts';
import type { Machine as MachineOfRun, ActionDeps, RunDeps, RunEnd } from '../../../src/run/deps.ts';
import { runAtHome } from '../../../src/run/home/at-home.ts';
// The stages are loaded before the first run, so that no test waits for the disk when a run loads them.
import '../../../src/run/flow.ts';
import { runAction } from '../../../src/run/run-action.ts';
import { connectStages } from '../../../src/run/stages.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import { readInputDefaults } from '../../../testbed/runner.ts';
import { noon } from '../../unit/core/core-fixtures.ts';
import { createScript, type Behaviour } from './behaviours.ts';
import {
  createClock,
  createForge,
  createLog,
  createOrigin,
  createRemote,
  workFilesOf,
  type Checkout,
  type FakeForge,
} from './in-memory.ts';
import { createKept, forget } from './in-memory-state.ts';
import { placedFiles } from './placed.ts';
import { handedFilesOf, type Project } from './project.ts';
import type { LaneId } from '../../../src/core/tasks/ids.ts';
import { connectionsOf, createMachine, type Machine } from './machine.ts';
import { open, tapped, type Tap } from './tap.ts';

const kindOfDenial = kindOfDenialBy('claude');

export const actionYml = readFileSync(join(import.meta.dirname, '../../../action.yml'), 'utf8');

const defaults = readInputDefaults(actionYml, 'token-of-the-job');

/** Returns the configuration for inputs of the step, over the defaults of action.yml. */
export function configOf(inputs: Readonly<Record<string, string>> = {}): Config {
  return buildConfigFromInputs({ ...defaults, ...inputs });
}

/**
 * Returns the configuration with the job's environment and the base branch's settings; a job after the gate uses what
 * the gate handed over.
 */
function configIn(project: Project, job: Job | null, inputs: Readonly<Record<string, string>>): Config {
  const given = { ...defaults, ...inputs };
  if (job !== null && job.phase !== 'gate') {
    const found = handedTo(project, job)?.settings ?? [];
    return buildConfig(mergeFoundTexts({ inputs: given, named: NO_SETTINGS_MAPPING }, found));
  }
  const { commits, branches } = project.origin;
  const texts = commits.get(branches.get('main') ?? '')?.tree ?? {};
  const settings = parseRunSettings(project.environment, { texts, unread: {} }, parseWorkingFolder(given));
  return buildConfig(mergeConfigTexts({ inputs: given, named: NO_SETTINGS_MAPPING }, settings));
}

/** Returns what the gate handed over for the job; null if that is missing. */
function handedTo(project: Project, { lane = '' }: Job): HandedIntake | null {
  return parseHandedIntake(Buffer.from(handedFilesOf(project, lane).get('gate/intake.json') ?? '').toString());
}

export const green: Verifier = { verify: () => Promise.resolve({ kind: 'passed', durationMs: 1 }) };
export const red: Verifier = {
  verify: () => Promise.resolve({ kind: 'failed', command: 'npm test', code: 1, tail: '1 failing', durationMs: 1 }),
};

/** Makes the verification pass on the current base branch, and fail everywhere else. */
export function makeRed(project: Project): void {
  const base = project.origin.branches.get('main');
  project.verifier = { verify: (call) => (call.folder === base ? green : red).verify(call) };
}

/** Creates a project with labelled issues; `ann` may write, `eve` may only read. */
export function createProject(
  setting: {
    readonly issues?: readonly number[];
    readonly agent?: readonly Behaviour[];
    /** The agents after the first, in order. */
    readonly others?: Readonly<Partial<Record<AgentName, readonly Behaviour[]>>>;
    readonly stepAgents?: Readonly<Partial<Record<AgentName, readonly Behaviour[]>>>;
    readonly inputs?: Readonly<Record<string, string>>;
    /** Files of the base branch, in addition to a README. */
    readonly files?: Readonly<Record<string, string>>;
  } = {},
): Project {
  const origin = createOrigin({ 'README.md': 'A shop', ...setting.files });
  const forge = createForge(origin);
  const kept = createKept();
  for (const number of setting.issues ?? [1]) addIssue(forge, number);
  forge.permissions.set('ann', 'write').set('eve', 'read');
  return {
    origin,
    forge,
    remote: createRemote(origin, kept.refs),
    kept,
    clock: createClock(noon),
    script: createScript(setting.agent ?? []),
    others: Object.entries(setting.others ?? {}).map(([name, agent]) => [name as AgentName, createScript(agent)]),
    webhook: () => Promise.resolve(null),
    stepAgents: Object.entries(setting.stepAgents ?? {}).map(([name, own]) => [name as AgentName, createScript(own)]),
    inputs: setting.inputs ?? {},
    environment: {},
    verifier: green,
    command: () => ({ end: { kind: 'exited', code: 0 }, tail: '' }),
    findings: [],
    handoff: new Map(),
    handoffs: new Map(),
    runs: 0,
  };
}

export function addIssue(forge: FakeForge, number: number, change: Partial<Issue> = {}): void {
  forge.issues.set(number, {
    number,
    title: `Title ${String(number)}`,
    body: `Body ${String(number)}`,
    url: `https://github.test/acme/shop/issues/${String(number)}`,
    labels: ['ralph'],
    state: 'open',
    isPullRequest: false,
    blockedBy: 0,
    openSubIssues: 0,
    ...change,
  });
}

export type Event = RunContext['event'];
export const schedule: Event = { name: 'schedule', payload: { schedule: '0 * * * *' } };
export const labeled = (issue: number, login = 'ann', label = 'ralph'): Event => ({
  name: 'issues',
  payload: {
    action: 'labeled',
    label: { name: label },
    issue: { number: issue, title: `Title ${String(issue)}`, body: `Body ${String(issue)}`, labels: [{ name: label }] },
    sender: senderOf(login),
  },
});
export const commented = (
  body: string,
  on: { readonly issue: number; readonly login?: string; readonly isPullRequest?: boolean },
): Event => ({
  name: 'issue_comment',
  payload: {
    action: 'created',
    comment: { id: 7, body, created_at: '2026-11-21T12:00:00Z' },
    issue: {
      number: on.issue,
      title: `Title ${String(on.issue)}`,
      body: `Body ${String(on.issue)}`,
      ...(on.isPullRequest === true ? { pull_request: {} } : {}),
    },
    sender: senderOf(on.login ?? 'ann'),
  },
});

/** Returns an account in the form of a payload. */
export function senderOf(login: string): {
  readonly login: string;
  readonly id: number;
  readonly type: 'User' | 'Bot';
} {
  return { login, id: 1, type: login.endsWith('[bot]') ? 'Bot' : 'User' };
}

function contextOf(event: Event, hasProviderKey = true, run = 1): RunContext {
  return {
    workspace: '/workspace',
    temp: '/temp',
    repository: { owner: 'acme', repo: 'shop' },
    serverUrl: 'https://github.test',
    apiUrl: 'https://api.github.test',
    runId: String(run),
    runAttempt: 1,
    runUrl: `https://github.test/acme/shop/actions/runs/${String(run)}`,
    logUrl: `https://github.test/acme/shop/actions/runs/${String(run)}`,
    runnerName: 'GitHub Actions 1',
    workflowPath: '.github/workflows/ralph.yml',
    event,
    verifyProblems: [],
    otherLoginProblems: {},
    loginProblems: hasProviderKey ? [] : ['There is no key for the agent.'],
  };
}

/** The result of one process: main, or post. */
export interface Run {
  /** The end, such as `complete (plan_complete)`; `cancelled (killed)` for a killed process. */
  readonly end: string;
  readonly outcome: Outcome;
  /** Number of agent calls of this run. */
  readonly calls: number;
  /** The newest work on disk, or null if the gate ended the run. */
  readonly work: Work | null;
  /** The report, or null if the process was killed. */
  readonly report: RunReport | null;
  /** The records on disk, step by step. */
  readonly records: readonly { readonly work: Work; readonly callsSoFar: number }[];
  readonly log: readonly string[];
  /** The log lines that are visible while all groups are closed. */
  readonly foldedLog: readonly string[];
  /** The journal as on disk. */
  readonly journal: string;
  readonly machine: Machine;
  /** The data for the next job of a split run, or null if none. */
  readonly handedOver: Extract<RunEnd, { kind: 'handed-over' }> | null;
  /** The ends of all lanes, from the last job of a run of several; null for any other. */
  readonly together: ParallelEnd | null;
}

/** A job of a split run: its phase and the gate's hand-over, applied over the inputs of the project. */
export interface Job {
  readonly phase: 'gate' | 'loop' | 'publish' | 'finish';
  readonly digest: string;
  /** The input `handoff-branch`; absent in a run that makes one hand-over. */
  readonly lane?: LaneId;
  /** Number of the run that the three jobs share. */
  readonly run: number;
  /** The input `loop-result` of the job that publishes. */
  readonly loopResult?: string;
}

export interface RunSetting {
  readonly event?: Event;
  readonly hasProviderKey?: boolean;
  readonly otherLoginProblems?: RunContext['otherLoginProblems'];
  /** Number of the run of which this is the second attempt. */
  readonly againOf?: number;
  /** The job of a split run. */
  readonly job?: Job;
  readonly signal?: AbortSignal;
  /** The first Ctrl-C of a run on a person's machine. */
  readonly ending?: AbortSignal;
  readonly redact?: (text: string) => string;
  /** Prepares the machine before the run begins. */
  readonly prepare?: (checkout: Checkout, machine: Machine) => void;
  readonly onRecord?: (work: Work, checkout: Checkout, machine: Machine) => void;
  /** Called while the run sleeps, after the project's clock has moved on. */
  readonly onSleep?: (ms: number, signal: AbortSignal) => void | Promise<void>;
  /** The tap between the run and its ports. */
  readonly tap?: Tap;
  /** Set for a run on a person's machine, which leaves nothing for a post step. */
  readonly isAtHome?: boolean;
  /** Maximum time that it may wait in addition to `max-minutes`, as on a person's machine. */
  readonly maxWaitMs?: number;
  /** Time by which this machine's clock is ahead of the others. */
  readonly skewMs?: number;
}

/** Plays main on a new machine: the real run, over ports in memory. */
export async function runOnce(project: Project, setting: RunSetting = {}): Promise<Run> {
  const { job } = setting;
  const number = job?.run ?? (project.runs += 1);
  const given = configIn(project, job ?? null, {
    ...project.inputs,
    ...(job === undefined
      ? {}
      : {
          phase: job.phase,
          'handoff-path': '/runner/temp/ralph-handoff',
          'handoff-digest': job.digest,
          'handoff-branch': job.lane ?? '',
          'loop-result': job.loopResult ?? '',
          ...(job.phase === 'loop' ? { 'github-token': '' } : {}),
        }),
  });
  const agents: Policy['agents'] = ['claude', ...project.others.map(([name]) => name)];
  const config = { ...given, policy: { ...given.policy, agents, maxWaitMs: setting.maxWaitMs ?? 0 } };
  const machine = createMachine(project, {
    config,
    context: {
      ...contextOf(setting.event ?? schedule, setting.hasProviderKey, setting.againOf ?? number),
      otherLoginProblems: setting.otherLoginProblems ?? {},
      runAttempt: setting.againOf === undefined ? 1 : 2,
    },
    runTag: tagOf(project, job, number),
    skewMs: setting.skewMs ?? 0,
  });
  setting.prepare?.(machine.checkout, machine);
  const tap = setting.tap ?? open;
  const log = createLog();
  const records: Run['records'][number][] = [];
  let journalHash: string | null = null;
  const record: MachineOfRun['record'] = (change) => {
    if (machine.diskProblem !== null) throw machine.diskProblem;
    machine.record = JSON.stringify({ ...recordOf(machine), ...change });
    const { work } = recordOf(machine);
    if (work === null) return;
    records.push({ work, callsSoFar: machine.calls() });
    setting.onRecord?.(work, machine.checkout, machine);
  };
  const machineOfRun: MachineOfRun = {
    readPrompt: () => tap.call('place.readPrompt', () => Promise.resolve(promptOf(machine))),
    readLearnings: () => tap.call('place.readLearnings', () => Promise.resolve('')),
    readLeftCircuit: () =>
      tap.call('place.readLeftCircuit', () => {
        const path = toRootPath(config.workingDirectory, '.ralph/.circuit_breaker_state');
        const text = machine.checkout.files[path];
        return Promise.resolve(text === undefined ? null : { path, text });
      }),
    files: tapped('files', placedFiles(workFilesOf(machine.checkout), config.workingDirectory), tap),
    sleep: async (ms, signal) => {
      project.clock.advance(ms);
      await setting.onSleep?.(ms, signal);
    },
    record: (change) => {
      tap.act(`place.record ${change.stage}`, () => {
        record(change);
      });
    },
    loss: () => null,
    onCancel: () => setting.signal ?? new AbortController().signal,
    endAgent: () => Promise.resolve(),
  };
  const deps: ActionDeps = {
    ...depsOf(project, machine, { tap, log, redact: setting.redact }),
    machine: machineOfRun,
    startedAt: machine.clock.now(),
    appendJournal: (line) => {
      tap.act('place.appendJournal', () => {
        if (machine.diskProblem !== null) throw machine.diskProblem;
        const chained = chainJournalLine(line, journalHash ?? CHAIN_START);
        machine.journal += `${chained}\n`;
        journalHash = createHash('sha256').update(chained).digest('hex');
      });
    },
    keepPatch: (name, patch) => void machine.checkout.patches.push({ name, patch }),
    journalHash: () => journalHash,
    leave: () => undefined,
  };
  const end = await Promise.race([
    setting.isAtHome === true ? runHere(project, deps, setting) : runAction(deps),
    tap.killed.then(() => null),
  ]);
  const { journal } = machine;
  if (journal !== '') expectReplays(journal);
  for (const stored of storedRuns(project)) if (stored.journal !== null) expectAgrees(stored);
  return {
    ...runOf({ report: end === null || end.kind === 'summed-up' ? null : end.report, machine, records, log, journal }),
    handedOver: end?.kind === 'handed-over' ? end : null,
    together: end?.kind === 'summed-up' ? end.together : null,
  };
}

/** Returns the run's tag; the jobs that end what the gate began use the gate's. */
function tagOf(project: Project, job: Job | undefined, number: number): string {
  const isEnding = job?.phase === 'publish' || job?.phase === 'finish';
  return (isEnding ? handedTo(project, job)?.runTag : undefined) ?? `run-${String(number)}`;
}

/** The gate's decision, with what it recorded before its claims, and its log. */
export interface GateRun extends GateResult {
  readonly claims: readonly Claim[];
  readonly log: readonly string[];
}

/** Plays only the gate of a run of three jobs on a new machine: nothing is handed over or given back. */
export async function gateOnce(
  project: Project,
  setting: Pick<RunSetting, 'event' | 'tap'> & { readonly inputs?: Readonly<Record<string, string>> } = {},
): Promise<GateRun> {
  const number = (project.runs += 1);
  const inputs = {
    ...project.inputs,
    ...setting.inputs,
    phase: 'gate',
    'handoff-path': '/runner/temp/ralph-handoff',
    'handoff-branch': 'each',
  };
  const machine = createMachine(project, {
    config: configIn(project, null, inputs),
    context: contextOf(setting.event ?? schedule, false, number),
    runTag: `run-${String(number)}`,
    skewMs: 0,
  });
  const log = createLog();
  const deps = depsOf(project, machine, { tap: setting.tap ?? open, log, redact: String });
  const meaning = meaningOfRun(deps);
  if (meaning.kind !== 'for-us') throw new Error(`The event is ${meaning.kind}.`);
  let claims: readonly Claim[] = [];
  const result = await runGate(
    {
      ...(await connectStages(deps, { exporters: null, stepWithinMs: null })),
      repository: await deps.connect.repository(),
      examine: () => Promise.resolve([]),
      readLeftCircuit: () => Promise.resolve(null),
      claiming: (asked) => {
        claims = asked;
      },
    },
    meaning,
  );
  return { ...result, claims, log: log.lines };
}

/** Plays the run on a person's machine, over the same ports. */
async function runHere(
  { forge, remote }: Project,
  deps: ActionDeps,
  { signal, ending }: Pick<RunSetting, 'signal' | 'ending'>,
): Promise<RunEnd> {
  const report = await runAtHome({
    ...deps,
    forge: withWishes(forge),
    findStart: (lane) => findStart({ forge: withWishes(forge), remote, ...lane }),
    runName: deps.context.runId,
    task: null,
    handed: null,
    startBeside: () => undefined,
    signal: signal ?? new AbortController().signal,
    ending: ending ?? new AbortController().signal,
    show: () => undefined,
    sayLeft: deps.log.info,
  });
  return { kind: 'ended', report, beside: [] };
}

/** Returns the checkout's prompt for the agent, as main reads it from the disk. */
function promptOf({ checkout: { files }, config }: Machine): UserPrompt {
  const own = findFirstPrompt(files, config.promptFile);
  const { signals } = parseSignalFiles(files);
  return {
    text: own?.text ?? 'Work.',
    path: own?.path ?? null,
    setup: files[SETUP_PROMPT_PATH] ?? null,
    instructions: [],
    specifications: [],
    lockTools: findNamedTools(files['.ralph/AGENT.md'] ?? ''),
    signals,
  };
}

/** Plays post on the machine of `main`; returns null if main had done everything itself. */
export async function finishOnce(
  project: Project,
  main: Pick<Run, 'machine'>,
  setting: Pick<RunSetting, 'tap' | 'redact'> & { readonly log?: ReturnType<typeof createLog> } = {},
): Promise<Run | null> {
  const { machine } = main;
  const tap = setting.tap ?? open;
  const log = setting.log ?? createLog();
  const finishing = rescueRun({
    ...depsOf(project, machine, { tap, log, redact: setting.redact }),
    record: JSON.parse(machine.record) as RunRecord | null,
    folder: '/temp/ralph-run',
    limits: { publishMs: 50_000, stepMs: 15_000, releaseMs: 4_000 },
  });
  const report = await Promise.race([finishing, tap.killed.then((): 'killed' => 'killed')]);
  return report === null
    ? null
    : runOf({ report: report === 'killed' ? null : report, machine, records: [], log, journal: '' });
}

/** Returns the run's record on the machine's disk. */
export function recordOf(machine: Machine): RunRecord {
  return JSON.parse(machine.record) as RunRecord;
}

function depsOf(
  project: Project,
  machine: Machine,
  { tap, log, redact }: { readonly tap: Tap; readonly log: Log; readonly redact: RunSetting['redact'] },
): RunDeps {
  const { config, context, runTag, clock } = machine;
  return {
    config,
    context,
    runTag,
    clock,
    log,
    debug: () => undefined,
    redact: redact ?? String,
    variables: { PATH: '/bin', MODEL: 'sonnet' },
    readJournal: () => machine.journal || null,
    keepReceipt: (content) => (machine.receipt = content),
    connect: connectionsOf(project, machine, tap),
  };
}

function runOf({
  report,
  machine,
  records,
  log,
  journal,
}: Pick<Run, 'report' | 'machine' | 'records' | 'journal'> & {
  readonly log: Pick<ReturnType<typeof createLog>, 'lines' | 'folded'>;
}): Run {
  const outcome: Outcome = report?.outcome ?? { kind: 'cancelled', reason: 'killed' };
  return {
    end: `${outcome.kind} (${outcome.reason})`,
    outcome,
    calls: machine.calls(),
    work: (JSON.parse(machine.record) as RunRecord | null)?.work ?? null,
    report,
    records,
    log: log.lines,
    foldedLog: log.folded,
    journal,
    machine,
    handedOver: null,
    together: null,
  };
}

/** Creates the publisher of a run that main did, as `post` does. */
export async function publisherOf(
  project: Project,
  { machine }: Run,
): Promise<PublishDeps & { readonly log: ReturnType<typeof createLog> }> {
  const log = createLog();
  return {
    ...(await connectStages(depsOf(project, machine, { tap: open, log, redact: String }), {
      exporters: () => Promise.resolve(machine.agent),
      stepWithinMs: null,
    })),
    log,
  };
}

/** Returns the lane's saved document from the authoritative place, or null if none. */
export function savedDocument({ kept, inputs }: Project, lane = 'queue'): string | null {
  if (inputs['state-store'] === 'cache') return kept.cache.saved.get(lane)?.document ?? null;
  const parsed = parseLaneIn(kept.refs.shared.snapshot, lane);
  return parsed.kind === 'record' ? parsed.record.document : null;
}

/** Returns the lane's stored record; throws if it cannot be read. */
export function storedRecord({ kept }: Project, lane = 'queue'): LaneRecord {
  const parsed = parseLaneIn(kept.refs.shared.snapshot, lane);
  if (parsed.kind !== 'record') throw new Error(`No record of lane ${lane}: ${parsed.kind}`);
  return parsed.record;
}

/** Stores a record as a person or another machine would. */
export function putRecord({ kept }: Project, record: LaneRecord): void {
  kept.refs.put((files) => {
    for (const [path, text] of withRecord(files, record)) files.set(path, text);
  });
}

/** Returns the budget that all lanes share; throws if it cannot be read. */
export function storedBudget({ kept, clock }: Project): Budget {
  const parsed = parseBudgetIn(kept.refs.shared.snapshot, clock.now());
  if (parsed.kind !== 'budget' || parsed.problem !== null) throw new Error(JSON.stringify(parsed));
  return parsed.budget;
}

/** Returns the lane's saved state; throws if there is no readable one. */
export function savedState(project: Project, lane = 'queue'): LaneState {
  const parsed = parseState(savedDocument(project, lane) ?? '', lane);
  if (parsed.kind !== 'state') throw new Error(`No state of lane ${lane}: ${parsed.kind}`);
  return parsed.state;
}

/** Stores a document in both places of the lane's state, as an earlier run might have. */
export function putDocument(
  project: Project,
  { document, sequence }: Pick<StateCopy, 'document' | 'sequence'>,
  lane = 'queue',
): void {
  const parsed = parseLaneIn(project.kept.refs.shared.snapshot, lane);
  putRecord(project, { ...(parsed.kind === 'record' ? parsed.record : createLaneRecord(lane)), document, sequence });
  const { kept } = project;
  kept.cache.saved.set(lane, { lane, sequence, document, transcript: kept.cache.saved.get(lane)?.transcript ?? null });
}

/** Stores a changed state, as an earlier run might have. */
export function changeState(project: Project, change: (state: LaneState) => LaneState, lane = 'queue'): void {
  const state = savedState(project, lane);
  putDocument(project, { sequence: state.sequence, document: serializeState(change(state)) }, lane);
}

/** Removes everything that is kept of the project between runs. */
export function loseState({ kept }: Project): void {
  forget(kept.refs);
  kept.cache.saved.clear();
}

/** Makes all stored data unreachable. */
export function cutOff({ kept }: Project, why: string): void {
  for (const verb of ['read', 'write'] as const) kept.refs.outages.set(verb, why);
  for (const verb of ['restore', 'save'] as const) kept.cache.outages.set(verb, why);
}

/** Returns the runs that the repository remembers, newest first, with their journals unpacked. */
export function storedRuns({ kept }: Project): readonly StoredRun[] {
  return listStoredRuns(kept.refs.shared.snapshot).map((run) => ({
    ...run,
    journal: run.journal === null ? null : gunzipSync(Buffer.from(run.journal, 'base64')).toString(),
  }));
}

/** Expects of every run that its journal alone leads to the same decisions. */
function expectReplays(text: string): void {
  const parsed = parseJournal(text);
  if (parsed.kind !== 'journal') throw new Error(`The journal cannot be read: ${JSON.stringify(parsed.problems)}`);
  const differences = replayDecisions(parsed.journal, () => kindOfDenial);
  if (differences.length > 0) throw new Error(`The journal leads to other decisions: ${JSON.stringify(differences)}`);
}

/**
 * Expects of every stored run that its record and its journal agree, as `ralph verify` checks them; a forged record may
 * have spent more than was allowed.
 */
function expectAgrees(run: StoredRun): void {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const { findings } = checkJournal({ ...run, branchId: run.lane }, { sha256, kindsOf: () => kindOfDenial });
  const wrong = findings.filter(({ kind, part }) => kind === 'bad' && part !== 'limits');
  if (wrong.length > 0) throw new Error(`The record contradicts the journal: ${JSON.stringify(wrong)}`);
}

/** Returns the warnings of a run's report, or none for a killed run. */
export function warningsIn(run: Pick<Run, 'report'> | null): readonly string[] {
  return run?.report ? listSettingWarnings(run.report) : [];
}

/** Returns the report of the saved state, or null if none. */
export function savedIn(run: Pick<Run, 'report'> | null): SavedReport | null {
  return run?.report?.kind === 'worked' ? run.report.saved : null;
}
