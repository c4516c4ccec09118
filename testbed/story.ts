import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PACKAGED_AGENTS, type PackagedAgent } from '../src/core/agent-names.ts';
import { wrapText } from '../src/cli/terminal-text.ts';
import { keepBranches, keepGitHub, keepRun } from './keep-results.ts';
import { NotPlayable } from './own-repository/repository.ts';
import { isGood, tryRepository, type Trial } from './own-repository/try.ts';
import { ACTION_FOLDER, events, startTestbed, type Testbed, type TestbedJob } from './testbed.ts';
import { startScriptedModel } from './scripted-model/server.ts';
import {
  castScripted,
  castWithKey,
  castWithModel,
  keysOf,
  STORY_AGENTS,
  buildAgentWorkflow,
  type CastAgent,
} from './story/agents.ts';
import { createStoryFeedback } from './story/feedback.ts';
import { createWorkerScript } from './worker-script.ts';
import { findRunEnd, playWorkflow } from './workflow/play.ts';

const USAGE = `npm start -- [--agent NAME [--scripted-model]] [--out FOLDER]
npm start -- --repo DIR [--commands] [--out FOLDER]

Plays scheduled runs, a labelled issue, commands by comment, a review, a red check and a conflict against GitHub, cache
and git stand-ins on this machine.
  --agent scripted    a script in the place of the agent (default): no account, no key, no model
  --agent NAME        the real CLI, installed from npm (100 to 400 MB, once), with your key from the environment:
${keyLines()}
  --scripted-model    with --agent NAME: a scripted model on loopback behind the real CLI, without a key
  --out FOLDER        where to leave what came of it (default: sandbox-output; with --repo: nowhere)

With --repo, the same for your own repository: a copy of its HEAD, with what ralph init wrote and nobody committed yet,
and your own workflow. A scheduled run, a labelled issue and "/ralph status" by the scripted agent. DIR is not changed.
  --repo DIR          a checkout with a workflow that uses ralph-action
  --commands          also runs the steps of your workflow and its verify, on this machine
Exit codes: 0 every event that the workflow names ends well, 1 one does not, 2 there is nothing to play.`;

/** One act of the story: an event, and the outcome that its run must have. */
interface Act {
  readonly title: string;
  readonly expected: string;
  readonly event: TestbedJob['event'];
  /** The workflow's `with:`, in addition to the key and `verify`. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** Lines below `settings:` in addition to the agent's. */
  readonly settings?: readonly string[];
  /** The words that the summary must have; by default none. */
  readonly shows?: string;
}

const TEMPLATE = join(ACTION_FOLDER, 'templates', 'workflows', 'ralph.yml');
const CALLING = join(ACTION_FOLDER, 'templates', 'workflows', 'three-jobs.yml');

const options = readOptions();
const output = resolve(options.out ?? join(ACTION_FOLDER, 'sandbox-output'));
await (options.repo === null ? play() : playOwn(options.repo));

async function playOwn(repo: string): Promise<void> {
  try {
    // npm changes the working folder, and names the original one in INIT_CWD.
    const folder = resolve(process.env['INIT_CWD'] ?? '.', repo);
    const { commands } = options;
    const tried = await tryRepository({ folder, commands, out: options.out === null ? null : output, print });
    process.exitCode = isGood(tried) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof NotPlayable)) throw error;
    console.error(`ralph sandbox: ${error.message}`);
    process.exitCode = 2;
  }
}

async function play(): Promise<void> {
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const temp = await mkdtemp(join(tmpdir(), 'ralph-sandbox-'));
  try {
    await playStory(temp);
  } finally {
    await rm(temp, { recursive: true, force: true });
  }
}

async function playStory(temp: string): Promise<void> {
  const { casting } = options;
  if (casting.kind === 'cast') return playWith(casting.agent, temp);
  await using model = await startScriptedModel({ script: createWorkerScript() });
  await playWith(castWithModel(casting.name, model.url), temp);
}

async function playWith(agent: CastAgent, temp: string): Promise<void> {
  await using testbed = await startTestbed(temp);

  print(
    'The ralph-action sandbox. GitHub, the Actions cache and the git remote are stand-ins on loopback; the workflows are those of templates/workflows/, and the action is the committed bundle, started as the runner starts it.',
  );
  print(agent.notice);
  const issues = [
    testbed.openIssue({
      title: 'Add a farewell',
      body: 'There is `greet` in src/greet.js. Add a farewell beside it, with a test.',
    }),
    testbed.openIssue({
      title: 'Add a product of numbers',
      body: 'Like `sum`, for multiplication.',
      labels: ['ralph', 'P1'],
    }),
    testbed.openIssue({ title: 'Say hello in German', body: 'An optional second argument `language`.' }),
  ];
  print(
    `Open issues with the label "ralph": ${issues.map(({ number, title }) => `#${String(number)} ${title}`).join(', ')}`,
  );

  const perform = performer(testbed, { agent, template: await readFile(TEMPLATE, 'utf8') });
  const results = [
    await perform({
      title: 'Run 1: the schedule fires. At most 3 iterations',
      expected: 'limit',
      event: events.schedule(),
      inputs: { 'max-iterations': '3' },
    }),
    await perform({
      title:
        'Run 2: the schedule fires again, on a new machine. The state comes back from the git ref, the session from the cache',
      expected: 'complete',
      event: events.schedule(),
    }),
    await perform({
      title: 'Run 3: and again. There is nothing left to do',
      expected: 'idle',
      event: events.schedule(),
    }),
  ];

  const urgent = testbed.openIssue({
    title: 'Greet several people at once',
    body: '`greet("Ada", "Bob")` should greet both.',
  });
  results.push(
    await perform({
      title: `Run 4: somebody puts the label "ralph" on a new issue, #${String(urgent.number)}. It gets a branch of its own`,
      expected: 'complete',
      event: events.labeled(urgent),
    }),
  );

  const [queued] = issues;
  const comment = (body: string): TestbedJob['event'] =>
    events.comment(testbed.github, { issue: queued ?? urgent, body });
  results.push(
    await perform({
      title: 'Run 5: somebody comments "/ralph status". No agent call is made',
      expected: 'idle',
      event: comment('/ralph status'),
    }),
    await perform({
      title: 'Run 6: somebody comments "/ralph pause"',
      expected: 'idle',
      event: comment('/ralph pause'),
    }),
    await perform({ title: 'Run 7: the schedule fires, and obeys', expected: 'paused', event: events.schedule() }),
    await perform({
      title: 'Run 8: somebody comments "/ralph resume"',
      expected: 'idle',
      event: comment('/ralph resume'),
    }),
  );

  const performSplit = performer(testbed, { agent, template: await readFile(CALLING, 'utf8') });
  const last = testbed.openIssue({ title: 'Say goodbye to several people', body: 'As for greetings.' });
  results.push(
    await performSplit({
      title: `Run 9: the label "ralph" on #${String(last.number)}, by the reusable workflow: three jobs on three machines, and only what they hand over in common`,
      expected: 'complete',
      event: events.labeled(last),
    }),
  );

  const feedback = createStoryFeedback(testbed, 'ralph/queue');
  results.push(
    await perform({
      title:
        "Run 10: somebody reviews the queue's pull request, in two threads. One spells out a change, which is committed without an agent call",
      expected: 'complete',
      event: await feedback.review(),
    }),
  );
  for (const line of feedback.conversation()) print(`  ${line}`);
  results.push(
    await perform({
      title: 'Run 11: CI fails on what was pushed: "lint" misses a licence line. The agent gets the end of its log',
      expected: 'complete',
      event: await feedback.turnRed(),
    }),
  );
  await feedback.moveBaseOn();
  results.push(
    await perform({
      title:
        'Run 12: the schedule fires. Somebody has pushed to main what conflicts with the branch, so main is merged. npm makes the lock file again',
      expected: 'complete',
      event: events.schedule(),
    }),
  );

  const beside = ['README.md', 'src/sum.js', 'src/greet.js'].map((path) =>
    testbed.openIssue({
      title: `Explain ${path}`,
      body: `Somebody who reads ${path} for the first time has questions.`,
    }),
  );
  results.push(
    await performSplit({
      title: `Run 13: three more issues, each about another file, and "parallel: 3". The schedule fires, and ${beside.map(({ number }) => `#${String(number)}`).join(', ')} are worked on at once, each in jobs of its own`,
      expected: 'complete',
      event: events.schedule('17 * * * *'),
      settings: ['parallel: 3', 'max-open-prs: 0'],
    }),
  );
  for (const { number } of beside.slice(1)) await changeReadme(testbed, `ralph/issue-${String(number)}`);
  results.push(
    await perform({
      title:
        'Run 14: somebody changes the same lines in two of these pull requests, and comments "/ralph status" to read in which order to merge',
      expected: 'idle',
      event: comment('/ralph status'),
      shows: 'which comes first',
    }),
  );

  await keepGitHub(testbed, output);
  await keepBranches(testbed, output);
  const problems = [
    ...results.filter((problem) => problem !== null),
    ...(await feedback.problems()),
    ...testbed.github.violations.map(
      ({ where, problem }) => `GitHub's OpenAPI description forbids: ${where}: ${problem}`,
    ),
  ];
  for (const problem of problems) console.error(`NOT AS EXPECTED: ${problem}`);
  const shown = relative(process.cwd(), output) || output;
  print(`Look at it: ${shown}/ holds the pull requests, comments, threads, summaries, logs and the pushed branches.`);
  print(
    `How the queue stands: node ${relative(process.cwd(), join(ACTION_FOLDER, 'dist', 'cli', 'index.js'))} status --dir ${shown}/ralph-queue`,
  );
  if (problems.length > 0) process.exitCode = 1;
}

/** Returns a function that plays one act; it returns the failed expectations as sentences. */
function performer(
  testbed: Testbed,
  { agent, template }: { readonly agent: CastAgent; readonly template: string },
): (act: Act) => Promise<string | null> {
  return async ({ title, expected, event, inputs = {}, settings = [], shows = '' }) => {
    print(`\n${title}`);
    const requestsBefore = testbed.github.requests.length;
    const played = await playWorkflow(testbed, {
      workflow: buildAgentWorkflow(template, agent.workflow, {
        verify: 'npm test',
        ...inputs,
        ...settingsFor(agent, settings),
      }),
      event,
      secrets: agent.secrets,
      standIn: agent,
      onOutput: narrator(),
    });
    const end = findRunEnd(played);
    if (end.kind !== 'ran') return `${title}: expected ${expected}, got no run (${end.kind})`;
    const { result } = end;
    await keepRun(join(output, title.slice(0, title.indexOf(':')).toLowerCase().replace(' ', '-')), result);
    const { outcome = 'none', reason = 'none' } = result.outputs;
    print(
      `  → ${outcome} (${reason}), exit code ${String(result.main.exitCode)}, requests to the API: ${String(testbed.github.requests.length - requestsBefore)}, ${(result.main.durationMs / 1000).toFixed(1)} s`,
    );
    for (const line of shows === '' ? [] : mergeOrderIn(result.summary)) print(`  ${line}`);
    if (!result.summary.includes(shows)) return `${title}: the summary does not say "${shows}"`;
    return outcome === expected && result.main.exitCode === 0
      ? null
      : `${title}: expected ${expected}, got ${outcome} with exit code ${String(result.main.exitCode)}`;
  };
}

/** Returns the lines of a summary on the order in which to merge. */
function mergeOrderIn(summary: string): readonly string[] {
  const [, lines = ''] = /^### Merge order\n((?:- .*\n?)+)/m.exec(summary) ?? [];
  return lines.split('\n').filter(Boolean);
}

/** Pushes a commit of a person to a branch, about the same lines on each. */
async function changeReadme({ remote, github }: Testbed, branch: string): Promise<void> {
  const headSha = await remote.commitByHand(branch, { 'README.md': `# Sample\n\nSee ${branch}.\n` });
  const pull = github.state.pulls.find(({ head }) => head === branch);
  if (pull !== undefined) Object.assign(pull, { headSha });
}

/** Returns the input `settings` with these lines after those of the agent; without any, the agent's own counts. */
function settingsFor({ workflow }: CastAgent, lines: readonly string[]): Readonly<Record<string, string>> {
  const own = (workflow.inputs['settings'] ?? '').replace(/^'(.*)'$/, '$1');
  return lines.length === 0 ? {} : { settings: JSON.stringify([own, ...lines].filter(Boolean).join('\n')) };
}

/** Returns a function that prints the lines of a log that tell the story. */
function narrator(): (text: string) => void {
  let rest = '';
  let lastState = '';
  // Leave out the short repetition at the end that a state was not saved everywhere; the log has explained it before.
  const isNews = (line: string): boolean =>
    !line.startsWith('state: ') || (line !== lastState && !line.includes('✗: '));
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines)
      if (
        /^(job [^:]+ \([^()]*\)$|Works on \d|Handed over|\[[█░]+\]|iteration \d|state: |session: |pushed |pull request #|answers: |applied the |merging |`npm` made |order: |Paused|Resumed)/.test(
          line,
        ) &&
        isNews(line)
      ) {
        if (line.startsWith('state: ')) lastState = line;
        print(`  ${line}`);
      }
  };
}

/** The agent of the story; with `before-model` it is known only after the scripted model has started. */
type Casting =
  | { readonly kind: 'cast'; readonly agent: CastAgent }
  | { readonly kind: 'before-model'; readonly name: PackagedAgent };

function castingOf(given: string, isModelScripted: boolean): Casting {
  const name = STORY_AGENTS.find((known) => known === given);
  if (name === undefined) throw new Error(`--agent "${given}" is not one of: ${STORY_AGENTS.join(', ')}`);
  if (name === 'scripted') {
    if (isModelScripted) throw new Error('--scripted-model goes with --agent NAME, for example --agent codex');
    return { kind: 'cast', agent: castScripted() };
  }
  if (isModelScripted) return { kind: 'before-model', name };
  const agent = castWithKey(name, process.env);
  if (agent === null)
    throw new Error(`--agent ${name} needs ${keysOf(name).join(' or ')} in the environment, or --scripted-model`);
  return { kind: 'cast', agent };
}

function readOptions(): {
  readonly casting: Casting;
  /** A person's own repository, or null for the sample project. */
  readonly repo: string | null;
  readonly commands: Trial['commands'];
  /** The folder for the results, or null for the default one. */
  readonly out: string | null;
} {
  try {
    const { values } = parseArgs({
      options: {
        agent: { type: 'string', default: 'scripted' },
        'scripted-model': { type: 'boolean', default: false },
        repo: { type: 'string' },
        commands: { type: 'boolean', default: false },
        out: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    const casting = castingOf(values.agent, values['scripted-model']);
    if (values.repo !== undefined && values.agent !== 'scripted')
      throw new Error('--repo goes with the scripted agent');
    if (values.commands && values.repo === undefined) throw new Error('--commands goes with --repo DIR');
    return {
      casting,
      ...{ repo: values.repo ?? null, commands: values.commands ? 'run' : 'leave', out: values.out ?? null },
    };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

/** Prints lines that break between words where a terminal ends. */
function print(text: string): void {
  const { isTTY, columns } = process.stdout;
  console.log(isTTY && columns > 0 ? wrapText(text, columns) : text);
}

/** Returns the help lines with the variables of each agent's keys. */
function keyLines(): string {
  return PACKAGED_AGENTS.map((name) => `${' '.repeat(22)}${name.padEnd(9)} ${keysOf(name).join(' or ')}`).join('\n');
}
