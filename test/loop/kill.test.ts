import { describe, expect, test } from 'vitest';
import { computeExpiry } from '../../src/core/sharing/lease.ts';
import { IS_DEEP } from '../runs.ts';
import { MINUTE } from '../unit/core/core-fixtures.ts';
import {
  callsOf,
  killMain,
  leaseOn,
  ordersOf,
  problemsAfterPost,
  problemsOfCharges,
  problemsOfGoingOn,
  problemsOfProject,
  scenarios,
  type Killed,
  type Scenario,
} from './stage/killing.ts';
import { finishOnce, recordOf, runOnce } from './stage/run-action.ts';
import { counting, killAt } from './stage/tap.ts';

// A kill right after a call usually has the same effect as one right before the next, so normal runs only test one of
// them.
const moments = IS_DEEP ? (['before', 'after'] as const) : (['before'] as const);
/** In normal runs each test takes every third call, and the three tests of the whole run take different thirds. */
const EVERY_NTH = IS_DEEP ? 1 : 3;

describe.each(scenarios)('$name', (scenario) => {
  test('killed at every call, and post does the rest: only the running iteration is lost, and the next runs continue', async () => {
    const calls = await callsOf(scenario);
    const problems: string[] = [];
    for (const when of moments) {
      for (const number of numbersOf(calls.length, 1)) {
        const killed = await killMain(scenario, number, when);
        const report = reporter(problems, killed.where);
        report(
          problemsOfProject(scenario, killed.project),
          problemsOfCharges(killed.project),
          problemsOfIterations(killed),
        );
        report(problemsAfterPost(scenario, killed, await finishOnce(killed.project, killed.main)));
        report(await problemsOfNextRun(scenario, killed), await problemsOfGoingOn(scenario, killed.project));
      }
    }
    expect(calls.length).toBeGreaterThan(10);
    expect(problems).toEqual([]);
  });

  test('killed at every call, and its machine vanishes: the lane is refused until the lease ends and no longer, and every call is charged', async () => {
    const calls = await callsOf(scenario);
    const problems: string[] = [];
    let refused = 0;
    for (const number of numbersOf(calls.length, 2)) {
      const killed = await killMain(scenario, number, 'before');
      const report = reporter(problems, killed.where);
      report(problemsOfProject(scenario, killed.project), problemsOfCharges(killed.project));
      const found = await problemsOfLease(scenario, killed);
      refused += found.refused;
      report(
        found.problems,
        await problemsOfNextRun(scenario, killed),
        await problemsOfGoingOn(scenario, killed.project),
      );
    }
    const works = calls.includes('agent.call') && scenario.guarded;
    expect(refused * EVERY_NTH > 10).toBe(works);
    expect(problems).toEqual([]);
  });

  test('killed in its last iteration and while it publishes, and post is killed at every call: the next runs continue', async () => {
    const calls = await callsOf(scenario);
    const problems: string[] = [];
    for (const at of [
      calls.lastIndexOf('repository.compare'),
      calls.lastIndexOf('agent.sweep'),
      calls.lastIndexOf('refs.write'),
      calls.lastIndexOf('place.record gate'),
    ]) {
      if (at < 0) continue;
      for (const number of numbersOf(await callsOfPost(scenario, at + 1), 1)) {
        const killed = await killMain(scenario, at + 1, 'before');
        const { project, main, where } = killed;
        const tap = killAt((_name, call) => call === number, 'before');
        await finishOnce(project, main, { tap });
        const report = reporter(problems, `${where}, post killed ${tap.deathPoint()}`);
        report(problemsOfProject(scenario, project), problemsOfCharges(project));
        const lease = leaseOn(scenario, project);
        if (lease !== null) project.clock.advance(computeExpiry(lease) - project.clock.now());
        report(await problemsOfNextRun(scenario, killed), await problemsOfGoingOn(scenario, project));
      }
    }
    expect(problems).toEqual([]);
  });

  test('the result of post is not changed by a second post', async () => {
    const calls = await callsOf(scenario);
    const problems: string[] = [];
    for (const number of numbersOf(calls.length, 3)) {
      const killed = await killMain(scenario, number, 'before');
      await finishOnce(killed.project, killed.main);
      const { forge, origin, script } = killed.project;
      const seen = () =>
        JSON.stringify([
          [...origin.branches],
          forge.pulls,
          [...forge.comments].map(([thread, texts]) => [thread, [...texts]]),
          script.calls.length,
        ]);
      const before = seen();
      reporter(problems, killed.where)(
        problemsAfterPost(scenario, killed, await finishOnce(killed.project, killed.main)),
        seen() === before ? [] : ['a second post changed what people see'],
      );
    }
    expect(problems).toEqual([]);
  });
});

/** Returns the numbers of the calls at which to kill, up to `count`, starting at `first`. */
function numbersOf(count: number, first: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter((number) => (number - first) % EVERY_NTH === 0);
}

/** Returns the number of calls that post makes after that kill. */
async function callsOfPost(scenario: Scenario, number: number): Promise<number> {
  const { project, main } = await killMain(scenario, number, 'before');
  const tap = counting();
  await finishOnce(project, main, { tap });
  return tap.calls.length;
}

/** Expects that each completed call except the last is in the journal on disk. */
function problemsOfIterations({ main }: Killed): readonly string[] {
  const finished = recordOf(main.machine).work?.journal.length ?? 0;
  return finished < main.calls - 1
    ? [`${String(main.calls)} calls were made, ${String(finished)} are in the journal`]
    : [];
}

/** Plays the next run right after the kill, with the same agent; a stored order is obeyed. */
async function problemsOfNextRun(scenario: Scenario, { project }: Killed): Promise<readonly string[]> {
  const isPaused = ordersOf(scenario, project).includes('pause');
  const { end } = await runOnce(project, { event: scenario.next.event });
  const isWrong = isPaused ? end !== 'paused (by_person)' : /^(refused|failed|paused)/.test(end);
  return [...(isWrong ? [`the next run ends ${end}`] : []), ...problemsOfProject(scenario, project)];
}

/** Runs while a dead run holds the lane, and then advances the clock beyond the lease. */
async function problemsOfLease(
  scenario: Scenario,
  { project, main }: Killed,
): Promise<{ readonly problems: readonly string[]; readonly refused: number }> {
  const lease = leaseOn(scenario, project);
  if (lease === null) return { problems: [], refused: 0 };
  const { maxRunMs } = main.machine.config.policy;
  const problems =
    computeExpiry(lease) - project.clock.now() > maxRunMs + 10 * MINUTE ? ['the lease is longer than a run'] : [];
  let refused = 0;
  for (const left of [computeExpiry(lease) - project.clock.now(), 1]) {
    project.clock.advance(computeExpiry(lease) - left - project.clock.now());
    const { end, calls } = await runOnce(project, { event: scenario.next.event });
    if (end === 'refused (another_run)' && calls === 0) refused += 1;
    else problems.push(`${String(left)} ms before the lease is over a run ends ${end} after ${String(calls)} calls`);
  }
  project.clock.advance(1);
  return { problems, refused };
}

function reporter(problems: string[], where: string): (...found: readonly (readonly string[])[]) => void {
  return (...found) => {
    problems.push(...found.flat().map((problem) => `${where}: ${problem}`));
  };
}
