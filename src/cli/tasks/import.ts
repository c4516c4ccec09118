import { z } from 'zod';
import type { FoundTask } from '../../core/tasks/files/requirements.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { parseArguments, type ParsedArguments, toPlainLine } from '../arguments.ts';
import {
  type CliCommand,
  type CommandEnd,
  COMMAND_LIST,
  openInput,
  readWholeText,
  type Terminal,
  UsageError,
} from '../command.ts';
import { DEFAULT_TASK_LABEL } from '../defaults.ts';
import type { FindUnmergedPlans, MergingPlace } from './add-beside-branches.ts';
import { addReportOptions, addTask, type AddTarget, parseTaskPlace } from './add.ts';

/**
 * The access of `ralph import` to an agent and to GitHub. Failures of a server or an agent are results, not exceptions.
 */
export interface ImportWorld {
  /** Gives the agent a folder that contains only the document, and returns what it wrote to the answer's file. */
  askAgent(
    asked: AskedAgent,
  ): Promise<{ readonly kind: 'answer'; readonly text: string } | { readonly kind: 'failed'; readonly why: string }>;
  /**
   * Returns the open issues of the checkout's repository with the label, as tasks whose titles end in the issue's
   * number.
   */
  issues(
    asked: AskedIssues,
  ): Promise<
    { readonly kind: 'tasks'; readonly tasks: readonly FoundTask[] } | { readonly kind: 'failed'; readonly why: string }
  >;
}

export interface AskedAgent {
  readonly document: { readonly name: string; readonly text: string };
  readonly answerName: string;
  readonly prompt: string;
  /** Path of the agent's CLI, or null for `claude` on the PATH. */
  readonly agentPath: string | null;
  /** The model, or null if the CLI chooses it. */
  readonly model: string | null;
  readonly maxCostUsd: number;
  readonly log: (line: string) => void;
}

export interface AskedIssues {
  /** The checkout, whose remote `origin` names the repository. */
  readonly folder: string;
  readonly label: string;
  readonly log: (line: string) => void;
}

/** Loads the import's world, so that other commands start without code for agent, git and network. */
export type OpenImport = () => Promise<ImportWorld>;

const title = z.string();

const [added, there, refused] = addReportOptions;

/** The output of `ralph import --json`. */
export const importReportSchema = z.object({
  tasks: z.array(
    z.discriminatedUnion('kind', [
      added.extend({ title }),
      there.extend({ title }),
      refused.extend({ title }),
      z.object({ kind: z.literal('found'), title }).describe('With --dry-run: nothing was written.'),
    ]),
  ),
  problems: z.array(z.string()).describe('What was left out, as sentences.'),
});

type ImportReport = z.infer<typeof importReportSchema>;

type ImportedTask = ImportReport['tasks'][number];

const HELP = `Usage: ralph import FILE|- [--agent-path PATH] [--model MODEL]
                    [--max-cost-usd USD] [--json] [OPTIONS]
       ralph import --issues [--label LABEL] [OPTIONS]

With FILE: gives a requirements document to the agent (one call, in a folder
that contains only the document, with the tools Read and Write), and adds the
tasks that it finds to the checkout's plan or prd.json. With --issues: adds the
open issues that have the label, for a repository whose runs work only on its
plan (task-sources: plan). Read what was added before you commit it: it is what
the agent will be asked to do.

  --agent-path PATH   the agent's CLI (default: claude on the PATH)
  --model MODEL       the model that it uses
  --max-cost-usd USD  maximum cost of the call (default: 1)
  --issues            reads GITHUB_TOKEN (or GH_TOKEN) and the repository of the
                      remote origin
  --label LABEL       which issues (default: ralph)
  --to plan|prd       which file (default: the one that exists; the plan if both
                      or neither do)
  --dir FOLDER        the checkout, or the folder that working-directory names
                      (default: the current folder)
  --dry-run           prints the tasks and writes nothing
  --json              prints one JSON object instead, described by
                      schemas/ralph-import.schema.json

A task with a title that exists already is not added again. Exit codes: 0
imported, 1 nothing could be read or something could not be added, 2 wrong
arguments.
`;

/**
 * Creates `ralph import`, which adds tasks from a requirements document or from labelled issues to the plan or the prd.
 */
export function createImportCommand(open: OpenImport, findUnmerged: FindUnmergedPlans): CliCommand {
  return {
    ...COMMAND_LIST.import,
    help: HELP,
    run: (args, terminal) => importTasks({ open, findUnmerged }, args, terminal),
  };
}

interface Wanted {
  readonly from:
    | {
        readonly kind: 'document';
        readonly name: string;
        readonly text: string;
        readonly agentPath: string | null;
        readonly model: string | null;
        readonly maxCostUsd: number;
      }
    | { readonly kind: 'issues'; readonly label: string };
  readonly to: AddTarget | null;
  readonly folder: string;
  readonly dryRun: boolean;
}

type Found =
  | { readonly kind: 'tasks'; readonly tasks: readonly FoundTask[]; readonly problems: readonly string[] }
  | { readonly kind: 'failed'; readonly why: string };

async function importTasks(
  { open, findUnmerged }: { readonly open: OpenImport; readonly findUnmerged: FindUnmergedPlans },
  args: readonly string[],
  terminal: Terminal,
): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    {
      'agent-path': 'value',
      model: 'value',
      'max-cost-usd': 'value',
      issues: 'flag',
      label: 'value',
      to: 'value',
      dir: 'value',
      'dry-run': 'flag',
      json: 'flag',
    },
    { name: 'FILE', min: 0, max: 1 },
  );
  const wanted = await readArguments(given, terminal);
  const found = await find(await open(), wanted, terminal);
  if (found.kind === 'failed') {
    terminal.error(`ralph import: ${completeSentence(toPlainLine(found.why, 1000))} Nothing was written.\n`);
    return 'failed';
  }
  const notes = new Set<string>();
  const report = await addAll(found, wanted, { findUnmerged, note: (text) => notes.add(text) });
  terminal.out(given.has('json') ? `${JSON.stringify(report)}\n` : renderImport(report, wanted));
  for (const problem of [...report.problems, ...notes]) terminal.error(`ralph import: ${toPlainLine(problem, 600)}\n`);
  return report.tasks.some(({ kind }) => kind === 'refused') || found.tasks.length === 0 ? 'failed' : 'done';
}

async function find(world: ImportWorld, { from, folder }: Wanted, terminal: Terminal): Promise<Found> {
  const log = (line: string): void => {
    terminal.error(`${toPlainLine(line, 300)}\n`);
  };
  if (from.kind === 'issues') {
    const listed = await world.issues({ folder, label: from.label, log });
    if (listed.kind === 'failed') return listed;
    return {
      ...listed,
      problems: listed.tasks.length === 0 ? [`No open issue has the label ${JSON.stringify(from.label)}.`] : [],
    };
  }
  const { renderRequirementsPrompt: requirementsPrompt, parseFoundTasks } =
    await import('../../core/tasks/files/requirements.ts');
  const [documentName, answerName] = ['requirements.md', 'tasks.json'];
  const answer = await world.askAgent({
    ...from,
    document: { name: documentName, text: from.text },
    answerName,
    prompt: requirementsPrompt(documentName, answerName),
    log,
  });
  if (answer.kind === 'failed') return answer;
  const parsed = parseFoundTasks(answer.text);
  if (parsed.kind === 'unreadable')
    return {
      kind: 'failed',
      why: `The agent's list of tasks cannot be used: ${completeSentence(parsed.why)} Try again, or with another model.`,
    };
  return {
    ...parsed,
    problems:
      parsed.tasks.length === 0 ? [...parsed.problems, 'The agent found no task in the document.'] : parsed.problems,
  };
}

/** Adds the tasks one after another, because each changes the file that the next is added to. */
async function addAll(
  { tasks, problems }: Extract<Found, { kind: 'tasks' }>,
  { to, folder, dryRun }: Wanted,
  merging: Omit<MergingPlace, 'folder'>,
): Promise<ImportReport> {
  const added: ImportedTask[] = [];
  for (const task of tasks) {
    added.push({
      title: task.title,
      ...(dryRun ? { kind: 'found' as const } : await addTask({ ...merging, folder, to }, task)),
    });
  }
  return {
    tasks: added,
    problems: [
      ...problems,
      ...added.flatMap((task) =>
        task.kind === 'refused'
          ? [`${JSON.stringify(toPlainLine(task.title, 80))} was not added to ${task.file}: ${task.message}.`]
          : [],
      ),
    ],
  };
}

function renderImport({ tasks }: ImportReport, { dryRun }: Wanted): string {
  const word = (task: ImportedTask): string =>
    ({ found: 'found  ', added: 'added  ', there: 'there  ', refused: 'refused' })[task.kind];
  const rows = tasks.map(
    (task) => `${word(task)}  ${'id' in task ? `${task.id}  ` : ''}${toPlainLine(task.title, 200)}\n`,
  );
  const count = tasks.filter(({ kind }) => kind === 'added').length;
  return `${rows.join('')}${dryRun ? `${String(tasks.length)} found; nothing was written.` : `${String(count)} added, ${String(tasks.length - count)} not.`}\n`;
}

/** Parses the arguments; throws one UsageError with every problem. */
async function readArguments(given: ParsedArguments, terminal: Terminal): Promise<Wanted> {
  const [name] = given.positionals;
  const [agentPath = null] = given.values('agent-path');
  const [model = null] = given.values('model');
  const [cost = '1'] = given.values('max-cost-usd');
  const [label = DEFAULT_TASK_LABEL] = given.values('label');
  const place = await parseTaskPlace(given);
  const document = name === undefined || given.has('issues') ? null : await readDocument(name, terminal);
  const problems = [
    ...given.problems,
    ...(name === undefined && !given.has('issues') ? ['FILE or --issues is missing: name what to import.'] : []),
    ...(name !== undefined && given.has('issues') ? ['FILE and --issues cannot be used together.'] : []),
    ...(given.has('label') && !given.has('issues') ? ['--label can only be used with --issues.'] : []),
    ...(document?.kind === 'problem' ? [document.why] : []),
    ...(/^\d{1,6}(\.\d+)?$/.test(cost) && Number(cost) > 0
      ? []
      : [`--max-cost-usd: ${JSON.stringify(toPlainLine(cost, 80))} is not an amount above 0, such as 1 or 0.5.`]),
    ...place.problems,
  ];
  if (problems.length > 0) throw new UsageError(problems);
  const from =
    document?.kind === 'text'
      ? {
          kind: 'document' as const,
          name: name ?? '-',
          text: document.text,
          agentPath,
          model,
          maxCostUsd: Number(cost),
        }
      : { kind: 'issues' as const, label };
  return { from, ...place, dryRun: given.has('dry-run') };
}

async function readDocument(
  name: string,
  terminal: Terminal,
): Promise<{ readonly kind: 'text'; readonly text: string } | { readonly kind: 'problem'; readonly why: string }> {
  const problem = (why: string) => ({ kind: 'problem', why }) as const;
  const input = await openInput(name, terminal);
  if (input.kind === 'missing') return problem(input.why);
  const read = await readWholeText(input.bytes);
  if (read.kind === 'unusable') return problem(`${JSON.stringify(name)} ${read.why}.`);
  return read.text.trim() === '' ? problem(`${JSON.stringify(name)} is empty.`) : read;
}
