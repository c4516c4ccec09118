import { noFeedback } from '../feedback/memory.ts';
import { noChange } from './change.ts';

/** Turns a stored document of `version` into one of the next version; a document is any JSON object. */
type Migration = (document: Record<string, unknown>) => Record<string, unknown>;

/** By the version that they start from. A stored sample of each version is in the tests. */
const migrations: Readonly<Record<number, Migration>> = {
  // 2: people's orders are kept beside the document, and it says which of them it has obeyed.
  1: (document) => ({ ...document, version: 2, ordersApplied: 0 }),
  // 3: who approved which text of an issue, and which tasks of files are done without a mark.
  2: (document) => ({ ...document, version: 3, approvals: {}, unmarked: [] }),
  // 4: what was made safe from the agent: hashes of transcript and journal, checks in a clean clone, a refused push.
  3: (document) => ({
    ...document,
    version: 4,
    transcript: null,
    journalHash: null,
    baseCheck: null,
    headCheck: null,
    refusedPush: null,
  }),
  // 5: why tasks were given up, what the branch holds over all runs, and who was notified of what.
  4: (document) => ({
    ...document,
    version: 5,
    tasks: isObject(document.tasks)
      ? Object.fromEntries(Object.entries(document.tasks).map(([id, task]) => [id, withReason(task)]))
      : document.tasks,
    change: noChange,
    notified: [],
  }),
  // 6: several agents take turns; until then there was one, and a provider's limit was nothing but the park.
  5: (document) => ({
    ...document,
    version: 6,
    agent: document.session === null ? null : 'claude',
    resting: {},
    providers: limitOf(document.park),
  }),
  // 7: reviews, checks and conflicts of the pull request are answered.
  6: (document) => ({ ...document, version: 7, feedback: noFeedback }),
};

function limitOf(park: unknown): unknown {
  return isObject(park) && park.reason === 'usage_limit'
    ? { claude: { kind: 'open', why: 'limit', until: park.resumeAt } }
    : {};
}

function withReason(task: unknown): unknown {
  if (!isObject(task)) return task;
  const reasons: Readonly<Record<string, string>> = { failed: 'max_iterations_per_task', blocked: 'status_blocked' };
  return { ...task, reason: reasons[String(task.state)] ?? null, setAside: null };
}

/** The document in today's version. What is not an object or has no migration comes back as it is, for the schema to refuse. */
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
