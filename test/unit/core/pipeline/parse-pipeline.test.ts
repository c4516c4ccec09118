import { describe, expect, test } from 'vitest';
import { findRuleProblem } from '../../../../src/config/tool-rules.ts';
import { parsePipeline, type ParsedPipeline } from '../../../../src/core/pipeline/parse-pipeline.ts';
import { formatPipelineProblems } from '../../../../src/core/pipeline/reading/command-variables.ts';
import { problemsOfPipeline } from '../../../../src/core/pipeline/resolve.ts';
import type { Step } from '../../../../src/core/pipeline/pipeline.ts';
import { cpuMs } from '../../../cpu.ts';
import { HOUR, MINUTE } from '../core-fixtures.ts';

const AGENT = '{ "type": "agent", "name": "work" }';

function parse(text: string, file = '.ralph/config.json', variables: Readonly<Record<string, string>> = {}) {
  return parsePipeline(file, text, { variables, ruleProblem: findRuleProblem });
}

/** Returns a file with these steps and an agent step. */
const withSteps = (...steps: readonly string[]): string => `{ "steps": [\n${[AGENT, ...steps].join(',\n')}\n] }`;

function stepsOf(parsed: ParsedPipeline): readonly Step[] {
  if (parsed.kind !== 'planned') throw new Error(JSON.stringify(parsed));
  return parsed.steps.map(({ step }) => step);
}

/** Returns the problems reported about a file; `texts` are those of the base branch. */
function problemsOf(
  parsed: ParsedPipeline,
  { file = '.ralph/config.json', texts = {} }: { file?: string; texts?: Readonly<Record<string, string>> } = {},
): readonly string[] {
  return parsed.kind === 'wrong' ? problemsOfPipeline(file, parsed, { texts, unread: {} }) : [];
}

const plain = { timeoutMs: null, maxRetries: 0, retryDelayMs: 1000, continueOnError: false, breaker: null };
const agent = {
  ...plain,
  kind: 'agent',
  prompt: null,
  model: null,
  allowedTools: null,
  agent: null,
  review: null,
  session: 'continue',
  marker: null,
} as const;

describe('a file with steps', () => {
  test('of the Go Ralph is read as it is: its agents, timeouts, retries and marker', () => {
    const text = JSON.stringify({
      name: 'default-loop',
      description: 'Default',
      steps: [
        {
          type: 'agent',
          name: 'setup',
          config: {
            prompt_file: '.ralph/prompts/SETUP_PROMPT.md',
            prd_file: '.ralph/prd.json',
            session_file: '.ralph/.ralph_session',
            marker_file: '.ralph/.ralph_setup_done',
            allowed_tools: 'Write,Bash(git diff:*),Read',
            timeout: '15m',
            log_dir: '.ralph/logs',
          },
          timeout: '20m',
          max_retries: 1,
          retry_delay: '30s',
        },
        { type: 'agent', name: 'run-claude', config: { allowedTools: ['Read', 'Edit'] }, timeout: 90 },
        {
          ...{ type: 'readme-check', name: 'update-docs', enabled: true, continue_on_error: true },
          ...{ timeout: '1m', max_retries: 2 },
        },
      ],
    });
    const parsed = parse(text, '.ralph/configs/default.json');
    expect(stepsOf(parsed)).toEqual([
      {
        ...agent,
        name: 'setup',
        timeoutMs: 15 * MINUTE,
        maxRetries: 1,
        retryDelayMs: 30_000,
        allowedTools: ['Write', 'Bash(git diff:*)', 'Read'],
        marker: { file: '.ralph/.ralph_setup_done', isOnBase: false },
      },
      { ...agent, name: 'run-claude', timeoutMs: 90_000, allowedTools: ['Read', 'Edit'] },
      {
        ...plain,
        kind: 'readme-check',
        name: 'update-docs',
        timeoutMs: MINUTE,
        maxRetries: 2,
        continueOnError: true,
        path: 'README.md',
        patterns: ['*.go', 'cmd/**/*.go', 'internal/**/*.go', 'configs/*.json'],
      },
    ]);
    expect(parsed).toMatchObject({
      unused: ['prd_file', 'session_file', 'log_dir', 'timeout of update-docs', 'max_retries of update-docs'],
      maxIterationsPerTask: 0,
    });
  });

  test('in YAML is the same', () => {
    const text = `
max_loops_per_task: 4
steps:
  - type: agent
    name: work
  - { type: command, name: lint, config: { command: npm run lint }, circuit_breaker: { threshold: 2, reset_after: 1h } }
  - { type: git-commit, name: keep }
  - { type: noop, name: nothing, config: { any: thing } }
`;
    const parsed = parse(text, '.ralph/config.yaml');
    expect(stepsOf(parsed)).toEqual([
      { ...agent, name: 'work' },
      {
        ...plain,
        kind: 'command',
        name: 'lint',
        command: 'npm run lint',
        breaker: { threshold: 2, resetAfterMs: HOUR },
      },
      { ...plain, kind: 'git-commit', name: 'keep' },
      { ...plain, kind: 'noop', name: 'nothing' },
    ]);
    expect(parsed).toMatchObject({ maxIterationsPerTask: 4 });
  });

  test('may say other things beside them', () => {
    expect(parse(`{ "signals": { "done": ["all tests green"] }, "$schema": "x", "steps": [${AGENT}] }`).kind).toBe(
      'planned',
    );
  });

  test('leaves out what is switched off', () => {
    const off = [
      '{ "type": "noop", "name": "off", "enabled": false }',
      '{ "type": "git-commit", "name": "off too", "config": { "enabled": false } }',
    ];
    expect(stepsOf(parse(withSteps(...off))).map(({ name }) => name)).toEqual(['work']);
  });

  test('has variables of the agent put in, but never into a command', () => {
    const text = withSteps(
      '{ "type": "agent", "name": "review", "timeout": "${WAIT:-3m}", "config": { "model": "${MODEL}${TOKEN}" } }',
      '{ "type": "command", "name": "say", "config": { "command": "echo ${MODEL} ${TOKEN:-none}" } }',
    );
    const parsed = parse(text, '.ralph/config.json', { MODEL: 'son"net${TOKEN}' });
    expect(stepsOf(parsed).slice(1)).toMatchObject([
      { model: 'son"net${TOKEN}', timeoutMs: 3 * MINUTE },
      { command: 'echo ${MODEL} ${TOKEN:-none}' },
    ]);
    expect(parsed).toMatchObject({ missing: ['TOKEN'] });
  });
});

describe('a variable that is a whole value', () => {
  const text = (max: string, on: string, model: string): string =>
    `{ "max_loops_per_task": ${max}, "steps": [\n{ "type": "agent", "name": "a", "max_retries": ${max}, "continue_on_error": ${on}, "timeout": ${max}, "config": { "model": ${model} } }\n] }`;
  const expected = { maxRetries: 5, continueOnError: true, timeoutMs: 5000, model: 'opus' };

  test.each<[string, string, Readonly<Record<string, string>>]>([
    ['with its default', text('${MAX:-5}', '${E:-true}', '${M:-"opus"}'), {}],
    ['with its value', text('${MAX}', '${E}', '${M}'), { MAX: '5', E: 'true', M: 'opus' }],
    ['in quotes', text('"${MAX:-5}"', '"${E:-true}"', '"${M:-opus}"'), { MAX: '' }],
  ])('is a number, a switch or a text as its key wants: %s', (_, file, variables) => {
    const parsed = parse(file, '.ralph/config.json', variables);
    expect(stepsOf(parsed)).toMatchObject([expected]);
    expect(parsed).toMatchObject({ maxIterationsPerTask: 5 });
  });

  test('in YAML is the same', () => {
    const file =
      'max_loops_per_task: ${MAX:-5}\nsteps:\n  - type: agent\n    name: a\n    max_retries: "${MAX:-5}"\n    continue_on_error: ${E}\n';
    expect(stepsOf(parse(file, '.ralph/config.yaml', { E: 'true' }))).toMatchObject([
      { maxRetries: 5, continueOnError: true },
    ]);
  });

  test.each<[string, string, Readonly<Record<string, string>>, readonly string[]]>([
    [
      'never structure',
      text('5', 'true', '${M}'),
      { M: '"x" }, "session": "fresh", "config": { "model": "y"' },
      ['2:113 `model` must be the name of a model'],
    ],
    [
      'no number where one is wanted',
      text('${MAX}', 'true', '"x"'),
      { MAX: 'five' },
      [
        '1:25 `max_loops_per_task` must be a number, but is "five"',
        '2:48 `max_retries` must be a number, but is "five"',
        '2:94 `timeout` must be a duration such as "10m" or "90s", or a number of seconds, but is "five"',
      ],
    ],
    [
      'no switch where one is wanted',
      text('5', '${E}', '"x"'),
      { E: 'yes' },
      ['2:72 `continue_on_error` must be true or false, but is "yes"'],
    ],
    ['a list', text('5', 'true', '"x"').replace('"a"', '${L}'), { L: '["x"]' }, ['2:28 `name` must begin with']],
    ['what is in no text but part of one', text('5${MAX}', 'true', '"x"'), {}, ['1:26 ', '2:49 ']],
  ])('is %s', (_, file, variables, problems) => {
    const found = problemsOf(parse(file, '.ralph/config.json', variables));
    expect(found).toHaveLength(problems.length);
    for (const [at, problem] of problems.entries()) expect(found[at]).toContain(`.ralph/config.json:${problem}`);
  });

  test('is not a name', () => {
    expect(problemsOf(parse('{ ${A:-"steps"}: [] }'))).toEqual([
      '.ralph/config.json:1:3 ${A:-steps} stands for a value and cannot be a name',
    ]);
  });

  test('is left to bash as a command', () => {
    const command = '{ "type": "command", "name": "c", "config": { "command": ${CMD} } }';
    expect(stepsOf(parse(withSteps(command), '.ralph/config.json', { CMD: 'rm -rf /' }))[1]).toMatchObject({
      command: '${CMD}',
    });
  });

  test('takes no time, however it is not closed', () => {
    const cost = cpuMs(() => {
      parse(`{ "steps": [${'${A:-'.repeat(40_000)}] }`);
      parse(`{ "steps": ["${'${A:-'.repeat(40_000)}"] }`);
    });
    expect(cost).toBeLessThan(2000);
  });
});

describe('a file without steps is not a pipeline', () => {
  test.each([
    ['.ralph/config.json', '{ "signals": {} }'],
    ['.ralph/config.json', '{ "Steps": 3 }'],
    ['config.yaml', 'Steps: [{ type: agent }]'],
    ['.ralph/config.json', '[1]'],
    ['.ralph/config.json', '"text"'],
    ['.ralph/config.yaml', 'other: tool'],
    ['.ralph/config.yaml', ''],
    ['config.yaml', 'steps: [{ run: make }]'],
    ['config.yaml', 'steps: 3'],
    ['config.yaml', 'a: [broken'],
    ['config.yaml', 'steps: [{ name: a, type: docker }]'],
    ['config.yaml', '#'.repeat(300_000)],
  ])('%s: %s', (file, text) => {
    expect(parse(text, file)).toEqual({ kind: 'no-pipeline' });
  });
});

describe("the root's config.yaml with a step in Ralph's form is a pipeline, whatever else is wrong with it", () => {
  test.each([
    ['a wrong indent', 'steps:\n  - type: agent\n    name: work\n - type: command\n', /^config\.yaml:\d+:\d+ /],
    ['a key that is there twice', 'steps:\n  - type: agent\n    name: a\n    name: b\n', /^config\.yaml:4:5 .*unique/],
    ['a type that is nearly one', 'steps: [{ type: agnet, name: work }]', /did you mean "agent"/],
  ])('%s', (_, text, problem) => {
    const read = parse(text, 'config.yaml');
    expect(read.kind === 'wrong' ? formatPipelineProblems('config.yaml', read.problems)[0] : '').toMatch(problem);
  });
});

test('a bare list of steps is wrong, and says what to do', () => {
  expect(parse('[{ "type": "agent", "name": "work" }]')).toMatchObject({
    kind: 'wrong',
    problems: [{ message: expect.stringContaining('put it into an object') }],
  });
});

describe('mistakes are reported with file, line and column', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'an unknown type',
      withSteps('{ "type": "comand", "name": "lint" }'),
      [
        '3:11 `type` is "comand", not a type of step (agent, command, git-commit, readme-check, noop): did you mean "command"?',
      ],
    ],
    ['no type', withSteps('{ "name": "lint" }'), ['3:1 `type` is missing']],
    ['no name', withSteps('{ "type": "noop" }'), ['3:1 `name` is missing']],
    [
      'a negative timeout',
      withSteps('{ "type": "noop", "name": "a", "timeout": "-5m" }'),
      ['3:43 `timeout` must not be negative, but is "-5m"'],
    ],
    [
      'a negative number of seconds',
      withSteps('{ "type": "noop", "name": "a", "timeout": -5 }'),
      ['3:43 `timeout` must not be negative, but is -5'],
    ],
    [
      'no duration',
      withSteps('{ "type": "noop", "name": "a", "retry_delay": "soon" }'),
      ['3:47 `retry_delay` must be a duration such as "10m" or "90s", or a number of seconds, but is "soon"'],
    ],
    [
      'a timeout without end',
      withSteps('{ "type": "noop", "name": "a", "timeout": "100h" }'),
      ['3:43 `timeout` must be at most 24h, but is "100h"'],
    ],
    [
      'too many retries',
      withSteps('{ "type": "noop", "name": "a", "max_retries": 1000 }'),
      ['3:47 `max_retries` must be a whole number from 0 to 10'],
    ],
    [
      'a key that was meant otherwise, by itself and for each',
      withSteps('{ "type": "noop", "name": "a", "timout": 1, "zzz": 2 }'),
      ['3:32 `timout` is not known here: did you mean `timeout`?', '3:45 `zzz` is not known here'],
    ],
    [
      'a key of config beside it',
      withSteps('{ "type": "command", "name": "a", "command": "ls", "config": { "command": "ls" } }'),
      ['3:35 `command` belongs in `config` of the step'],
    ],
    [
      'a key of another type',
      withSteps('{ "type": "command", "name": "a", "config": { "command": "ls", "model": "x" } }'),
      ['3:64 `model` is not known here'],
    ],
    [
      'a name that is taken',
      withSteps('{ "type": "noop", "name": "work" }'),
      ['3:27 another step is also called "work"'],
    ],
    [
      'a command that is empty',
      withSteps('{ "type": "command", "name": "a", "config": { "command": " " } }'),
      ['3:58 `command` is empty: give a command'],
    ],
    [
      'a path out of the repository',
      withSteps('{ "type": "agent", "name": "a", "config": { "prompt_file": "../x.md" } }'),
      ['3:60 `prompt_file` must be the path of one file in the repository, without `..` and wildcards'],
    ],
    [
      'an invalid rule',
      withSteps('{ "type": "agent", "name": "a", "config": { "allowed_tools": "read" } }'),
      [
        '3:62 the list of tool rules has the rule "read": names of tools begin with a capital letter or mcp__. Did you mean Read?',
      ],
    ],
    [
      'a marker that is taken',
      withSteps(
        '{ "type": "agent", "name": "a", "config": { "marker_file": "done" } }',
        '{ "type": "agent", "name": "b", "config": { "marker_file": "./done" } }',
      ),
      ['4:60 the step "a" has the same `marker_file`, so this step would never run'],
    ],
    [
      'a cycle of markers: each waits for the other',
      withSteps(
        '{ "type": "agent", "name": "a", "config": { "marker_file": "one", "prompt_file": "two" } }',
        '{ "type": "agent", "name": "b", "config": { "marker_file": "two", "prompt_file": "one" } }',
      ),
      [
        '3:82 `prompt_file` is the `marker_file` of the step "b": markers are not written as files, so it would wait forever',
        '4:82 `prompt_file` is the `marker_file` of the step "a": markers are not written as files, so it would wait forever',
      ],
    ],
    [
      'a pipeline that calls nobody',
      '{ "steps": [{ "type": "noop", "name": "a" }] }',
      ['1:3 `steps` has no `agent` step that is enabled'],
    ],
    [
      'a pipeline that only reviews',
      '{ "steps": [{ "type": "agent", "name": "a", "config": { "role": "review" } }] }',
      ['1:3 every `agent` step is a review, so nobody would do the task'],
    ],
    [
      'a review that runs once, and findings of no review',
      '{ "steps": [{ "type": "agent", "name": "a", "config": { "role": "review", "marker_file": "m" } }, { "type": "agent", "name": "b", "config": { "hold": "high" } }] }',
      [
        '1:90 a review runs in every iteration, so it has no `marker_file`',
        '1:151 only a step with `role: review` has findings that hold',
      ],
    ],
    [
      'an unknown agent',
      '{ "steps": [{ "type": "agent", "name": "a", "config": { "agent": "copilto" } }] }',
      ['1:66 `agent` must be one of: claude, codex, gemini, opencode, copilot, qwen, acp, command'],
    ],
    [
      'a pipeline that no longer calls anybody',
      '{ "steps": [{ "type": "agent", "name": "a", "config": { "marker_file": "m" } }] }',
      ['1:3 every `agent` step has a `marker_file`, so no agent would be called after the first iteration'],
    ],
    ['no steps', '{ "steps": [] }', ['1:12 `steps` is empty: give at least one step']],
    ['steps that are not a list', '{ "steps": 3 }', ['1:12 `steps` must be a list, but is 3']],
    [
      'too many steps',
      `{ "steps": [${Array.from({ length: 21 }, (_, at) => `{ "type": "noop", "name": "n${String(at)}" }`).join(',')}] }`,
      ['1:3 `steps` has no `agent` step that is enabled', '1:12 `steps` has more than 20 steps'],
    ],
    ['steps in other letters', `{ "Steps": [${AGENT}] }`, ['1:3 `Steps` is not known here: did you mean `steps`?']],
    ['a single step', `{ "step": [${AGENT}] }`, ['1:3 `step` is not known here: did you mean `steps`?']],
    [
      'a timeout that is cut to nothing',
      withSteps('{ "type": "noop", "name": "a", "timeout": "0.4ms", "retry_delay": "1ns" }'),
      ['3:43 `timeout` must be at least 1ms, but is "0.4ms"', '3:67 `retry_delay` must be at least 1ms, but is "1ns"'],
    ],
    [
      'seconds that are cut to nothing',
      withSteps('{ "type": "noop", "name": "a", "timeout": 0.0001 }'),
      ['3:43 `timeout` must be at least 1ms, but is 0.0001'],
    ],
    [
      'a name that is there twice',
      '{ "steps": [], "steps": [{ "type": "agent", "name": "a", "timeout": 1, "timeout": 2 }] }',
      ['1:16 `steps` occurs twice: remove one', '1:72 `timeout` occurs twice: remove one'],
    ],
    ['JSON that is broken', '{ "steps": [', ['1:13 the file ends in the middle of a value']],
  ])('%s', (_, text, problems) => {
    expect(problemsOf(parse(text))).toEqual(problems.map((problem) => `.ralph/config.json:${problem}`));
  });

  test('all at once, in the order of the file', () => {
    const text = withSteps('{ "type": "noop", "name": "a", "timeout": "-1s" }', '{ "type": "no", "name": "b" }');
    expect(problemsOf(parse(text)).map((problem) => problem.slice(0, 24))).toEqual([
      '.ralph/config.json:3:43 ',
      '.ralph/config.json:4:11 ',
    ]);
  });

  test.each<[string, readonly string[], readonly string[]]>([
    [
      'rules of tools, names and prompts of steps beside it',
      [
        '{ "type": "shell", "name": "work" }',
        '{ "type": "agent", "name": "a", "config": { "allowed_tools": "Bash(" } }',
        '{ "type": "agent", "name": "a", "config": { "prompt_file": "gone.md" } }',
        '{ "type": "agent", "name": "b", "config": { "prompt_file": "blank.md" } }',
      ],
      [
        '3:11 `type` is "shell", not',
        '3:28 another step is also called "work"',
        '4:62 the list of tool rules has the rule "Bash("',
        '5:28 another step is also called "a"',
        '5:60 `prompt_file` gone.md is not a file of the base branch',
        '6:60 `prompt_file` blank.md is empty',
      ],
    ],
    [
      'what else is wrong with the same step',
      [
        '{ "type": "agent", "name": "a", "timeout": "-1m", "config": { "allowed_tools": "Bash(", "prompt_file": "gone.md", "modle": 1 } }',
        '{ "type": "agent", "name": "b", "circuit_breaker": { "threshold": 0 }, "config": { "prompt_file": "here.md" } }',
      ],
      [
        '3:44 `timeout` must not be negative',
        '3:80 the list of tool rules has the rule "Bash("',
        '3:104 `prompt_file` gone.md is not a file',
        '3:115 `modle` is not known here: did you mean `model`?',
        '4:67 `threshold` must be a whole number',
      ],
    ],
    [
      'what is wrong with a step of no known type',
      ['{ "type": "shell", "name": "", "timeout": "-1m", "max_retrys": 1, "config": { "any": 1 } }'],
      [
        '3:11 `type` is "shell", not',
        '3:28 `name` must begin',
        '3:43 `timeout` must not',
        '3:50 `max_retrys` is not known here: did you mean `max_retries`?',
      ],
    ],
    [
      'a cycle of markers, without a second word of the same prompt',
      [
        '{ "type": "agent", "name": "a", "timeout": "-1m", "config": { "marker_file": "one", "prompt_file": "two" } }',
        '{ "type": "agent", "name": "b", "config": { "marker_file": "two", "prompt_file": "one" } }',
      ],
      [
        '3:44 `timeout` must not be negative',
        '3:100 `prompt_file` is the `marker_file` of the step "b"',
        '4:82 `prompt_file` is the `marker_file` of the step "a"',
      ],
    ],
    [
      'nothing that may be due to what cannot be read',
      ['{ "type": "agnt", "name": "a" }', '"text"', '{ "type": "agent", "name": "b", "config": { "marker_file": 3 } }'],
      ['3:11 `type` is "agnt", not', '4:1 the step must be an object', '5:60 `marker_file` must be a string'],
    ],
  ])('whatever the schema refuses: %s', (_, steps, problems) => {
    const text = withSteps(...steps);
    const found = problemsOf(parse(text), { texts: { 'here.md': 'Work.', 'blank.md': ' ' } });
    expect(found).toHaveLength(problems.length);
    for (const [at, problem] of problems.entries()) expect(found[at]).toContain(`.ralph/config.json:${problem}`);
  });

  test('a pipeline of which steps cannot be read is not said to call nobody', () => {
    const text = '{ "steps": [{ "type": "agnt", "name": "a" }, { "type": "noop", "name": "b" }] }';
    expect(problemsOf(parse(text))).toHaveLength(1);
  });

  test('of more than sixty the first, and how many there are', () => {
    const step = (at: number): string => `{ "type": "noop", "name": "n${String(at)}", "a": 1, "b": 2, "c": 3, "d": 4 }`;
    const problems = problemsOf(parse(withSteps(...Array.from({ length: 18 }, (_, at) => step(at)))));
    expect(problems).toHaveLength(61);
    expect(problems.at(-1)).toBe('.ralph/config.json has 12 more problems');
  });

  test('in YAML as well', () => {
    const text =
      'steps:\n  - type: agent\n    name: a\n    timeout: -5m\n  - type: noop\n    name: a\n    retries: 2\n';
    const file = '.ralph/config.yaml';
    expect(problemsOf(parse(text, file), { file })).toEqual([
      '.ralph/config.yaml:4:14 `timeout` must not be negative, but is "-5m"',
      '.ralph/config.yaml:6:11 another step is also called "a"',
      '.ralph/config.yaml:7:5 `retries` is not known here',
    ]);
    expect(problemsOf(parse('steps:\n  - a: [1\n', file), { file })[0]).toMatch(/^\.ralph\/config\.yaml:\d+:\d+ /);
  });

  test('a file that is too long is not read', () => {
    expect(problemsOf(parse(' '.repeat(300_000)))).toEqual(['.ralph/config.json is longer than 256 KiB']);
  });
});
