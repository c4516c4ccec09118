import type { Analysis } from '../analysis/analysis.ts';
import type { AgentEnd } from '../evidence.ts';
import { configurationProblem } from '../lane/verdict.ts';

/** What an iteration heard of its agent. */
export interface Heard {
  readonly analysis: Analysis;
  readonly end: AgentEnd;
  readonly outputChars: number;
  readonly fencedBlock: boolean;
  /** See AgentRun. */
  readonly failedServers: readonly string[];
}

const SILENCE: Analysis = {
  format: 'text',
  signal: {
    from: 'none',
    status: null,
    exitSignal: null,
    testsStatus: null,
    workType: null,
    tasksCompleted: null,
    filesModified: null,
    recommendation: null,
    summary: null,
    asks: null,
    unreadable: [],
  },
  completionIndicator: false,
  confidence: 0,
  testOnly: false,
  noWork: false,
  question: false,
  agentError: null,
  errors: [],
  denials: [],
  usageLimit: null,
  sessionId: null,
  turns: null,
  tokens: null,
  costUsd: null,
};

/** Why a call is the last one of its run, whatever its step may do, as words: the provider's limit, or an access that is wrong for every call alike; null: it is not. */
export function endsTheRun({ analysis, end }: Pick<Heard, 'analysis' | 'end'>): string | null {
  if (end.kind === 'withdrawn') return 'people took its task back';
  if (analysis.usageLimit !== null) return "the provider's usage limit is reached";
  return configurationProblem(analysis) === null ? null : `the agent cannot work (${analysis.agentError?.kind ?? ''})`;
}

/**
 * The calls of an iteration as one. The last one's word counts: it has seen what those before it made; before it counts
 * what ends the run. What was used and refused is that of all. `failed`: those of them whose step may fail and did, so that they
 * overrule nothing; `sessionId`: the lane's conversation as the iteration leaves it.
 */
export function heardTogether(
  calls: readonly Heard[],
  {
    failed,
    sessionId,
    cancelled,
  }: { readonly failed: readonly Heard[]; readonly sessionId: string | null; readonly cancelled: boolean },
): Heard {
  const last =
    calls.find((call) => endsTheRun(call) !== null) ?? calls.findLast((call) => !failed.includes(call)) ?? calls.at(-1);
  const end: AgentEnd = cancelled ? { kind: 'cancelled' } : (last?.end ?? { kind: 'exited', code: 0 });
  if (last === undefined)
    return { analysis: { ...SILENCE, sessionId }, end, outputChars: 0, fencedBlock: false, failedServers: [] };
  const analyses = calls.map(({ analysis }) => analysis);
  return {
    ...last,
    end,
    failedServers: [...new Set(calls.flatMap(({ failedServers }) => failedServers))],
    analysis: {
      ...last.analysis,
      denials: analyses.flatMap(({ denials }) => denials),
      sessionId,
      turns: sumOf(analyses.map(({ turns }) => turns)),
      tokens: sumOf(analyses.map(({ tokens }) => tokens)),
      costUsd: sumOf(analyses.map(({ costUsd }) => costUsd)),
    },
  };
}

/** A call that was made again, with what both used; the failed one was refused nothing that counts. */
export function heardAgain<Call extends Heard>(failed: Heard, again: Call): Call {
  const analyses = [failed.analysis, again.analysis];
  return {
    ...again,
    analysis: {
      ...again.analysis,
      turns: sumOf(analyses.map(({ turns }) => turns)),
      tokens: sumOf(analyses.map(({ tokens }) => tokens)),
      costUsd: sumOf(analyses.map(({ costUsd }) => costUsd)),
    },
  };
}

/** null: none of them is known. */
function sumOf(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + Math.max(0, amount), 0);
}
