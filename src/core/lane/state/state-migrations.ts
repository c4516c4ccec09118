import { noFeedback } from '../../feedback/memory.ts';
import { noChange } from '../change.ts';

/** Converts a stored document to the next version; a document is any JSON object. */
type Migration = (document: Record<string, unknown>) => Record<string, unknown>;

/** Migrations by the version of their input. The tests have a stored sample of each version. */
const migrations: Readonly<Record<number, Migration>> = {
  // 2: people's orders are stored outside of the document, which records the obeyed ones.
  1: (document) => ({ ...document, version: 2, ordersApplied: 0 }),
  // 3: records who approved which text of an issue, and which tasks of files are done without a mark.
  2: (document) => ({ ...document, version: 3, approvals: {}, unmarked: [] }),
  // 4: records data protected from the agent: hashes of transcript and journal, verifications in a clean clone, a
  // refused push.
  3: (document) => ({
    ...document,
    version: 4,
    transcript: null,
    journalHash: null,
    baseCheck: null,
    headCheck: null,
    refusedPush: null,
  }),
  // 5: records why tasks were given up, the content of the branch over all runs, and who was notified of what.
  4: (document) => ({
    ...document,
    version: 5,
    tasks: isObject(document.tasks)
      ? Object.fromEntries(Object.entries(document.tasks).map(([id, task]) => [id, withReason(task)]))
      : document.tasks,
    change: noChange,
    notified: [],
  }),
  // 6: several agents take turns; earlier versions had one, and a provider's limit only parked the lane.
  5: (document) => ({
    ...document,
    version: 6,
    agent: document.session === null ? null : 'claude',
    resting: {},
    providers: restingOfPark(document.park),
  }),
  // 7: records answers to reviews, checks and conflicts of the pull request.
  6: (document) => ({ ...document, version: 7, feedback: noFeedback }),
  // 8: all data of a task is in one record instead of separate lists.
  7: ({ approvals, answers, unmarked, unverified, retried, finished, ...document }) => ({
    ...document,
    version: 8,
    tasks: isObject(document.tasks)
      ? oneRecordEach(document.tasks, { approvals, answers, unmarked, unverified, retried, finished })
      : document.tasks,
    retriesAll: retried === 'all',
    ...(finished === undefined ? {} : { done: finished }),
  }),
  // 9: calls a run of `verify` in a clean clone a verification, because a check belongs to CI.
  8: ({ baseCheck, headCheck, ...document }) => ({
    ...document,
    version: 9,
    baseVerification: baseCheck,
    headVerification: headCheck,
    redBase: withStage(document.redBase),
  }),
};

function withStage(redBase: unknown): unknown {
  return isObject(redBase) && redBase.stage === 'recheck' ? { ...redBase, stage: 'reverify' } : redBase;
}

/** Merges the lists into one record per task. A task without work has a record only if people acted on it. */
function oneRecordEach(
  tasks: Record<string, unknown>,
  { approvals, answers, ...lists }: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const [unmarked, unverified, retried, done] = [lists.unmarked, lists.unverified, lists.retried, lists.finished].map(
    (list): readonly unknown[] => (Array.isArray(list) ? list : []),
  );
  const entryOf = (of: unknown, id: string): unknown => (isObject(of) && Object.hasOwn(of, id) ? of[id] : undefined);
  const ids = [tasks, approvals, answers].flatMap((of) => (isObject(of) ? Object.keys(of) : []));
  const records = [...ids, ...(unmarked ?? []).filter((id) => done?.includes(id)), ...(retried ?? [])].map((named) => {
    const id = String(named);
    const begun = entryOf(tasks, id) ?? {
      state: done?.includes(id) ? 'done' : 'todo',
      attempts: done?.includes(id) ? 1 : 0,
    };
    if (!isObject(begun)) return [id, begun];
    const isDone = begun.state === 'done';
    return [
      id,
      {
        ...begun,
        ...(isDone || !unverified?.includes(id) ? {} : { unproven: true }),
        ...(isDone && unmarked?.includes(id) ? { unmarked: true } : {}),
        ...(retried?.includes(id) ? { retried: true } : {}),
        approval: approvalOf(entryOf(answers, id)) ?? entryOf(approvals, id),
        answer: entryOf(answers, id),
      },
    ];
  });
  return Object.fromEntries(records) as Record<string, unknown>;
}

/** Returns the approval of the text that another lane last worked on, or undefined if unknown. */
function approvalOf(answer: unknown): unknown {
  return isObject(answer) ? (answer.approval ?? undefined) : undefined;
}

function restingOfPark(park: unknown): unknown {
  return isObject(park) && park.reason === 'usage_limit'
    ? { claude: { kind: 'open', why: 'limit', until: park.resumeAt } }
    : {};
}

function withReason(task: unknown): unknown {
  if (!isObject(task)) return task;
  const reasons: Readonly<Record<string, string>> = { failed: 'max_iterations_per_task', blocked: 'status_blocked' };
  return { ...task, reason: reasons[String(task.state)] ?? null, setAside: null };
}

/**
 * Returns the document in the current version. A value that cannot be migrated is returned unchanged and then fails the
 * schema.
 */
export function migrateState(document: unknown, version: number): unknown {
  let migrated = document;
  for (let at = version; isObject(migrated); at += 1) {
    const migrate = migrations[at];
    if (migrate === undefined) break;
    migrated = migrate(migrated);
  }
  return migrated;
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
