import { stat } from 'node:fs/promises';
import type { NewTask } from '../../core/tasks/files/new-task.ts';
import type { AddReport } from './add-schema.ts';
import { addTask, targets, type Target } from './add-task.ts';
import { parseArguments, type ParsedArguments } from '../arguments.ts';
import { UsageError, type Command, type CommandEnd, type Terminal } from '../command.ts';
import { priorityWords } from '../../core/tasks/priority.ts';
import { plainLine } from '../plain-line.ts';
import { sentence } from '../../core/text/sentence.ts';
import { LISTED } from '../listing.ts';

const HELP = `Usage: ralph add TITLE [--body TEXT|-] [--priority high|medium|low] [--optional] [--to plan|prd] [--dir FOLDER] [--json]

Adds a task to the checkout's plan (.ralph/fix_plan.md, .ralph/@fix_plan.md or @fix_plan.md) or to .ralph/prd.json:
to the one that exists, or to the plan if both or neither do. Everything else in the file stays as it is, and the
task's id is printed. Nothing is committed: runs see the task when you have pushed it.

  --body TEXT      what to do, in more detail; - reads it from stdin
  --priority WORD  high, medium or low (default: medium; for user stories, after all others)
  --optional       never blocks completion; can have a --priority only with --to prd
  --to plan|prd    which file
  --dir FOLDER     the checkout, or the folder that working-directory names (default: the current folder)
  --json           prints one JSON object instead, described by schemas/ralph-add.schema.json

Exit codes: 0 added, 1 there is such a task already, or the file cannot be added to (nothing is written then),
2 wrong arguments.
`;

/** `ralph add`: a new task into the plan or the prd. */
export const addCommand: Command = { ...LISTED.add, help: HELP, run: add };

/** Longer texts are cut where tasks are read. */
const MAX_TITLE_CHARS = 200;
const MAX_BODY_CHARS = 20_000;
const MAX_BODY_BYTES = 1024 * 1024;

async function add(args: readonly string[], terminal: Terminal): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    { body: 'value', priority: 'value', optional: 'flag', to: 'value', dir: 'value', json: 'flag' },
    { name: 'TITLE', min: 1, max: 1 },
  );
  const { wanted, to, folder } = await readArguments(given, terminal);
  const report = await addTask({ folder, to }, wanted);
  if (given.has('json')) terminal.out(`${JSON.stringify(report)}\n`);
  else if (report.kind === 'added') terminal.out(`${report.id}\n`);
  if (report.kind !== 'added') terminal.error(`ralph add: ${whyNot(report, wanted)}\n`);
  return report.kind === 'added' ? 'done' : 'failed';
}

/** Throws one UsageError with every problem. */
async function readArguments(
  given: ParsedArguments,
  terminal: Terminal,
): Promise<{ readonly wanted: NewTask; readonly to: Target | null; readonly folder: string }> {
  const title = (given.positionals[0] ?? '').trim();
  const [bodyGiven = ''] = given.values('body');
  const [priority] = given.values('priority');
  const [to] = given.values('to');
  const [folder = '.'] = given.values('dir');
  const body = bodyGiven === '-' ? await readBody(terminal) : bodyGiven;
  const knownPriority = priorityWords.find((word) => word === priority?.toLowerCase()) ?? null;
  const target = targets.find((name) => name === to) ?? null;
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const problems = [
    ...given.problems,
    ...(given.positionals.length === 0 ? [] : await titleProblems(title)),
    ...(body === null ? ['--body: the text on stdin is larger than 1 MiB, or not UTF-8.'] : bodyProblems(body)),
    ...(priority === undefined || knownPriority !== null
      ? []
      : [`--priority: ${shown(priority)} is not a priority. Expected high, medium or low.`]),
    ...(priority !== undefined && given.has('optional') && target !== 'prd'
      ? [
          '--priority and --optional: an optional item of a plan has no priority. Leave one of them out, or use --to prd.',
        ]
      : []),
    ...(to === undefined || target !== null
      ? []
      : [`--to: ${shown(to)} is not a place for tasks. Expected plan or prd.`]),
    ...(isFolder ? [] : [`--dir: ${shown(folder)} is not a folder.`]),
  ];
  if (problems.length > 0 || body === null) throw new UsageError(problems);
  return {
    wanted: {
      title,
      body: body.replace(/^(?:[ \t]*\r?\n)+|\s+$/g, ''),
      priority: knownPriority,
      optional: given.has('optional'),
    },
    to: target,
    folder,
  };
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
        `--body: it is longer than ${MAX_BODY_CHARS} characters, more than runs read: name a file of the repository in it instead.`,
      ]
    : [];
}

/** All of stdin; null: too long, or no text. */
async function readBody(terminal: Terminal): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of terminal.stdin) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return null;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    return null;
  }
}

/** Why nothing was added, and what to do. */
function whyNot(report: Exclude<AddReport, { kind: 'added' }>, { title }: NewTask): string {
  const position = [report.file, report.line, 'column' in report ? report.column : null]
    .filter((part) => part !== null)
    .join(':');
  if (report.kind === 'there')
    return `${position}: ${JSON.stringify(plainLine(title))} is there already (${report.id}, ${report.state}); nothing was written. To add another one, give it a different title.`;
  return `${position}: ${sentence(plainLine(report.message, 600))} Nothing was written.`;
}

function shown(value: string): string {
  return JSON.stringify(plainLine(value, 80));
}
