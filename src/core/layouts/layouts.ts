import { EARLY_MARKS, ROOT_PLAN } from '../tasks/files/form/root-plan.ts';

/** The ways in which a repository can be set up for another Ralph, as people call them. */
export type LayoutName =
  | 'bmalph'
  | 'the Go Ralph'
  | 'ralph-claude-code'
  | 'snarktank/ralph'
  | 'the first Ralph in bash';

/** A way in which a repository is set up for another Ralph. */
interface Layout {
  readonly name: LayoutName;
  /** One of them is enough: nobody else has files of these names. */
  readonly marks: readonly string[];
  /** Or all of these together; empty: none are. */
  readonly together: readonly string[];
}

/** The layouts, the more special ones first. What `ralph init` writes is no mark of any. */
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
  // Behind ralph-claude-code, whose older versions had these names as well.
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

/** Every path that tells a layout. */
export const MARKS: readonly string[] = LAYOUTS.flatMap(({ marks, together }) => [...marks, ...together]);

/** The layout of the files that are there; null: the repository is set up for no other Ralph. */
export function layoutOf(paths: readonly string[]): LayoutName | null {
  const isThere = (path: string): boolean => paths.includes(path);
  const layout = LAYOUTS.find(
    ({ marks, together }) => marks.some(isThere) || (together.length > 0 && together.every(isThere)),
  );
  return layout?.name ?? null;
}
