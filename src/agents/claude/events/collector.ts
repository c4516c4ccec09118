import type { Denial } from '../../../core/analysis/analysis.ts';
import type { Transcript } from '../../../core/analysis/transcript.ts';
import type { CliEvent, Failure, RateLimit, Result, ToolUse } from './cli-event.ts';
import { createDenial } from '../../reading/denials.ts';
import { createPendingCalls } from '../../reading/pending-calls.ts';
import { isQuestion } from './denials.ts';
import { classifyFailure, failureInText } from './failure.ts';
import { capped } from '../../../core/text/cut.ts';
import { asString } from '../../reading/json.ts';
import { usageLimitOf } from './usage-limit.ts';

/** Collects the events of one process; memory does not grow with their number. */
export interface EventCollector {
  add(event: CliEvent): void;
  /** What they come to. `now` (ms) fixes the clock for texts such as `resets 5pm`. */
  transcript(format: Transcript['format'], now: number): Transcript;
}

/** An output without events is the agent's message, or the CLI's own error. */
export function transcriptOfText(text: string, now: number): Transcript {
  const failure = failureInText(text);
  return {
    ...createEventCollector().transcript('text', now),
    finalMessage: text,
    finished: text.trim() !== '',
    agentError: failure && classifyFailure(failure),
    usageLimit: usageLimitOf(failure, null, now),
  };
}

const MAX_DENIALS = 500;

export function createEventCollector(): EventCollector {
  /** Of the turn that no result has ended yet; null while nothing has happened in it. */
  let lastText: string | null = null;
  /** How the last result, or the cut-off end, failed. */
  let failure: Failure | null = null;
  /** The provider's limit in force at the end. */
  let rejected: RateLimit | null = null;
  let result: Result | null = null;
  let sessionId: string | null = null;
  let totals: Totals = { turns: null, tokens: null, costSinceLastUsd: null };
  const denials: Denial[] = [];
  let deniedSinceResult: Denial[] = [];
  const commands = createPendingCalls<string>();

  return { add, transcript };

  function add(event: CliEvent): void {
    sessionId = event.session ?? sessionId;
    switch (event.kind) {
      case 'assistant':
        event.tools.forEach(rememberCommand);
        if (event.nested) return;
        // What an earlier turn's result said is not the last word any more.
        lastText = event.text ?? lastText ?? '';
        if (event.failure) failure = event.failure;
        else goOn();
        return;
      case 'denied':
        if (deniedSinceResult.length < MAX_DENIALS)
          deniedSinceResult.push(createDenial(event.tool, commands.of(event.toolUseId)));
        return;
      case 'rate-limit':
        if (event.limit.rejected) rejected = laterOf(rejected, event.limit);
        else if (event.limit.type === rejected?.type) rejected = null;
        return;
      case 'result':
        finish(event.result);
        return;
      default:
    }
  }

  /** The agent spoke, so whatever failed before did not end the call. */
  function goOn(): void {
    failure = null;
    rejected = null;
  }

  function finish(next: Result): void {
    // The error of the synthetic message says more than the result line that follows it.
    failure = next.failure && { ...next.failure, error: next.failure.error ?? failure?.error ?? null };
    if (failure === null) rejected = null;
    result = { ...next, text: next.text ?? lastText };
    totals = {
      turns: sum(totals.turns, next.turns),
      tokens: sum(totals.tokens, next.tokens),
      costSinceLastUsd: sum(totals.costSinceLastUsd, next.costSinceLastResultUsd),
    };
    denials.push(...next.denials.slice(0, MAX_DENIALS - denials.length));
    deniedSinceResult = [];
    lastText = null;
  }

  function rememberCommand({ id, input }: ToolUse): void {
    const command = asString(input['command']);
    if (id !== null && command !== null) commands.add(id, capped(command, 2_000));
  }

  function transcript(format: Transcript['format'], now: number): Transcript {
    const denied = [...denials, ...deniedSinceResult];
    return {
      format,
      finalMessage: lastText ?? result?.text ?? '',
      finished: result !== null,
      agentError: failure && classifyFailure(failure),
      usageLimit: usageLimitOf(failure, rejected, now),
      denials: denied,
      askedPerson: denied.some(isQuestion),
      sessionId,
      turns: totals.turns,
      tokens: totals.tokens,
      // The total of a resumed session holds what earlier processes spent.
      costUsd: totals.costSinceLastUsd ?? result?.totalCostUsd ?? null,
    };
  }
}

/** Of several limits the call has to wait for the last one to end. */
function laterOf(limit: RateLimit | null, next: RateLimit): RateLimit {
  return (next.resetsAt ?? 0) >= (limit?.resetsAt ?? 0) ? next : (limit ?? next);
}

interface Totals {
  readonly turns: number | null;
  readonly tokens: number | null;
  readonly costSinceLastUsd: number | null;
}

function sum(total: number | null, more: number | null): number | null {
  return more === null ? total : (total ?? 0) + more;
}
