import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import { red, runOnce, schedule } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { BRANCH, HOUR, remembered, reviewed, worker } from './reviewing.ts';
import { comment, review, thread } from './said.ts';

const green = { verify: () => Promise.resolve({ kind: 'passed' as const, durationMs: 1 }) };
const suggestion = comment(11, '```suggestion\nshort 1\n```');

/** Claims completion and changes nothing. */
const confirms: Behaviour = () => ({
  output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, summary: 'It is done.' } },
});

/** Makes a change and does not finish. */
const begins: Behaviour = ({ task }) => ({
  writes: { [`src/${task}.ts`]: 'half' },
  output: { signal: { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 0 } },
});

const oneJob = (project: Project): Promise<unknown> => runOnce(project, { event: schedule });
const threeJobs = (project: Project): Promise<unknown> => runSplit(project, { event: schedule });

describe.each([
  ['one job', oneJob],
  ['three jobs', threeJobs],
])('in %s', (_, run) => {
  const next = async (project: Project): Promise<string> => {
    project.clock.advance(HOUR);
    await run(project);
    return project.origin.branches.get(BRANCH) ?? '';
  };
  const replies = ({ forge }: Project): readonly string[] => forge.replies.map(({ body }) => body);

  test('a suggestion that a later run repaired is answered with the repairing commit', async () => {
    const project = await reviewed(worker, { verify: 'npm test', 'max-iterations': '1' });
    project.forge.saidOf.set(BRANCH, { reviews: [review()], threads: [thread([suggestion])] });
    project.verifier = red;
    const first = await next(project);
    const begun = await next(project);
    expect(begun).not.toBe(first);
    expect(replies(project)).toEqual([]);
    project.verifier = green;
    const repaired = await next(project);
    expect(replies(project)).toEqual([
      expect.stringMatching(new RegExp(`\\*\\*Done\\*\\* in .*${repaired}[^]*Did thread-11`)),
    ]);
  });

  test('a change that a run only confirms is answered with the commit of the run that made it', async () => {
    let turns = 0;
    const project = await reviewed((call) => ((turns += 1) === 1 ? begins : confirms)(call), { 'max-iterations': '1' });
    project.forge.saidOf.set(BRANCH, { reviews: [review()], threads: [thread([comment(11, 'Rename it.')])] });
    const changed = await next(project);
    expect(remembered(project, 'thread-11')).toMatchObject({ workedIn: changed, answer: null });
    expect(await next(project)).toBe(changed);
    expect(replies(project)).toEqual([expect.stringMatching(new RegExp(`\\*\\*Done\\*\\* in .*${changed}`))]);
    expect(remembered(project, 'thread-11')).not.toHaveProperty('workedIn');
  });

  test('two suggestions are answered with a commit each', async () => {
    const project = await reviewed(worker);
    const other = comment(12, '```suggestion\nshort 2\n```', { hunk: '@@ -0,0 +1 @@\n+short 1' });
    project.forge.saidOf.set(BRANCH, { reviews: [review()], threads: [thread([suggestion]), thread([other])] });
    const head = await next(project);
    const first = project.origin.commits.get(head)?.parent ?? '';
    expect(replies(project)).toEqual([
      expect.stringMatching(new RegExp(`\\*\\*Applied as suggested\\*\\* in .*${first}`)),
      expect.stringMatching(new RegExp(`\\*\\*Applied as suggested\\*\\* in .*${head}`)),
    ]);
  });
});
