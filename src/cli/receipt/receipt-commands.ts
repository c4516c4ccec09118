import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { formatInstant } from '../../core/countdown.ts';
import type { KindsOfDenial } from '../../core/journal/replay.ts';
import {
  parseNamedRun,
  parseReceipts,
  parseReceiptRecord,
  groupReceipts,
  type RunReceipt,
  selectReceipts,
  serializeReceipts,
} from '../../core/receipt/receipt.ts';
import { receiptParts } from '../../core/receipt/check-journal.ts';
import {
  type BranchQuestion,
  buildBranchQuestion,
  type CloneBranch,
  ONLY_RECORDED,
  type ReceiptVerification,
  type VerifiedBranch,
  verifyReceipts,
  findWorstVerdict,
} from '../../core/receipt/verify-receipts.ts';
import { MAX_JOURNAL_TEXT_CHARS, type StoredRun } from '../../core/snapshot/stored-run.ts';
import { listFirstNames, quoteShellText } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { formatCount, formatTokens } from '../../report/format.ts';
import { parseArguments, toPlainLine } from '../arguments.ts';
import { unpackGzip, unpackJournal } from '../unpack.ts';
import {
  type CliCommand,
  type CommandEnd,
  COMMAND_LIST,
  describeSystemError,
  type Terminal,
  UsageError,
} from '../command.ts';

const FETCH = 'git fetch origin +refs/ralph/v2/state:refs/ralph/v2/state';

const ARGUMENTS_HELP = `PR is the number of a pull request, or its URL; RUN is the id of a workflow run,
or its URL. Reads only this clone, and asks no server; in a partial clone, git
itself fetches what is missing. A clone has the state after:
  ${FETCH}`;

const OPTIONS_HELP = `  --dir FOLDER    any folder of the clone (default: the current one)
  --remote NAME   the remote whose branches are meant (default: origin)`;

const RECEIPT_HELP = `Usage: ralph receipt PR|RUN [--dir FOLDER] [--remote NAME] [--json]

Prints the record of a run, or of every run on a pull request: who asked for
which text, the commits it began with and published, the agent, the isolation
with its probe's results, verifications, cost, and the journal.

${ARGUMENTS_HELP}

${OPTIONS_HELP}
  --json          prints one JSON object with the journals instead, described by
                  schemas/ralph-receipt.schema.json

Exit codes: 0 the receipt is printed, 2 none was found, or wrong arguments.
`;

const VERIFY_HELP = `Usage: ralph verify PR|RUN [--receipt FILE ...] [--dir FOLDER] [--remote NAME]
                   [--json]

Checks the receipts of every run on a pull request, or on the branches that a
run worked on, against this clone: the commits that the runs made and their
content, the journal's chain of hashes and every decision in it, the texts that
people agreed to, and the limits.

It proves that record, journal and commits agree, not who wrote them: that takes
a signature. Commits by people are named, and are not wrong by themselves.

${ARGUMENTS_HELP}
A branch that was deleted is checked up to what the clone still has of it.

  --receipt FILE  a receipt from an artifact, in place of the state's; can be
                  repeated. The command that checks its signature is printed
${OPTIONS_HELP}
  --json          prints one JSON object instead, described by
                  schemas/ralph-verify.schema.json

Exit codes: 0 good, 1 bad, 2 no receipt or clone, or wrong arguments, 3 nothing
is wrong, but only a part could be checked; the output says which.
`;

/** The runs and branches that a clone has, read without asking a server. */
interface OpenedClone {
  /** The runs, newest first, or null if the clone lacks the state. */
  readonly runs: readonly StoredRun[] | null;
  readonly repository: string | null;
  readBranch(question: BranchQuestion): Promise<CloneBranch>;
}

/** Opens the clone that contains a folder; throws a UserError outside of a clone. */
type OpenClone = (clone: { readonly folder: string; readonly remote: string }) => Promise<OpenedClone>;

/** Creates `ralph receipt` and `ralph verify`. `loadKinds` loads the agents' rules for refused calls. */
export function createReceiptCommands(open: OpenClone, loadKinds: () => Promise<KindsOfDenial>): readonly CliCommand[] {
  return [
    {
      ...{ ...COMMAND_LIST.receipt, help: RECEIPT_HELP },
      run: (args, terminal) => printReceipts(args, terminal, open).catch(endWithoutAnswer),
    },
    {
      ...{ ...COMMAND_LIST.verify, help: VERIFY_HELP },
      run: (args, terminal) => verify(args, terminal, { open, loadKinds }).catch(endWithoutAnswer),
    },
  ];
}

/** Ends a command that could not read the clone with 2, because 1 says that something contradicts the receipts. */
function endWithoutAnswer(error: unknown): never {
  throw error instanceof UserError ? new UsageError([error.message], 'none') : error;
}

async function printReceipts(args: readonly string[], terminal: Terminal, open: OpenClone): Promise<CommandEnd> {
  const { receipts, json } = await readReceipts(args, open);
  terminal.out(json ? serializeReceipts(receipts) : receipts.map(renderReceipt).join('\n'));
  return 'done';
}

async function verify(
  args: readonly string[],
  terminal: Terminal,
  { open, loadKinds }: { readonly open: OpenClone; readonly loadKinds: () => Promise<KindsOfDenial> },
): Promise<CommandEnd> {
  const { all, receipts, json, clone, files } = await readReceipts(args, open);
  const tools = { sha256, kindsOf: await loadKinds() };
  const stored = files.length === 0 ? [] : (clone.runs ?? []).flatMap(storedReceipt);
  const branches: VerifiedBranch[] = [];
  for (const [first, ...others] of groupReceipts(all, receipts)) {
    if (first === undefined) continue;
    const question = buildBranchQuestion([first, ...others]);
    branches.push(
      verifyReceipts([first, ...others], question === null ? null : await clone.readBranch(question), tools, stored),
    );
  }
  const result: ReceiptVerification = mapTexts(
    {
      verdict: findWorstVerdict(branches),
      branches,
      proves: 'consistency' as const,
      onlyRecorded: ONLY_RECORDED,
      // Only a receipt's own file can be verified this way. A receipt of another repository is signed there.
      signature: files.map(
        (file) => `gh attestation verify ${quoteShellText(file)} --repo ${clone.repository ?? 'OWNER/REPO'}`,
      ),
    },
    (text) => toPlainLine(text, 1000),
  );
  terminal.out(json ? `${JSON.stringify(result, null, 2)}\n` : renderVerification(result));
  return ({ good: 'done', bad: 'different', part: 'partly' } as const)[result.verdict];
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Reads the receipts that the arguments name, oldest first; throws a UsageError if none is found. */
async function readReceipts(args: readonly string[], open: OpenClone) {
  const options = { dir: 'value', remote: 'value', json: 'flag', receipt: 'values' } as const;
  const given = parseArguments(args, options, { name: 'PR or RUN', min: 1, max: 1 });
  const [name = ''] = given.positionals;
  const named = parseNamedRun(name);
  const problems = [
    ...given.problems,
    ...(named === null && name !== ''
      ? [`${JSON.stringify(toPlainLine(name))} is neither a pull request nor a run: give a number or a URL.`]
      : []),
  ];
  if (problems.length > 0 || named === null) throw new UsageError(problems);
  const files = given.values('receipt');
  const clone = await open({ folder: given.values('dir')[0] ?? '.', remote: given.values('remote')[0] ?? 'origin' });
  const { repository: wanted = clone.repository } = named;
  if (wanted?.toLowerCase() !== (clone.repository ?? wanted)?.toLowerCase())
    throw new UsageError(
      [
        `${toPlainLine(name)} is not of ${String(clone.repository)}, of which this is a clone. Give the number, or set the URL of the remote if the repository was renamed.`,
      ],
      'none',
    );
  const all =
    files.length > 0 ? (await Promise.all(files.map(readReceiptFile))).flat() : clone.runs?.flatMap(storedReceipt);
  if (all === undefined)
    throw new UsageError([`This clone does not have the state of Ralph's runs. Fetch it: ${FETCH}`], 'none');
  const [first, ...others] = selectReceipts(all, named);
  if (first === undefined) {
    const what = `contains no receipt of ${JSON.stringify(toPlainLine(name))}.`;
    const why =
      files.length > 0
        ? `None of these files ${what}`
        : `The state in this clone ${what} If that is newer than the clone, fetch the state again: ${FETCH}`;
    throw new UsageError([why], 'none');
  }
  return { all, receipts: [first, ...others] as const, json: given.has('json'), clone, files };
}

function storedReceipt(run: StoredRun): readonly RunReceipt[] {
  const receipt = parseReceiptRecord(run, run.journal === null ? null : unpackJournal(run.journal));
  return receipt === null ? [] : [receipt];
}

async function readReceiptFile(file: string): Promise<readonly RunReceipt[]> {
  try {
    if ((await stat(file)).size > MAX_JOURNAL_TEXT_CHARS) throw new Error('it is too large');
    const bytes = await readFile(file);
    const receipts = parseReceipts(
      bytes[0] === 0x1f ? unpackGzip(bytes, 2 * MAX_JOURNAL_TEXT_CHARS) : bytes.toString(),
    );
    if (receipts !== null) return receipts;
  } catch (error) {
    throw new UsageError(
      [`--receipt ${JSON.stringify(toPlainLine(file))} cannot be read: ${describeSystemError(error)}.`],
      'none',
    );
  }
  throw new UsageError([`--receipt ${JSON.stringify(toPlainLine(file))} is not a receipt.`], 'none');
}

function renderReceipt(receipt: RunReceipt): string {
  const one = mapTexts({ ...receipt, journal: receipt.journal === null ? 'not kept' : 'kept' }, (text) =>
    toPlainLine(text, 500),
  );
  const { agent, model, isolation, tasks, journalHash: hash } = one;
  const rows: readonly (readonly [string, string])[] = [
    ['asked by', one.requestedBy ?? 'nobody: a scheduled run'],
    ...tasks.map(({ id, title, state, ...asked }): readonly [string, string] => [
      'task',
      `${id}: ${title}, ${state}${asked.askedBy === null || asked.askedAt === null ? '' : `; asked for by ${asked.askedBy}, ${formatInstant(asked.askedAt)}, hash of the text: ${String(asked.textHash)}`}`,
    ]),
    [
      'branch',
      `${one.branch ?? one.branchId}, ${one.base.slice(0, 7)}..${one.head?.slice(0, 7) ?? 'nothing published'}${one.pullRequest === null ? '' : `, pull request #${one.pullRequest}`}`,
    ],
    ['agent', [agent.name, agent.version, model === null ? '' : `(${model})`].join(' ').trim()],
    ['isolation', isolation === null ? 'not measured' : isolationWords(isolation)],
    ['verify', `base ${one.baseVerification?.result ?? 'not run'}, head ${one.headVerification?.result ?? 'not run'}`],
    [
      'used',
      `${formatCount(one.iterations, 'iteration')}, ${formatCount(one.calls, 'call')}, ${formatTokens(one.tokens)} tokens, ${costWords(one)}${one.requests === null ? '' : `, ${formatCount(one.requests, 'request')} to GitHub by the publishing job`}`,
    ],
    ['journal', `${one.journal}${hash === null ? '' : `; hash of its last line: ${hash}`}`],
  ];
  return [
    `Run ${one.runId}${one.runAttempt > 1 ? `, attempt ${one.runAttempt}` : ''}: ${one.outcome.kind} (${one.outcome.reason}), ${formatInstant(one.startedAt)} to ${formatInstant(one.endedAt)}`,
    `  ${one.runUrl}`,
    ...rows.map(([label, text]) => `  ${label.padEnd(10)}${text}`),
    '',
  ].join('\n');
}

/** Renders the exact cost; an unknown cost is never shown as $0. */
function costWords({ costUsd, unpriced, tokens }: Pick<RunReceipt, 'costUsd' | 'unpriced' | 'tokens'>): string {
  const isPartial = unpriced === null ? costUsd === 0 && tokens > 0 : unpriced > 0;
  if (!isPartial) return `$${costUsd}`;
  return costUsd > 0 ? `at least $${costUsd}` : 'cost not known';
}

function isolationWords({ level, network, keyHidden, probe }: NonNullable<RunReceipt['isolation']>): string {
  const probed =
    probe === null
      ? 'not probed'
      : `${probe.checks - probe.failed.length} of ${probe.checks} attempts of the probe as expected`;
  const failed = probe === null || probe.failed.length === 0 ? '' : ` (not: ${listFirstNames(probe.failed)})`;
  return `${level}, network ${network}, key ${keyHidden ? 'hidden' : 'visible'}, ${probed}${failed}`;
}

const MARKS = { bad: '✗', unchecked: '⚠', note: '·' } as const;

const VERDICTS = {
  good: 'Good: record, journal and commits agree.',
  bad: 'Bad: something contradicts the receipts.',
  part: 'Nothing is wrong, but only a part could be checked: see ⚠.',
};

function renderVerification({ verdict, branches, onlyRecorded, signature }: ReceiptVerification): string {
  return [
    ...branches.flatMap(renderBranch),
    VERDICTS[verdict],
    'This proves consistency, not origin: whoever can push to refs/ralph/ can write such a record.',
    `Only the record says: ${onlyRecorded.join(', ')}.`,
    ...(signature.length === 0
      ? []
      : ['Only a signature proves where a receipt comes from. To check it:', ...signature.map((line) => `  ${line}`)]),
    '',
  ].join('\n');
}

function renderBranch({ branch, pullRequest, runs, commits, findings }: VerifiedBranch): readonly string[] {
  const made = commits.filter(({ run }) => run !== null).length;
  return [
    `${branch}${pullRequest === null ? '' : `, pull request #${pullRequest}`}: ${formatCount(runs.length, 'run')} (${listFirstNames(runs)}), ${made} of ${formatCount(commits.length, 'commit')} made by ${runs.length === 1 ? 'it' : 'them'}`,
    ...receiptParts.flatMap((part) => {
      const found = findings.filter((finding) => finding.part === part);
      const worst = (['bad', 'unchecked'] as const).find((one) => found.some(({ kind }) => kind === one));
      return [
        `${worst === undefined ? '✓' : MARKS[worst]} ${part}`,
        ...found.map(({ kind, run, text }) => `    ${MARKS[kind]} ${run === null ? '' : `Run ${run}: `}${text}`),
      ];
    }),
    '',
  ];
}
