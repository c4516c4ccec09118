import type { Account, IssueComment, IssueHistory } from '../../../src/ports/forge.ts';
import { noon } from '../../unit/core/core-fixtures.ts';
import type { FakeForge } from './in-memory.ts';
import type { Event } from './run-action.ts';

/** An instant long before any run, in ms. */
export const BEFORE = noon - 3_600_000;

export function person(login: string): Account {
  return { login, id: login.length, kind: 'user' };
}

const nothing: IssueHistory = { labelings: [], reopenings: [], edits: [], given: [], truncated: false };

/** Returns the actions of people on an issue, in order; at first the issue has no label. */
export function on({ histories, issues }: FakeForge, number: number) {
  const change = (more: (history: IssueHistory) => Partial<IssueHistory>): void => {
    const history = histories.get(number) ?? nothing;
    histories.set(number, { ...history, ...more(history) });
  };
  const deeds = {
    label: (by: Account | null, at: number, label = 'ralph') => {
      change(({ labelings }) => ({ labelings: [...labelings, { kind: 'labeled', label, by, at }] }));
      return deeds;
    },
    unlabel: (by: Account | null, at: number, label = 'ralph') => {
      change(({ labelings }) => ({ labelings: [...labelings, { kind: 'unlabeled', label, by, at }] }));
      return deeds;
    },
    reopen: (by: Account | null, at: number) => {
      change(({ reopenings }) => ({ reopenings: [...reopenings, { by, at }] }));
      return deeds;
    },
    give: (what: string, by: Account | null, at: number, kind: 'set' | 'unset' = 'set') => {
      change(({ given }) => ({ given: [...given, { kind, what, by, at }] }));
      return deeds;
    },
    edit: (by: Account | null, at: number, body: string) => {
      change(({ edits }) => ({ edits: [...edits, { by, at }] }));
      const issue = issues.get(number);
      if (issue !== undefined) issues.set(number, { ...issue, body });
      return deeds;
    },
  };
  return deeds;
}

export function comment(
  by: Account | null,
  body: string,
  at: number,
  change: Partial<IssueComment> = {},
): IssueComment {
  return { by, body, at, edited: null, minimized: false, ...change };
}

/** Returns `issues: edited`, as GitHub sends it. */
export function edited(issue: number, login: string): Event {
  return {
    name: 'issues',
    payload: {
      action: 'edited',
      changes: { body: { from: 'before' } },
      issue: { number: issue, title: '', body: '', labels: [{ name: 'ralph' }] },
      sender: { login, id: login.length, type: 'User' },
    },
  };
}
