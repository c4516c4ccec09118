import type { Verification } from '../../core/evidence.ts';
import { namesOf } from '../../core/text/lists.ts';
import type { RunReport } from '../../handover/report.ts';
import { laneOf, lastVerification, passedCommands, workOf } from '../facts.ts';
import { code } from '../markdown.ts';

/** How the tests of a branch stand. `name`: of what runs them, as Markdown. `since`: iteration of the branch since which they fail, if it is known. */
export type TestState =
  | { readonly kind: 'passed' | 'not-run'; readonly name: string }
  | { readonly kind: 'failed'; readonly name: string; readonly since: number | null }
  /** `steps`: the pipeline's commands that passed instead, as Markdown. */
  | { readonly kind: 'unset'; readonly steps: readonly string[] };

/** What `verify` says of the branch: as this run saw it, else as an earlier one did. */
export function testState(report: RunReport): TestState {
  const [first, ...others] = laneOf(report)?.verifyCommands ?? [];
  if (first === undefined) return { kind: 'unset', steps: passedCommands(report).map((step) => code(step, 60)) };
  const newest = lastVerification(report);
  const name = newest.kind === 'failed' ? newest.command : others.length === 0 ? first : 'verify';
  const since = workOf(report)?.change.failingSince ?? null;
  const kind = newest.kind === 'not-run' ? earlier(report, since) : newest.kind;
  return kind === 'failed' ? { kind, name: code(name, 80), since } : { kind, name: code(name, 80) };
}

/** Of runs before this one. */
function earlier(report: RunReport, failingSince: number | null): Verification['kind'] {
  if (failingSince !== null) return 'failed';
  const shares = Object.values(workOf(report)?.change.tasks ?? {});
  return shares.map(({ verification }) => verification).findLast((kind) => kind !== 'not-run') ?? 'not-run';
}

/** ``npm test` passes`, as Markdown without an end. */
export function testWords(state: TestState): string {
  switch (state.kind) {
    case 'passed':
      return `${state.name} passes`;
    case 'failed':
      return state.since === null
        ? `${state.name} fails`
        : `${state.name} has been failing since iteration ${state.since}`;
    case 'not-run':
      return `nothing was tested: ${state.name} has not run`;
    case 'unset':
      return state.steps.length === 0
        ? 'nothing was tested: no `verify` is set'
        : `no \`verify\` is set; ${passedWords(state.steps)}`;
  }
}

/** What ran in place of `verify`: where the agent works, on what the last iteration left. `steps`: at least one, as Markdown. */
export function passedWords(steps: readonly string[]): string {
  return `${steps.length === 1 ? 'the step' : 'the steps'} ${namesOf(steps)} of the pipeline passed in the last iteration`;
}
