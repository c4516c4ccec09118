import { z } from 'zod';
import { isAnybodys, PIPELINE_FILES } from '../pipeline/pipeline.ts';
import { PROGRESS_PLACES, PROMPT_PLACES, promptPlaces } from '../prompt/places.ts';
import { taskFilePaths } from '../tasks/files/file-task.ts';
import { tryJson } from '../text/try-json.ts';

/** A way in which a repository is set up for another Ralph. */
interface Layout {
  readonly name: string;
  /** One of them is enough: nobody else has files of these names. */
  readonly marks: readonly string[];
}

/** The layouts, the more special ones first. What `ralph init` writes is no mark of any. */
const LAYOUTS: readonly Layout[] = [
  { name: 'bmalph', marks: ['.ralph/.ralphrc', '.ralph/ralph_loop.sh', 'bmalph/config.json'] },
  {
    name: 'the Go Ralph',
    marks: [
      '.ralph/config.json',
      '.ralph/configs/default.json',
      '.ralph/prompts/LOOP_PROMPT.md',
      '.ralph/prompts/SETUP_PROMPT.md',
    ],
  },
  {
    name: 'ralph-claude-code',
    marks: [
      '.ralphrc',
      '.ralph/.circuit_breaker_state',
      '.ralph/.ralph_session',
      '.ralph/.claude_session_id',
      '.ralph/.call_count',
      '.ralph/.exit_signals',
    ],
  },
  {
    name: 'snarktank/ralph',
    marks: ['scripts/ralph/ralph.sh', 'scripts/ralph/prd.json', 'scripts/ralph/progress.txt', 'ralph.sh'],
  },
  { name: 'the first Ralph in bash', marks: ['@fix_plan.md', '@AGENT.md', 'ralph_loop.sh'] },
];

/** What becomes of one kind of file. Of several at once the first one counts. */
interface Kind {
  readonly paths: readonly string[];
  readonly first: string | ((text: string, steps: number | null | undefined) => string);
  /** Of those behind the first one; null: all count alike. */
  readonly others: string | null;
  /** What becomes of a symbolic link that would count; null: it is not followed, and not used. */
  readonly link: string | null;
}

const LEADS_HERE = 'if it leads to a file of this repository';

const BRANCH_OF = z.object({ branchName: z.string().min(1) });

/** One row for each kind of file that another Ralph leaves in a repository, in the order in which they are shown. The settings file has lines of its own. */
const KINDS: readonly Kind[] = [
  {
    paths: PROMPT_PLACES,
    first: 'used as the prompt',
    others: 'not used, another prompt comes before it',
    link: `a symbolic link, used as the prompt ${LEADS_HERE}, but not as a task`,
  },
  {
    paths: ['.ralph/prompts/SETUP_PROMPT.md'],
    first: "used once: by the step of the pipeline that names it, or else in the queue's first iteration",
    others: null,
    link: `a symbolic link, used in the queue's first iteration ${LEADS_HERE}; no step of a pipeline can name it`,
  },
  {
    paths: taskFilePaths.plan,
    first: 'used as the plan',
    others: 'not used, another plan comes before it',
    link: null,
  },
  { paths: taskFilePaths.prd, first: listOf, others: 'not used, another list of stories comes before it', link: null },
  {
    paths: ['.ralph/@AGENT.md', '@AGENT.md'],
    first: 'named in the prompt',
    others: null,
    link: 'a symbolic link, named in the prompt',
  },
  {
    paths: PROGRESS_PLACES,
    first: 'shown to the agent as what earlier iterations learned',
    others: 'not used, another one comes before it',
    link: null,
  },
  {
    paths: PIPELINE_FILES,
    first: pipelineOf,
    others: 'used only where what comes before it has no `steps`',
    link: null,
  },
  {
    paths: ['.ralph/.circuit_breaker_state', '.circuit_breaker_state'],
    first: 'a circuit that is open there is honoured once',
    others: 'not used, another one comes before it',
    link: `a symbolic link; a circuit that is open there is honoured once ${LEADS_HERE}`,
  },
  ...[
    [
      'not used, sessions are kept with the state',
      '.ralph/.claude_session_id',
      '.ralph/.ralph_session',
      '.ralph/.ralph_session_history',
      '.claude_session_id',
      '.ralph_session',
    ],
    ['not used, calls are counted with the state', '.ralph/.call_count', '.ralph/.last_reset', '.call_count'],
    ['not used, signals are kept with the state', '.ralph/.exit_signals', '.ralph/.response_analysis', '.exit_signals'],
    [
      'not used, the action is the loop',
      '.ralph/ralph_loop.sh',
      'ralph_loop.sh',
      'ralph_monitor.sh',
      'scripts/ralph/ralph.sh',
      'ralph.sh',
    ],
  ].map(([first = '', ...paths]) => ({ paths, first, others: null, link: `a symbolic link, ${first}` })),
];

/** Folders whose files the prompt names. */
const SPECS = ['.ralph/specs', 'specs'];

/** Every path that tells a layout, or of which something is said. */
export const LAYOUT_PATHS: readonly string[] = [
  ...new Set([...LAYOUTS.flatMap(({ marks }) => marks), ...KINDS.flatMap(({ paths }) => paths)]),
];

/** Patterns of the folders that are asked for once a layout is known. */
export const SPECS_PATTERNS: readonly string[] = SPECS.map((folder) => `${folder}/**`);

/** The layout of the files that are there; null: the repository is set up for no other Ralph. */
export function layoutOf(paths: readonly string[]): string | null {
  return LAYOUTS.find(({ marks }) => marks.some((mark) => paths.includes(mark)))?.name ?? null;
}

/** What a run says of files of another Ralph: one line for each kind that is there, what is used and what is not and why. Of a repository that is set up for none (`layout` null), only links are worth a line. `links`: symbolic links among the paths that tell a layout, and folders on the way to them; `texts`: files that can be read, by path; `steps`: how many a pipeline's file of these has, null where it has none; `promptFile`: the input `prompt-file`. */
export function describeLayout(
  layout: string | null,
  {
    paths,
    links,
    texts,
    steps,
    promptFile,
  }: {
    readonly paths: readonly string[];
    readonly links: readonly string[];
    readonly texts: Readonly<Record<string, string>>;
    readonly steps: Readonly<Record<string, number | null>>;
    readonly promptFile: string;
  },
): readonly string[] {
  return [
    ...(layout === null ? [] : [`This repository is set up for ${layout}.`]),
    ...KINDS.flatMap(({ paths: known, first, others, link }) => {
      const places = known === PROMPT_PLACES ? promptPlaces(promptFile) : known;
      const isLink = (path: string): boolean => link !== null && links.includes(path);
      const there = places.filter((path) => paths.includes(path) || isLink(path));
      const [counting, ...rest] = there;
      if (counting === undefined || (layout === null && !there.some(isLink))) return [];
      const said = typeof first === 'string' ? first : first(texts[counting] ?? '', steps[counting]);
      if (others === null) {
        const files = there.filter((path) => !isLink(path));
        return [...lineOf(layout === null ? [] : files, said), ...lineOf(there.filter(isLink), link ?? '')];
      }
      return isLink(counting)
        ? [...lineOf([counting], link ?? ''), ...lineOf(rest, 'used only where that link leads to no such file')]
        : [...lineOf([counting], said), ...lineOf(rest, others)];
    }),
    ...describeLinks(links.filter((path) => layout !== null || !isAnybodys(path))),
    ...SPECS.flatMap((folder) => {
      const count = paths.filter((path) => path.startsWith(`${folder}/`)).length;
      return count === 0
        ? []
        : [`\`${folder}/\`: named in the prompt (${String(count)} ${count === 1 ? 'file' : 'files'}).`];
    }),
  ];
}

/** Links that nothing follows: at the place of a file, and folders. */
function describeLinks(links: readonly string[]): readonly string[] {
  const said = KINDS.flatMap(({ paths, link }) => (link === null ? [] : paths));
  const files = links.filter((path) => LAYOUT_PATHS.includes(path) && !said.includes(path));
  const folders = links.filter((path) => LAYOUT_PATHS.some((known) => known.startsWith(`${path}/`)));
  return [
    ...lineOf(files, 'not used, a symbolic link is not followed: put a file there'),
    ...lineOf(folders, 'a symbolic link, so no list, pipeline or state in it is used: put a folder there'),
  ];
}

/** Nothing is said of nothing. */
function lineOf(paths: readonly string[], said: string): readonly string[] {
  return paths.length === 0 ? [] : [`${namesOf(paths)}: ${said}.`];
}

function namesOf(paths: readonly string[]): string {
  return paths.map((path) => `\`${path}\``).join(', ');
}

function listOf(text: string): string {
  const isNamed = BRANCH_OF.safeParse(tryJson(text)).success;
  return `used as the list of stories${isNamed ? ', but for its `branchName`: the work is on the branch of the queue' : ''}`;
}

function pipelineOf(_text: string, count: number | null | undefined): string {
  // What cannot be read is for its own reader to judge, which says what it made of it.
  if (count === undefined) return 'the pipeline of an iteration, where it has `steps`';
  return count === null
    ? 'not a pipeline, it has no `steps`'
    : `the pipeline of an iteration, ${String(count)} ${count === 1 ? 'step' : 'steps'}`;
}
