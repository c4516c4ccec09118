import { z } from 'zod';
import { DAY_MS, isTooFarAhead } from '../countdown.ts';
import { isFeedback } from '../feedback/subject.ts';
import type { Policy } from '../policy.ts';
import type { TaskProgress } from './task.ts';

/** The sources of tasks that are files of the repository. */
export const fileSources = ['plan', 'prd', 'beads'] as const;

export type FileSource = (typeof fileSources)[number];

/** The kinds of sources of a task; `prompt` is the user's prompt itself, which has no list. */
export const taskSourceKinds = ['issue', ...fileSources, 'prompt'] as const;

/** The names of the sources for people. */
export const taskSourceNames = ['issues', ...fileSources, 'prompt'] as const;

export type TaskSourceName = (typeof taskSourceNames)[number];

/**
 * Stable id of a task across runs: `issue-12`, `plan-3f9a12c0`, `prd-US-001`, `beads-bd-a1b2`, `prompt-0a1b2c3d4e5f`.
 * Letters, digits, `.`, `_` and `-`, at most 80.
 */
export type TaskId = string;

/** A task's id, as a lane's state contains it. */
export const storedTaskId = z.string().min(1).max(120);

/** Id of a lane: `queue` or `issue-N`. */
export type LaneId = string;

/** The lane that works on every task without a lane of its own. */
export const QUEUE: LaneId = 'queue';

/** Returns the id of the task for an issue. */
export function taskIdOfIssue(issue: number): TaskId {
  return `issue-${issue}`;
}

/** Returns the lane of one issue, which has the same id as its task. */
export function toIssueLane(issue: number): LaneId {
  return taskIdOfIssue(issue);
}

/** Returns the number of the issue whose task or lane has this id; null for any other id. */
export function issueOfId(id: TaskId): number | null {
  const issue = /^issue-([1-9]\d{0,14})$/.exec(id)?.[1];
  return issue === undefined ? null : Number(issue);
}

/** Returns true if the task is an issue. */
export function isIssueTask(id: TaskId): boolean {
  return issueOfId(id) !== null;
}

/** Returns the name of the lane for people: `the queue`, `issue #7`. */
export function nameOfLane(lane: LaneId): string {
  const issue = issueOfId(lane);
  return issue === null ? 'the queue' : `issue #${issue}`;
}

/** Returns true if the name is a valid lane id. */
export function isLaneId(name: string): boolean {
  return name === QUEUE || issueOfId(name) !== null;
}

/**
 * Returns the id of the task for an entry of a file; `key` identifies the entry in characters that are valid in an id.
 */
export function taskIdOfEntry(source: FileSource, key: string): TaskId {
  return `${source}-${key}`;
}

/**
 * Returns the id of the task for a prompt. `sha256` is the hash of its texts in hex digits: other texts are another
 * task.
 */
export function formatPromptTaskId(sha256: string): TaskId {
  return `prompt-${sha256.slice(0, 12)}`;
}

/**
 * Returns true if the task is the user's prompt: open-ended, so that no single iteration finishes it; the claims of
 * several do (decide.ts).
 */
export function isPromptTask(id: TaskId): boolean {
  return /^prompt-[0-9a-f]{12}$/.test(id);
}

/** Returns the key of a file's entry from its task's id; any other id unchanged. */
export function keyOfEntry(id: TaskId): string {
  return ENTRY_FORM.exec(id)?.[1] ?? id;
}

const ENTRY_FORM = new RegExp(`^(?:${[...fileSources, 'prompt'].join('|')})-([\\w.-]+)$`);

/**
 * Returns the id of an issue in another repository (`owner/repo#4`) that a task waits for according to GitHub. No task
 * has this id, so it is never done here.
 */
export function idOfForeignIssue(name: string): TaskId {
  // Names of owners contain no dot, so different names stay different.
  return `elsewhere-${name
    .replace('/', '.')
    .replace('#', '.')
    .replaceAll(/[^\w.-]+/g, '-')}`.slice(0, 80);
}

/** Returns the name of a task for people if only its id is known: `#12`, `other/repo#4`; else its id. */
export function nameOfTaskId(id: TaskId): string {
  const issue = issueOfId(id);
  if (issue !== null) return `#${issue}`;
  return id
    .replace(/^elsewhere-([\w-]+)\.(.+)\.(\d+)$/, '$1/$2#$3')
    .replace(/^elsewhere-.*/, 'an issue of another repository');
}

/** Returns true if the id of a task contains a hash, so that people know the task by its title alone. */
export function isHashedId(id: TaskId): boolean {
  return /^(?:plan|prompt)-|-[0-9a-f]{8,}$/.test(id);
}

/** Returns the task that people call `12`, `#12` or by its id, or null if the name is not valid. */
export function parseTaskName(name: string): TaskId | null {
  const issue = /^(?:#|issue-)?([1-9]\d{0,14})$/i.exec(name)?.[1];
  if (issue !== undefined) return taskIdOfIssue(Number(issue));
  if (isFeedback(name.toLowerCase())) return name.toLowerCase();
  return name.length <= 80 && ENTRY_FORM.test(name) ? name : null;
}

/**
 * Returns 12 hex digits that identify a text in a task's id: the same in every run and version. They are neither secret
 * nor proof: callers must handle collisions.
 */
export function hashId(text: string): string {
  // Two lanes of multiply-and-rotate (as in MurmurHash3) over the UTF-16 units; each feeds the other at the end.
  let a = 0x9747b28c ^ text.length;
  let b = 0x1b873593 ^ text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    a = rotated(Math.imul(a ^ unit, 0xcc9e2d51), 15);
    b = rotated(Math.imul(b ^ unit, 0x85ebca6b), 13);
  }
  const first = avalanche(a ^ avalanche(b));
  const second = avalanche(b ^ first);
  return hex(first) + hex(second).slice(0, 4);
}

/** Changes about half of the output's bits for every bit of the input: the final step of MurmurHash3. */
function avalanche(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}

/** Returns true if tasks of the source are entries in files. */
export function isFileSource(source: string): source is FileSource {
  return fileSources.some((one) => one === source);
}

/** Maximum wait for another turn in ms, however often a task was set aside. */
const MAX_WAIT_MS = DAY_MS;

/**
 * Returns the instant at which a stuck task has another turn: after the cooldown, doubled each time; null if it is not
 * stuck.
 */
export function computeNextTurn({ state, setAside }: TaskProgress, cooldownMs: number): number | null {
  if (state !== 'stuck' || setAside === null) return null;
  const doublings = Math.min(30, Math.max(0, setAside.times - 1));
  return setAside.at + Math.min(cooldownMs * 2 ** doublings, MAX_WAIT_MS);
}

/** Returns the progress in which stuck tasks are open again if they are due. */
export function reopenDueTasks(
  tasks: Readonly<Record<TaskId, TaskProgress>>,
  cooldownMs: number,
  now: number,
): Readonly<Record<TaskId, TaskProgress>> {
  const woken = Object.entries(tasks).flatMap(([id, progress]) => {
    const turn = computeNextTurn(progress, cooldownMs);
    // No wait is that long, so the clock of a machine was wrong and the task is due.
    const isDue = turn !== null && (turn <= now || isTooFarAhead(turn - MAX_WAIT_MS, now));
    return !isDue ? [] : [[id, { ...progress, state: 'todo', reason: null }] as const];
  });
  return woken.length === 0 ? tasks : { ...tasks, ...Object.fromEntries(woken) };
}

/** Returns the progress in which stuck tasks are open again if they are due before the end of a run that begins now. */
export function reopenTasksDueInRun(
  tasks: Readonly<Record<TaskId, TaskProgress>>,
  { circuit, maxRunMs }: Pick<Policy, 'circuit' | 'maxRunMs'>,
  now: number,
): Readonly<Record<TaskId, TaskProgress>> {
  return reopenDueTasks(tasks, circuit.cooldownMs, now + maxRunMs);
}

/** Returns the progress of a task that is set aside once more. */
export function setAside(progress: TaskProgress, reason: 'no_progress' | 'output_decline', now: number): TaskProgress {
  return { ...progress, state: 'stuck', reason, setAside: { times: (progress.setAside?.times ?? 0) + 1, at: now } };
}
