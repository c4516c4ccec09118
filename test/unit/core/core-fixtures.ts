import { kindOfDenialBy } from '../../../src/agents/rules/shell-rules.ts';
import type { Analysis, Signal } from '../../../src/core/analysis/analysis.ts';
import {
  addIterationToRun,
  decideNextStep,
  createRunSoFar,
  type LaneDecision,
  type RunSoFar,
} from '../../../src/core/lane/decide.ts';
import type { Checklist, Evidence } from '../../../src/core/evidence.ts';
import type { Policy } from '../../../src/core/policy.ts';
import { classifyDenials } from '../../../src/core/lane/denials.ts';
import { beginIteration, bookCallUsage, endRun, settleIteration } from '../../../src/core/lane/settle/settle.ts';
import { createInitialState, type LaneState } from '../../../src/core/lane/state/state.ts';
import type { Verdict } from '../../../src/core/lane/verdict/verdict.ts';
import type { IterationFacts } from '../../../src/core/lane/verdict/claims.ts';
import type { PromptParts } from '../../../src/core/prompt/prompt.ts';
import type { Task } from '../../../src/core/tasks/task.ts';

const kindOfDenial = kindOfDenialBy('claude');

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export const noon = Date.parse('2026-11-21T12:00:00Z');

/** The documented default of `optional-sections`. */
export const optionalSections: readonly string[] = ['Optional', 'Future', 'Nice to have'];

/** The documented defaults. */
export const policy: Policy = {
  agents: ['claude'],
  maxIterations: 10,
  maxRunMs: 50 * MINUTE,
  maxIterationsPerTask: 8,
  agentTimeoutMs: 15 * MINUTE,
  maxCallsPerHour: 100,
  maxTokensPerHour: 0,
  maxCostUsd: 0,
  maxCostUsdPerDay: 0,
  onPermissionDenied: 'count',
  onLimit: 'park',
  maxWaitMs: 0,
  circuit: {
    noProgress: 3,
    sameError: 5,
    permissionDenials: 2,
    outputDeclinePercent: 70,
    cooldownMs: 30 * MINUTE,
    autoReset: false,
  },
  agentFailures: 'apart',
  completionSignals: 2,
  testOnlyIterations: 3,
  maxTasksPerPr: 5,
  maxLinesPerPr: 1500,
  callsPerIteration: 1,
  agentSteps: [],
  otherSteps: [],
  maxCalls: 0,
  session: 'resume',
  sessionExpiryMs: 24 * HOUR,
  verifies: false,
  allowedTools: ['Read', 'Edit', 'Write', 'Bash(npm:*)', 'Bash(git *)'],
};

export function task(number: number, change: Partial<Task> = {}): Task {
  return {
    id: `issue-${String(number)}`,
    title: `Title ${String(number)}`,
    body: `Body ${String(number)}`,
    source: { kind: 'issue', number, url: `https://example.test/${String(number)}`, labels: [] },
    comments: [],
    obstacle: null,
    priority: 3,
    dependsOn: [],
    optional: false,
    ...change,
  };
}

/** The parts of a prompt. */
export const promptParts: PromptParts = {
  aim: 'task',
  taskPrompt: '',
  promptTemplate: '# Instructions\n\nYou are Ralph.',
  promptPath: null,
  setup: '',
  instructions: [],
  specifications: [],
  patterns: '',
  task: task(12, { title: 'Add a flag', body: 'The flag --x.' }),
  merge: null,
  iteration: 3,
  maxIterations: 10,
  remaining: { all: 4, done: 1, open: 3, requiredOpen: 3, failed: 0, blocked: 0, stuck: 0 },
  circuit: { kind: 'closed' },
  lastIteration: null,
  lastVerification: null,
  attempts: '',
  standing: 'listed',
  others: [],
  hints: [],
  takeover: null,
  refused: null,
  learnings: '',
  notesPath: '.ralph/learnings.md',
  verifyCommands: [],
  pipeline: null,
};

const silence: Signal = {
  from: 'none',
  status: null,
  exitSignal: null,
  testsStatus: null,
  workType: null,
  tasksCompleted: null,
  filesModified: null,
  recommendation: null,
  summary: null,
  asks: null,
  unreadable: [],
};

export function analysis(
  change: Omit<Partial<Analysis>, 'signal'> & { readonly signal?: Partial<Signal> } = {},
): Analysis {
  const { signal, ...rest } = change;
  return {
    format: 'jsonl',
    completionIndicator: signal?.exitSignal === true,
    confidence: 0,
    testOnly: false,
    noWork: false,
    question: false,
    agentError: null,
    errors: [],
    denials: [],
    usageLimit: null,
    sessionId: 'session-1',
    turns: 3,
    tokens: 100,
    costUsd: 0.01,
    ...rest,
    signal: { ...silence, ...(signal === undefined ? {} : { from: 'block' }), ...signal },
  };
}

/** Returns an analysis, with its denials judged by the agent's rules; the agent defaults to Claude Code. */
export function analyzed(
  output: Parameters<typeof analysis>[0],
  bounds: Policy,
  kindOf = kindOfDenial,
): Pick<IterationFacts, 'analysis' | 'denials'> {
  const made = analysis(output);
  return { analysis: made, denials: classifyDenials(made.denials, bounds, kindOf) };
}

/** One scripted iteration: `to` is the content of the tree after it (absent: unchanged). */
export interface Play {
  readonly to?: string;
  readonly files?: readonly string[];
  readonly output?: Parameters<typeof analysis>[0];
  readonly end?: Evidence['end'];
  readonly chars?: number;
  readonly fencedBlock?: boolean;
  readonly withheld?: readonly string[];
  readonly beside?: readonly string[];
  readonly doneMarker?: string;
  readonly merge?: Evidence['merge'];
  readonly steps?: Evidence['steps'];
  readonly checklist?: Partial<Checklist>;
  readonly verification?: 'passed' | 'failed';
  readonly minutes?: number;
}

export function evidence(from: string, play: Play): Evidence {
  const to = play.to ?? from;
  const files = to === from ? [] : (play.files ?? ['src/a.ts']);
  return {
    before: { head: `head-${from}`, tree: from },
    after: { head: `head-${to}`, tree: to },
    files,
    fileCount: files.length,
    agentCommits: 0,
    insertions: files.length,
    deletions: 0,
    end: play.end ?? { kind: 'exited', code: 0 },
    outputChars: play.chars ?? 500,
    fencedBlock: play.fencedBlock ?? false,
    withheld: play.withheld ?? [],
    ...(play.beside === undefined ? {} : { beside: play.beside }),
    doneMarker: play.doneMarker ?? null,
    merge: play.merge ?? 'none',
    steps: play.steps ?? [],
    checklist:
      play.checklist === undefined
        ? null
        : { current: null, wasMarked: false, done: [], finished: 0, removed: 0, added: 0, ...play.checklist },
    verification:
      play.verification === undefined
        ? { kind: 'not-run' }
        : play.verification === 'passed'
          ? { kind: 'passed', durationMs: 5 }
          : { kind: 'failed', command: 'npm test', code: 1, tail: '1 failing', durationMs: 5 },
  };
}

export interface Played {
  readonly state: LaneState;
  readonly run: RunSoFar;
  /** The last result of `decideNextStep`, at the end of the script or the run. */
  readonly step: LaneDecision;
  readonly verdicts: readonly Verdict[];
  readonly now: number;
  readonly tree: string;
}

export interface Start {
  readonly state?: LaneState;
  readonly tasks?: readonly Task[];
  readonly policy?: Policy;
  readonly now?: number;
  readonly tree?: string;
}

/**
 * Plays a run on the pure core exactly as the loop drives it: decide, begin, settle, decide. Ends with the script or
 * with the run.
 */
export function play(script: readonly Play[], start: Start = {}): Played {
  const tasks = start.tasks ?? [task(1)];
  const bounds = start.policy ?? policy;
  let now = start.now ?? noon;
  let tree = start.tree ?? 'start';
  let state = start.state ?? createInitialState('queue', now);
  let run = createRunSoFar(state, now);
  const verdicts: Verdict[] = [];
  let step = decideNextStep({ state, tasks, run, policy: bounds, now });
  for (const scripted of script) {
    if (step.kind === 'stop') break;
    const startedAt = now;
    state = beginIteration(state, { taskId: step.task.id, tree, agent: step.agent }, bounds, now);
    now += (scripted.minutes ?? 1) * MINUTE;
    const facts = {
      task: step.task,
      tasks,
      ...analyzed(scripted.output, bounds),
      evidence: evidence(tree, scripted),
      startedAt,
    };
    const { tokens, costUsd } = facts.analysis;
    const settled = settleIteration(
      bookCallUsage(state, { startedAt, endedAt: now, tokens, costUsd }),
      facts,
      bounds,
      now,
    );
    state = settled.state;
    verdicts.push(settled.verdict);
    tree = facts.evidence.after.tree;
    const { end, steps } = facts.evidence;
    run = addIterationToRun(run, { analysis: facts.analysis, verdict: settled.verdict, end, steps }, 1);
    step = decideNextStep({ state, tasks, run, policy: bounds, now });
  }
  return { state, run, step, verdicts, now, tree };
}

/** Plays another run `gapMs` later, with the state that the first one leaves. */
export function playAgain(first: Played, script: readonly Play[], next: Start & { readonly gapMs: number }): Played {
  const state = first.step.kind === 'stop' ? endRun(first.state, first.step.outcome, 'head', first.now) : first.state;
  return play(script, { state, now: first.now + next.gapMs, tree: first.tree, ...next });
}

/** Describes a step as `complete (plan_complete)` or `iterate`. */
export function describeStep(step: LaneDecision): string {
  return step.kind === 'iterate' ? 'iterate' : `${step.outcome.kind} (${step.outcome.reason})`;
}

export const idle: Play = {};
let content = 0;
/** Returns an iteration that changes content. */
export function progress(more: Play = {}): Play {
  content += 1;
  return { to: `tree-${String(content)}`, ...more };
}
