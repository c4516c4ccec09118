import { readdir } from 'node:fs/promises';
import { z } from 'zod';
import {
  type AddedTask,
  isPrdJson,
  isRootPlan,
  type NewTask,
  ROOT_PLAN,
  ROOT_PRD,
  taskFilePaths,
} from '../../core/tasks/files/form/root-plan.ts';
import { priorityWords } from '../../core/tasks/priority.ts';
import type { FileSource } from '../../core/tasks/ids.ts';
import { taskStates } from '../../core/tasks/task.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { parseFolder, parseArguments, type ParsedArguments, toPlainLine } from '../arguments.ts';
import { formatTaskState } from '../../report/format.ts';
import type { FindUnmergedPlans, MergingPlace } from './add-beside-branches.ts';
import {
  type CheckoutFile,
  type CliCommand,
  type CommandEnd,
  COMMAND_LIST,
  readCheckoutFile,
  readWholeText,
  type Terminal,
  UsageError,
  writeCheckoutFile,
} from '../command.ts';

const position = { file: z.string().describe('Relative to the checkout.'), line: z.int().positive() };

/** The possible results of adding one task. */
export const addReportOptions = [
  z.object({ kind: z.literal('added'), id: z.string(), ...position }),
  z
    .object({ kind: z.literal('there'), id: z.string(), ...position, state: z.enum(taskStates) })
    .describe('A task with this title exists already: nothing was written.'),
  z
    .object({
      kind: z.literal('refused'),
      file: position.file,
      line: z.int().positive().nullable(),
      column: z.int().positive().nullable(),
      message: z.string(),
    })
    .describe('The task cannot be added to the file: nothing was written.'),
] as const;

/** The output of `ralph add --json`. */
export const addReportSchema = z.discriminatedUnion('kind', addReportOptions);

type AddReport = z.infer<typeof addReportSchema>;

/** The files for tasks, in the order of the search: the plan is worked on before the prd. */
const targets = ['plan', 'prd'] as const satisfies readonly FileSource[];

export type AddTarget = (typeof targets)[number];

interface FoundFile {
  readonly target: AddTarget;
  readonly path: string;
  readonly file: CheckoutFile;
}

const HELP = `Usage: ralph add TITLE [--body TEXT|-] [--priority high|medium|low]
                 [--optional] [--to plan|prd] [--dir FOLDER] [--json]

Adds a task to the checkout's plan (.ralph/fix_plan.md, .ralph/@fix_plan.md or
@fix_plan.md) or to .ralph/prd.json: to the one that exists, or to the plan if
both or neither do. Everything else in the file stays as it is, and the task's
id is printed. Nothing is committed: runs see the task when you have pushed it.
While a branch of the queue is not merged, the task goes to a place where git
merges both without a conflict, if there is one.

  --body TEXT      what to do, in more detail; - reads it from stdin
  --priority WORD  high, medium or low (default: medium; for user stories, after
                   all others)
  --optional       never blocks completion; can have a --priority only with --to
                   prd
  --to plan|prd    which file
  --dir FOLDER     the checkout, or the folder that working-directory names
                   (default: the current folder)
  --json           prints one JSON object instead, described by
                   schemas/ralph-add.schema.json

Exit codes: 0 added, 1 there is such a task already, or it cannot be added to
the file (nothing is written then), 2 wrong arguments.
`;

/** Creates `ralph add`, which adds a new task to the plan or the prd. */
export function createAddCommand(findUnmerged: FindUnmergedPlans): CliCommand {
  return { ...COMMAND_LIST.add, help: HELP, run: (args, terminal) => add(findUnmerged, args, terminal) };
}

/** Maximum length of a title; runs cut longer ones when they read tasks. */
const MAX_TITLE_CHARS = 200;

const MAX_BODY_CHARS = 20_000;

async function add(findUnmerged: FindUnmergedPlans, args: readonly string[], terminal: Terminal): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    { body: 'value', priority: 'value', optional: 'flag', to: 'value', dir: 'value', json: 'flag' },
    { name: 'TITLE', min: 1, max: 1 },
  );
  const { wanted, to, folder } = await readArguments(given, terminal);
  const note = (text: string): void => {
    terminal.error(`ralph add: ${text}\n`);
  };
  const report = await addTask({ folder, to, findUnmerged, note }, wanted);
  if (given.has('json')) terminal.out(`${JSON.stringify(report)}\n`);
  else if (report.kind === 'added') {
    note(`added to ${report.file}:${report.line}. Commit it: runs read the last commit.`);
    terminal.out(`${report.id}\n`);
  }
  if (report.kind !== 'added') terminal.error(`ralph add: ${whyNot(report, wanted)}\n`);
  return report.kind === 'added' ? 'done' : 'failed';
}

/** Parses the arguments; throws one UsageError with every problem. */
async function readArguments(
  given: ParsedArguments,
  terminal: Terminal,
): Promise<{ readonly wanted: NewTask; readonly to: AddTarget | null; readonly folder: string }> {
  const title = (given.positionals[0] ?? '').trim();
  const [bodyGiven = ''] = given.values('body');
  const [priority] = given.values('priority');
  const read = bodyGiven === '-' ? await readWholeText(terminal.stdin) : null;
  const body = read === null ? bodyGiven : read.kind === 'text' ? read.text : null;
  const knownPriority = priorityWords.find((word) => word === priority?.toLowerCase()) ?? null;
  const place = await parseTaskPlace(given);
  const problems = [
    ...given.problems,
    ...(given.positionals.length === 0 ? [] : await titleProblems(title)),
    ...(body === null ? ['--body: the text on stdin is larger than 1 MiB, or not UTF-8.'] : bodyProblems(body)),
    ...(priority === undefined || knownPriority !== null
      ? []
      : [`--priority: ${shown(priority)} is not a priority. Expected high, medium or low.`]),
    ...(priority !== undefined && given.has('optional') && place.to !== 'prd'
      ? [
          '--priority and --optional: an optional item of a plan has no priority. Leave one of them out, or use --to prd.',
        ]
      : []),
    ...place.problems,
  ];
  if (problems.length > 0 || body === null) throw new UsageError(problems);
  return {
    wanted: {
      title,
      body: body.replace(/^(?:[ \t]*\r?\n)+|\s+$/g, ''),
      priority: knownPriority,
      optional: given.has('optional'),
    },
    ...place,
  };
}

/** Returns the file and the folder in which the arguments ask to write tasks, and the problems of these arguments. */
export async function parseTaskPlace(
  given: ParsedArguments,
): Promise<{ readonly to: AddTarget | null; readonly folder: string; readonly problems: readonly string[] }> {
  const [to] = given.values('to');
  const target = targets.find((name) => name === to) ?? null;
  const { folder, problems } = await parseFolder(given);
  const unknown =
    to === undefined || target !== null ? [] : [`--to: ${shown(to)} is not a place for tasks. Expected plan or prd.`];
  return { to: target, folder, problems: [...unknown, ...problems] };
}

async function titleProblems(title: string): Promise<readonly string[]> {
  if (/[\r\n]/.test(title)) return ['TITLE is more than one line: give its first line, and the rest as --body.'];
  if (/\p{Cc}/u.test(title)) return ['TITLE contains control characters: remove them.'];
  if (title.length > MAX_TITLE_CHARS)
    return [`TITLE is longer than ${MAX_TITLE_CHARS} characters: shorten it, and give the rest as --body.`];
  const { cleanTitle } = await import('../../core/text/clean.ts');
  return cleanTitle(title).text === ''
    ? ['TITLE is empty, or has no visible text: say in a few words what to do.']
    : [];
}

function bodyProblems(body: string): readonly string[] {
  if (/[^\P{Cc}\t\r\n]/u.test(body)) return ['--body: it contains control characters: remove them.'];
  return body.length > MAX_BODY_CHARS
    ? [
        `--body: it is longer than ${MAX_BODY_CHARS} characters, more than runs read: put the details into a file of the repository, and name that file.`,
      ]
    : [];
}

/** Returns the reason why nothing was added, and advice. */
function whyNot(report: Exclude<AddReport, { kind: 'added' }>, { title }: NewTask): string {
  const position = [report.file, report.line, 'column' in report ? report.column : null]
    .filter((part) => part !== null)
    .join(':');
  if (report.kind === 'there')
    return `${position}: ${JSON.stringify(toPlainLine(title))} exists already (${report.id}, ${formatTaskState(report.state)}); nothing was written. To add another one, give it a different title.`;
  return `${position}: ${completeSentence(toPlainLine(report.message, 600))} Nothing was written.`;
}

function shown(value: string): string {
  return JSON.stringify(toPlainLine(value, 80));
}

/** The checkout and the kind of file to add to; if `to` is null, the existing file is used. */
interface AddingPlace extends MergingPlace {
  readonly to: AddTarget | null;
}

/** Adds a task to a file. If `to` is null, this is the first task file that exists, or else the plan. */
export async function addTask(place: AddingPlace, wanted: NewTask): Promise<AddReport> {
  return addTo(place, await fileFor(place.folder, place.to === null ? targets : [place.to]), wanted);
}

/** Returns the first file that exists, or else the first possible one. */
async function fileFor(folder: string, wanted: readonly AddTarget[]): Promise<FoundFile> {
  const paths = wanted.flatMap((target) => taskFilePaths[target].map((path) => ({ target, path })));
  const beside = await readdir(folder).catch(() => []);
  const found: FoundFile[] = [];
  for (const { target, path } of paths) found.push({ target, path, file: await readCheckoutFile(folder, path) });
  return (
    found.find(({ path, file }) => file.kind !== 'absent' && !isOtherFile({ path, file }, beside)) ??
    found[0] ?? { target: 'plan', path: '', file: { kind: 'refused', line: null, why: 'there is no place for it' } }
  );
}

function isOtherFile({ path, file }: Pick<FoundFile, 'path' | 'file'>, beside: readonly string[]): boolean {
  if (path === ROOT_PLAN) return !isRootPlan(beside);
  return path === ROOT_PRD && file.kind !== 'refused' && file.kind !== 'absent' && !isPrdJson(file.text);
}

async function addTo(place: AddingPlace, { target, path, file }: FoundFile, wanted: NewTask): Promise<AddReport> {
  const refused = (message: string, line: number | null = null): AddReport => ({
    kind: 'refused',
    file: path,
    line,
    column: null,
    message,
  });
  if (file.kind === 'refused') return refused(file.why, file.line);
  const text = file.kind === 'absent' ? '' : file.text;
  const added =
    target === 'plan'
      ? await (await import('./add-beside-branches.ts')).addBesideBranches(place, { path, text }, wanted)
      : await addTaskToPrd(place.folder, { path, text }, wanted);
  if (added.kind === 'refused') return { kind: 'refused', ...added.problem };
  if (added.kind === 'there') return { kind: 'there', id: added.id, file: path, line: added.line, state: added.state };
  const obstacle = await writeCheckoutFile(file, added.text);
  return obstacle === null
    ? { kind: 'added', id: added.id, file: path, line: added.line }
    : refused(`it cannot be written: ${obstacle}`);
}

async function addTaskToPrd(
  folder: string,
  { path, text }: { readonly path: string; readonly text: string },
  wanted: NewTask,
): Promise<AddedTask> {
  const [edit, { PRD_ARCHIVE_PATH }] = await Promise.all([
    import('../../core/tasks/files/prd-edit.ts'),
    import('../../core/tasks/files/prd-archive.ts'),
  ]);
  const archive = await readCheckoutFile(folder, PRD_ARCHIVE_PATH);
  if (archive.kind === 'refused')
    return {
      kind: 'refused',
      problem: {
        file: PRD_ARCHIVE_PATH,
        line: archive.line,
        column: null,
        message: `the ids in it are not known: it ${archive.why}`,
      },
    };
  return edit.addToPrd(path, { prd: text, archive: archive.kind === 'absent' ? null : archive.text }, wanted);
}
