import { describe, expect, test } from 'vitest';
import { formatNeedsMarker } from '../../../src/core/people/notifications.ts';
import { createInitialState } from '../../../src/core/lane/state/state.ts';
import type { ApprovalNotice } from '../../../src/core/people/consent.ts';
import { endIntake, type Intake } from '../../../src/handover/intake.ts';
import { publishComments } from '../../../src/publish/answers.ts';
import { publishEnd } from '../../../src/publish/end.ts';
import type { PublishDeps } from '../../../src/publish/deps.ts';
import {
  APPROVAL_MARKER,
  APPROVED_SINCE,
  REFUSAL_MARKER,
  NO_LONGER_REFUSED,
  renderApprovalNotice,
  STATUS_MARKER,
} from '../../../src/report/pages/status-comment.ts';
import { UserError } from '../../../src/errors.ts';
import { createProject, publisherOf, runOnce, schedule } from '../../loop/stage/run-action.ts';
import type { Project } from '../../loop/stage/project.ts';
import { END, report } from '../report/fixtures.ts';

const notice = (issue: number, change: Partial<ApprovalNotice> = {}): ApprovalNotice => ({
  issue,
  labels: ['ralph'],
  by: 'ann',
  editor: 'eve',
  at: END,
  ...change,
});

async function publisher(
  issues: readonly number[],
  inputs: Readonly<Record<string, string>> = {},
): Promise<{ readonly project: Project; readonly deps: PublishDeps }> {
  const project = createProject({ issues, inputs });
  // A run that ends at once still has everything that a publisher needs.
  const main = await runOnce(project, { event: schedule, hasProviderKey: false });
  for (const texts of [project.forge.comments, project.forge.notifications]) texts.clear();
  return { project, deps: await publisherOf(project, main) };
}

function ended(
  notices: readonly ApprovalNotice[],
  change: Partial<Extract<Intake, { kind: 'end' }>> = {},
): Extract<Intake, { kind: 'end' }> {
  const base = endIntake({ kind: 'blocked', reason: 'needs_human' });
  return { ...base, state: createInitialState('queue', END), notes: { ...base.notes, notices }, ...change };
}

/** Returns the first lines of the comments, by thread. */
const threads = ({ forge }: Project) =>
  [...forge.comments, ...forge.notifications].map(([thread, texts]) => [thread, [...texts.keys()]]);
const waiting = (...issues: readonly number[]) =>
  formatNeedsMarker(issues.map((issue) => ({ kind: 'needs_approval', about: `issue-${String(issue)}` })));

describe('the text', () => {
  const lines = (text: string) => text.replaceAll('\u200B', '').split('\n\n');

  test('says what happened, and what to do', () => {
    expect(lines(renderApprovalNotice(notice(1), 'ralph'))).toEqual([
      '**This issue waits for approval.** Its text was changed after the label `ralph` was added: by `eve`, who has no write permission in this repository, 2026-11-21 16:18 UTC. The label is consent to the text as it was then, so Ralph does not work on the new one.',
      '**Next:** Read the text. If it should be worked on as it is now, remove and re-add the label `ralph`; that takes write permission.',
    ]);
  });

  test('names nobody whom GitHub does not name', () => {
    expect(renderApprovalNotice(notice(1, { editor: null }), 'ralph')).toContain(
      'added: by somebody GitHub does not name, 2026',
    );
  });

  test.each(['@octocat', 'renovate[bot]', '`<!--', 'a\nb'])('pings nobody and breaks nothing: %j', (editor) => {
    const text = renderApprovalNotice(notice(1, { editor }), 'a`b<c');
    expect(text).not.toMatch(/@[^\u200B]|<!--|\n(?!\n|\*\*Next)/);
  });
});

describe('a run that ended in the gate', () => {
  test('reports one issue that waits on itself, and labels it', async () => {
    const { project, deps } = await publisher([1, 2]);
    await publishEnd(deps, ended([notice(2)]));
    expect(threads(project)).toEqual([[2, [waiting(2)]]]);
    expect(project.forge.notifications.get(2)?.get(waiting(2))).toMatch(
      /\n\n@ann\n\n\*\*This issue waits for approval/,
    );
    expect(project.forge.issues.get(2)?.labels).toEqual(['ralph', 'ralph:needs-approval']);
  });

  test('reports several in one comment, with a link to each, and labels each', async () => {
    const { project, deps } = await publisher([1, 2]);
    await publishEnd(deps, ended([notice(1), notice(2)]));
    expect(threads(project)).toEqual([[1, [waiting(1, 2)]]]);
    expect(project.forge.notifications.get(1)?.get(waiting(1, 2))).toMatch(
      /@ann\n\n\*\*\[#1\]\([^)]*\/issues\/1\) waits for approval\.[^]*\*\*\[#2\]\([^)]*\/issues\/2\) waits for approval\./,
    );
    for (const issue of [1, 2])
      expect(project.forge.issues.get(issue)?.labels).toEqual(['ralph', 'ralph:needs-approval']);
  });

  test('reports the same edit once', async () => {
    const { project, deps } = await publisher([1]);
    await publishEnd(deps, ended([notice(1)]));
    const writes = project.forge.writes.length;
    await publishEnd(deps, ended([notice(1, { labels: ['ralph', 'ralph:needs-approval'] })]));
    expect(project.forge.writes).toHaveLength(writes);
  });

  test('reports it in the answer, where somebody asked on that very issue', async () => {
    const { project, deps } = await publisher([1, 2]);
    await publishEnd(
      deps,
      ended([notice(1), notice(2)], { answer: { thread: 1, text: { kind: 'status', receipt: null } } }),
    );
    expect(threads(project)).toEqual([
      [1, [STATUS_MARKER]],
      [2, [waiting(2)]],
    ]);
    expect(project.forge.comments.get(1)?.get(STATUS_MARKER)).toContain('**This issue waits for approval.**');
    expect(project.forge.issues.get(1)?.labels).toContain('ralph:needs-approval');
  });

  test('labels nothing that it could not report: the label says that a notice was given', async () => {
    const { project, deps } = await publisher([1]);
    project.forge.faults.set('upsertComment', new UserError('configuration', 'No.'));
    const { notes } = await publishEnd(deps, ended([notice(1)]));
    expect(notes.warnings).toEqual(['Nobody could be notified: No.']);
    expect(project.forge.issues.get(1)?.labels).toEqual(['ralph']);
  });

  test('labels alone say it to who wants no notifications', async () => {
    const { project, deps } = await publisher([1], { notify: 'none' });
    await publishEnd(deps, ended([notice(1)]));
    expect(threads(project)).toEqual([]);
    expect(project.forge.issues.get(1)?.labels).toContain('ralph:needs-approval');
  });

  test('notifies people of ten issues at most', async () => {
    const numbers = Array.from({ length: 12 }, (_, index) => index + 1);
    const { project, deps } = await publisher(numbers);
    await publishEnd(deps, ended(numbers.map((issue) => notice(issue))));
    expect(threads(project)).toEqual([[1, [waiting(...numbers.slice(0, 10))]]]);
    const labelled = numbers.filter((issue) =>
      project.forge.issues.get(issue)?.labels.includes('ralph:needs-approval'),
    );
    expect(labelled).toHaveLength(10);
  });
});

describe('a sentence of an older comment that is no longer true', () => {
  const worked = report({ kind: 'limit', reason: 'iterations' });
  const olderOn = async () => {
    const { project, deps } = await publisher([12]);
    await deps.forge.upsertComment(12, APPROVAL_MARKER, 'It waits.');
    await deps.forge.upsertComment(12, REFUSAL_MARKER, 'Not done.');
    await publishComments(deps, worked);
    return project.forge.comments.get(12);
  };

  test('is corrected by the run that works on the issue', async () => {
    const comments = await olderOn();
    expect(comments?.has(APPROVAL_MARKER)).toBe(false);
    expect([...(comments?.values() ?? [])]).toContain(APPROVED_SINCE);
    expect(comments?.get(REFUSAL_MARKER)).toBe(NO_LONGER_REFUSED);
  });

  test('makes no comment and no request without an earlier one', async () => {
    const { project, deps } = await publisher([12]);
    const sent = project.forge.requests().sent;
    await publishComments(deps, worked);
    expect(threads(project)).toEqual([
      [12, [STATUS_MARKER]],
      [7, [STATUS_MARKER]],
    ]);
    expect(project.forge.requests().sent - sent).toBe(2);
  });
});
