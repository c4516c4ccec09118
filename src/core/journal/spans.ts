import type { Outcome } from '../outcome.ts';
import { callsOf, type JournalEntry } from './journal.ts';

/** A span of a trace. Ids are hex digits, 16 of a span and 32 of a trace; instants are in ms. */
export interface Span {
  readonly id: string;
  /** null for the root of a run. */
  readonly parent: string | null;
  readonly name: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Unknown amounts are absent. */
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The kind of the failure; null for none. */
  readonly failed: string | null;
}

/** What a job did of a run. Every job of the run knows the same tag. */
interface JobOfRun {
  readonly runTag: string;
  readonly phase: 'all' | 'gate' | 'loop' | 'publish';
  readonly startedAt: number;
  readonly endedAt: number;
  /** The run as a whole, in the job that ends it; null in others. */
  readonly run: { readonly startedAt: number; readonly outcome: Outcome; readonly branch: string | null } | null;
  readonly iterations: readonly JournalEntry[];
  /** The models that the user chose, by the name of their agent. */
  readonly models: ReadonlyMap<string, string>;
}

/**
 * Returns the spans of a job. Ids are hashes of the tag, so that all jobs of a run make one trace without knowing each
 * other, and what is sent twice is the same.
 */
export function spansOfJob(
  { runTag, phase, startedAt, endedAt, run, iterations, models }: JobOfRun,
  sha256: (text: string) => string,
): { readonly traceId: string; readonly spans: readonly Span[] } {
  const idOf = (...path: readonly (string | number)[]): string => sha256([runTag, ...path].join('\n')).slice(0, 16);
  const root = idOf('run');
  const job = phase === 'all' ? root : idOf(phase);
  const spans: Span[] = [];
  if (run !== null) {
    const { kind, reason } = run.outcome;
    spans.push({
      ...{ id: root, parent: null, name: 'ralph run', startedAt: run.startedAt, endedAt },
      attributes: {
        'ralph.outcome': kind,
        'ralph.reason': reason,
        ...known('ralph.branch', run.branch),
        ...amountsOf(iterations),
      },
      failed: kind === 'failed' || kind === 'halted' ? reason : null,
    });
  }
  if (phase !== 'all')
    spans.push({ id: job, parent: root, name: `ralph ${phase}`, startedAt, endedAt, attributes: {}, failed: null });
  if (phase === 'all' || phase === 'loop')
    for (const entry of iterations) spans.push(...spansOfIteration(entry, { parent: job, models, idOf }));
  // Branches of one run have tags of their own, which begin with that of the run.
  return { traceId: sha256(runTag.replace(/:.*/, '')).slice(0, 32), spans };
}

interface Place {
  readonly parent: string;
  readonly models: JobOfRun['models'];
  readonly idOf: (...path: readonly (string | number)[]) => string;
}

function spansOfIteration(entry: JournalEntry, { parent, models, idOf }: Place): readonly Span[] {
  const { iteration, taskId, agent, startedAt, endedAt, analysis, evidence, verdict, madeAgain } = entry;
  const id = idOf('iteration', iteration);
  const call = (
    under: string,
    at: { readonly startedAt: number; readonly endedAt: number },
    used: { readonly tokens: number | null; readonly costUsd: number | null },
  ): Span => ({
    ...{ id: idOf('call', under, at.startedAt), parent: under, startedAt: at.startedAt, endedAt: at.endedAt },
    name: agent === null ? 'invoke_agent' : `invoke_agent ${agent}`,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      ...known('gen_ai.agent.name', agent),
      ...known('gen_ai.request.model', (agent === null ? undefined : models.get(agent)) ?? null),
      ...known('ralph.tokens', used.tokens),
      ...known('ralph.cost_usd', used.costUsd),
    },
    failed: analysis.agentError?.kind ?? null,
  });
  let stepAt = startedAt;
  const inside = evidence.steps.flatMap(({ name, kind, result, durationMs, calls }, at): readonly Span[] => {
    const step = idOf('step', iteration, at);
    // A record has no instants of its own: steps follow each other from the beginning of the iteration.
    const begun = calls[0]?.startedAt ?? stepAt;
    stepAt = Math.min(endedAt, Math.max(begun, begun + durationMs));
    const attributes = { 'ralph.step.name': name, 'ralph.step.kind': kind, 'ralph.step.result': result.kind };
    const failed = result.kind === 'failed' ? 'step' : null;
    const span = { id: step, parent: id, name: 'ralph step', startedAt: begun, endedAt: stepAt, attributes, failed };
    return [span, ...calls.map((used) => call(step, used, used))];
  });
  const alone = (): readonly Span[] => {
    const again = { startedAt: madeAgain?.at ?? startedAt, endedAt };
    const before = madeAgain === null ? [] : [call(id, { startedAt, endedAt: again.startedAt }, UNKNOWN)];
    // The amounts of an iteration are those of all of its calls.
    return [...before, call(id, again, madeAgain === null ? analysis : UNKNOWN)];
  };
  return [
    {
      ...{ id, parent, name: 'ralph iteration', startedAt, endedAt },
      attributes: {
        'ralph.iteration': iteration,
        'ralph.task': taskId,
        'ralph.calls': callsOf(entry),
        'ralph.progress': String(verdict.progress),
        ...known('gen_ai.conversation.id', analysis.sessionId),
        ...amountsOf([entry]),
      },
      failed: verdict.agentFailed ? 'agent' : null,
    },
    ...(evidence.steps.length === 0 ? alone() : inside),
  ];
}

const UNKNOWN = { tokens: null, costUsd: null };

/** Returns the sums of tokens and cost, each of which is absent while any part of it is unknown. */
function amountsOf(iterations: readonly JournalEntry[]): Span['attributes'] {
  const sum = (amounts: readonly (number | null)[]): number | null =>
    amounts.reduce<number | null>((all, one) => (all === null || one === null ? null : all + one), 0);
  return {
    ...known('ralph.tokens', sum(iterations.map(({ analysis }) => analysis.tokens))),
    ...known('ralph.cost_usd', sum(iterations.map(({ analysis }) => analysis.costUsd))),
  };
}

function known(name: string, value: string | number | null): Span['attributes'] {
  return value === null ? {} : { [name]: value };
}
