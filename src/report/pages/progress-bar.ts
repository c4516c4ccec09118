import type { TaskReport } from '../../handover/report.ts';

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
