import { describe, expect, test } from 'vitest';
import { initialState } from '../../../src/core/lane/state.ts';
import type { ApprovalNotice } from '../../../src/core/people/consent-messages.ts';
import { endIntake, type Intake } from '../../../src/handover/intake.ts';
import { publishComments, publishNotices } from '../../../src/publish/comments.ts';
import { publishEnd } from '../../../src/publish/end.ts';
import type { PublishDeps } from '../../../src/publish/deps.ts';
import { APPROVAL_MARKER, APPROVED_SINCE, renderApprovalNotice } from '../../../src/report/pages/approval-notice.ts';
import { REFUSAL_MARKER, REFUSED_BEFORE, STATUS_MARKER } from '../../../src/report/pages/status-comment.ts';
import { UserError } from '../../../src/errors.ts';
import { createProject, publisherOf, runOnce, schedule } from '../../loop/stage/river.ts';
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
): Promise<{ readonly project: Project; readonly deps: PublishDeps }> {
  const project = createProject({ issues, inputs: { notify: 'none' } });
  // A run that ends at once: it has all that a publisher needs.
  const main = await runOnce(project, { event: schedule, hasProviderKey: false });
  return { project, deps: await publisherOf(project, main) };
}

function ended(
  notices: readonly ApprovalNotice[],
  change: Partial<Extract<Intake, { kind: 'end' }>> = {},
): Extract<Intake, { kind: 'end' }> {
  const base = endIntake({ kind: 'blocked', reason: 'needs_human' });
  return { ...base, state: initialState('queue', END), notes: { ...base.notes, notices }, ...change };
}

const threads = ({ forge }: Project) => [...forge.comments].map(([thread, texts]) => [thread, [...texts.keys()]]);

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
  test('reports and labels each issue that waits', async () => {
    const { project, deps } = await publisher([1, 2]);
    await publishEnd(deps, ended([notice(1), notice(2)]));
    expect(threads(project)).toEqual([
      [1, [APPROVAL_MARKER]],
      [2, [APPROVAL_MARKER]],
    ]);
    expect(project.forge.issues.get(2)?.labels).toEqual(['ralph', 'ralph:needs-approval']);
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
      [2, [APPROVAL_MARKER]],
    ]);
    expect(project.forge.comments.get(1)?.get(STATUS_MARKER)).toContain('**This issue waits for approval.**');
    expect(project.forge.issues.get(1)?.labels).toContain('ralph:needs-approval');
  });

  test('labels nothing that it could not report: the label says that a notice was given', async () => {
    const { project, deps } = await publisher([1]);
    project.forge.faults.set('upsertComment', new UserError('configuration', 'No.'));
    const { notes } = await publishEnd(deps, ended([notice(1)]));
    expect(notes.warnings).toEqual(['The notice on #1 could not be written: No.']);
    expect(project.forge.issues.get(1)?.labels).toEqual(['ralph']);
  });

  test('notifies ten issues at most', async () => {
    const { deps } = await publisher([]);
    expect(
      (
        await publishNotices(
          deps,
          Array.from({ length: 12 }, (_, index) => notice(index + 1)),
          null,
        )
      ).notified,
    ).toHaveLength(10);
  });
});

test('an issue that gets its status comment in this run gets no second one', async () => {
  const { project, deps } = await publisher([12]);
  await publishComments(deps, report({ kind: 'limit', reason: 'iterations' }), [notice(12), notice(13)]);
  expect(threads(project)).toEqual([
    [12, [STATUS_MARKER]],
    [7, [STATUS_MARKER]],
    [13, [APPROVAL_MARKER]],
  ]);
  expect(project.forge.comments.get(12)?.get(STATUS_MARKER)).toContain('**This issue waits for approval.**');
});

describe('what an older comment says, and is not so any more', () => {
  const worked = report({ kind: 'limit', reason: 'iterations' });
  const olderOn = async (notices: readonly ApprovalNotice[]) => {
    const { project, deps } = await publisher([12]);
    await deps.forge.upsertComment(12, APPROVAL_MARKER, 'It waits.');
    await deps.forge.upsertComment(12, REFUSAL_MARKER, 'Not done.');
    await publishComments(deps, worked, notices);
    return project.forge.comments.get(12);
  };

  test('is corrected by the run that works on the issue', async () => {
    const comments = await olderOn([]);
    expect(comments?.has(APPROVAL_MARKER)).toBe(false);
    expect([...(comments?.values() ?? [])]).toContain(APPROVED_SINCE);
    expect(comments?.get(REFUSAL_MARKER)).toBe(REFUSED_BEFORE);
  });

  test('stays while it is so again', async () => {
    const comments = await olderOn([notice(12)]);
    expect(comments?.get(APPROVAL_MARKER)).toBe('It waits.');
  });

  test('makes no comment and no request where there was none', async () => {
    const { project, deps } = await publisher([12]);
    const sent = project.forge.requests().sent;
    await publishComments(deps, worked, []);
    expect(threads(project)).toEqual([
      [12, [STATUS_MARKER]],
      [7, [STATUS_MARKER]],
    ]);
    expect(project.forge.requests().sent - sent).toBe(2);
  });
});
