/** The task that a prompt is about. */
export interface NamedTask {
  readonly id: string;
  readonly title: string;
  /** The position of the task's item in its file, or null for a task that is not from a file. */
  readonly item: ItemPosition | null;
}

/** The position: a line, or the entry's own id. */
export interface ItemPosition {
  readonly path: string;
  readonly at: { readonly line: number } | { readonly key: string };
}

/** One visit of a task: the files that it writes, and the claims about them. */
export interface Visit {
  readonly message: string;
  readonly path: string;
  readonly content: string;
  readonly finishes: boolean;
  /** The summary for the reviewer. */
  readonly summary: string;
}

/**
 * Reads the task from one of our prompts: the id in a heading, position and title in the first lines of the data below.
 * Returns null if none.
 */
export function parseNamedTask(prompt: string): NamedTask | null {
  const found =
    /^# (?:Your task|The task of the iteration): ([\w.-]+)\n[^]*?^<<<<< BEGIN TASK-\d+\n(?:\((\S+), (?:line (\d+)|(.+))\)\n\n)?(.+)$/m.exec(
      prompt,
    );
  if (found === null) return null;
  const [, id = '', path, line, key = '', title = ''] = found;
  return {
    id,
    title: title.trim(),
    item: path === undefined ? null : { path, at: line === undefined ? { key } : { line: Number(line) } },
  };
}

/**
 * Returns the text of a task file with an item marked as done: a ticked box, an entry that passes, or a closed bead.
 */
export function markItemDone(text: string, { path, at }: ItemPosition): string {
  if ('line' in at)
    return text
      .split('\n')
      .map((line, index) => (index + 1 === at.line ? line.replace(/\[.\]/, '[x]') : line))
      .join('\n');
  if (path.endsWith('.jsonl'))
    return text
      .split('\n')
      .map((line) =>
        line.includes(`"id":${JSON.stringify(at.key)}`) ? line.replace('"status":"open"', '"status":"closed"') : line,
      )
      .join('\n');
  const prd = JSON.parse(text) as Record<string, { id: unknown; passes?: boolean; status?: string }[]>;
  for (const entry of [...(prd['tasks'] ?? []), ...(prd['userStories'] ?? [])].filter(
    ({ id }) => String(id) === at.key,
  ))
    Object.assign(entry, 'passes' in entry ? { passes: true } : { status: 'done' });
  return `${JSON.stringify(prd, null, 2)}\n`;
}

/** True if the prompt says that the task is the only open one. */
export function isLastTask(prompt: string): boolean {
  // The first such line is from our prompt; the task's own text comes after it.
  return /^- Tasks: \d+ done, (\d+) open/m.exec(prompt)?.[1] === '1';
}

/** Returns small real work that fits any task: a module on the first visit, its test on the second. */
export function visitOf(task: NamedTask, number: number): Visit {
  const module = `src/${task.id}.mjs`;
  const title = JSON.stringify(task.title);
  if (number <= 1) {
    return {
      message: `I start with "${task.title}": first the module, the test comes next.`,
      path: module,
      content: `/** What was asked for in ${task.id}. */\nexport function title() {\n  return ${title};\n}\n`,
      finishes: false,
      summary: `${task.title}. The module is ${module}; its test comes next.`,
    };
  }
  return {
    message: `I finish "${task.title}" with its test.`,
    path: `test/${task.id}.test.mjs`,
    content: `import assert from 'node:assert/strict';\nimport test from 'node:test';\nimport { title } from '../${module}';\n\ntest('${task.id} does what was asked for', () => {\n  assert.equal(title(), ${title});\n});\n`,
    finishes: true,
    summary: `${task.title}, with a test. The module is ${module}; nothing was left out.`,
  };
}

/** Returns the status block for the end of an agent's final message. */
export function writeStatusBlock(claim: {
  readonly finishes: boolean;
  readonly exit: boolean;
  readonly tests: 'PASSING' | 'FAILING' | 'NOT_RUN';
  readonly recommendation: string;
  readonly summary?: string;
  readonly question?: string;
}): string {
  return [
    '---RALPH_STATUS---',
    `STATUS: ${claim.finishes ? 'COMPLETE' : 'IN_PROGRESS'}`,
    `TASKS_COMPLETED_THIS_LOOP: ${claim.finishes ? 1 : 0}`,
    'FILES_MODIFIED: 1',
    `TESTS_STATUS: ${claim.tests}`,
    'WORK_TYPE: IMPLEMENTATION',
    `EXIT_SIGNAL: ${claim.exit}`,
    `RECOMMENDATION: ${claim.recommendation}`,
    ...(claim.summary === undefined ? [] : [`SUMMARY: ${claim.summary}`]),
    ...(claim.question === undefined ? [] : [`QUESTION: ${claim.question}`]),
    '---END_RALPH_STATUS---',
  ].join('\n');
}
