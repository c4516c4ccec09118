import { formatInstant, MINUTE_MS } from '../core/countdown.ts';
import type { TaskState } from '../core/tasks/task.ts';
import type { RunFacts, TaskReport } from '../handover/report.ts';

/** Renders `2026-11-21 17:00 UTC (in 42 min)`; leaves out the parentheses once the instant has passed. */
export function formatInstantFrom(instant: number, now: number): string {
  return instant > now ? `${formatInstant(instant)} (in ${formatWait(instant - now)})` : formatInstant(instant);
}

/** Renders `42 min` or `3 h 5 min`, rounded up so that nobody comes back too early. */
function formatWait(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE_MS);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Renders `< 1 s`, `8 s`, `1 min 5 s`, `10 min` or `2 h 3 min`. */
export function formatDuration(ms: number): string {
  if (ms > 0 && ms < 1000) return '< 1 s';
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Renders `$0.42` or `< $0.01`. */
export function formatCost(costUsd: number): string {
  return costUsd > 0 && costUsd < 0.01 ? '< $0.01' : `$${costUsd.toFixed(2)}`;
}

/** Renders `950`, `12.3k` or `1.2M`. */
export function formatTokens(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return tokens < 999_950 ? `${(tokens / 1000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}

/** Renders `GitHub API: 14 requests; 986 of 1,000 left until 05:20 UTC.`; empty if no request was sent. */
export function renderApiUsage({ sent, limit, remaining, resetAt }: NonNullable<RunFacts['requests']>): string {
  if (sent === 0) return '';
  const until = resetAt === null ? '' : ` until ${formatInstant(resetAt).slice('2026-11-21 '.length)}`;
  const left =
    remaining === null ? '' : `; ${grouped(remaining)}${limit === null ? '' : ` of ${grouped(limit)}`} left${until}`;
  return `GitHub API: ${grouped(sent)} request${sent === 1 ? '' : 's'}${left}.`;
}

/** Renders a number as `1,000`. */
function grouped(number: number): string {
  return number.toLocaleString('en-US');
}

/** Renders `1 file` or `2 files`. */
export function formatCount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Renders a task's state for people, such as `in progress`. */
export function formatTaskState(state: TaskState): string {
  switch (state) {
    case 'todo':
      return 'to do';
    case 'in-progress':
      return 'in progress';
    case 'stuck':
      return 'set aside';
    case 'done':
    case 'failed':
    case 'blocked':
      return state;
  }
}

const BAR_CELLS = 6;

/** Renders `[████░░]`; it is full only if everything is done, and empty only if nothing is. */
export function renderProgressBar(done: number, total: number): string {
  return renderBar({ done, total, cells: BAR_CELLS });
}

/** Renders a bar of `cells` cells, which is full if `done` reaches `total`. */
export function renderBar(bar: { readonly done: number; readonly total: number; readonly cells: number }): string {
  const { done, total, cells } = bar;
  const share = total === 0 ? 0 : (Math.min(done, total) / total) * cells;
  const filled = done > 0 && done < total ? Math.min(cells - 1, Math.max(1, Math.round(share))) : Math.round(share);
  return `[${'█'.repeat(filled)}${'░'.repeat(cells - filled)}]`;
}

/** Renders the bar of the tasks that are done. */
export function renderTasksBar(tasks: readonly TaskReport[]): string {
  return renderProgressBar(tasks.filter(({ progress }) => progress.state === 'done').length, tasks.length);
}
