import type { Outcome } from '../outcome.ts';
import { HOUR_MS } from '../time.ts';
import type { RunStatus } from './run-status.ts';

/** What else readers of other Ralphs want to know. */
export interface StatusBeside {
  readonly now: number;
  /** Of the hour, and its limit; 0 = none. */
  readonly tokens: { readonly used: number; readonly limit: number };
  /** When the hour's window ends; null: none is open. */
  readonly hourEndsAt: number | null;
}

/** The content of `.ralph/status.json`: the fields that ralph-claude-code's monitor and bmalph read, and the run itself under `run`. */
export function statusDocument(run: RunStatus, { now, tokens, hourEndsAt }: StatusBeside): object {
  const { word, action } = wordsOf(run);
  return {
    timestamp: new Date(now).toISOString(),
    loop_count: run.iteration,
    calls_made_this_hour: run.calls.used,
    max_calls_per_hour: run.calls.limit,
    tokens_used_this_hour: tokens.used,
    max_tokens_per_hour: tokens.limit,
    last_action: action,
    status: word,
    exit_reason: run.outcome?.reason ?? '',
    tasks_completed: run.tasks.done,
    tasks_total: run.tasks.all,
    next_reset: new Date(hourEndsAt ?? now + HOUR_MS).toISOString().slice(11, 19),
    run,
  };
}

/** The content of `.ralph/progress.json` while a call works, and behind it. `lastOutput`: the agent's last line. */
export function progressDocument(
  doing: 'executing' | 'completed' | 'failed' | 'idle',
  call: { readonly startedAt: number; readonly now: number; readonly lastOutput: string },
): object {
  const { startedAt, now, lastOutput } = call;
  const seconds = Math.max(0, Math.floor((now - startedAt) / 1000));
  return {
    status: doing,
    ...(doing === 'executing'
      ? {
          indicator: SPINNER[seconds % SPINNER.length],
          elapsed_seconds: seconds,
          last_output: lastOutput.slice(0, 200),
        }
      : {}),
    timestamp: logInstant(now),
  };
}

/** `2026-11-21 17:00:05`, as logs of other Ralphs have it; in UTC. */
export function logInstant(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replace('T', ' ');
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸'];

/** A word that the others know, and what was done last. */
function wordsOf({ doing, outcome }: RunStatus): { readonly word: string; readonly action: string } {
  if (outcome !== null) return { word: WORDS[outcome.kind as Outcome['kind']], action: outcome.kind };
  return doing === 'waiting' ? { word: 'paused', action: 'api_limit' } : { word: 'running', action: 'executing' };
}

const WORDS: Readonly<Record<Outcome['kind'], string>> = {
  complete: 'completed',
  idle: 'completed',
  halted: 'halted',
  blocked: 'halted',
  parked: 'paused',
  paused: 'paused',
  limit: 'stopped',
  cancelled: 'stopped',
  refused: 'stopped',
  failed: 'error',
};
