import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { events, startTestbed } from '../../testbed/testbed.ts';
import type { Behaviour } from '../../testbed/scripted-agent.ts';
import type { Row } from '../measure.ts';

/**
 * Maximum number of git processes that a run and GitHub's stand-in start. The children of git itself are not counted,
 * since no tool available on every machine sees them: strace showed 54 more in November 2026.
 */
const GOAL = 119;
const GOAL_PUSHES = 5;

/** A module that is preloaded into main and post, and records each program that they start. */
const NOTING = `
const { subscribe } = require('node:diagnostics_channel');
const { appendFileSync } = require('node:fs');
subscribe('child_process', ({ process: child }) =>
  queueMicrotask(() => appendFileSync(process.env.STARTED_LOG, JSON.stringify(child.spawnargs) + '\\n')));
`;

const finishes: Behaviour = {
  kind: 'shell',
  script: 'echo farewell > farewell.txt',
  text: 'All of it.',
  status: { finishes: true, exit: true },
};

/**
 * Counts git processes and pushes, main and post, of a run with one iteration that finishes its task and is verified.
 */
export async function countGitProcesses(folder: string): Promise<readonly Row[]> {
  await mkdir(folder, { recursive: true });
  const [log, noting, script] = ['started', 'noting.cjs', 'script.json'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(log, '');
  await writeFile(noting, NOTING);
  await writeFile(script, JSON.stringify([finishes]));
  await using testbed = await startTestbed(join(folder, 'sandbox'));
  testbed.openIssue({ title: 'Add a farewell', body: 'With a test.' });
  let answeredBefore = 0;
  const { outputs, main } = await testbed.run({
    event: events.schedule(),
    inputs: { 'agent-env': 'RALPH_SCRIPT', verify: 'true' },
    env: { NODE_OPTIONS: `--require=${noting}`, STARTED_LOG: log, RALPH_SCRIPT: script },
    // Do not count requests of the checkout step.
    prepare: () => {
      answeredBefore = testbed.remote.requests.length;
      return Promise.resolve();
    },
  });
  if (outputs['iterations'] !== '1' || outputs['outcome'] !== 'complete')
    throw new Error(`the run did not finish its task in one iteration:\n${main.log}`);
  const lines = (await readFile(log, 'utf8')).trim().split('\n');
  const started = lines.map((line) => JSON.parse(line) as readonly string[]).filter(isGit);
  const answering = testbed.remote.requests.length - answeredBefore;
  const pushes = started.filter((args) => args.includes('push')).length;
  const all = started.length + answering;
  return [
    {
      measure: 'git processes: run with one iteration',
      value: `${String(all)} (${String(started.length)} started, ${String(answering)} of the stand-in)`,
      goal: `≤ ${String(GOAL)}`,
      isMet: started.length > 0 && all <= GOAL,
    },
    {
      measure: 'git processes: pushes of that run, with the one that can never succeed',
      value: String(pushes),
      goal: `≤ ${String(GOAL_PUSHES)}`,
      isMet: pushes <= GOAL_PUSHES,
    },
  ];
}

const isGit = ([program = '']: readonly string[]): boolean => /(?:^|\/)git$/.test(program);
