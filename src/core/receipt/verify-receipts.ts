import { z } from 'zod';
import type { Immutable } from '../policy.ts';
import { listFirstNames, quoteShellText } from '../text/phrase.ts';
import { type CloneCommit, checkReceiptContent, type ReadReceipt, shortenCommit } from './check-content.ts';
import { checkJournal, createFindings, type ReceiptFinding, receiptParts, type ReceiptTools } from './check-journal.ts';
import type { RunReceipt } from './receipt.ts';

const runId = z.string();

const verdict = z
  .enum(['good', 'bad', 'part'])
  .describe('`part`: nothing is wrong, and not everything could be checked.');

const branchSchema = z.object({
  branch: z.string(),
  pullRequest: z.number().nullable(),
  verdict,
  runs: z.array(runId).describe('The runs whose receipts were checked, oldest first.'),
  commits: z
    .array(
      z.object({
        id: z.string(),
        run: runId.nullable().describe('The run that made it; null: somebody else.'),
        author: z.string(),
      }),
    )
    .describe("The branch's commits since the first of these runs began, oldest first."),
  findings: z.array(
    z.object({
      part: z.enum(receiptParts),
      kind: z.enum(['bad', 'unchecked', 'note']).describe('`note`: a fact, which is neither good nor bad.'),
      run: runId.nullable().describe('null: about the branch.'),
      text: z.string(),
    }),
  ),
});

/** The facts of a record that neither its journal nor a clone confirms. */
export const ONLY_RECORDED = [
  'agent and version',
  'model',
  'isolation and probe',
  'requests',
  'who asked for the run',
  'its attempt and URL',
  'pull request and base branch',
  'labels',
  'result of `verify` on the base',
] as const;

export const receiptVerificationSchema = z.object({
  verdict,
  branches: z.array(branchSchema).describe('One for a pull request; for a run, one for each branch it worked on.'),
  proves: z
    .enum(['consistency'])
    .describe('Record, journal and commits agree. Only a signature proves who wrote them.'),
  onlyRecorded: z.array(z.string()).describe('Facts of a record that nothing else confirms, whatever the verdict.'),
  signature: z
    .array(z.string())
    .describe('Commands that check the signatures of the given files; empty without `--receipt`.'),
});

/** The result of checking the receipts of one branch. */
export type VerifiedBranch = Immutable<z.infer<typeof branchSchema>>;

/** The output of `ralph verify --json`. */
export type ReceiptVerification = Immutable<z.infer<typeof receiptVerificationSchema>>;

/** The part of a branch that must be looked up in a clone to check receipts. */
export interface BranchQuestion {
  /** The branch of the runs; null for runs of earlier versions, which do not name it. */
  readonly branch: string | null;
  /** The branch that it merges into; null for runs of earlier versions, which do not name it. */
  readonly into: string | null;
  /** The commit that the first of the runs began from. */
  readonly base: string;
  /** The heads that the runs published, oldest first. */
  readonly heads: readonly string[];
  readonly runs: readonly string[];
}

/** Returns what to look up in a clone to check receipts, oldest first; null if the runs published no commit. */
export function buildBranchQuestion(receipts: readonly RunReceipt[]): BranchQuestion | null {
  const published = receipts.filter(hasPublished);
  const [first, last] = [published[0], published.at(-1)];
  if (first === undefined || last === undefined) return null;
  const heads = published.flatMap(({ head }) => head ?? []);
  const runs = receipts.map(({ runId: id }) => id);
  return { branch: last.branch, into: last.baseBranch, base: first.base, heads, runs };
}

function hasPublished({ base, head }: RunReceipt): boolean {
  return head !== null && head !== base;
}

/**
 * Checks the receipts of the runs on one branch, oldest first, against each other and a clone. `stored` are the
 * receipts in the clone's own state, with which receipts from elsewhere are compared.
 */
export function verifyReceipts(
  receipts: readonly [RunReceipt, ...RunReceipt[]],
  clone: CloneBranch | null,
  tools: ReceiptTools,
  stored: readonly RunReceipt[] = [],
): VerifiedBranch {
  const read = receipts.map((receipt) => ({ receipt, ...checkJournal(receipt, tools) }));
  const { commits, findings: ofCommits } = checkCommits(read, clone);
  const others = receipts.filter((one) => stored.some((known) => isOtherRecord(known, one)));
  const why = 'The state has another record of this run.';
  const ofState = others.flatMap(({ runId: run }) => createFindings(run, 'record', 'unchecked')(true, why));
  const findings = [...read.flatMap((one) => one.findings), ...ofState, ...ofCommits];
  const { branch, branchId: lane, pullRequest } = receipts.at(-1) ?? receipts[0];
  return {
    branch: branch ?? lane,
    pullRequest,
    verdict: findWorstVerdict(findings.map(({ kind }) => ({ verdict: VERDICTS[kind] }))),
    runs: receipts.map(({ runId: id }) => id),
    commits,
    findings,
  };
}

function isOtherRecord(known: RunReceipt, one: RunReceipt): boolean {
  const [before, now] = [known, one].map((receipt) => JSON.stringify({ ...receipt, journal: null }));
  return known.runId === one.runId && known.branchId === one.branchId && before !== now;
}

const VERDICTS = { bad: 'bad', unchecked: 'part', note: 'good' } as const;

/** Returns the worst of the verdicts. */
export function findWorstVerdict(of: readonly Pick<VerifiedBranch, 'verdict'>[]): VerifiedBranch['verdict'] {
  const order = ['bad', 'part', 'good'] as const;
  return order.find((one) => of.some(({ verdict: found }) => found === one)) ?? 'good';
}

export interface CloneBranch {
  /** Newest commit of the branch in the clone; null if the clone lacks the branch, or has other work on it. */
  readonly tip: string | null;
  /**
   * The branch's own commits after the base of the first run up to `tip`; without a tip, up to what was merged, or to
   * the newest published head. Oldest first. Null if the clone lacks one of the ends, or is cut off between them.
   */
  readonly line: readonly CloneCommit[] | null;
  /** Commits that merges on the line brought in and that the base branch lacks, with the run that each names. */
  readonly strange: readonly Pick<CloneCommit, 'id' | 'run'>[];
  /** True if the base branch has the newest published head. */
  readonly isMerged: boolean;
}

type FindingIf = ReturnType<typeof createFindings>;

/** The origin of a commit of the branch: one of the runs, or somebody else. */
interface CommitOrigin {
  readonly id: string;
  /** The run; null if no run made it. */
  readonly run: string | null;
  readonly author: string;
}

/** The commits of a branch and what is wrong with them. */
interface CheckedCommits {
  readonly commits: readonly CommitOrigin[];
  readonly findings: readonly ReceiptFinding[];
}

const [isNoted, isUnchecked, isWrong] = (['note', 'unchecked', 'bad'] as const).map((kind) =>
  createFindings(null, 'commits', kind),
) as [FindingIf, FindingIf, FindingIf];

/** Checks the commits of a branch against the receipts of the runs on it, oldest first. */
function checkCommits(runs: readonly ReadReceipt[], clone: CloneBranch | null): CheckedCommits {
  const published = runs.filter(({ receipt }) => hasPublished(receipt));
  const hidden = runs.filter((run) => !published.includes(run)).flatMap(unpublishedFindings);
  const [first] = published;
  if (first === undefined || clone === null)
    return { commits: [], findings: [...hidden, ...isNoted(true, 'These runs published no commit.')] };
  const { line, tip, strange } = clone;
  if (line === null)
    return { commits: [], findings: [...hidden, ...absentFindings(published.at(-1)?.receipt ?? first.receipt)] };
  const spans = spansOn(line, published);
  const isOutdated = ({ read, span }: RunSpan): boolean =>
    span === null && tip !== null && isKnownHead(runs, { tip, newest: line.at(-1) ?? null }) && endsAfter(read, line);
  const judged = line.map((commit, index) => judgeOrigin({ commit, index, spans, isOutdated: spans.some(isOutdated) }));
  const commits = judged.map(({ origin }) => origin);
  const others = commits.filter(({ run }) => run === null);
  const names = listFirstNames(others.map(({ id, author }) => `${shortenCommit(id)} (${author})`));
  return {
    commits,
    findings: [
      ...hidden,
      ...beginningFindings(first, line),
      ...spans.flatMap((one) =>
        one.span === null
          ? lostFindings(one.read.receipt, isOutdated(one))
          : checkReceiptContent(one.read, line.slice(...one.span)),
      ),
      ...judged.flatMap(({ findings }) => findings),
      ...isNoted(
        others.length > 0,
        `${others.length} of its ${commits.length} commits ${others.length === 1 ? 'is' : 'are'} not by a run: ${names}.`,
      ),
      ...isNoted(
        strange.length > 0,
        `Merges brought in commits that the base branch does not have: ${listFirstNames(strange.map(({ id }) => shortenCommit(id)))}.`,
      ),
      ...strange.flatMap(({ id, run }) =>
        // A run of several branches has a record of each, so the commit may be of another.
        isUnchecked(run !== null, `${describeClaim(id, run)} a merge brought it in, and it is not checked.`),
      ),
      ...(tip === null ? goneFindings((published.at(-1) ?? first).receipt, clone) : []),
    ],
  };
}

/** The place of a run's commits on the line, as arguments of `slice`; null if the line does not have them. */
interface RunSpan {
  readonly read: ReadReceipt;
  readonly span: readonly [from: number, to: number] | null;
}

function spansOn(line: readonly CloneCommit[], published: readonly ReadReceipt[]): readonly RunSpan[] {
  const indexOf = new Map(line.map(({ id }, index) => [id, index]));
  const root = published[0]?.receipt.base ?? '';
  return published.map((read) => {
    const { base, head } = read.receipt;
    const from = base === root && beginsAt(line, root) ? 0 : (indexOf.get(base) ?? -2) + 1;
    const to = (indexOf.get(head ?? '') ?? -1) + 1;
    return { read, span: from >= 0 && from < to ? ([from, to] as const) : null };
  });
}

function beginsAt(line: readonly CloneCommit[], base: string): boolean {
  return line.some(({ parents }) => parents[0] === base);
}

/**
 * Returns true if the clone's branch ends at a commit that a run began from or made, so that the clone may only be
 * older than the runs. A journal has the ids that commits had before GitHub signed them.
 */
function isKnownHead(
  runs: readonly ReadReceipt[],
  { tip, newest }: { readonly tip: string; readonly newest: CloneCommit | null },
): boolean {
  return runs.some(({ receipt: { base, head }, journal }) => {
    const made = (journal?.entries ?? []).filter(({ commit }) => commit !== null);
    const isSignedForm = newest?.isSigned === true && made.some(({ evidence }) => evidence.after.tree === newest.tree);
    return isSignedForm || [base, head, ...made.map(({ commit }) => commit)].includes(tip);
  });
}

/** Returns true if a run made commits that are not on the line, so that the line may end before them. */
function endsAfter({ receipt, journal }: ReadReceipt, line: readonly CloneCommit[]): boolean {
  const isThere = (id: string | null): boolean => line.some((commit) => commit.id === id);
  if (isThere(receipt.head)) return false;
  return journal?.entries.some(({ commit }) => commit !== null && !isThere(commit)) ?? true;
}

function lostFindings({ runId: run, base, head }: RunReceipt, isOutdated: boolean): readonly ReceiptFinding[] {
  const text = isOutdated
    ? 'The branch in this clone ends before its commits: fetch it. If it still does, the branch was set back.'
    : `The branch does not have its commits ${shortenCommit(base)}..${shortenCommit(head ?? '')}: they were rebased, amended or removed.`;
  return createFindings(run, 'commits', isOutdated ? 'unchecked' : 'bad')(true, text);
}

/** Judges a commit by its place on the line and by the run that its trailer names. */
function judgeOrigin(at: {
  readonly commit: CloneCommit;
  readonly index: number;
  readonly spans: readonly RunSpan[];
  readonly isOutdated: boolean;
}): { readonly origin: CommitOrigin; readonly findings: readonly ReceiptFinding[] } {
  const { id, author, run: named } = at.commit;
  const owner = at.spans.find(({ span }) => span !== null && at.index >= span[0] && at.index < span[1]);
  const run = owner?.read.receipt.runId === named ? named : null;
  const claimed = at.spans.filter(({ read }) => read.receipt.runId === named);
  // An attempt that was killed leaves commits but no record, so a commit of such a run is not a contradiction.
  const isUnknown = claimed.length === 0 || claimed.some(({ read }) => read.receipt.runAttempt > 1) || at.isOutdated;
  const says = describeClaim(id, named);
  const isClaim = named !== null && run === null;
  return {
    origin: { id, author, run },
    findings: [
      ...isUnchecked(isClaim && isUnknown, `${says} there is no record of that.`),
      ...isWrong(isClaim && !isUnknown, `${says} the record of that run does not have it.`),
    ],
  };
}

function describeClaim(id: string, run: string | null): string {
  return `${shortenCommit(id)} says that run ${String(run)} made it, but`;
}

function beginningFindings({ receipt, journal }: ReadReceipt, line: readonly CloneCommit[]): readonly ReceiptFinding[] {
  const { runId: run, base } = receipt;
  const isElsewhere = line.length > 0 && !beginsAt(line, base);
  return [
    ...isWrong(isElsewhere, `The branch does not build on ${shortenCommit(base)}, from which its first run began.`),
    ...isUnchecked(
      journal !== null && journal.start.state.change.iterations > 0,
      `Runs before ${run} have no receipt here, so commits before ${shortenCommit(base)} are not checked.`,
    ),
  ];
}

/** Reports a run that made commits but published no head, since a push may have failed. */
function unpublishedFindings({ receipt: { runId: run }, journal }: ReadReceipt): readonly ReceiptFinding[] {
  const made = journal?.entries.flatMap(({ commit }) => commit ?? []) ?? [];
  const what = `Its journal names commits (${listFirstNames(made.map(shortenCommit))}), and its record says that it published none.`;
  return createFindings(run, 'commits', 'unchecked')(made.length > 0, what);
}

function goneFindings({ branch, baseBranch }: RunReceipt, { isMerged }: CloneBranch): readonly ReceiptFinding[] {
  const into = baseBranch ?? 'the base branch';
  if (branch !== null && isMerged)
    return isNoted(true, `The branch is not in this clone, or has other work; ${into} has its commits.`);
  const why =
    branch === null
      ? 'An earlier version did not record its branch: commits after the last run are not checked.'
      : `The branch is not in this clone, or has other work, and ${into} does not have its commits: what a squash or a rebase made of them is not checked.`;
  return isUnchecked(true, why);
}

function absentFindings({ pullRequest, branch, head }: RunReceipt): readonly ReceiptFinding[] {
  const ofPull = pullRequest === null ? null : `refs/pull/${pullRequest}/head`;
  const own = branch === null ? ofPull : quoteShellText(`+refs/heads/${branch}:refs/remotes/origin/${branch}`);
  const what = `This clone does not have all commits up to ${shortenCommit(head ?? '')}.`;
  const otherwise = ofPull === null || own === ofPull ? '' : `; if the branch is gone, name ${ofPull} instead`;
  // This also completes a shallow clone.
  const fetch = `git fetch --depth=2147483647 origin ${own ?? ''}`;
  return [
    ...isUnchecked(true, `${what} Fetch them: ${fetch}${otherwise}`),
    ...createFindings(null, 'content', 'unchecked')(true, 'Not checked without the commits.'),
  ];
}
