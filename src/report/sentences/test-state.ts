import type { Verification } from '../../core/evidence.ts';
import type { RunReport } from '../../handover/report.ts';
import { laneOf, lastVerification, workOf } from '../facts.ts';
import { code } from '../markdown.ts';

/** How the tests of a branch stand. `name`: of what runs them, as Markdown. `since`: iteration of the branch since which they fail, if it is known. */
export type TestState =
  | { readonly kind: 'passed' | 'not-run'; readonly name: string }
  | { readonly kind: 'failed'; readonly name: string; readonly since: number | null }
  | { readonly kind: 'unset' };

/** What `verify` says of the branch: as this run saw it, else as an earlier one did. */
export function testState(report: RunReport): TestState {
  const [first, ...others] = laneOf(report)?.verifyCommands ?? [];
  if (first === undefined) return { kind: 'unset' };
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
      return 'nothing was tested: no `verify` is set';
  }
}
