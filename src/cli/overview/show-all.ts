import type { CommandEnd, Terminal } from '../command.ts';
import { toPlainLine } from '../arguments.ts';
import { renderOverview } from '../../report/overview/overview-text.ts';
import { readOverview, type OverviewCheckout } from './read-overview.ts';

/** Prints every lane; problems of reading go to the error output. */
export async function showAll(
  { json, ...looked }: Omit<OverviewCheckout, 'log'> & { readonly json: boolean },
  terminal: Terminal,
): Promise<CommandEnd> {
  const log = (line: string): void => {
    terminal.error(`${toPlainLine(line, 300)}\n`);
  };
  const overview = await readOverview({ ...looked, log }, terminal.now());
  terminal.out(json ? `${JSON.stringify(overview, null, 2)}\n` : renderOverview(overview));
  const problems = [
    ...overview.problems,
    ...overview.branches.flatMap((lane) => (lane.kind === 'branch' ? [] : [`${lane.branchId}: ${lane.why}`])),
  ];
  for (const problem of problems) terminal.error(`ralph status: ${problem}\n`);
  return problems.length === 0 ? 'done' : 'failed';
}
