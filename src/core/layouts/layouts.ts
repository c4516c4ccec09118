import { type Folder, toRootPath } from '../folder.ts';
import { EARLY_MARKS, ROOT_PLAN } from '../tasks/files/form/root-plan.ts';
import { toOneLine } from '../text/phrase.ts';

/** The layouts of other Ralphs, as people call them. */
export type LayoutName =
  | 'bmalph'
  | 'the Go Ralph'
  | 'ralph-claude-code'
  | 'snarktank/ralph'
  | 'the first Ralph in bash';

/** The files of a repository that is set up for another Ralph. */
interface Layout {
  readonly name: LayoutName;
  /** Files that identify the layout on their own, because no other tool uses these names. */
  readonly marks: readonly string[];
  /** Files that identify the layout only together; empty if none. */
  readonly together: readonly string[];
}

/** The layouts, most specific first. None of them is identified by files that `ralph init` writes. */
const LAYOUTS: readonly Layout[] = [
  {
    name: 'bmalph',
    marks: [
      '.ralph/.ralphrc',
      '.ralph/ralph_loop.sh',
      '.ralph/ralph_import.sh',
      '.ralph/ralph_monitor.sh',
      '.ralph/RALPH-REFERENCE.md',
      '.ralph/SPECS_INDEX.md',
      '.ralph/SPECS_CHANGELOG.md',
      '.ralph/PROJECT_CONTEXT.md',
      '.ralph/REVIEW_PROMPT.md',
      '.ralph/.quality_gate_results',
      '.ralph/.review_findings.json',
      '.ralph/.review_last_sha',
      '.ralph/.write_heartbeat_triggered',
      '.ralph/.loop_diff_summary',
      'bmalph/config.json',
    ],
    together: [],
  },
  {
    name: 'the Go Ralph',
    marks: [
      '.ralph/config.json',
      '.ralph/configs/default.json',
      '.ralph/config.yaml',
      '.ralph/prompts/LOOP_PROMPT.md',
      '.ralph/prompts/SETUP_PROMPT.md',
      '.ralph/requirements.md',
      '.ralph/.ralph_setup_done',
      '.ralph/.ralph_lock',
      '.ralph/run_state.json',
      '.ralph/run_metrics.json',
      '.ralph/aggregate.json',
    ],
    together: [],
  },
  {
    name: 'ralph-claude-code',
    marks: [
      '.ralphrc',
      '.ralph/.circuit_breaker_state',
      '.ralph/.ralph_session',
      '.ralph/.claude_session_id',
      '.ralph/.ralph_session_history',
      '.ralph/.call_count',
      '.ralph/.token_count',
      '.ralph/.last_reset',
      '.ralph/.exit_signals',
      '.ralph/.response_analysis',
      '.ralph/.circuit_breaker_history',
      '.ralph/.json_parse_result',
      '.ralph/.loop_start_sha',
      '.ralph/.github_lifecycle_state',
      '.ralph/.docker_sandbox_state',
      '.ralph/live.log',
      '.ralph/queue.json',
      '.ralphignore',
    ],
    together: [],
  },
  // bmalph comes after ralph-claude-code, because older versions of ralph-claude-code used these names as well.
  { name: 'bmalph', marks: ['.ralph/@fix_plan.md', '.ralph/@AGENT.md'], together: [] },
  {
    name: 'snarktank/ralph',
    marks: [
      'scripts/ralph/ralph.sh',
      'scripts/ralph/prd.json',
      'scripts/ralph/progress.txt',
      'scripts/ralph/prompt.md',
      'scripts/ralph/CLAUDE.md',
      'scripts/ralph/.last-branch',
      'ralph.sh',
    ],
    together: [],
  },
  {
    name: 'the first Ralph in bash',
    marks: [
      '@fix_plan.md',
      ...EARLY_MARKS,
      'ralph_import.sh',
      'ralph_monitor.sh',
      '.token_count',
      '.claude_session_id',
      '.ralph_session',
      '.ralph_session_history',
    ],
    together: ['PROMPT.md', ROOT_PLAN],
  },
];

/** Every path that identifies a layout. */
export const LAYOUT_MARKS: readonly string[] = LAYOUTS.flatMap(({ marks, together }) => [...marks, ...together]);

/** Files of other Ralphs that a run does not read by itself, described in one line. A folder ends with a slash. */
interface LeftFiles {
  /** The use of these files. */
  readonly fate: string;
  readonly paths: readonly string[];
  readonly why: string;
}

const NOT_USED = 'Not used';

/** Files that other Ralphs create under names that no other tool uses. */
const UNUSED_FILES: readonly LeftFiles[] = [
  {
    fate: 'Read by the agent',
    paths: ['.ralph/PROJECT_CONTEXT.md', '.ralph/SPECS_CHANGELOG.md', '.ralph/requirements.md'],
    why: 'if the prompt says so',
  },
  {
    fate: NOT_USED,
    paths: [
      '.ralph/.claude_session_id',
      '.ralph/.ralph_session',
      '.ralph/.ralph_session_history',
      '.claude_session_id',
      '.ralph_session',
      '.ralph_session_history',
    ],
    why: 'sessions are kept with the state, since one without its transcript is useless on another machine',
  },
  {
    fate: NOT_USED,
    paths: [
      '.ralph/.call_count',
      '.ralph/.token_count',
      '.ralph/.last_reset',
      '.call_count',
      '.token_count',
      '.last_reset',
    ],
    why: 'windows are counted across all runs',
  },
  {
    fate: NOT_USED,
    paths: [
      '.ralph/.exit_signals',
      '.ralph/.response_analysis',
      '.ralph/.json_parse_result',
      '.ralph/.last_output_length',
      '.exit_signals',
      '.response_analysis',
    ],
    why: 'signals begin at zero',
  },
  {
    fate: NOT_USED,
    paths: [
      '.ralph/.circuit_breaker_history',
      '.circuit_breaker_history',
      '.ralph/.loop_start_sha',
      '.ralph/.github_lifecycle_state',
      '.ralph/.docker_sandbox_state',
      '.ralph/.quality_gate_results',
      '.ralph/.review_findings.json',
      '.ralph/.review_last_sha',
      '.ralph/.write_heartbeat_triggered',
      '.ralph/.loop_diff_summary',
      '.ralph/run_state.json',
      '.ralph/run_metrics.json',
      '.ralph/aggregate.json',
      'scripts/ralph/.last-branch',
      '.last-branch',
    ],
    why: 'the state and the journal record earlier runs',
  },
  {
    fate: NOT_USED,
    paths: ['.ralph/status.json', '.ralph/progress.json'],
    why: 'they show the runs of the other Ralph, and `ralph run` writes its own',
  },
  {
    fate: NOT_USED,
    paths: ['.ralph/logs/', '.ralph/live.log', 'scripts/ralph/archive/'],
    why: 'logs and archives of earlier runs',
  },
  { fate: NOT_USED, paths: ['.ralph/.ralph_lock'], why: 'a lease keeps runs apart' },
  { fate: NOT_USED, paths: ['.ralph/queue.json'], why: 'the queue consists of labeled issues and task lists' },
  { fate: NOT_USED, paths: ['.ralph/commit_message.txt'], why: 'the loop writes commit messages itself' },
  {
    fate: NOT_USED,
    paths: [
      '.ralph/ralph_loop.sh',
      '.ralph/ralph_import.sh',
      '.ralph/ralph_monitor.sh',
      '.ralph/lib/',
      '.ralph/drivers/',
      'ralph_loop.sh',
      'ralph_import.sh',
      'ralph_monitor.sh',
      'scripts/ralph/ralph.sh',
      'ralph.sh',
    ],
    why: 'the action is the loop, and starts no other',
  },
  {
    fate: NOT_USED,
    paths: ['.ralph/REVIEW_PROMPT.md'],
    why: 'a second agent step of a pipeline can have it as its prompt',
  },
  { fate: NOT_USED, paths: ['.ralph/RALPH-REFERENCE.md'], why: 'it describes the other Ralph' },
  { fate: NOT_USED, paths: ['.swarm/'], why: 'one agent works at a time on each branch' },
  { fate: NOT_USED, paths: ['.ralphignore'], why: 'nothing is copied to another machine' },
  {
    fate: 'Ordinary files',
    paths: [
      '.ralph/docs/generated/',
      '.ralph/examples/',
      'bmalph/config.json',
      'bmalph/state/',
      '_bmad/',
      '_bmad-output/',
    ],
    why: 'the agent may read and change them',
  },
];

/** Files that a Ralph creates under common names. They are treated as its files only if its layout is identified. */
const UNUSED_FILES_OF_LAYOUTS: readonly (LeftFiles & { readonly layout: LayoutName })[] = [
  {
    layout: 'the first Ralph in bash',
    fate: NOT_USED,
    paths: ['status.json', 'progress.json', 'logs/'],
    why: 'they show the runs of the other Ralph, and `ralph run` writes its own below `.ralph/`',
  },
  {
    layout: 'the first Ralph in bash',
    fate: NOT_USED,
    paths: ['setup.sh', 'create_files.sh'],
    why: '`ralph init` sets a repository up',
  },
  {
    layout: 'the first Ralph in bash',
    fate: 'Ordinary files',
    paths: ['docs/generated/', 'examples/', 'src/'],
    why: 'the agent may read and change them',
  },
  {
    layout: 'snarktank/ralph',
    fate: 'Read by the agent',
    paths: ['AGENTS.md', 'CLAUDE.md'],
    why: 'if the prompt says so; its CLI does not load it',
  },
  {
    layout: 'snarktank/ralph',
    fate: NOT_USED,
    paths: ['tasks/prd-*.md'],
    why: '`ralph import` makes tasks from such documents',
  },
  { layout: 'snarktank/ralph', fate: NOT_USED, paths: ['prd.json.example'], why: 'it is an example' },
];

/** Every path of `UNUSED_FILES` and `UNUSED_FILES_OF_LAYOUTS`; `*` matches any part of a name. */
export const LEFT_PATHS: readonly string[] = [...UNUSED_FILES, ...UNUSED_FILES_OF_LAYOUTS].flatMap(
  ({ paths }) => paths,
);

/** Maximum number of names in a line. */
const MAX_SHOWN = 16;

/**
 * Describes the files of `there` (relative to the run's folder) that a run does not read by itself: one line per
 * reason.
 */
export function describeLeft(layout: LayoutName, there: readonly string[], folder: Folder): readonly string[] {
  return [...UNUSED_FILES, ...UNUSED_FILES_OF_LAYOUTS.filter((one) => one.layout === layout)].flatMap(
    ({ fate, paths, why }) => {
      const found = there.filter((path) => paths.some((known) => matchesKnownPath(path, known)));
      return found.length === 0
        ? []
        : [`${fate}: ${formatPaths(found.map((path) => toRootPath(folder, path)))}: ${why}.`];
    },
  );
}

function matchesKnownPath(path: string, known: string): boolean {
  const [before = '', after] = known.split('*');
  return after === undefined
    ? path === known
    : path.length >= before.length + after.length && path.startsWith(before) && path.endsWith(after);
}

function formatPaths(paths: readonly string[]): string {
  const more = paths.length - MAX_SHOWN;
  return `${paths
    .slice(0, MAX_SHOWN)
    .map((path) => `\`${toOneLine(path, 80).replaceAll('`', "'")}\``)
    .join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
}

/** Returns the layout that the existing files identify, or null if the repository is not set up for another Ralph. */
export function identifyLayout(paths: readonly string[]): LayoutName | null {
  const isThere = (path: string): boolean => paths.includes(path);
  const layout = LAYOUTS.find(
    ({ marks, together }) => marks.some(isThere) || (together.length > 0 && together.every(isThere)),
  );
  return layout?.name ?? null;
}
