import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { labelIssue } from '../github/people.ts';
import { keepBranches, keepGitHub, keepRun } from '../keep-results.ts';
import { events, REPOSITORY, TESTBED_KEY, SCRIPTED_AGENT, startTestbed, TOKEN, type Testbed } from '../testbed.ts';
import type { Performance } from '../workflow/performance.ts';
import { findRunEnd, playWorkflow } from '../workflow/play.ts';
import { parseWorkflow, usesAction } from '../workflow/workflow.ts';
import { copyRepository, NotPlayable, openRepository, readWorkflows } from './repository.ts';

/** The options of a trial. */
export interface Trial {
  /** A folder in the person's checkout. */
  readonly folder: string;
  /** `run` runs the project's own steps and `verify` on this machine; `leave` skips them. */
  readonly commands: 'run' | 'leave';
  /** The folder for the results, or null to keep none. */
  readonly out: string | null;
  /** The stand-in for the agent; defaults to the scripted agent. */
  readonly standIn?: Performance['standIn'];
  readonly print: (line: string) => void;
}

/** One event and its result. */
export interface TriedEvent {
  readonly event: string;
  /** The result; `none` if the workflow does not name the event. */
  readonly end: 'good' | 'bad' | 'none';
  readonly says: string;
  /** The steps that were not played. */
  readonly left: readonly string[];
}

/** Plays a person's own workflow on a copy of their repository for three events; throws NotPlayable. */
export async function tryRepository(trial: Trial): Promise<readonly TriedEvent[]> {
  const { print } = trial;
  const repository = await openRepository(trial.folder);
  if (trial.out !== null) await openOutput(trial.out);
  const temp = await mkdtemp(join(tmpdir(), 'ralph-sandbox-'));
  const stop = stopCleanly(temp);
  try {
    await using testbed = await startTestbed(join(temp, 'sandbox'), ({ repositoryFolder }) =>
      copyRepository(repository, repositoryFolder),
    );
    const [workflow, ...others] = await readWorkflows(testbed.remote.repositoryFolder);
    print(
      `Tried on a copy of ${repository.folder} (${[repository.branch, repository.commit].filter(Boolean).join(', ')}), which stands there as main: ${workflow.path}.`,
    );
    print(
      'GitHub, cache and git remote are stand-ins on this machine. The agent is SCRIPTED: no model, no key, no cost.',
    );
    if (repository.uncommitted.length > 0)
      print(`Not committed yet, and tried as they are: ${repository.uncommitted.join(', ')}.`);
    if (others.length > 0) print(`Not tried: ${others.map(({ path }) => path).join(', ')}.`);
    print('');
    const tried = await playAll(testbed, workflow.text, trial);
    if (trial.out !== null) {
      await keepGitHub(testbed, trial.out);
      await keepBranches(testbed, trial.out);
    }
    return tried;
  } finally {
    stop.forget();
    await rm(temp, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Creates the folder; never replaces a person's files in it. */
async function openOutput(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0)
    throw new NotPlayable(`${JSON.stringify(folder)} is not empty: name another folder with --out.`);
}

/** True if every event that the workflow names ended well, and it names at least one. */
export function isGood(tried: readonly TriedEvent[]): boolean {
  return tried.every(({ end }) => end !== 'bad') && tried.some(({ end }) => end === 'good');
}

interface Act {
  readonly event: string;
  readonly happen: () => Performance['event'];
}

async function playAll(testbed: Testbed, text: string, trial: Trial): Promise<readonly TriedEvent[]> {
  const workflow = parsed(text);
  const [cron] = workflow.on.schedule.map((schedule) => schedule.cron);
  const jobs = Object.values(workflow.jobs);
  const step = jobs.flatMap(({ steps }) => steps).find(usesAction);
  const given = step?.with ?? jobs.find(({ uses }) => uses !== undefined)?.with ?? {};
  const label = plain(given['task-label']) ?? 'ralph';
  const verify = given['verify'] ?? '';
  const standIn = {
    inputs: {
      ...{ 'agent-path': SCRIPTED_AGENT, 'agent-args': '', 'agent-env': '', 'github-token': TOKEN },
      ...(trial.commands === 'run' || verify === '' ? {} : { verify: 'true' }),
      ...trial.standIn?.inputs,
    },
    env: trial.standIn?.env ?? {},
  };
  const secrets = Object.fromEntries(
    [...text.matchAll(/\bsecrets\.(\w+)/g)].map(([, name = '']) => [name, TESTBED_KEY] as const),
  );

  testbed.openIssue({ title: 'A task for the schedule', body: 'Something small.', labels: [label] });
  const issue = testbed.openIssue({ title: 'A task of its own', body: 'Something small.', labels: [] });
  const acts: readonly Act[] = [
    { event: `schedule (${cron ?? 'none'})`, happen: () => events.schedule(cron) },
    {
      event: `label "${label}" on an issue`,
      happen: () => {
        labelIssue(testbed.github.state, issue.number, { label, by: REPOSITORY.owner, now: Date.now() });
        return events.labeled(issue, label);
      },
    },
    {
      event: 'comment "/ralph status"',
      happen: () => events.comment(testbed.github, { issue, body: '/ralph status' }),
    },
  ];
  const tried: TriedEvent[] = [];
  for (const { event, happen } of acts) {
    const played = await playWorkflow(testbed, {
      ...{ workflow: text, event: happen(), secrets, standIn, commands: trial.commands },
    })
      .then(findRunEnd)
      .catch((error: unknown) => ({ kind: 'unplayable' as const, why: reasonOf(error) }));
    const said = { event, ...endOf(played), left: leftOf(played) };
    tried.push(said);
    for (const line of linesOf(said, played)) trial.print(line);
    if (trial.out !== null && played.kind === 'ran')
      await keepRun(join(trial.out, `run-${String(tried.length)}`), played.result);
  }
  const left = [...new Set(tried.flatMap((one) => one.left))];
  if (left.length > 0) trial.print(`\nSteps that did not run here: ${left.map(firstLine).join('; ')}.`);
  if (trial.commands === 'leave' && verify !== '')
    trial.print(
      `verify counted as passed: ${firstLine(verify)}. With --commands it runs on this machine, as do your own steps.`,
    );
  return tried;
}

/** `unplayable` means that the testbed cannot play the workflow, although GitHub may be able to. */
type Came = ReturnType<typeof findRunEnd> | { readonly kind: 'unplayable'; readonly why: string };

function endOf(played: Came): Pick<TriedEvent, 'end' | 'says'> {
  switch (played.kind) {
    case 'not-triggered':
      return { end: 'none', says: `starts nothing: ${played.why}` };
    case 'unplayable':
      return { end: 'bad', says: `the sandbox cannot play this: ${played.why}` };
    case 'skipped':
      return { end: 'bad', says: "starts nothing: the job's `if` does not hold" };
    case 'without-action': {
      const failed = played.steps.find(({ end }) => end === 'failure');
      return { end: 'bad', says: `the step before failed: ${firstLine(failed?.name ?? 'unknown')}` };
    }
    case 'ran': {
      const { main, post, outputs } = played.result;
      const { outcome = 'none', reason = 'none', iterations = '0', branch = '', 'pr-number': pull = '' } = outputs;
      const isGoodEnd = main.exitCode === 0 && post.exitCode === 0 && !/^(?:failed|halted|none)$/.test(outcome);
      const work = [
        ...(iterations === '0' || iterations === '' ? [] : [`${iterations} iterations`]),
        ...(pull === '' || iterations === '0' ? [] : [`pull request #${pull} of ${branch}`]),
      ].join(', ');
      return { end: isGoodEnd ? 'good' : 'bad', says: `${outcome} (${reason})${work === '' ? '' : `: ${work}`}` };
    }
  }
}

/** Returns one line for a good end, and the end of the log for a bad one. */
function linesOf({ event, end, says }: TriedEvent, played: Came): readonly string[] {
  const mark = { good: '✓', bad: '✗', none: '–' }[end];
  const line = `${mark} ${event.padEnd(26)}  ${says}`;
  if (end !== 'bad') return [line];
  const log =
    played.kind === 'ran'
      ? played.result.main.log + played.result.post.log
      : 'steps' in played
        ? played.steps.map((step) => step.log).join('')
        : '';
  const shown = log.split('\n').filter((row) => row.trim() !== '' && !NOISE.test(row));
  return [line, ...shown.slice(-LOG_LINES).map((row) => `    ${row}`)];
}

const LOG_LINES = 15;
/** Commands to the runner that are not shown; the annotation of a failure repeats the log. */
const NOISE = /^::(?:add-mask::|debug::|error::Failed: )/;

function leftOf(played: Came): readonly string[] {
  return 'steps' in played ? played.steps.flatMap(({ name, end }) => (end === 'not-played' ? [name] : [])) : [];
}

function parsed(text: string): ReturnType<typeof parseWorkflow> {
  try {
    return parseWorkflow(text);
  } catch (error) {
    throw new NotPlayable(reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns a literal value, or null for an expression or a missing value. */
function plain(value: string | undefined): string | null {
  return value === undefined || value === '' || value.includes('${{') ? null : value;
}

function firstLine(text: string): string {
  const [first = '', ...more] = text.trim().split('\n');
  return more.length === 0 ? first : `${first} …`;
}

/** Removes `folder` when a person stops the program, even if they press Ctrl+C several times. */
function stopCleanly(folder: string): { readonly forget: () => void } {
  let isEnding = false;
  const end = (): void => {
    if (isEnding) return;
    isEnding = true;
    void rm(folder, { recursive: true, force: true, maxRetries: 5 }).finally(() => process.exit(130));
  };
  process.on('SIGINT', end).on('SIGTERM', end);
  return { forget: () => void process.off('SIGINT', end).off('SIGTERM', end) };
}
