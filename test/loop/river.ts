import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, RunContext } from '../../src/config/config.ts';
import { parseInputs } from '../../src/config/inputs.ts';
import type { Outcome } from '../../src/core/outcome.ts';
import { parseJournal } from '../../src/core/read-journal.ts';
import { replay } from '../../src/core/replay.ts';
import { parseState, serializeState, type LaneState } from '../../src/core/state.ts';
import { acknowledge, gate } from '../../src/gate/gate.ts';
import type { Intake } from '../../src/gate/intake.ts';
import { loop } from '../../src/loop/loop.ts';
import type { Work } from '../../src/loop/work.ts';
import type { Issue, Verifier } from '../../src/ports.ts';
import { publishAnswer } from '../../src/publish/answer.ts';
import { publish, type PublishRun } from '../../src/publish/publish.ts';
import type { RunReport } from '../../src/report/run-report.ts';
import { readInputDefaults } from '../../sandbox/runner.ts';
import { UserError } from '../../src/user-error.ts';
import { noon } from '../unit/core-fixtures.ts';
import { createAgent, createScript, type AgentScript, type Behaviour } from './behaviours.ts';
import { createCheckout, createClock, createForge, createLog, createOrigin, createRemote, createStore, type Checkout, type FakeClock, type FakeForge, type FakeRemote, type FakeStore, type Origin } from './in-memory.ts';

export const actionYml = readFileSync(join(import.meta.dirname, '..', '..', 'action.yml'), 'utf8');

const defaults = readInputDefaults(actionYml, 'token-of-the-job');

/** Inputs as a user writes them in the step, over the defaults of action.yml. */
export function configOf(inputs: Readonly<Record<string, string>> = {}): Config {
  return parseInputs({ ...defaults, ...inputs });
}

/** A project with everything that outlives a run: the world that its runs share. */
export interface Project {
  readonly origin: Origin;
  readonly forge: FakeForge;
  readonly remote: FakeRemote;
  readonly store: FakeStore;
  readonly clock: FakeClock;
  readonly script: AgentScript;
  inputs: Readonly<Record<string, string>>;
  verifier: Verifier;
}

export const green: Verifier = { verify: () => Promise.resolve({ kind: 'passed', durationMs: 1 }) };
export const red: Verifier = { verify: () => Promise.resolve({ kind: 'failed', command: 'npm test', code: 1, tail: '1 failing', durationMs: 1 }) };

/** A project with labelled issues; `ann` may write, `eve` may only read. */
export function createProject(setting: { readonly issues?: readonly number[]; readonly agent?: readonly Behaviour[]; readonly inputs?: Readonly<Record<string, string>> } = {}): Project {
  const origin = createOrigin({ 'README.md': 'A shop' });
  const forge = createForge(origin);
  for (const number of setting.issues ?? [1]) addIssue(forge, number);
  forge.permissions.set('ann', 'write').set('eve', 'read');
  return { origin, forge, remote: createRemote(origin), store: createStore(), clock: createClock(noon), script: createScript(setting.agent ?? []), inputs: setting.inputs ?? {}, verifier: green };
}

export function addIssue(forge: FakeForge, number: number, change: Partial<Issue> = {}): void {
  forge.issues.set(number, { number, title: `Title ${String(number)}`, body: `Body ${String(number)}`, url: `https://github.test/acme/shop/issues/${String(number)}`, labels: ['ralph'], state: 'open', isPullRequest: false, ...change });
}

export type Event = RunContext['event'];
export const schedule: Event = { name: 'schedule', payload: { schedule: '0 * * * *' } };
export const labeled = (issue: number, login = 'ann', label = 'ralph'): Event => ({ name: 'issues', payload: { action: 'labeled', label: { name: label }, issue: { number: issue }, sender: { login } } });
export const commented = (body: string, on: { readonly issue: number; readonly login?: string; readonly isPullRequest?: boolean }): Event => ({
  name: 'issue_comment',
  payload: { action: 'created', comment: { id: 7, body }, issue: { number: on.issue, ...(on.isPullRequest === true ? { pull_request: {} } : {}) }, sender: { login: on.login ?? 'ann' } },
});

export function contextOf(event: Event, hasProviderKey = true): RunContext {
  return {
    workspace: '/workspace', temp: '/temp', repository: { owner: 'acme', repo: 'shop' }, serverUrl: 'https://github.test', apiUrl: 'https://api.github.test',
    runId: '1', runAttempt: '1', runUrl: 'https://github.test/acme/shop/actions/runs/1', event, hasProviderKey,
  };
}

/** What one run did. */
export interface Run {
  /** `complete (plan_complete)` */
  readonly end: string;
  readonly outcome: Outcome;
  /** Agent calls of this run. */
  readonly calls: number;
  readonly intake: Intake;
  readonly work: Work | null;
  readonly report: RunReport | null;
  /** What was on disk, step by step. */
  readonly records: readonly { readonly work: Work; readonly callsSoFar: number }[];
  readonly log: readonly string[];
  /** The journal as on disk. */
  readonly journal: string;
}

export interface RunSetting {
  readonly event?: Event;
  readonly hasProviderKey?: boolean;
  readonly signal?: AbortSignal;
  readonly redact?: (text: string) => string;
  /** The machine, before the run begins. */
  readonly prepare?: (checkout: Checkout) => void;
  readonly onRecord?: (work: Work, checkout: Checkout) => void;
}

/** One run on a new machine: gate → loop → publish, put together as the action's entry does it. */
export async function runOnce(project: Project, setting: RunSetting = {}): Promise<Run> {
  const { forge, remote, store, clock, script } = project;
  const config = configOf(project.inputs);
  const context = contextOf(setting.event ?? schedule, setting.hasProviderKey);
  const log = createLog();
  const checkout = createCheckout(project.origin);
  setting.prepare?.(checkout);
  const agent = createAgent(script, { checkout, clock });
  const callsBefore = script.calls.length;
  const records: Run['records'][number][] = [];
  let journal = '';
  const intake = await gate({ config, context, forge, repository: checkout, remote, store, clock, log });
  const end = (outcome: Outcome, work: Work | null, report: RunReport | null): Run => ({
    end: `${outcome.kind} (${outcome.reason})`, outcome, calls: script.calls.length - callsBefore, intake, work, report, records, log: log.lines, journal,
  });
  const publishing: PublishRun = { ...publisherOf(project), context, log, exportSession: async (id) => ((await agent.exportSession(id, `folder of ${id}`)) ? `folder of ${id}` : null) };
  if (intake.kind === 'end') {
    await publishAnswer(publishing, intake);
    return end(intake.outcome, null, null);
  }
  await acknowledge(forge, intake);
  const work = await loop(
    {
      config, agent, repository: checkout, verifier: project.verifier, clock, log,
      agentName: { name: 'Fake Agent', version: '1.0.0' },
      signal: setting.signal ?? new AbortController().signal,
      runId: context.runId,
      promptTemplate: 'Work.',
      readLearnings: () => Promise.resolve(''),
      redact: setting.redact ?? String,
      narrate: () => undefined,
      appendJournal: (line) => { journal += `${line}\n`; },
      record: (latest) => {
        // As on disk: a copy that nothing can change any more.
        records.push({ work: JSON.parse(JSON.stringify(latest)) as Work, callsSoFar: script.calls.length - callsBefore });
        setting.onRecord?.(latest, checkout);
      },
    },
    intake,
  ).catch((error: unknown): Work => {
    const last = records.at(-1);
    if (last === undefined) throw error;
    return { ...last.work, outcome: { kind: 'failed', reason: error instanceof UserError ? error.kind : 'infrastructure', message: error instanceof Error ? error.message : String(error) } };
  });
  expectReplays(journal);
  const report = await publish(publishing, work);
  return end(report.outcome, work, report);
}

/** The publisher's side of a project, without any session; as `post` has it when main was killed. */
export function publisherOf({ forge, remote, store, clock, inputs }: Project): PublishRun & { readonly log: ReturnType<typeof createLog> } {
  return { config: configOf(inputs), context: contextOf(schedule), forge, remote, store, clock, log: createLog(), redact: String, exportSession: () => Promise.resolve(null) };
}

/** The lane's saved state; throws when there is none that can be read. */
export function savedState({ store }: Project, lane = 'queue'): LaneState {
  const parsed = parseState(store.saved.get(lane)?.document ?? '', lane);
  if (parsed.kind !== 'state') throw new Error(`No state of lane ${lane}: ${parsed.kind}`);
  return parsed.state;
}

/** Puts a changed state into the store, as a run before this one might have left it. */
export function changeState(project: Project, change: (state: LaneState) => LaneState, lane = 'queue'): void {
  const saved = project.store.saved.get(lane);
  project.store.saved.set(lane, { sequence: saved?.sequence ?? 1, sessionFolder: saved?.sessionFolder ?? null, document: serializeState(change(savedState(project, lane))) });
}

/** What holds for every run: its journal alone leads to the same decisions. */
function expectReplays(text: string): void {
  const parsed = parseJournal(text);
  if (parsed.kind !== 'journal') throw new Error(`The journal cannot be read: ${JSON.stringify(parsed.problems)}`);
  const differences = replay(parsed.journal);
  if (differences.length > 0) throw new Error(`The journal leads to other decisions: ${JSON.stringify(differences)}`);
}
