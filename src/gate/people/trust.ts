import type { Config } from '../../config/config.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import type { ReadableComments } from '../../core/people/comments.ts';
import {
  listAccountsToLookUp,
  type Consent,
  type Grant,
  judgeConsent,
  findUnchangedConsent,
  withGrant,
} from '../../core/people/consent.ts';
import { getLabelDefinition, computeLabelChange } from '../../core/people/labels.ts';
import { type TaskId, taskIdOfIssue } from '../../core/tasks/ids.ts';
import type { IssueText } from '../../core/tasks/issue-task.ts';
import type { Task } from '../../core/tasks/task.ts';
import { chooseNextTask, getProgress } from '../../core/tasks/queue.ts';
import type { WorkIntake } from '../../handover/intake.ts';
import type { Account, Forge, Permission } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import type { Meaning } from '../event/intent.ts';
import { issuesOfQuery } from '../tasks/queued-issues.ts';

/** The permissions with which a person's label, command, edit or comment is accepted. */
const WRITERS: readonly Permission[] = ['admin', 'maintain', 'write'];

const lookups = new WeakMap<Forge, Map<string, Promise<boolean>>>();

/**
 * Returns true if actions of this account are accepted: the account is a person with write access, or a bot that
 * `allowed-bots` names. The login alone is not enough: the account's type distinguishes bots from people, and a bot's
 * id must be that of the login's account. Looks up each account once per run.
 */
export function isTrustedAccount(
  { config, forge }: { readonly config: Pick<Config, 'allowedBots'>; readonly forge: Forge },
  account: Account,
): Promise<boolean> {
  const answers = lookups.get(forge) ?? new Map<string, Promise<boolean>>();
  lookups.set(forge, answers);
  const key = accountKeyOf(account);
  const known = answers.get(key);
  if (known !== undefined) return known;
  const answer = lookUp({ config, forge }, account);
  answers.set(key, answer);
  // Do not cache a failed look-up, so that the next call asks again.
  answer.catch(() => {
    answers.delete(key);
  });
  return answer;
}

/** Returns true if the event asks for work or an answer on behalf of a person with write access. */
export async function isAskedFor(run: Parameters<typeof isTrustedAccount>[0], meaning: Meaning): Promise<boolean> {
  if (meaning.kind !== 'for-us' || meaning.asker.kind === 'nobody') return false;
  return meaning.asker.kind === 'trusted' || isTrustedAccount(run, meaning.asker.account);
}

/** Returns the number of accounts that this run has looked up. */
export function countAskedAccounts(forge: Forge): number {
  return lookups.get(forge)?.size ?? 0;
}

/** Looks up all these accounts at once. Returns a synchronous function that returns true if one of them is trusted. */
export async function createTrustCheck(
  run: Parameters<typeof isTrustedAccount>[0],
  accounts: readonly Account[],
): Promise<(account: Account) => boolean> {
  const distinct = new Map(accounts.map((account) => [accountKeyOf(account), account]));
  const judged = await Promise.all(
    [...distinct].map(async ([key, account]) => [key, await isTrustedAccount(run, account)] as const),
  );
  const trusted = new Set(judged.filter(([, isTrusted]) => isTrusted).map(([key]) => key));
  return (account) => trusted.has(accountKeyOf(account));
}

async function lookUp(
  { config, forge }: { readonly config: Pick<Config, 'allowedBots'>; readonly forge: Forge },
  { login, id, kind }: Account,
): Promise<boolean> {
  if (kind === 'user') return WRITERS.includes(await forge.permissionOf(login));
  const isAllowed = config.allowedBots.some((name) => name.toLowerCase() === login.toLowerCase());
  if (!isAllowed || id === null) return false;
  const known = await forge.account(login);
  return known?.kind === 'bot' && known.id === id;
}

function accountKeyOf({ login, id, kind }: Account): string {
  return `${kind} ${login.toLowerCase()} ${String(id)}`;
}

/** Maximum number of issues whose comments are read: one request reads ten of them, and few runs work on more. */
const MAX_ISSUES = 50;

/** An issue whose comments are requested, as they were at `until`, when somebody asked for the work. */
interface CommentsWanted {
  readonly number: number;
  readonly until: number;
}

/** Reads the comments that the agent may read, by issue; an account is looked up only when a rule needs it. */
export async function readComments(
  deps: Pick<GateDeps, 'config' | 'forge'>,
  wanted: readonly CommentsWanted[],
): Promise<ReadonlyMap<number, ReadableComments>> {
  const { commentsFrom } = deps.config;
  if (commentsFrom === 'nobody' || wanted.length === 0) return new Map();
  const first = wanted.slice(0, MAX_ISSUES);
  const found = await deps.forge.commentsOf(first.map(({ number }) => number));
  // Load this only here, because it includes a Markdown parser.
  const { selectReadableComments: readableComments } = await import('../../core/people/comments.ts');
  const reading = readableComments(
    first.map(({ number, until }) => ({ number, until, comments: found.get(number) ?? [] })),
    commentsFrom,
  );
  let step = reading.next();
  while (step.done !== true) step = reading.next(await isTrustedAccount(deps, step.value));
  return step.value;
}

/**
 * Finds out who approved these issues; leaves out deleted ones. `known` contains earlier approvals, and finished
 * issues, for which nothing is looked up unless they changed.
 */
export async function judgeIssues(
  deps: Pick<GateDeps, 'config' | 'forge' | 'sha256' | 'clock'>,
  issues: readonly (IssueText & { readonly number: number })[],
  known: {
    readonly tasks: LaneState['tasks'];
    readonly isFinished: (id: TaskId) => boolean;
    readonly grants: ReadonlyMap<number, Grant>;
  },
): Promise<ReadonlyMap<number, Consent>> {
  if (issues.length === 0) return new Map();
  const { taskLabel } = deps.config;
  const ofQuery = new Set((await issuesOfQuery(deps)).map(({ number }) => number));
  const demanded = deps.config.issueQuery?.demands ?? [];
  const histories = await deps.forge.issueHistories(
    issues.map(({ number }) => number),
    taskLabel,
    ofQuery.size === 0 ? [] : demanded,
  );
  const questions = issues.flatMap((issue) => {
    const found = histories.get(issue.number);
    if (found === undefined) return [];
    const id = taskIdOfIssue(issue.number);
    const text = hashOfText(issue, deps.sha256);
    const grant = known.grants.get(issue.number);
    const history = withGrant(found, { taskLabel, text }, grant);
    const approved = getProgress(known.tasks, id).approval ?? grant ?? null;
    const demands = ofQuery.has(issue.number) ? demanded : [];
    const question = { history, taskLabel, demands, text, approved, now: deps.clock.now() };
    const before = known.isFinished(id) ? findUnchangedConsent(question) : null;
    return [{ number: issue.number, question, before }];
  });
  const isTrusted = await createTrustCheck(
    deps,
    questions.flatMap(({ question, before }) => (before === null ? listAccountsToLookUp(question) : [])),
  );
  return new Map(
    questions.map(({ number, question, before }) => [number, before ?? judgeConsent({ ...question, isTrusted })]),
  );
}

/** Returns the id of an approved text: the first 32 hex digits of the SHA-256 of title and body. */
export function hashOfText({ title, body }: IssueText, sha256: GateDeps['sha256']): string {
  return sha256(JSON.stringify([title, body])).slice(0, 32);
}

/**
 * Shows on the first issue that work on it begins, as the last step before the first call. Returns the intake with the
 * issue's new labels.
 */
export async function acknowledgeIssue(forge: Forge, intake: WorkIntake): Promise<WorkIntake> {
  const task = chooseNextTask(intake.tasks, intake.state.tasks, intake.state.currentTask);
  if (task?.source.kind !== 'issue' || intake.proposes !== null) return intake;
  const { number, labels } = task.source;
  await forge.react({ kind: 'issue', number }, 'eyes');
  const { add, remove } = computeLabelChange(labels, 'ralph:working');
  if (add.length + remove.length === 0) return intake;
  const changed = await forge.changeLabels(number, { from: labels, add: add.map(getLabelDefinition), remove });
  if (changed.kind === 'refused') return intake;
  return {
    ...intake,
    tasks: intake.tasks.map((one) =>
      one.id === task.id ? withLabels(one, [...labels.filter((name) => !remove.includes(name)), ...add]) : one,
    ),
  };
}

function withLabels(task: Task, labels: readonly string[]): Task {
  return task.source.kind === 'issue' ? { ...task, source: { ...task.source, labels } } : task;
}
