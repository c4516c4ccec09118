import type { Denial } from '../../../core/analysis/analysis.ts';

/** Whether the CLI's own question tool was refused: in a job nobody can answer. */
export function isQuestion({ tool }: Denial): boolean {
  return tool === 'AskUserQuestion';
}
