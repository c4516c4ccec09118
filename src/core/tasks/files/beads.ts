import { z } from 'zod';
import { parseJson, convertNode } from '../../../json/parse.ts';
import { cleanText, cleanTitle } from '../../text/clean.ts';
import type { FileTask, TaskProblem } from './form/root-plan.ts';
import { buildEntryKey } from './prd-entries.ts';
import { hashId, taskIdOfEntry, type TaskId } from '../ids.ts';
import type { TaskState } from '../task.ts';
import { cutText, completeSentence } from '../../text/phrase.ts';

type State = TaskState;

/** Maximum number of lines; longer files are cut. */
const MAX_LINES = 20_000;
const MAX_TASKS = 1_000;

/** Files that beads keeps next to its issues; never the database itself. */
const SIDE_FILES = /^\.beads\/(?:deletions|interactions|molecules|sync_base|.*\.(?:base|left|right))\.jsonl$/;

/**
 * Parses the tasks of a beads database (path → text of `.beads/*.jsonl`), in the order of its lines. As beads itself
 * does, it reads `issues.jsonl`, else `beads.jsonl`, else the first other one. A parent waits for its children, and
 * children wait for the tasks that block their parents.
 */
export function parseBeads(files: Readonly<Record<string, string>>): {
  readonly tasks: readonly FileTask[];
  readonly problems: readonly TaskProblem[];
} {
  const path = findBeadsFile(Object.keys(files));
  if (path === undefined) return { tasks: [], problems: [] };
  const { beads, problems } = beadsById(files[path] ?? '');
  const work = [...beads.values()].filter(isWork);
  const kept = work.length <= MAX_TASKS ? work : beadsWithinLimit(work);
  const isTask = new Set(kept.map(({ id }) => id));
  const waits = dependencies(beads, work);
  return {
    tasks: kept.map((bead) => ({
      state: states.get(bead.status) ?? 'todo',
      task: taskOf(
        bead,
        path,
        waits
          .of(bead)
          .filter((id) => isTask.has(id) || !isOver(beads.get(id)))
          .map(idOf),
      ),
    })),
    problems: [
      ...problems,
      ...(kept === work ? [] : [tooManyIssues(work)]),
      ...kept.flatMap((bead) => waits.problemsOf(bead)),
    ].map((problem) => ({ file: path, column: null, ...problem })),
  };
}

/** Returns the file of a folder whose issues are read; other files are ignored. */
export function findBeadsFile(paths: readonly string[]): string | undefined {
  return ['.beads/issues.jsonl', '.beads/beads.jsonl', ...paths.toSorted()].find(
    (path) => paths.includes(path) && /^\.beads\/[^/]+\.jsonl$/.test(path) && !SIDE_FILES.test(path),
  );
}

const text = z.string().catch('');
const truth = z.boolean().catch(false);

/** A record of another kind among the issues of an export. */
const otherRecord = z.object({ _type: z.string().refine((type) => type !== 'issue') });

const beadSchema = z.object({
  id: z.string().min(1),
  title: z.string().min(1),
  description: text,
  design: text,
  acceptance_criteria: text,
  notes: text,
  status: z.string().catch('open'),
  priority: z.int().min(0).max(4).catch(2),
  issue_type: z.string().catch('task'),
  updated_at: z.iso
    .datetime({ offset: true })
    .transform((instant) => Date.parse(instant))
    .catch(0),
  pinned: truth,
  is_template: truth,
  ephemeral: truth,
  dependencies: z.array(z.object({ depends_on_id: z.string(), type: z.string().catch('blocks') })).catch([]),
});

type Bead = z.infer<typeof beadSchema> & { readonly line: number };
type Problem = Partial<Pick<TaskProblem, 'column'>> & Pick<TaskProblem, 'line' | 'message' | 'hidesTasks'>;

/** Returns every issue by its id; of several lines with the same id the newest, as when beads merges. */
function beadsById(document: string): {
  readonly beads: ReadonlyMap<string, Bead>;
  readonly problems: readonly Problem[];
} {
  const beads = new Map<string, Bead>();
  const problems: Problem[] = [];
  const lines = document.split(/\r\n?|\n/, MAX_LINES + 1);
  if (lines.length > MAX_LINES)
    problems.push({ line: MAX_LINES + 1, message: `only the first ${MAX_LINES} lines are read`, hidesTasks: true });
  for (const [index, source] of lines.slice(0, MAX_LINES).entries()) {
    if (source.trim() === '') continue;
    const line = index + 1;
    const parsed = parseJson(source);
    if (parsed.kind === 'malformed') {
      problems.push({
        line,
        column: parsed.problems[0]?.column ?? null,
        message: `not valid JSON: ${completeSentence(parsed.problems[0]?.message ?? '')} This line is not read`,
        hidesTasks: true,
      });
      continue;
    }
    const record = convertNode(parsed.root);
    if (otherRecord.safeParse(record).success) continue;
    const read = beadSchema.safeParse(record);
    if (!read.success) {
      problems.push({ line, message: 'is not an issue: expected an object with an id and a title', hidesTasks: true });
      continue;
    }
    const bead = read.data;
    const other = beads.get(bead.id);
    if (other !== undefined)
      problems.push({
        line,
        message: `the id ${shown(bead.id)} is on line ${other.line} already: ${bead.updated_at >= other.updated_at ? 'this line is newer and counts' : 'that line is newer and counts'}`,
      });
    if (other === undefined || bead.updated_at >= other.updated_at) beads.set(bead.id, { ...bead, line });
    if (!states.has(bead.status) && !GONE.has(bead.status))
      problems.push({ line, message: `the status ${shown(bead.status)} is unknown and counts as open` });
  }
  return { beads, problems };
}

const states: ReadonlyMap<string, State> = new Map([
  ['open', 'todo'],
  ['in_progress', 'in-progress'],
  ['hooked', 'in-progress'],
  ['blocked', 'blocked'],
  ['deferred', 'blocked'],
  ['closed', 'done'],
]);
/** States of deleted issues, and of notes that stay open forever. */
const GONE: ReadonlySet<string> = new Set(['tombstone', 'pinned']);
/** Types of records by which agents of beads communicate and wait. */
const NO_WORK: ReadonlySet<string> = new Set([
  'message',
  'gate',
  'agent',
  'role',
  'convoy',
  'event',
  'molecule',
  'merge-request',
]);

function isWork(bead: Bead): boolean {
  return (
    !GONE.has(bead.status) && !NO_WORK.has(bead.issue_type) && !bead.pinned && !bead.is_template && !bead.ephemeral
  );
}

function tooManyIssues(work: readonly Bead[]): Problem {
  return {
    line: null,
    message: `only ${MAX_TASKS} of its ${work.length} issues are tasks, open ones first`,
    ...(work.filter(isOpen).length > MAX_TASKS ? { hidesTasks: true } : {}),
  };
}

function isOpen({ status }: Bead): boolean {
  return status !== 'closed';
}

function beadsWithinLimit(work: readonly Bead[]): readonly Bead[] {
  const chosen = new Set([...work.filter(isOpen), ...work.filter((bead) => !isOpen(bead))].slice(0, MAX_TASKS));
  return work.filter((bead) => chosen.has(bead));
}

function taskOf(bead: Bead, path: string, dependsOn: readonly TaskId[]): FileTask['task'] {
  const parts = [
    bead.description,
    bead.design,
    bead.acceptance_criteria === '' ? '' : `Acceptance criteria:\n\n${bead.acceptance_criteria}`,
    bead.notes === '' ? '' : `Notes: ${bead.notes}`,
  ];
  return {
    id: idOf(bead.id),
    title: cleanTitle(bead.title).text || `Issue ${shown(bead.id)}`,
    // Each part is cleaned alone, so that an unclosed comment in one does not swallow the next.
    body: cleanText(
      parts
        .map((part) => cleanText(part).text.trim())
        .filter(Boolean)
        .join('\n\n'),
    ).text,
    source: { kind: 'beads', path, key: cleanTitle(bead.id).text },
    comments: [],
    priority: bead.priority + 1,
    dependsOn,
    // The issue was deferred on purpose, so nothing waits for it.
    optional: bead.status === 'deferred',
    obstacle: null,
  };
}

/**
 * The dependencies that `bd ready` considers: `blocks` and similar ones block an issue and everything below it. The
 * others only relate.
 */
const BLOCKING: ReadonlySet<string> = new Set(['blocks', 'conditional-blocks', 'waits-for']);

/** Returns true if an issue is closed or deleted and no longer blocks, whether it is a task or not. */
function isOver(bead: Bead | undefined): boolean {
  return bead?.status === 'closed' || bead?.status === 'tombstone';
}

/** Maximum depth of parents: nobody nests that deep, and thousands would take minutes. */
const MAX_ABOVE = 100;

function dependencies(
  beads: ReadonlyMap<string, Bead>,
  work: readonly Bead[],
): { of(bead: Bead): readonly string[]; problemsOf(bead: Bead): readonly Problem[] } {
  const linked = (bead: Bead, wanted: (type: string) => boolean): readonly string[] =>
    bead.dependencies.filter(({ type }) => wanted(type)).map((link) => link.depends_on_id);
  const parentsOf = (bead: Bead): readonly string[] => linked(bead, (type) => type === 'parent-child');
  const children = Map.groupBy(
    work.flatMap((bead) => parentsOf(bead).map((parent) => ({ parent, id: bead.id }))),
    ({ parent }) => parent,
  );
  const blockers = (bead: Bead): readonly string[] => linked(bead, (type) => BLOCKING.has(type));

  const known = new Map<Bead, ReadonlySet<Bead>>();
  const above = (bead: Bead): ReadonlySet<Bead> => {
    const before = known.get(bead);
    if (before !== undefined) return before;
    const found = new Set<Bead>();
    known.set(bead, found);
    for (const queue = [bead]; queue.length > 0 && found.size < MAX_ABOVE;) {
      for (const parent of parentsOf(queue.pop() ?? bead).flatMap((id) => beads.get(id) ?? [])) {
        if (found.has(parent) || parent === bead) continue;
        found.add(parent);
        queue.push(parent);
      }
    }
    return found;
  };
  return {
    of: (bead) => {
      const parents = [...above(bead)];
      // A task does not inherit its parent's wait for another task below that parent, because that task may be its
      // sibling.
      const inherited = parents.flatMap((parent) =>
        blockers(parent).filter((id) => !above(beads.get(id) ?? parent).has(parent)),
      );
      const below = (children.get(bead.id) ?? [])
        .map(({ id }) => id)
        .filter((id) => !blockers(beads.get(id) ?? bead).includes(bead.id));
      return [...new Set([...below, ...blockers(bead), ...inherited])].filter((id) => id !== bead.id);
    },
    problemsOf: (bead) =>
      [...new Set(blockers(bead))]
        .filter((id) => !beads.has(id))
        .map((id) => ({
          line: bead.line,
          message: `depends on ${shown(id)}, which is not in this file, so it is not worked on`,
        })),
  };
}

/** Maximum length of a task's id without `beads-`. */
const MAX_KEY_CHARS = 74;

function idOf(key: string): TaskId {
  const safe = buildEntryKey(key);
  return taskIdOfEntry(
    'beads',
    safe.length <= MAX_KEY_CHARS ? safe : `${safe.slice(0, MAX_KEY_CHARS - 13)}-${hashId(key)}`,
  );
}

function shown(key: string): string {
  return JSON.stringify(cutText(cleanTitle(key).text, 80));
}
