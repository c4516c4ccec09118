import { DAY_MS, HOUR_MS } from '../../../../src/core/countdown.ts';
import { emptySnapshot, type Snapshot } from '../../../../src/core/snapshot/snapshot.ts';
import {
  type ClosedPull,
  type PublishedPull,
  type PullTask,
  withPublishedPull,
  withPullNews,
} from '../../../../src/core/snapshot/stored-pull.ts';
import { noon } from '../core-fixtures.ts';

export const HEAD = 'a'.repeat(40);
const PERSON_HEAD = 'b'.repeat(40);

/** Returns a task of a pull request: done for $1 in two iterations, a day after its label. */
export function pullTask(own: Partial<PullTask> = {}): PullTask {
  return {
    id: 'issue-7',
    title: 'Fix the login form',
    state: 'done',
    labels: [],
    labelledAt: noon - DAY_MS,
    agent: 'claude',
    model: null,
    iterations: 2,
    costUsd: 1,
    ...own,
  };
}

/** Returns a pull request of the issue 7 with one task, as a run publishes it. */
export function publishedPull(own: Partial<PublishedPull> = {}): PublishedPull {
  return {
    number: 12,
    lane: 'issue-7',
    baseBranch: 'main',
    publishedAt: noon,
    head: HEAD,
    personHead: null,
    reviewedAt: null,
    iterations: 2,
    costUsd: 1,
    tasks: [pullTask()],
    ...own,
  };
}

/** Returns that pull request as GitHub lists it an hour after it was published: merged as it was. */
export function closedPull(own: Partial<ClosedPull> = {}): ClosedPull {
  const commits = [{ id: HEAD, message: 'fix: the login form', email: 'ann@example.com' }];
  const merged = { kind: 'merged', at: noon + HOUR_MS, head: HEAD, commit: 'c'.repeat(40) } as const;
  return { number: 12, branch: 'ralph/issue-7', ...merged, commits, ...own };
}

/** Returns a snapshot with this pull request, and with what became of it. */
export function withEnded(before: Snapshot, published: PublishedPull, closed: Partial<ClosedPull> | null): Snapshot {
  const after = withPublishedPull(before, published);
  const { number, head } = published;
  return closed === null
    ? after
    : withPullNews(after, { closed: [closedPull({ number, head, ...closed })], reverts: [] });
}

const TITLES = [
  'Fix the login form: it submits twice when Enter is pressed',
  'Show prices with VAT',
  'Let customers download their invoice as a PDF',
  'Orders of 50 € and more ship for free',
  'Upgrade the date picker',
  'Search <b>without</b> "quotes" & accents',
  'Remove the unused feature flag CHECKOUT_V2_ROLLOUT_PERCENTAGE_BY_COUNTRY_AND_DEVICE_CLASS',
] as const;
const LABELS = [
  ['bug'],
  ['enhancement'],
  ['bug', 'good first issue'],
  [],
  ['documentation'],
  ['dependencies'],
] as const;
const MODELS = ['claude-sonnet-5', 'claude-sonnet-5', 'claude-opus-5', null] as const;

/** Returns sixteen weeks of a repository: pull requests of every end and agent, a week without any, unknown costs. */
export function wholeHistory(): Snapshot {
  return Array.from({ length: 48 }, (_, index) => index)
    .filter((index) => Math.floor(index / 3) !== 5)
    .reduce((snapshot, index) => {
      const at = noon - (47 - index) * 2.3 * DAY_MS;
      const [number, lane] = [200 + index * 3, `issue-${String(100 + index)}`];
      const isCodex = index % 9 === 4;
      const costUsd = isCodex ? null : 0.35 + ((index * 37) % 23) / 8;
      const task = pullTask({
        ...{ id: lane, title: TITLES[index % TITLES.length] ?? '', labels: LABELS[index % LABELS.length] ?? [] },
        ...{ labelledAt: at - ((index % 7) + 1) * 5 * HOUR_MS, iterations: 1 + (index % 4), costUsd },
        ...(isCodex ? { agent: 'codex', model: null } : { model: MODELS[index % MODELS.length] ?? null }),
        state: index % 13 === 6 ? 'blocked' : 'done',
      });
      const answered = index % 4 === 1;
      const published = publishedPull({
        ...{ number, lane, publishedAt: at, iterations: task.iterations + (answered ? 1 : 0), tasks: [task] },
        costUsd: costUsd === null ? null : costUsd + (answered ? 0.2 : 0),
        reviewedAt: answered ? at - HOUR_MS : null,
      });
      const after = at + ((index % 5) * 9 + 2) * HOUR_MS;
      if (after > noon || index > 44) return withEnded(snapshot, published, null);
      if (index % 11 === 3) return withEnded(snapshot, published, { kind: 'closed', at: after, commit: null });
      const byPeople = index % 3 === 2;
      const commits = [
        { id: HEAD, message: 'ours', email: 'ann@example.com' },
        ...(byPeople ? [{ id: PERSON_HEAD, message: 'Rename it', email: 'ann@example.com' }] : []),
      ];
      const merged = withEnded(snapshot, published, {
        ...{ at: after, head: byPeople ? PERSON_HEAD : HEAD },
        commits: index % 17 === 8 ? [] : commits,
      });
      const revert = { at: after + 3 * DAY_MS, message: `Revert "x (#${String(number)})"` };
      return index % 19 === 7 ? withPullNews(merged, { closed: [], reverts: [revert] }) : merged;
    }, emptySnapshot);
}
