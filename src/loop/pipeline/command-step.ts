import type { Attempt } from '../../core/pipeline/next-action.ts';
import type { CommandStep } from '../../core/pipeline/pipeline.ts';
import type { CommandRun } from '../../ports/agent.ts';
import type { LoopDeps } from '../deps.ts';
import type { Running, Tried, Walk } from './walk.ts';

/** Runs a command in the work tree, for as long as the run has time. Its changes belong to the iteration, but are not the agent's progress. */
export async function tryCommand(
  deps: LoopDeps,
  { iteration, step }: Running<CommandStep>,
  walk: Walk,
): Promise<Tried> {
  const { policy } = deps.config;
  const leftMs = iteration.work.startedAt + policy.maxRunMs - deps.clock.now();
  const timeoutMs = Math.max(1, Math.min(step.timeoutMs ?? policy.agentTimeoutMs, leftMs));
  const { end, tail } = await deps.commands.run({
    command: step.command,
    folder: null,
    timeoutMs,
    signal: deps.signal,
  });
  return { attempt: attemptOf(end), tail, walk, calls: [] };
}

function attemptOf(end: CommandRun['end']): Attempt {
  const failed = (why: string, code: number | null): Attempt => ({
    result: { kind: 'failed', why, code },
    isWorthAnother: end.kind !== 'cancelled',
  });
  switch (end.kind) {
    case 'exited':
      return end.code === 0
        ? { result: { kind: 'passed' }, isWorthAnother: false }
        : failed(`exit code ${String(end.code)}`, end.code);
    case 'signalled':
      return failed(`it was ended by ${end.signal}`, null);
    case 'timeout':
      return failed('it ran out of time', null);
    case 'cancelled':
      return failed('it was cancelled', null);
  }
}
