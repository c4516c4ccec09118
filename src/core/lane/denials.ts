import type { Analysis, Denial } from '../analysis/analysis.ts';
import type { Evidence } from '../evidence.ts';
import { groupRefusals } from '../pipeline/step-record.ts';
import type { Policy } from '../policy.ts';

/** The kind of a refused call: the agent asked a person, combined allowed commands, or used something forbidden. */
type DenialKind = 'question' | 'compound' | 'forbidden';

/** Returns the kind of a denial under one agent's tools and allow rules. Journals do not record the kind. */
export type KindOfDenial = (denial: Denial, allowedTools: Policy['allowedTools']) => DenialKind;

/** A refused call with its kind. */
export interface ClassifiedDenial {
  readonly kind: DenialKind;
  readonly command: string | null;
}

export interface JudgedDenials {
  /** Number of denials that feed the circuit. */
  readonly counted: number;
  /** One sentence per refused command that consists of allowed parts. */
  readonly advice: readonly string[];
  /** True if the agent asked a person and nothing else was refused. */
  readonly askedOnly: boolean;
}

/** Classifies refused calls by an agent's rules. */
export function classifyDenials(
  denials: readonly Denial[],
  { allowedTools }: Pick<Policy, 'allowedTools'>,
  kindOf: KindOfDenial,
): readonly ClassifiedDenial[] {
  return denials.map((denial) => ({ kind: kindOf(denial, allowedTools), command: denial.command }));
}

/** Classifies the refused calls of a whole iteration; each step's are judged by that step's rules. */
export function classifyRefused(
  { analysis, evidence }: { readonly analysis: Pick<Analysis, 'denials'>; readonly evidence: Pick<Evidence, 'steps'> },
  policy: Pick<Policy, 'allowedTools'>,
  kindOf: KindOfDenial,
): readonly ClassifiedDenial[] {
  return groupRefusals(evidence.steps, analysis.denials).flatMap(({ denials, allowedTools }) =>
    classifyDenials(denials, { allowedTools: allowedTools ?? policy.allowedTools }, kindOf),
  );
}

/**
 * Separates actual denials from advice and questions. After progress, denials are ignored, because the agent found
 * another way.
 */
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
  // The text must not change, even if it ends in half a character: earlier journals contain it, and replay compares it.
  const shown = (command ?? '').replaceAll(/\s+/g, ' ').slice(0, 120);
  return `\`${shown.replaceAll('`', "'")}\` was refused although each part of it is allowed: the agent should run the parts one at a time, or the whole command needs a rule of its own in allowed-tools.`;
}
