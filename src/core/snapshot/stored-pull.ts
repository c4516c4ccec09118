import { z } from 'zod';
import { DAY_MS } from '../countdown.ts';
import { amountSchema, countSchema, type Immutable, instantSchema } from '../policy.ts';
import { storedTaskId } from '../tasks/ids.ts';
import { taskStates } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';
import { type Snapshot, type SnapshotChange, withFile } from './snapshot.ts';

/** Maximum number of pull requests that are kept; those that were opened first are dropped first. */
export const MAX_PULLS = 300;
/** Maximum size of all pull requests together, in characters: every reading of the snapshot fetches them. */
const MAX_PULLS_CHARS = 512 * 1024;
/** Maximum number of tasks of a pull request that are named. */
export const MAX_TASKS_OF_PULL = 20;
const MAX_LABELS = 10;
/** Time in ms after a merge in which a revert is attributed to it. */
export const REVERT_WITHIN_MS = 30 * DAY_MS;

const FOLDER = 'pulls/';

const objectId = z.string().max(64);

const pullTaskSchema = z.object({
  id: storedTaskId,
  title: z.string().max(200),
  state: z.enum(taskStates),
  /** Labels of its issue without those of Ralph; empty for a task of a file. */
  labels: z.array(z.string().max(60)).max(MAX_LABELS),
  /** The instant at which a person asked for it by a label; null for a task of a file. */
  labelledAt: instantSchema.nullable(),
  /** The agent that worked on it last; null if unknown. */
  agent: z.string().max(60).nullable(),
  /** The model that the user chose; null if the agent chose it, or if it is unknown. */
  model: z.string().max(100).nullable(),
  iterations: countSchema,
  /** Cost of the task in US dollars; null if the cost of an iteration is unknown. */
  costUsd: amountSchema.nullable(),
});

/** A task of a pull request, with its usage since the branch began. */
export type PullTask = Immutable<z.infer<typeof pullTaskSchema>>;

const endSchema = z.object({
  kind: z.enum(['merged', 'closed']),
  at: instantSchema,
  /** The commit on the base branch; null if it was not merged, or the commit is unknown. */
  commit: objectId.nullable(),
  /** Commits of people after the newest head that a run published; null if unknown. */
  peopleCommits: countSchema.nullable(),
});

const storedPullSchema = z.object({
  version: z.literal(1),
  number: z.number().int().positive(),
  lane: z.string().max(120),
  baseBranch: z.string().max(300),
  /** End of the run that published it first. */
  openedAt: instantSchema,
  /** End of the newest run that published it. */
  publishedAt: instantSchema,
  /** The newest head that a run published. */
  head: objectId,
  /** Number of times that a run found commits of people on the branch. */
  peoplePushes: countSchema,
  /** The newest head with such commits; null if none. */
  personHead: objectId.nullable(),
  /** Number of runs that answered reviews. */
  reviewRounds: countSchema,
  /** Beginning of the newest of these runs; null if none. */
  reviewedAt: instantSchema.nullable(),
  iterations: countSchema,
  /** Cost of the whole branch, with the answers to reviews and checks; null if a part of it is unknown. */
  costUsd: amountSchema.nullable(),
  tasks: z.array(pullTaskSchema).max(MAX_TASKS_OF_PULL),
  /** The end of the pull request; null while it is open, as far as a run has seen. */
  end: endSchema.nullable(),
  /** The revert that was found on its base branch; null if none. */
  reverted: z.object({ at: instantSchema }).nullable(),
});

/** The repository's memory of a pull request: its usage, and what became of it. Instants in ms, money in US dollars. */
export type StoredPull = Immutable<z.infer<typeof storedPullSchema>>;

/** A pull request as a run has published it. */
export type PublishedPull = Omit<
  StoredPull,
  'version' | 'openedAt' | 'peoplePushes' | 'reviewRounds' | 'reviewedAt' | 'end' | 'reverted'
> & {
  /** The beginning of the run if it answered a review; null if it did not. */
  readonly reviewedAt: number | null;
};

/** A pull request that is no longer open, as GitHub lists it. */
export interface ClosedPull {
  readonly number: number;
  readonly branch: string;
  readonly kind: 'merged' | 'closed';
  readonly at: number;
  readonly head: string;
  /** The commit on the base branch; null if it was not merged. */
  readonly commit: string | null;
  /**
   * Its newest commits, oldest first, with the addresses of their authors; empty if they were not read. A merge that a
   * person has edited lacks its message.
   */
  readonly commits: readonly { readonly id: string; readonly message: string; readonly email: string }[];
}

/** A commit of the base branch that reverts others. */
export interface RevertCommit {
  readonly at: number;
  /** The message, which says what is reverted. */
  readonly message: string;
}

/** The ends and reverts of pull requests since they were published. */
export interface PullNews {
  readonly closed: readonly ClosedPull[];
  readonly reverts: readonly RevertCommit[];
}

/** Returns the snapshot with a pull request as a run has published it. Safe to repeat. */
export function withPublishedPull(snapshot: Snapshot, published: PublishedPull): Snapshot {
  const known = pullAt(snapshot, fileOf(published));
  const { tasks, reviewedAt, ...now } = published;
  const isNewPush = now.personHead !== null && now.personHead !== known?.personHead;
  const isNewRound = reviewedAt !== null && reviewedAt !== known?.reviewedAt;
  const named = new Set(tasks.map(({ id }) => id));
  const pull: StoredPull = {
    ...now,
    version: 1,
    openedAt: known?.openedAt ?? now.publishedAt,
    personHead: now.personHead ?? known?.personHead ?? null,
    peoplePushes: (known?.peoplePushes ?? 0) + (isNewPush ? 1 : 0),
    reviewRounds: (known?.reviewRounds ?? 0) + (isNewRound ? 1 : 0),
    reviewedAt: reviewedAt ?? known?.reviewedAt ?? null,
    // A run does not load the tasks of earlier runs, so they are kept here.
    tasks: [...(known?.tasks ?? []).filter(({ id }) => !named.has(id)), ...tasks].slice(-MAX_TASKS_OF_PULL),
    // A pull request that is published is open, so an earlier `closed` is obsolete.
    end: known?.end?.kind === 'merged' ? known.end : null,
    reverted: known?.reverted ?? null,
  };
  return withPull(snapshot, pull);
}

/** Returns the snapshot with the ends of its pull requests and their reverts. The same object means no news. */
export function withPullNews(snapshot: Snapshot, { closed, reverts }: PullNews): Snapshot {
  if (closed.length === 0 && reverts.length === 0) return snapshot;
  const found = [...reverts, ...closed.flatMap(revertOf)];
  const named = closed.flatMap((one) => pullAt(snapshot, fileOf(one)) ?? []);
  return (found.length === 0 ? named : listStoredPulls(snapshot)).reduce((next, pull) => {
    const own = closed.find(({ number }) => number === pull.number);
    const ended = own !== undefined && isNewsOf(own, pull) ? { ...pull, end: endOf(own, pull) } : pull;
    const reverted = ended.reverted ?? findRevert(ended, found);
    return ended === pull && reverted === pull.reverted ? next : withPull(next, { ...ended, reverted });
  }, snapshot);
}

/** Returns a change that also remembers the pull request that the run has published, and what became of others. */
export function rememberPullsToo<Answer>(
  change: SnapshotChange<Answer>,
  published: PublishedPull | null,
  news: PullNews,
): SnapshotChange<Answer> {
  return (before) => {
    const changed = change(before);
    const { snapshot } = changed;
    const after = withPullNews(published === null ? snapshot : withPublishedPull(snapshot, published), news);
    return { ...changed, snapshot: after };
  };
}

/** Returns the known pull requests, those opened last first. Unreadable files are left out. */
export function listStoredPulls(snapshot: Snapshot): readonly StoredPull[] {
  return [...snapshot]
    .flatMap(([path]) => (path.startsWith(FOLDER) ? (pullAt(snapshot, path) ?? []) : []))
    .sort((one, other) => other.openedAt - one.openedAt || other.number - one.number);
}

/** Returns the pull request of a file; null if it is missing or unreadable. */
function pullAt(snapshot: Snapshot, path: string): StoredPull | null {
  const parsed = storedPullSchema.safeParse(tryJson(snapshot.get(path) ?? ''));
  return parsed.success && fileOf(parsed.data) === path ? parsed.data : null;
}

function withPull(snapshot: Snapshot, pull: StoredPull): Snapshot {
  const next = withFile(snapshot, fileOf(pull), `${JSON.stringify(pull)}\n`);
  const files = [...next].filter(([path]) => path.startsWith(FOLDER));
  const size = files.reduce((sum, [, text]) => sum + text.length, 0);
  if (files.length <= MAX_PULLS && size <= MAX_PULLS_CHARS) return next;
  let chars = 0;
  return listStoredPulls(next).reduce((kept, one, index) => {
    chars += next.get(fileOf(one))?.length ?? 0;
    return index < MAX_PULLS && chars <= MAX_PULLS_CHARS ? kept : withFile(kept, fileOf(one), null);
  }, next);
}

function fileOf({ number }: Pick<StoredPull, 'number'>): string {
  return `${FOLDER}${String(number)}.json`;
}

function isNewsOf({ kind, at, commits }: ClosedPull, { end }: StoredPull): boolean {
  // A pull request that was reopened and closed again ended later, so a later end is news.
  if (end === null || at > end.at || kind !== end.kind) return true;
  return end.peopleCommits === null && commits.length > 0;
}

/** Matches the messages of commits that update a branch. */
const UPDATE_COMMIT = /^Merge (?:remote-tracking )?branch /;
/** Matches the messages of commits by runs, which GitHub's update button may rebase. */
const RUN_COMMIT = /\nRalph-Run: /;

/** Returns true for the address with which GitHub's apps make commits. */
export function isEmailOfBot(email: string): boolean {
  return email.endsWith('[bot]@users.noreply.github.com');
}

/** An ended pull request, and its commits that may be plain merges of the base branch, as git itself makes them. */
export interface JudgedPull {
  readonly number: number;
  readonly commits: readonly string[];
}

/** Returns the commits whose content decides whether people changed an ended pull request. */
export function listMergesToJudge(snapshot: Snapshot, closed: readonly ClosedPull[]): readonly JudgedPull[] {
  return closed.flatMap((one) => {
    const known = pullAt(snapshot, fileOf(one));
    if (known === null || one.kind === 'closed' || !isNewsOf(one, known)) return [];
    const after = commitsAfter(known, one).filter(
      ({ message }) => UPDATE_COMMIT.test(message) && !RUN_COMMIT.test(message),
    );
    return after.length === 0 ? [] : [{ number: one.number, commits: after.map(({ id }) => id) }];
  });
}

/** Returns the commits on top of the newest head that a run published. */
function commitsAfter({ head }: StoredPull, { commits }: ClosedPull): ClosedPull['commits'] {
  return commits.slice(commits.findIndex(({ id }) => id === head) + 1);
}

function endOf(closed: ClosedPull, known: StoredPull): NonNullable<StoredPull['end']> {
  const { kind, at, commit, head, commits } = closed;
  const isByPerson = ({ message, email }: (typeof commits)[number]): boolean =>
    !UPDATE_COMMIT.test(message) && !RUN_COMMIT.test(message) && !isEmailOfBot(email);
  const after = commitsAfter(known, closed).filter(isByPerson).length;
  return { kind, at, commit, peopleCommits: head === known.head ? 0 : commits.length === 0 ? null : after };
}

/**
 * Returns a commit that stands for a merged pull request by GitHub's "Revert" button; empty for any other pull request.
 */
function revertOf({ kind, at, branch }: ClosedPull): readonly RevertCommit[] {
  const number = kind === 'merged' ? /^revert-([1-9]\d{0,14})-/.exec(branch)?.[1] : undefined;
  return number === undefined ? [] : [{ at, message: `Revert "(#${number})"` }];
}

function findRevert({ number, end }: StoredPull, reverts: readonly RevertCommit[]): StoredPull['reverted'] {
  if (end?.kind !== 'merged') return null;
  const found = reverts.find(
    ({ at, message }) => at >= end.at && at <= end.at + REVERT_WITHIN_MS && revertsPull(message, number, end.commit),
  );
  return found === undefined ? null : { at: found.at };
}

/**
 * Returns true if the message says that it reverts the pull request: by its number in the quoted title, or by its
 * commit.
 */
function revertsPull(message: string, number: number, commit: string | null): boolean {
  const [subject = ''] = message.split('\n', 1);
  // A revert of a revert brings the change back, so it is not matched.
  const quoted = /^Revert "(?!Revert )(.*)"/.exec(subject)?.[1] ?? '';
  const name = `#${String(number)}`;
  const isByNumber = quoted.endsWith(`(${name})`) || quoted.startsWith(`Merge pull request ${name} `);
  return isByNumber || (commit !== null && message.includes(`This reverts commit ${commit}`));
}
