import { type AgentName, AGENTS } from '../agent-names.ts';
import type { CallUsage } from '../lane/ledger.ts';
import type { Outcome } from '../outcome.ts';
import type { JournalEntry } from './journal.ts';

/** A span of a trace. Ids are hex digits, 16 of a span and 32 of a trace; instants are in ms. */
export interface RunSpan {
  readonly id: string;
  /** null for the root of a trace. */
  readonly parent: string | null;
  readonly name: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Unknown amounts are absent. */
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The kind of the failure; null for none. */
  readonly failed: string | null;
}

/**
 * A job's part of a run. Every job of the run knows the same tag; those of a run's branches begin with that of its
 * gate, or at home of its first process.
 */
interface JobOfRun {
  readonly runTag: string;
  readonly phase: 'all' | 'gate' | 'loop' | 'publish';
  readonly startedAt: number;
  readonly endedAt: number;
  /** True for the gate of several branches, which begins the run of each. */
  readonly beginsSeveral: boolean;
  /** The run as a whole, in the job that ends it; null in others. */
  readonly run: { readonly startedAt: number; readonly outcome: Outcome; readonly branch: string | null } | null;
  /** The iterations that no other job sends. */
  readonly iterations: readonly JournalEntry[];
  /** The models that the user chose, by the name of their agent. */
  readonly models: ReadonlyMap<string, string>;
}

/**
 * Returns the spans of a job. Ids are hashes of the tag, so that all jobs of a run make one trace without knowing each
 * other, and what is sent twice is the same.
 */
export function spansOfJob(
  { runTag, phase, startedAt, endedAt, beginsSeveral, run, iterations, models }: JobOfRun,
  sha256: (text: string) => string,
): { readonly traceId: string; readonly spans: readonly RunSpan[] } {
  const idOf: IdOf = (...path) => sha256([runTag, ...path].join('\n')).slice(0, 16);
  const [gateTag = ''] = runTag.split(':');
  const beginning = sha256([gateTag, phase === 'all' ? 'run' : 'gate'].join('\n')).slice(0, 16);
  const root = idOf('run');
  const job = phase === 'all' ? root : idOf(phase);
  const { kind, reason } = run?.outcome ?? { kind: null, reason: null };
  const ofRun = {
    ...{ id: root, parent: gateTag === runTag ? null : beginning, name: 'ralph run' },
    ...{ startedAt: run?.startedAt ?? startedAt, endedAt },
    attributes: attributesOf({ 'ralph.outcome': kind, 'ralph.reason': reason, 'ralph.branch': run?.branch ?? null }),
    failed: kind === 'failed' || kind === 'halted' ? reason : null,
  };
  const ofJob = {
    ...{ id: job, parent: beginsSeveral ? null : root, name: `ralph ${phase}` },
    ...{ startedAt, endedAt, attributes: {}, failed: null },
  };
  return {
    traceId: sha256(gateTag).slice(0, 32),
    spans: [
      ...(run === null ? [] : [ofRun]),
      ...(phase === 'all' ? [] : [ofJob]),
      // The job of a loop that was cancelled has sent no span of its own.
      ...iterations.flatMap((one) => spansOfIteration(one, { parent: phase === 'publish' ? root : job, models, idOf })),
    ],
  };
}

type IdOf = (...path: readonly (string | number)[]) => string;

function spansOfIteration(
  entry: JournalEntry,
  { parent, models, idOf }: Pick<JobOfRun, 'models'> & { readonly parent: string; readonly idOf: IdOf },
): readonly RunSpan[] {
  const { iteration, taskId, agent, startedAt, endedAt, analysis, evidence, verdict, madeAgain } = entry;
  const { tokens, outputTokens, costUsd, sessionId, agentError } = analysis;
  const id = idOf('iteration', iteration);
  const spanOfCall = (
    under: string,
    { outputTokens: output = null, ...call }: CallUsage,
    by: { readonly agent: AgentName | null; readonly conversation: string | null },
  ): RunSpan => ({
    ...{ id: idOf('call', under, call.startedAt), parent: under, startedAt: call.startedAt, endedAt: call.endedAt },
    name: `invoke_agent ${by.agent ?? ''}`.trimEnd(),
    attributes: attributesOf({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': by.agent === null ? null : (AGENTS[by.agent].provider.telemetryName ?? by.agent),
      'gen_ai.agent.name': by.agent,
      'gen_ai.conversation.id': by.conversation,
      'gen_ai.request.model': models.get(by.agent ?? '') ?? null,
      // The conventions count cached tokens among those of the input.
      'gen_ai.usage.input_tokens': output === null ? null : Math.max(0, (call.tokens ?? 0) - output),
      'gen_ai.usage.output_tokens': output,
      ...amountsOf(call),
    }),
    failed: agentError?.kind ?? null,
  });
  // The amounts and the conversation of an iteration are those of all its calls, so with two of them neither is known.
  const used = madeAgain === null ? { tokens, outputTokens, costUsd } : { tokens: null, costUsd: null };
  const starts = madeAgain === null ? [startedAt] : [startedAt, madeAgain.at];
  const alone = starts.map((from, at) => ({ startedAt: from, endedAt: starts[at + 1] ?? endedAt, ...used }));
  let stepAt = startedAt;
  const steps = evidence.steps.flatMap(
    ({ name, kind, result, durationMs, calls, agent: own }, at): readonly RunSpan[] => {
      const step = idOf('step', iteration, at);
      // A record has no instants but those of its calls: steps follow each other from the beginning of the iteration.
      const begun = calls[0]?.startedAt ?? stepAt;
      stepAt = Math.min(endedAt, begun + durationMs);
      const attributes = { 'ralph.step.name': name, 'ralph.step.kind': kind, 'ralph.step.result': result.kind };
      const failed = result.kind === 'failed' ? 'step' : null;
      const span = { id: step, parent: id, name: 'ralph step', startedAt: begun, endedAt: stepAt, attributes, failed };
      return [span, ...calls.map((call) => spanOfCall(step, call, { agent: own ?? agent, conversation: null }))];
    },
  );
  const attributes = attributesOf({
    'ralph.iteration': iteration,
    'ralph.task': taskId,
    'gen_ai.conversation.id': sessionId,
    ...amountsOf(analysis),
  });
  const failed = verdict.agentFailed ? 'agent' : null;
  const by = { agent, conversation: madeAgain === null ? sessionId : null };
  return [
    { id, parent, name: 'ralph iteration', startedAt, endedAt, attributes, failed },
    ...(evidence.steps.length === 0 ? alone.map((call) => spanOfCall(id, call, by)) : steps),
  ];
}

/** OpenTelemetry's conventions have no names for the sum of all tokens, and for a cost. */
function amountsOf({ tokens, costUsd }: Pick<CallUsage, 'tokens' | 'costUsd'>) {
  return { 'ralph.tokens': tokens, 'ralph.cost_usd': costUsd };
}

/** Returns the attributes without those that are not known. */
function attributesOf(all: Readonly<Record<string, string | number | null>>): RunSpan['attributes'] {
  return Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}
