import type { Analysis, Denial } from '../analysis/analysis.ts';
import type { Evidence } from '../evidence.ts';
import { refusedIn } from '../pipeline/step-record.ts';
import type { Policy } from '../policy.ts';

/** A refused call: the agent turned to a person, put allowed commands together, or wanted what it may not have. */
type DenialKind = 'question' | 'compound' | 'forbidden';

/** An agent's own reading of its tools and allow rules. A journal keeps what was refused, not what that amounts to. */
export type KindOfDenial = (denial: Denial, allowedTools: Policy['allowedTools']) => DenialKind;

/** A refused call, and what it amounts to. */
export interface ClassifiedDenial {
  readonly kind: DenialKind;
  readonly command: string | null;
}

/** What the denials of one iteration amount to. */
export interface JudgedDenials {
  /** Denials that feed the circuit. */
  readonly counted: number;
  /** One sentence per refused command that is made of allowed parts. */
  readonly advice: readonly string[];
  /** The agent asked a person, and nothing else was refused. */
  readonly askedOnly: boolean;
}

/** What an agent's rules make of its refused calls. */
export function classifyDenials(
  denials: readonly Denial[],
  { allowedTools }: Pick<Policy, 'allowedTools'>,
  kindOf: KindOfDenial,
): readonly ClassifiedDenial[] {
  return denials.map((denial) => ({ kind: kindOf(denial, allowedTools), command: denial.command }));
}

/** The same for a whole iteration, each step by the rules that it had. */
export function classifyRefused(
  { analysis, evidence }: { readonly analysis: Pick<Analysis, 'denials'>; readonly evidence: Pick<Evidence, 'steps'> },
  policy: Pick<Policy, 'allowedTools'>,
  kindOf: KindOfDenial,
): readonly ClassifiedDenial[] {
  return refusedIn(evidence.steps, analysis.denials).flatMap(({ denials, allowedTools }) =>
    classifyDenials(denials, { allowedTools: allowedTools ?? policy.allowedTools }, kindOf),
  );
}

/** Keeps real denials apart from advice and questions. After progress none counts: the agent found another way. */
export function judgeDenials(
  denials: readonly ClassifiedDenial[],
  progress: boolean,
  { onPermissionDenied }: Pick<Policy, 'onPermissionDenied'>,
): JudgedDenials {
  const of = (kind: DenialKind) => denials.filter((denial) => denial.kind === kind);
  return {
    counted: progress || onPermissionDenied === 'continue' ? 0 : of('forbidden').length,
    advice: [...new Set(of('compound').map(adviceFor))],
    askedOnly: denials.length > 0 && denials.every(({ kind }) => kind === 'question'),
  };
}

function adviceFor({ command }: ClassifiedDenial): string {
  // Journals of earlier versions hold this very text, half a character at its end included, and replay compares it.
  const shown = (command ?? '').replaceAll(/\s+/g, ' ').slice(0, 120);
  return `\`${shown.replaceAll('`', "'")}\` was refused although each part of it is allowed: the agent should run the parts one at a time, or the whole command needs a rule of its own in allowed-tools.`;
}
