import { describe, expect, test } from 'vitest';
import { DASHBOARD_MARKER } from '../../../../src/core/dashboard/boxes.ts';
import { deleteIssue, editIssue } from '../../../../testbed/github/people.ts';
import { addIssue } from '../../../../testbed/github/state.ts';
import { type ForgeFixture, now, openForge, refusedWith } from '../github-fixture.ts';

const MINUTE = 60_000;
const text = { title: 'Ralph: dashboard', body: `${DASHBOARD_MARKER}\n\nNothing.` };

/** Makes the dashboard and returns its number and id. */
async function make({ forge }: ForgeFixture) {
  const { isNew, issue } = await forge.openDashboard(text);
  expect(isNew).toBe(true);
  return issue;
}

describe('the dashboard on GitHub', () => {
  test('is made once, and found again among the issues of this account alone', async () => {
    await using at = await openForge();
    addIssue(at.github.state, { ...text, title: 'Mine', labels: [], author: 'eve' }, now);
    const made = await make(at);
    expect(at.github.state.issues.at(-1)).toMatchObject({ ...text, number: made.number, state: 'open', labels: [] });
    expect(await at.forge.openDashboard(text)).toEqual({ isNew: false, issue: made });
    expect(at.github.state.issues).toHaveLength(2);
    expect(at.sent()).toHaveLength(3);
    expect(at.github.violations).toEqual([]);
  });

  test('is read and written with one request each; the answer to a write has the edit of a person in between', async () => {
    await using at = await openForge();
    const { number, id } = await make(at);
    expect(await at.forge.readDashboard(number)).toEqual({
      ...{ number, id, isOpen: true, body: text.body, revisions: [], edits: 0 },
    });
    editIssue(at.github.state, number, { body: 'Theirs', by: 'eve', now: now + MINUTE });
    const written = await at.forge.writeDashboard(id, 'Ours');
    expect(written).toMatchObject({ body: 'Ours', edits: 3, isOpen: true });
    expect(written?.revisions.map(({ by, text: words }) => [by?.login, words])).toEqual([
      ['github-actions[bot]', text.body],
      ['eve', 'Theirs'],
      ['github-actions[bot]', 'Ours'],
    ]);
    expect(await at.forge.readDashboard(number)).toEqual(written);
    expect(at.sent()).toHaveLength(5);
    expect(at.github.violations).toEqual([]);
  });

  test('lists the newest versions of many, and says how many there are', async () => {
    await using at = await openForge();
    const { number } = await make(at);
    for (let count = 1; count <= 40; count += 1)
      editIssue(at.github.state, number, { body: String(count), by: 'octo', now: now + count * MINUTE });
    const read = await at.forge.readDashboard(number);
    expect([read?.edits, read?.revisions.length, read?.revisions.at(-1)?.text]).toEqual([41, 30, '40']);
  });

  test('that was deleted is gone', async () => {
    await using at = await openForge();
    const { number, id } = await make(at);
    deleteIssue(at.github.state, number);
    expect([await at.forge.readDashboard(number), await at.forge.writeDashboard(id, 'Ours')]).toEqual([null, null]);
  });

  test('needs the permission that the message names', async () => {
    const permissions = { metadata: 'read', contents: 'read', issues: 'read' } as const;
    await using at = await openForge({ permissions, retries: 0 });
    expect((await refusedWith(at.forge.openDashboard(text))).message).toContain('`issues: write`');
  });
});
