import { describe, expect, test } from 'vitest';
import { describeLayout, LAYOUT_PATHS } from '../../../../src/core/layouts/found-files.ts';
import { identifyLayout, type LayoutName } from '../../../../src/core/layouts/layouts.ts';
import { countStepsByFile } from '../../../../src/core/pipeline/reading/file-data.ts';
import { filesOf, RALPHS, type Ralph } from '../../../ralphs.ts';
import { SETUP_PATHS } from '../../../../src/core/setup/files.ts';

describe('the layout', () => {
  test.each<[string | null, readonly string[]]>([
    ['ralph-claude-code', ['.ralphrc', '.ralph/PROMPT.md', '.ralph/fix_plan.md', '.ralph/AGENT.md']],
    ['ralph-claude-code', ['.ralph/PROMPT.md', '.ralph/.call_count']],
    ['ralph-claude-code', ['.ralph/PROMPT.md', '.ralph/live.log', '.ralph/status.json']],
    ['the Go Ralph', ['.ralph/requirements.md', '.ralph/prd.json', '.ralph/.ralph_session']],
    ['bmalph', ['.ralph/.ralphrc', '.ralph/@fix_plan.md', '.ralph/@AGENT.md', 'bmalph/config.json']],
    ['bmalph', ['.ralphrc', '.ralph/.ralphrc']],
    ['the Go Ralph', ['.ralph/config.json', '.ralph/prd.json', '.ralph/prompts/LOOP_PROMPT.md']],
    ['snarktank/ralph', ['scripts/ralph/ralph.sh', 'scripts/ralph/prd.json', 'scripts/ralph/CLAUDE.md']],
    ['the first Ralph in bash', ['PROMPT.md', '@fix_plan.md', '@AGENT.md']],
    ['the first Ralph in bash', ['PROMPT.md', 'fix_plan.md', 'specs/a.md']],
    ['the first Ralph in bash', ['fix_plan.md', '.exit_signals']],
    ['the Go Ralph', ['.ralph/prd.json', '.ralph/run_state.json', '.ralph/learnings.md']],
    ['snarktank/ralph', ['ralph.sh', 'prd.json', 'CLAUDE.md']],
    [null, ['fix_plan.md', '.ralph/PROMPT.md', 'specs/a.md']],
    [null, ['.ralph/prd.json', '.ralph/learnings.md']],
    [null, Object.values(SETUP_PATHS)],
    [null, ['CLAUDE.md', 'PROMPT.md', 'prd.json', 'config.yaml', 'progress.txt', 'specs/a.md', '.ralph/fix_plan.md']],
    [null, []],
  ])('%s', (layout, paths) => {
    expect(identifyLayout(paths)).toBe(layout);
  });
});

describe('the layout, where only part of its files is there', () => {
  const layoutNames: Readonly<Record<Ralph, LayoutName>> = {
    'ralph-claude-code': 'ralph-claude-code',
    bmalph: 'bmalph',
    'go-ralph': 'the Go Ralph',
    'early-bash': 'the first Ralph in bash',
    snarktank: 'snarktank/ralph',
  };
  /** True if a path is a file that runs write, which is often ignored. */
  const isState = (path: string): boolean =>
    /(^|\/)\.(?!ralphrc)[^/]+$|(^|\/)logs\/|archive|(run_|aggregate|status|progress|learnings)/.test(path);
  const isRecognised = (name: Ralph, paths: readonly string[]): void => {
    expect({ paths, layout: identifyLayout(paths) }).toEqual({ paths, layout: layoutNames[name] });
  };

  test.each(RALPHS)('%s without any one of its files, and without its state', (name) => {
    const files = Object.keys(filesOf(name));
    for (const gone of files)
      isRecognised(
        name,
        files.filter((path) => path !== gone),
      );
    isRecognised(
      name,
      files.filter((path) => !isState(path)),
    );
  });

  test.each<[Ralph, readonly string[]]>([
    ['ralph-claude-code', ['.ralphrc']],
    ['ralph-claude-code', ['.ralph/PROMPT.md', '.ralph/fix_plan.md', '.ralph/.circuit_breaker_history']],
    ['ralph-claude-code', ['.ralph/PROMPT.md', '.ralph/fix_plan.md', '.ralph/.response_analysis']],
    ['ralph-claude-code', ['.ralphrc', '.ralph/PROMPT.md', '.ralph/@fix_plan.md', '.ralph/@AGENT.md']],
    ['bmalph', ['.ralph/PROMPT.md', '.ralph/@fix_plan.md']],
    ['bmalph', ['.ralph/PROMPT.md', '.ralph/@AGENT.md', '.ralph/specs/a.md']],
    ['bmalph', ['.ralph/SPECS_INDEX.md', '.ralph/fix_plan.md']],
    ['bmalph', ['.ralph/RALPH-REFERENCE.md']],
    ['go-ralph', ['.ralph/prd.json', '.ralph/config.yaml']],
    ['go-ralph', ['.ralph/prompts/LOOP_PROMPT.md']],
    ['go-ralph', ['.ralph/prd.json', '.ralph/.ralph_setup_done']],
    ['early-bash', ['PROMPT.md', '@AGENT.md']],
    ['early-bash', ['PROMPT.md', 'specs/a.md', '.claude_session_id']],
    ['early-bash', ['PROMPT.md', 'ralph_monitor.sh']],
    ['snarktank', ['scripts/ralph/CLAUDE.md']],
    ['snarktank', ['scripts/ralph/prompt.md', 'AGENTS.md']],
    ['snarktank', ['scripts/ralph/progress.txt']],
  ])('%s: %j', isRecognised);
});

describe('what a layout says about its files', () => {
  const lines = (paths: readonly string[], texts: Readonly<Record<string, string>> = {}): readonly string[] =>
    describeLayout('bmalph', {
      ...{ paths, links: [], texts, steps: countStepsByFile(texts), promptFile: '.ralph/PROMPT.md' },
      taskSources: ['issues', 'plan', 'prd'],
      folder: '',
    }).slice(1);

  test.each<[string, readonly string[], readonly string[]]>([
    ['nothing of what is not there', [], []],
    [
      'of two prompts the first',
      ['PROMPT.md', '.ralph/prompts/LOOP_PROMPT.md'],
      [
        '`PROMPT.md`: used as the prompt.',
        '`.ralph/prompts/LOOP_PROMPT.md`: not used, another prompt comes before it.',
      ],
    ],
    [
      'sessions',
      ['.ralph/.claude_session_id', '.ralph/.ralph_session'],
      [
        'Not used: `.ralph/.claude_session_id`, `.ralph/.ralph_session`: sessions are kept with the state, since one without its transcript is useless on another machine.',
      ],
    ],
    [
      'a circuit',
      ['.ralph/.circuit_breaker_state'],
      ['`.ralph/.circuit_breaker_state`: an open circuit in it is honoured once.'],
    ],
    ['specifications', ['.ralph/specs/a.md', '.ralph/specs/b.md'], ['`.ralph/specs/`: named in the prompt (2 files).']],
    [
      'the loop itself',
      ['ralph_loop.sh', '.ralph/lib/'],
      ['Not used: `ralph_loop.sh`, `.ralph/lib/`: the action is the loop, and starts no other.'],
    ],
    [
      'of prompts at the root, beside the loop and the list that read them, the first',
      ['ralph.sh', 'prd.json', 'prompt.md', 'CLAUDE.md'],
      [
        '`CLAUDE.md`: used as the prompt.',
        '`prompt.md`: not used, another prompt comes before it.',
        '`prd.json`: used as the list of stories.',
        'Not used: `ralph.sh`: the action is the loop, and starts no other.',
      ],
    ],
    [
      'no other CLAUDE.md or fix_plan.md',
      ['prd.json', 'CLAUDE.md', 'fix_plan.md'],
      ['`prd.json`: used as the list of stories.'],
    ],
    ['beads, where nobody asks for them', ['.beads/'], ['`.beads/`: not used, `task-sources` does not name `beads`.']],
    ["what may be anybody's and is not of this layout", ['status.json', 'src/', 'tasks/prd-a.md', 'CLAUDE.md'], []],
  ])('%s', (_, paths, said) => {
    expect(lines(paths)).toEqual(said);
  });

  test.each([
    ['{"steps":[{},{},{},{}]}', 'the pipeline of an iteration, 4 steps'],
    ['{"steps":[{}]}', 'the pipeline of an iteration, 1 step'],
    ['{"steps":[{"enabled":true},{"enabled":false},{}]}', 'the pipeline of an iteration, 2 steps'],
    ['steps: [', 'the pipeline of an iteration, where it has `steps`'],
    ['{"steps":3}', 'not a pipeline, it has no `steps`'],
    ['{"signals":{}}', 'not a pipeline, it has no `steps`'],
    ['{"max_loops_per_task":${M:-3},"steps":[{}]}', 'the pipeline of an iteration, 1 step'],
  ])('a pipeline: %s', (text, said) => {
    expect(lines(['.ralph/config.json'], { '.ralph/config.json': text })).toEqual([`\`.ralph/config.json\`: ${said}.`]);
  });

  test.each([
    ['steps: [{ type: agent }, { type: noop }]', 'the pipeline of an iteration, 2 steps'],
    ['other: tool', 'not a pipeline, it has no `steps`'],
    ['a: [', 'the pipeline of an iteration, where it has `steps`'],
  ])('a pipeline in YAML: %s', (text, said) => {
    expect(lines(['.ralph/config.yaml'], { '.ralph/config.yaml': text })).toEqual([`\`.ralph/config.yaml\`: ${said}.`]);
  });

  test('one line for each file at most, whatever is there', () => {
    const said = lines(LAYOUT_PATHS);
    for (const path of LAYOUT_PATHS)
      expect(said.filter((line) => line.includes(`\`${path}\``)).length).toBeLessThanOrEqual(1);
  });
});

describe('what the layouts say about symbolic links', () => {
  const said = (
    layout: LayoutName | null,
    links: readonly string[],
    paths: readonly string[] = [],
  ): readonly string[] =>
    describeLayout(layout, {
      paths,
      links,
      texts: {},
      steps: {},
      promptFile: '.ralph/PROMPT.md',
      taskSources: ['plan', 'prd'],
      folder: '',
    });

  test.each<[string, readonly string[], readonly string[], readonly string[]]>([
    [
      'a list and the notes: they are not followed, and what comes behind them is used',
      ['.ralph/fix_plan.md', 'scripts/ralph/progress.txt'],
      ['@fix_plan.md'],
      [
        '`@fix_plan.md`: used as the plan.',
        '`.ralph/fix_plan.md`, `scripts/ralph/progress.txt`: not used, a symbolic link is not followed: put a file there.',
      ],
    ],
    [
      'a prompt: it is followed within the repository',
      ['PROMPT.md'],
      ['.ralph/prompts/LOOP_PROMPT.md'],
      [
        '`PROMPT.md`: a symbolic link, used as the prompt if it leads to a file of this repository, but not as a task.',
        '`.ralph/prompts/LOOP_PROMPT.md`: used only where that link leads to no such file.',
      ],
    ],
    [
      'a circuit: the same way',
      ['.ralph/.circuit_breaker_state'],
      [],
      [
        '`.ralph/.circuit_breaker_state`: a symbolic link; an open circuit in it is honoured once if it leads to a file of this repository.',
      ],
    ],
    [
      'old state, which is not used in any case',
      ['.ralph/.call_count'],
      ['.ralph/.last_reset'],
      ['Not used: `.ralph/.last_reset`, `.ralph/.call_count`: windows are counted across all runs.'],
    ],
    [
      'a folder',
      ['.ralph'],
      [],
      ['`.ralph`: a symbolic link, so no list, pipeline or state in it is used: put a folder there.'],
    ],
    [
      "what may be anybody's",
      ['config.yaml'],
      [],
      ['`config.yaml`: not used, a symbolic link is not followed: put a file there.'],
    ],
  ])('%s', (_, links, paths, lines) => {
    expect(said('bmalph', links, paths).slice(1)).toEqual(lines);
  });

  test.each<[string, readonly string[], readonly string[], readonly string[]]>([
    [
      'only they',
      ['.ralph/prd.json'],
      ['PROMPT.md', '.ralph/fix_plan.md'],
      ['`.ralph/prd.json`: not used, a symbolic link is not followed: put a file there.'],
    ],
    ["and not what may be anybody's", ['config.yaml'], ['PROMPT.md'], []],
  ])('where the repository is set up for no other Ralph: %s', (_, links, paths, lines) => {
    expect(said(null, links, paths)).toEqual(lines);
  });
});
