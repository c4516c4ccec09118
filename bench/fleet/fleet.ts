import { contend } from '../contention.ts';
import { createRandom, type Random } from '../simulator/random.ts';

/** A number of repositories with one reusable workflow, for one week. */
export interface FleetSetting {
  readonly repositories: number;
  readonly schedule: Schedule;
  readonly seed: number;
}

/** The schedule of each repository: every few hours, at the same minute everywhere or at one of its own. */
interface Schedule {
  readonly hours: number;
  readonly minute: 'same' | 'own';
}

/** The result of a week of a fleet. Peaks are of any minute, or of any hour for requests. */
export interface FleetWeek {
  readonly tasks: number;
  readonly calls: number;
  readonly costUsd: number;
  /** Minutes that GitHub bills: each job is rounded up. */
  readonly runnerMinutes: number;
  /** Part of `runnerMinutes`: minutes of runs that found nothing to do. */
  readonly idleMinutes: number;
  /** Number of jobs that would run at once without a limit of runners. */
  readonly peakJobs: number;
  /** Number of calls of agents that run at once. */
  readonly peakCalls: number;
  /** Requests in an hour of the busiest repository, and of all repositories together. */
  readonly peakRequestsOfOne: number;
  readonly peakRequestsOfAll: number;
  /** Requests in an hour that write what people see: texts, labels, reactions. */
  readonly peakWritesOfOne: number;
  readonly peakWritesOfAll: number;
  /** Minutes from a label until an agent works on the task: half of the tasks, and 95 of 100. */
  readonly pickedUp: { readonly half: number; readonly most: number };
}

const WEEK_MINUTES = 7 * 24 * 60;
const HOUR = 60;

/**
 * The assumptions, in minutes, dollars and requests. Requests are those that `npm run bench requests` counts; the
 * others are rounded from the runs of docs/how-it-stops.md. GitHub starts schedules and events with a delay.
 */
export const ASSUMED = {
  tasksAWeek: 6,
  callsOfTask: 2,
  callMinutes: 4,
  callUsd: 0.7,
  setUpMinutes: 2,
  gateMinutes: 0.4,
  publishMinutes: 0.7,
  scheduleDelay: 10,
  eventDelay: 0.5,
  idleRequests: 3,
  runRequests: 20,
  taskRequests: 10,
  taskWrites: 11,
  /** Requests of one of many branches in a run. */
  branchRequests: 14,
} as const;

interface Job {
  readonly at: number;
  readonly minutes: number;
}

/** Plays a week: tasks get their label at random, most of them by day, and the schedule of each repository fires. */
export function playFleet({ repositories, schedule, seed }: FleetSetting): FleetWeek {
  const [random, ofSchedule] = [createRandom(seed), createRandom(seed + 1)];
  const jobs: Job[] = [];
  const calls: Job[] = [];
  const waits: number[] = [];
  const [requestsOfAll, writesOfAll] = [createHours(), createHours()];
  let [peakRequestsOfOne, peakWritesOfOne] = [0, 0];
  let idleMinutes = 0;
  let tasks = 0;
  for (let repository = 0; repository < repositories; repository += 1) {
    const [requests, writes] = [createHours(), createHours()];
    const note = (at: number, sent: number, written: number): void => {
      addTo(requests, Math.floor(at / HOUR), sent);
      addTo(writes, Math.floor(at / HOUR), written);
    };
    // Each labelled issue is worked on at once, on a branch of its own.
    for (const labelled of labelsOf(random)) {
      tasks += 1;
      const starts = labelled + ASSUMED.eventDelay + random() * ASSUMED.eventDelay;
      const works = starts + ASSUMED.gateMinutes + ASSUMED.setUpMinutes;
      const number = 1 + Math.floor(random() * (2 * ASSUMED.callsOfTask - 1));
      const worked = number * ASSUMED.callMinutes;
      jobs.push(
        { at: starts, minutes: ASSUMED.gateMinutes },
        { at: starts + ASSUMED.gateMinutes, minutes: ASSUMED.setUpMinutes + worked },
        { at: works + worked, minutes: ASSUMED.publishMinutes },
      );
      for (let call = 0; call < number; call += 1)
        calls.push({ at: works + call * ASSUMED.callMinutes, minutes: ASSUMED.callMinutes });
      waits.push(works - labelled);
      note(starts, ASSUMED.runRequests / 2, 0);
      note(works + worked, ASSUMED.runRequests / 2 + ASSUMED.taskRequests, ASSUMED.taskWrites);
    }
    const first = schedule.minute === 'same' ? 17 : Math.floor(ofSchedule() * HOUR * schedule.hours);
    for (let at = first; at < WEEK_MINUTES; at += HOUR * schedule.hours) {
      const starts = at + ofSchedule() * ASSUMED.scheduleDelay;
      jobs.push({ at: starts, minutes: ASSUMED.gateMinutes });
      idleMinutes += 1;
      note(starts, ASSUMED.idleRequests, 0);
    }
    for (const [hour, sent] of requests.entries()) addTo(requestsOfAll, hour, sent);
    for (const [hour, written] of writes.entries()) addTo(writesOfAll, hour, written);
    peakRequestsOfOne = Math.max(peakRequestsOfOne, ...requests);
    peakWritesOfOne = Math.max(peakWritesOfOne, ...writes);
  }
  waits.sort((one, other) => one - other);
  return {
    tasks,
    calls: calls.length,
    costUsd: calls.length * ASSUMED.callUsd,
    runnerMinutes: jobs.reduce((sum, job) => sum + Math.ceil(job.minutes), 0),
    idleMinutes,
    peakJobs: mostAtOnce(jobs),
    peakCalls: mostAtOnce(calls),
    peakRequestsOfOne,
    peakRequestsOfAll: Math.max(...requestsOfAll),
    peakWritesOfOne,
    peakWritesOfAll: Math.max(...writesOfAll),
    pickedUp: { half: shareOf(waits, 0.5), most: shareOf(waits, 0.95) },
  };
}

/** Creates a number for each hour of the week and of the work that its end begins. */
function createHours(): Float64Array {
  return new Float64Array(WEEK_MINUTES / HOUR + 2);
}

function addTo(hours: Float64Array, hour: number, number: number): void {
  hours[hour] = (hours[hour] ?? 0) + number;
}

/** Returns the minutes of a week at which tasks get their label: people work by day, five days a week. */
function labelsOf(random: Random): readonly number[] {
  const number = Math.floor(random() * (2 * ASSUMED.tasksAWeek + 1));
  return Array.from({ length: number }, () => {
    const day = Math.floor(random() * 5);
    return day * 24 * HOUR + 8 * HOUR + random() * 10 * HOUR;
  });
}

/** Returns the largest number of jobs that run in one minute. */
function mostAtOnce(jobs: readonly Job[]): number {
  const running = new Uint32Array(WEEK_MINUTES + 24 * HOUR);
  for (const { at, minutes } of jobs)
    for (let minute = Math.floor(at); minute < at + minutes; minute += 1) running[minute] = (running[minute] ?? 0) + 1;
  return running.reduce((most, number) => Math.max(most, number), 0);
}

function shareOf(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** A limit of GitHub or of a plan, and the amount of it that a fleet uses. */
interface Limit {
  readonly name: string;
  readonly most: number;
  readonly used: (week: FleetWeek) => number;
}

/** The limits that a fleet meets, from GitHub's documentation as of November 2026. */
const LIMITS: readonly Limit[] = [
  { name: 'requests', most: 1_000, used: (week) => week.peakRequestsOfOne },
  { name: "an App's requests", most: 12_500, used: (week) => week.peakRequestsOfAll },
  { name: 'writes', most: 500, used: (week) => week.peakWritesOfOne },
  { name: "an App's writes", most: 500, used: (week) => week.peakWritesOfAll },
  { name: 'jobs, Free', most: 20, used: (week) => week.peakJobs },
  { name: 'jobs, Team', most: 60, used: (week) => week.peakJobs },
  { name: 'jobs, Enterprise', most: 500, used: (week) => week.peakJobs },
  { name: 'minutes, Team', most: 3_000, used: (week) => (week.runnerMinutes * 30) / 7 },
  { name: 'minutes, Enterprise', most: 50_000, used: (week) => (week.runnerMinutes * 30) / 7 },
];

/** Returns the names of the limits that a week exceeds. */
export function brokenBy(week: FleetWeek): readonly string[] {
  return LIMITS.filter(({ most, used }) => used(week) > most).map(({ name }) => name);
}

const SIZES = [1, 10, 100, 1_000] as const;
const SCHEDULES: readonly Schedule[] = [
  { hours: 1, minute: 'same' },
  { hours: 1, minute: 'own' },
  { hours: 6, minute: 'own' },
];
const BRANCHES = 20;

/** Renders the tables of docs/scale.md: fleets of several sizes, and many branches in one repository. */
export async function renderFleets(seed: number): Promise<string> {
  const rows = SIZES.flatMap((repositories) =>
    SCHEDULES.map((schedule) => ({ repositories, schedule, week: playFleet({ repositories, schedule, seed }) })),
  );
  const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
  const head =
    '| repositories | schedule | cost a week | runner minutes a week (idle) | jobs at once | calls at once | requests (writes) an hour: one, all | over the limit |';
  const lines = rows.map(({ repositories, schedule: { hours, minute }, week }) => {
    const cells = [
      whole(repositories),
      `${hours === 1 ? 'hourly' : `every ${String(hours)} h`}, ${minute} minute`,
      `$${whole(week.costUsd)}`,
      `${whole(week.runnerMinutes)} (${whole(week.idleMinutes)})`,
      whole(week.peakJobs),
      whole(week.peakCalls),
      `${whole(week.peakRequestsOfOne)} (${whole(week.peakWritesOfOne)}), ${whole(week.peakRequestsOfAll)} (${whole(week.peakWritesOfAll)})`,
      brokenBy(week).join('; ') || 'none',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const contended = await contend(BRANCHES, seed);
  const pickedUp = rows.at(-1)?.week.pickedUp ?? { half: 0, most: 0 };
  return [
    head,
    `|${' --- |'.repeat(8)}`,
    ...lines,
    '',
    `Half of the tasks are picked up within ${pickedUp.half.toFixed(1)} minutes of their label, 95 of 100 within ${pickedUp.most.toFixed(1)}.`,
    '',
    `A run on ${String(BRANCHES)} branches of one repository sends at most ${String(BRANCHES * ASSUMED.branchRequests)} requests (${String(BRANCHES * ASSUMED.taskWrites)} writes). If all update the state at the same moment, ${String(contended.kept)} succeed, the last after ${String(contended.seconds)} s and ${String(contended.mostWrites)} writes.`,
  ].join('\n');
}
