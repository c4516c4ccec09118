import type { Analysis } from '../analysis/analysis.ts';
import type { AgentEnd } from '../evidence.ts';

/** What an iteration heard of its agent. */
export interface Heard {
  readonly analysis: Analysis;
  readonly end: AgentEnd;
  readonly outputChars: number;
  readonly fencedBlock: boolean;
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

/**
 * The calls of an iteration as one. The last one's word counts: it has seen what those before it made. What was used and
 * refused is that of all. `sessionId`: the lane's conversation as the iteration leaves it.
 */
export function heardTogether(
  calls: readonly Heard[],
  { sessionId, cancelled }: { readonly sessionId: string | null; readonly cancelled: boolean },
): Heard {
  const last = calls.at(-1);
  const end: AgentEnd = cancelled ? { kind: 'cancelled' } : (last?.end ?? { kind: 'exited', code: 0 });
  if (last === undefined) return { analysis: { ...SILENCE, sessionId }, end, outputChars: 0, fencedBlock: false };
  const analyses = calls.map(({ analysis }) => analysis);
  return {
    ...last,
    end,
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

/** null: none of them is known. */
function sumOf(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + Math.max(0, amount), 0);
}
