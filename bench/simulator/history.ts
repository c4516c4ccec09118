import type { Config } from '../../src/config/config.ts';
import { noChange } from '../../src/core/lane/change.ts';
import { decideNextStep, createRunSoFar } from '../../src/core/lane/decide.ts';
import { countEntryCalls, type JournalEntry } from '../../src/core/journal/journal.ts';
import type { Outcome } from '../../src/core/outcome.ts';
import { endRun } from '../../src/core/lane/settle/settle.ts';
import { recordPublished } from '../../src/core/lane/settle/settle-published.ts';
import { createInitialState, type LaneState, parseState } from '../../src/core/lane/state/state.ts';
import { serializeState } from '../../src/core/lane/state/serialize-state.ts';
import { isPlanComplete } from '../../src/core/tasks/queue.ts';
import type { Intake } from '../../src/handover/intake.ts';
import { runIterations } from '../../src/loop/loop.ts';
import type { Case } from './cases.ts';
import { createMachine, type Done, type Scene } from './machine.ts';
import { snapshotOf, type World } from './world.ts';

/** One agent call: the truth about it, and the loop's decision. `run` counts from 1. */
export interface Played extends Done {
  readonly run: number;
  readonly entry: JournalEntry;
}

/** The end of a run; `calls` counts those of the history until then. */
export interface RunEnd {
  readonly run: number;
  readonly startedAt: number;
  readonly outcome: Outcome;
  readonly calls: number;
  readonly world: World;
}

/** The calls and run ends of a case under a policy. */
export interface History {
  readonly of: Case;
  readonly config: Config;
  readonly calls: readonly Played[];
  readonly ends: readonly RunEnd[];
}

const firstRunAt = Date.parse('2026-11-21T12:00:00Z');

/** Plays the runs of a schedule, each with the stored state of the previous one. */
export async function playHistory(of: Case, config: Config): Promise<History> {
  const scene: Scene = { world: of.world, now: firstRunAt, done: [], sessionTurns: 0 };
  const entries: { readonly run: number; readonly entry: JournalEntry }[] = [];
  const ends: RunEnd[] = [];
  let state = createInitialState('queue', scene.now);
  for (let run = 1; run <= of.runs; run += 1) {
    const startedAt = scene.now;
    let outcome = gate(state, scene, config);
    if (outcome === null) {
      const work = await runIterations(createMachine(scene, of, config), {
        ...intakeOf(state, of, scene),
        policy: config.policy,
        claimedAt: scene.now,
        startBy: Infinity,
        pipeline: null,
        mcpServers: [],
        proposes: null,
      });
      entries.push(...work.journal.map((entry) => ({ run, entry })));
      const ended = endRun(
        { ...work.state, sequence: state.sequence + 1, savedAt: scene.now },
        work.outcome,
        work.head,
        scene.now,
      );
      state = storedAndRestored(recordPublished(ended, { head: work.head, pullRequest: null }));
      outcome = work.outcome;
    }
    // A call repeated within an iteration counts as one call for the rules.
    ends.push({ run, startedAt, outcome, calls: entries.length, world: scene.world });
    if (outcome.reason === 'all_done') break;
    // People merge the pull requests that wait for review.
    if (outcome.reason === 'waiting_for_review') state = { ...state, change: noChange };
    scene.now += of.gapMs;
  }
  let made = 0;
  const calls = entries.map(({ run, entry }) => {
    made += countEntryCalls(entry);
    return { run, entry, ...doneAt(scene, made - 1) };
  });
  if (made !== scene.done.length)
    throw new Error(`${String(scene.done.length)} calls, but ${String(made)} in the journal`);
  return { of, config, calls, ends };
}

function storedAndRestored(state: LaneState): LaneState {
  const document = serializeState(state);
  const parsed = parseState(document, 'queue');
  if (parsed.kind !== 'state' || parsed.problems.length > 0)
    throw new Error(`The stored state cannot be read back: ${document.slice(0, 300)}`);
  return parsed.state;
}

/** Returns the outcome with which the gate ends this run before the loop, or null. */
function gate(state: LaneState, { world, now }: Scene, { policy }: Config): Outcome | null {
  if (isPlanComplete(world.tasks, state.tasks)) return { kind: 'idle', reason: 'all_done' };
  const step = decideNextStep({ state, tasks: world.tasks, run: createRunSoFar(state, now), policy, now });
  return step.kind === 'stop' ? step.outcome : null;
}

function intakeOf(
  state: LaneState,
  of: Case,
  { world }: Scene,
): Omit<
  Extract<Intake, { kind: 'work' }>,
  'policy' | 'claimedAt' | 'startBy' | 'pipeline' | 'mcpServers' | 'proposes'
> {
  return {
    kind: 'work',
    lane: {
      id: 'queue',
      branch: 'ralph/queue',
      baseBranch: 'main',
      start: state.lastRun === null ? { kind: 'fresh' } : { kind: 'continue', remoteHead: snapshotOf(world).head },
      pullRequest: null,
    },
    opened: {
      head: snapshotOf(world).head,
      base: 'base',
      fork: 'base',
      baseTree: snapshotOf(of.world).tree,
      ahead: state.sequence,
      below: 0,
      personHead: null,
      tasks: null,
      warnings: [],
    },
    tasks: world.tasks,
    state: { ...state, transcript: { sha256: '0'.repeat(64), bytes: 1 } },
    notes: {
      restored: 'simulated',
      warnings: [],
      notices: [],
      claimedBy: null,
      found: [],
      checks: null,
      held: null,
      train: null,
      dashboard: null,
      queue: null,
      reverts: [],
      before: null,
      forecast: null,
    },
  };
}

function doneAt({ done }: Scene, at: number): Done {
  const found = done[at];
  if (found === undefined) throw new Error(`Call ${String(at + 1)} is in the journal but was not made.`);
  return found;
}
