import { isFeedback } from '../../../src/core/feedback/subject.ts';
import { sumWindows } from '../../../src/core/sharing/budget.ts';
import { computeExpiry, type Lease } from '../../../src/core/sharing/lease.ts';
import { parseState, type LaneState } from '../../../src/core/lane/state/state.ts';
import type { Work } from '../../../src/handover/intake.ts';
import { HOUR, MINUTE } from '../../unit/core/core-fixtures.ts';
import { finisher, steadyWorker, stuck } from './behaviours.ts';
import { history } from './in-memory.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  recordOf,
  runOnce,
  savedDocument,
  savedState,
  schedule,
  type Event,
  type Run,
  storedBudget,
  storedRecord,
} from './run-action.ts';
import type { Project } from './project.ts';
import { counting, killAt, type When } from './tap.ts';
import { comment, review, thread } from '../feedback/said.ts';

/** A project right before a run that will be killed. */
export interface Scenario {
  readonly name: string;
  readonly lane: string;
  readonly event: Event;
  /** Set if a lease keeps a second run off the lane. */
  readonly guarded: boolean;
  readonly prepare: () => Promise<Project>;
  /** The event of later runs, and the end of the one that finds nothing left to do. */
  readonly next: { readonly event: Event; readonly end: string };
  /** Checks the lane's saved state, whenever the run was killed; returns a sentence about a violation, or null. */
  readonly remembers: (state: LaneState) => string | null;
}

const queue = {
  lane: 'queue',
  event: schedule,
  guarded: true,
  next: { event: schedule, end: 'idle (all_done)' },
  remembers: () => null,
} as const;
const BARRED = "this event's cache is read-only";

export const scenarios: readonly Scenario[] = [
  {
    ...queue,
    name: 'a first run with two issues',
    prepare: () => Promise.resolve(createProject({ issues: [1, 2], agent: [finisher] })),
  },
  {
    ...queue,
    name: 'a run whose commits must be signed',
    prepare: () => {
      const project = createProject({ issues: [1, 2], agent: [finisher] });
      project.remote.signatureRule = true;
      return Promise.resolve(project);
    },
  },
  {
    ...queue,
    name: 'a run that resumes a task and its session',
    prepare: async () => {
      const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
      await runOnce(project);
      return withAgent(project, [steadyWorker, finisher]);
    },
    remembers: ({ sequence, tasks }) =>
      sequence >= 1 && (tasks['issue-1']?.attempts ?? 0) >= 1 ? null : 'the first run is forgotten',
  },
  {
    ...queue,
    name: 'a run whose pull request exists, with a new issue',
    prepare: async () => {
      const project = createProject({ agent: [finisher] });
      await runOnce(project);
      addIssue(project.forge, 2);
      return project;
    },
    remembers: ({ tasks }) => (tasks['issue-1']?.state === 'done' ? null : 'issue 1 is not done any more'),
  },
  {
    ...queue,
    name: 'a run after two iterations without progress',
    prepare: async () => {
      const project = createProject({ agent: [stuck], inputs: { 'max-iterations': '2' } });
      await runOnce(project);
      return withAgent(project, [stuck]);
    },
    remembers: ({ circuit }) =>
      circuit.kind === 'open' || circuit.noProgress >= 2 ? null : 'the circuit forgot two iterations without progress',
  },
  {
    ...queue,
    name: 'the probe of an open circuit',
    prepare: async () => {
      const project = createProject({ agent: [stuck] });
      await runOnce(project);
      project.clock.advance(31 * MINUTE);
      return project;
    },
    remembers: ({ circuit }) => (circuit.kind === 'open' ? null : 'the circuit is closed'),
  },
  {
    ...queue,
    name: 'a run with the cache alone',
    guarded: false,
    prepare: () =>
      Promise.resolve(createProject({ issues: [1, 2], agent: [finisher], inputs: { 'state-store': 'cache' } })),
  },
  {
    name: 'a labelled issue, whose event may not write the cache',
    lane: 'issue-1',
    event: labeled(1),
    guarded: true,
    prepare: () => {
      const project = createProject({ agent: [steadyWorker, finisher] });
      project.kept.cache.outages.set('save', BARRED);
      return Promise.resolve(project);
    },
    next: { event: commented('/ralph run', { issue: 1 }), end: 'complete (plan_complete)' },
    remembers: () => null,
  },
  {
    ...queue,
    name: 'a run that answers a review: a suggestion, two threads and the review itself',
    prepare: async () => {
      const project = createProject({ agent: [finisher], inputs: { verify: 'npm test' } });
      await runOnce(project);
      project.forge.saidOf.set('ralph/queue', {
        reviews: [review({ text: 'Nearly there: name the units as well.' })],
        threads: [
          thread([comment(11, '```suggestion\nshort 1\n```')]),
          thread([comment(12, 'Rename it.')]),
          thread([comment(13, 'Test it.')]),
        ],
      });
      return project;
    },
    remembers: ({ tasks }) => (tasks['issue-1']?.state === 'done' ? null : 'issue 1 is not done any more'),
  },
  {
    ...queue,
    name: 'the comment "/ralph pause"',
    event: commented('/ralph pause', { issue: 1 }),
    prepare: async () => {
      const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
      await runOnce(project);
      project.kept.cache.outages.set('save', BARRED);
      return withAgent(project, [finisher]);
    },
  },
];

function withAgent(project: Project, behaviours: Project['script']['behaviours']): Project {
  project.script.behaviours = behaviours;
  project.inputs = {};
  return project;
}

/** Returns the names of all calls of the scenario's run if it is not killed. */
export async function callsOf(scenario: Scenario): Promise<readonly string[]> {
  const tap = counting();
  await runOnce(await scenario.prepare(), { event: scenario.event, tap });
  return tap.calls;
}

export interface Killed {
  readonly project: Project;
  readonly main: Run;
  /** The lane's state as it was stored then, or null if none. */
  readonly stored: LaneState | null;
  /** The place of the kill, for a person. */
  readonly where: string;
}

/** Plays the scenario's run, killed at its `number`th call. */
export async function killMain(scenario: Scenario, number: number, when: When): Promise<Killed> {
  const project = await scenario.prepare();
  const tap = killAt((_name, at) => at === number, when);
  const main = await runOnce(project, { event: scenario.event, tap });
  const stored = savedDocument(project, scenario.lane) === null ? null : savedState(project, scenario.lane);
  return { project, main, stored, where: `main killed ${tap.deathPoint()}` };
}

/** Returns the problems after main was killed and post completed; the list must be empty. */
export function problemsAfterPost(
  scenario: Scenario,
  { project, main, stored }: Killed,
  post: Run | null,
): readonly string[] {
  const { stage, work } = recordOf(main.machine);
  const problems = [...problemsOfProject(scenario, project), ...problemsOfCharges(project)];
  if ((post === null) !== (stage === 'ended'))
    problems.push(`post says ${String(post?.end)} though main's record is at "${stage}"`);
  if (post !== null && work === null && post.end !== 'cancelled (killed)')
    problems.push(`post hides that the run was killed: ${post.end}`);
  if (post !== null && work !== null && !endsOf(work, stored).includes(post.end))
    problems.push(`post says ${post.end}, the record ${work.outcome.kind} (${work.outcome.reason})`);
  if (leaseOn(scenario, project) !== null) problems.push('the lane is still claimed');
  if (work !== null) problems.push(...problemsOfWork(scenario, { project, stored }, work));
  const made = project.script.calls.length;
  const inLedgers = lanesOf(project)
    .flatMap(({ ledger }) => ledger)
    .reduce((sum, { calls }) => sum + calls, 0);
  if (inLedgers < made || inLedgers > made + 1)
    problems.push(`${String(made)} calls were made, the ledgers say ${String(inLedgers)}`);
  const charged = chargedInHour(project);
  if (charged !== null && charged > callsInHour(project) + 1)
    problems.push(
      `${String(charged)} calls are charged, ${String(callsInHour(project))} were made: what was reserved was not settled`,
    );
  return problems;
}

/** Returns violations of the rules that hold at any time, after any kill. */
export function problemsOfProject(scenario: Scenario, project: Project): readonly string[] {
  const { forge, origin } = project;
  const problems: string[] = [];
  for (const branch of new Set(forge.pulls.map((pull) => pull.branch))) {
    const open = forge.pulls.filter((pull) => pull.branch === branch && pull.state === 'open');
    if (open.length > 1) problems.push(`${String(open.length)} open pull requests of ${branch}`);
    if (!origin.branches.has(branch)) problems.push(`the branch ${branch} of a pull request is gone`);
  }
  for (const [thread, texts] of forge.comments)
    if (statusesOf(texts) > 1) problems.push(`${String(texts.size)} comments on #${String(thread)}`);
  problems.push(...problemsOfAnswers(project));
  const document = savedDocument(project, scenario.lane);
  if (document !== null) {
    const parsed = parseState(document, scenario.lane);
    const forgotten = parsed.kind === 'state' ? scenario.remembers(parsed.state) : `the state is ${parsed.kind}`;
    if (forgotten !== null) problems.push(forgotten);
  }
  return problems;
}

/** Counts the status comments; answers to feedback on a pull request do not count. */
function statusesOf(texts: ReadonlyMap<string, string>): number {
  return [...texts.keys()].filter((marker) => !marker.startsWith(ANSWER)).length;
}

const ANSWER = '<!-- ralph-action:answer ';

/** Returns answers that are duplicates or name a commit that people cannot see. */
function problemsOfAnswers({ forge, origin }: Project): readonly string[] {
  const markers = forge.replies.map(({ body }) => body.split('\n')[0] ?? '');
  const twice = markers.filter((marker, index) => markers.indexOf(marker) !== index);
  const shown = history(origin.commits, origin.branches.get('ralph/queue') ?? '');
  const commits = forge.replies.flatMap(({ body }) => /\/commit\/([0-9a-f]+)/.exec(body)?.[1] ?? []);
  return [
    ...twice.map((marker) => `answered twice: ${marker}`),
    ...commits.filter((commit) => !shown.includes(commit)).map((commit) => `${commit} is nowhere to be seen`),
  ];
}

/** Returns the feedback that has no answer. */
function unansweredIn({ forge }: Project): readonly string[] {
  const { threads = [], reviews = [] } = forge.saidOf.get('ralph/queue') ?? {};
  const comments = [...forge.comments.values()].flatMap((texts) => [...texts.keys()]);
  return [
    ...threads.flatMap(({ comments: [first] }) =>
      first === undefined || forge.replies.some(({ replyTo }) => replyTo === first.id)
        ? []
        : [`thread ${String(first.id)}`],
    ),
    ...reviews.flatMap(({ id, text }) =>
      text === '' || comments.some((marker) => marker.startsWith(`${ANSWER}review-${String(id)} `))
        ? []
        : [`review ${String(id)}`],
    ),
  ].map((asked) => `${asked} is not answered`);
}

/** Returns calls in the project's first hour that were made but neither charged nor reserved. */
export function problemsOfCharges(project: Project): readonly string[] {
  const [charged, made] = [chargedInHour(project), callsInHour(project)];
  return charged === null || charged >= made
    ? []
    : [`${String(made)} calls were made in this hour, ${String(charged)} are charged or reserved`];
}

/** Returns the ends that post may report: killed, or the end that main has stored. */
function endsOf({ outcome }: Work, stored: LaneState | null): readonly string[] {
  const recorded = `${outcome.kind} (${outcome.reason})`;
  if (outcome.kind === 'cancelled' || outcome.kind === 'failed') return [recorded];
  const isStored = stored?.lastRun?.outcome === outcome.kind && stored.lastRun.reason === outcome.reason;
  return ['cancelled (killed)', ...(isStored ? [recorded] : [])];
}

function problemsOfWork(
  { lane }: Scenario,
  { project, stored }: Pick<Killed, 'project' | 'stored'>,
  work: Work,
): readonly string[] {
  const { branches, commits } = project.origin;
  const tip = branches.get(work.lane.branch) ?? '';
  const problems: string[] = [];
  // The signed form of a commit has the same content and another id.
  const isThere = (id: string): boolean =>
    id === work.head ||
    (project.remote.signed.has(id) &&
      JSON.stringify(commits.get(id)?.tree) === JSON.stringify(commits.get(work.head)?.tree));
  if (work.hasNewCommits && !history(commits, tip).some(isThere))
    problems.push('commits of finished iterations are not on the remote');
  const state = savedState(project, lane);
  for (const { taskId, verdict } of work.journal) {
    if (!verdict.taskDone) continue;
    const [was, is] = [stored, state].map((known) => known?.tasks[taskId]?.state === 'done');
    if (was !== is)
      problems.push(
        was === true ? `${taskId} was done and is not any more` : `${taskId} is done because the record says so`,
      );
  }
  if (
    work.hasNewCommits &&
    !project.forge.pulls.some((pull) => pull.branch === work.lane.branch && pull.state === 'open')
  )
    problems.push('the commits have no pull request');
  return problems;
}

/** Plays runs until nothing is left to do; returns their problems. */
export async function problemsOfGoingOn(scenario: Scenario, project: Project): Promise<readonly string[]> {
  const ends: string[] = [];
  project.script.behaviours = [finisher];
  project.kept.cache.outages.clear();
  for (let run = 0; run < 6; run += 1) {
    const { end } = await runOnce(project, { event: scenario.next.event });
    ends.push(end);
    if (end === scenario.next.end)
      return [
        ...problemsOfProject({ ...scenario, remembers: () => null }, project),
        ...problemsOfEnd(scenario, project),
      ];
    if (end === 'paused (by_person)') await runOnce(project, { event: commented('/ralph resume', { issue: 1 }) });
    project.clock.advance(31 * MINUTE);
  }
  return [`it never comes to an end: ${ends.join(', ')}`];
}

function problemsOfEnd({ lane }: Scenario, project: Project): readonly string[] {
  const { tasks } = savedState(project, lane);
  const open = Object.entries(tasks)
    .filter(([, { state }]) => state !== 'done')
    .map(([id]) => id);
  const pull = project.forge.pulls.find(
    (candidate) => candidate.branch === `ralph/${lane}` && candidate.state === 'open',
  );
  const problems = [...open.map((id) => `${id} is not done`), ...unansweredIn(project)];
  if (pull === undefined) return [...problems, 'there is no open pull request'];
  if (pull.draft) problems.push('the pull request is still a draft');
  for (const id of Object.keys(tasks).filter((one) => !isFeedback(one)))
    if (!pull.body.includes(`Closes #${id.slice('issue-'.length)}`))
      problems.push(`the pull request does not close ${id}`);
  return problems;
}

/** Returns the unexpired lease on the scenario's lane, or null. */
export function leaseOn({ lane: id }: Scenario, project: Project): Lease | null {
  const { lease } = storedRecord(project, id);
  return lease !== null && project.clock.now() < computeExpiry(lease) ? lease : null;
}

/** Returns people's orders for the scenario's lane. */
export function ordersOf({ lane }: Scenario, project: Project): readonly string[] {
  return storedRecord(project, lane).orders.map(({ kind }) => kind);
}

/**
 * Returns the calls that a new run would see used and reserved in the repository's hour, or null if they are not
 * counted for the repository.
 */
function chargedInHour(project: Project): number | null {
  if (project.inputs['state-store'] === 'cache') return null;
  return sumWindows(storedBudget(project), 'a new run', project.clock.now()).hour?.calls ?? 0;
}

/** Returns the number of calls in the last hour. */
function callsInHour({ script, clock }: Project): number {
  return script.calls.filter(({ at }) => clock.now() - at < HOUR).length;
}

function lanesOf(project: Project): readonly LaneState[] {
  return ['queue', 'issue-1'].flatMap((lane) =>
    savedDocument(project, lane) === null ? [] : [savedState(project, lane)],
  );
}
