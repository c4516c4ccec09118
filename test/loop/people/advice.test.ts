import { expect, test } from 'vitest';
import { claimsBlocked, denied, finisher, steadyWorker, stuck, type Behaviour } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import { addIssue, commented, createProject, labeled, runOnce, savedState, type Event } from '../stage/river.ts';

/** What a person does who is notified and does what the comment says; null: it is no command. */
type Obeying = (project: Project, command: string | null) => readonly Event[];

const PULL = 101;
const comments =
  (thread: number): Obeying =>
  (_project, command) => [commented(command ?? '', { issue: thread, isPullRequest: thread === PULL })];

const again = (behaviour: Behaviour, times: number): Behaviour[] => Array.from({ length: times }, () => behaviour);
/** An answer that nothing needs to be done. */
const idle: Behaviour = () => ({
  output: { signal: { status: 'COMPLETE', exitSignal: false, summary: 'It is there.' } },
});

interface Row {
  readonly issues?: readonly number[];
  readonly agent: readonly Behaviour[];
  readonly inputs?: Readonly<Record<string, string>>;
  readonly label?: true;
  /** First words of the need, as its marker has them. */
  readonly need: string;
  readonly obey: Obeying;
}

test.each<[string, Row]>([
  ['blocked', { agent: again(claimsBlocked, 3), need: 'blocked:issue-1', obey: comments(1) }],
  [
    'blocked, on its own branch',
    { agent: again(claimsBlocked, 3), label: true, need: 'blocked:issue-1', obey: comments(1) },
  ],
  ['stuck', { issues: [1, 2], agent: [stuck, stuck, stuck, finisher], need: 'stuck:issue-1', obey: comments(1) }],
  [
    'stuck, on the pull request',
    { issues: [1, 2], agent: [stuck, stuck, stuck, finisher], need: 'stuck:issue-1', obey: comments(PULL) },
  ],
  [
    'failed',
    {
      agent: again(steadyWorker, 3),
      inputs: { 'max-iterations-per-task': '3' },
      need: 'failed:issue-1',
      obey: comments(1),
    },
  ],
  [
    'failed, on the pull request',
    {
      agent: again(steadyWorker, 3),
      inputs: { 'max-iterations-per-task': '3' },
      need: 'failed:issue-1',
      obey: comments(PULL),
    },
  ],
  ['nothing to do', { agent: [idle], need: 'nothing_to_do:issue-1', obey: comments(1) }],
  ['an open circuit', { agent: again(stuck, 3), need: 'circuit_open:lane-queue', obey: comments(1) }],
  [
    'an open circuit of a branch',
    { agent: again(stuck, 3), label: true, need: 'circuit_open:lane-issue-1', obey: comments(1) },
  ],
  [
    'a denied tool',
    {
      agent: [denied],
      inputs: { 'on-permission-denied': 'halt' },
      need: 'halted:lane-queue',
      obey: (project) => {
        project.inputs = { 'on-permission-denied': 'count' };
        return [{ name: 'schedule', payload: {} }];
      },
    },
  ],
  [
    'ready, and something is to be changed',
    {
      agent: [finisher],
      need: 'ready:lane-queue',
      obey: (project, command) => {
        addIssue(project.forge, 1, { title: 'Title 1', body: 'Make it blue.' });
        return [commented(command ?? '', { issue: 1 })];
      },
    },
  ],
])('who does what the comment says has the work continue: %s', async (_, row) => {
  const project = createProject({ issues: [...(row.issues ?? [1])], agent: [...row.agent], inputs: row.inputs ?? {} });
  await runOnce(project, row.label === true ? { event: labeled(1) } : {});
  const texts = [...project.forge.notifications.values()].flatMap((thread) => [...thread.values()]);
  const said = texts.find((text) => text.includes(`notification ${row.need} `)) ?? '';
  expect(said).toContain('**Next:**');
  const command = /`(\/ralph [^`]+)`/.exec(said)?.[1] ?? null;

  project.script.behaviours = again(finisher, 5);
  let calls = 0;
  for (const event of row.obey(project, command)) calls += (await runOnce(project, { event })).calls;
  expect(calls).toBeGreaterThan(0);
  if (!row.need.startsWith('ready')) {
    expect(project.forge.writes.filter((write) => write.startsWith('settled'))).toHaveLength(1);
    expect(savedState(project, row.label === true ? 'issue-1' : 'queue').notified.map(({ kind }) => kind)).toEqual([
      'ready',
    ]);
  }
});
