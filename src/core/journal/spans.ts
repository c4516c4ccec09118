import { type AgentName, AGENTS } from '../agent-names.ts';
import type { CallUsage } from '../lane/ledger.ts';
import type { Outcome } from '../outcome.ts';
import type { JournalEntry } from './journal.ts';

/** A span of a trace. Span ids have 16 hex digits, trace ids 32; instants are in ms. */
export interface RunSpan {
  readonly id: string;
  /** Id of the parent span; null for the root of a trace. */
  readonly parent: string | null;
  readonly name: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** The span's attributes; unknown amounts are absent. */
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The kind of the failure; null if none. */
  readonly failed: string | null;
}

/**
 * A job's part of a run. All jobs of a run share its tag. The tag of a branch's run begins with the tag of the gate or,
 * at home, of the first process.
 */
interface JobOfRun {
  readonly runTag: string;
  readonly phase: 'all' | 'gate' | 'loop' | 'publish';
  readonly startedAt: number;
  readonly endedAt: number;
  /** True for the gate of several branches, which starts a run for each. */
  readonly beginsSeveral: boolean;
  /** The run as a whole, in the job that ends it; null in other jobs. */
  readonly run: { readonly startedAt: number; readonly outcome: Outcome; readonly branch: string | null } | null;
  /** The iterations that no other job sends. */
  readonly iterations: readonly JournalEntry[];
  /** The models that the user chose, by agent name. */
  readonly models: ReadonlyMap<string, string>;
}

/**
 * Returns the spans of a job. Ids are hashes of the run tag, so that all jobs of a run form one trace without
 * exchanging ids, and a span that is sent twice keeps its id.
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
      // A cancelled loop sends no span, so the iterations then belong to the run itself.
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
      // The conventions count cached tokens as input tokens, so all tokens other than output are input.
      'gen_ai.usage.input_tokens': output === null ? null : Math.max(0, (call.tokens ?? 0) - output),
      'gen_ai.usage.output_tokens': output,
      ...amountsOf(call),
    }),
    failed: agentError?.kind ?? null,
  });
  // An iteration records the sum over its calls, so the amounts and conversation of one of two calls are unknown.
  const used = madeAgain === null ? { tokens, outputTokens, costUsd } : { tokens: null, costUsd: null };
  const starts = madeAgain === null ? [startedAt] : [startedAt, madeAgain.at];
  const alone = starts.map((from, at) => ({ startedAt: from, endedAt: starts[at + 1] ?? endedAt, ...used }));
  let stepAt = startedAt;
  const steps = evidence.steps.flatMap(
    ({ name, kind, result, durationMs, calls, agent: own }, at): readonly RunSpan[] => {
      const step = idOf('step', iteration, at);
      // A step without calls has no recorded instants, so it is placed directly after the preceding step.
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

/** Returns the total tokens and the cost, for which OpenTelemetry's conventions have no names. */
function amountsOf({ tokens, costUsd }: Pick<CallUsage, 'tokens' | 'costUsd'>) {
  return { 'ralph.tokens': tokens, 'ralph.cost_usd': costUsd };
}

/** Returns the attributes without unknown ones. */
function attributesOf(all: Readonly<Record<string, string | number | null>>): RunSpan['attributes'] {
  return Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}
