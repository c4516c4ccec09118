import type { Verification } from '../../core/evidence.ts';
import { QUESTION_TOOL, suggestRulesToAllow } from '../../core/people/rules-to-allow.ts';
import { namesOf, namesOutOf, toOneLine } from '../../core/text/phrase.ts';
import { formatLeftOutReason } from '../../core/review/left-out.ts';
import type { RunReport, WorkedReport } from '../../handover/report.ts';
import { warnOfFailedCalls } from '../agent-failures.ts';
import { iterationsOf, laneOf, pickVerification, listPassedCommands, settingOf, workOf } from '../facts.ts';
import { formatCount } from '../format.ts';
import { renderCode } from '../markdown.ts';

/**
 * The state of a branch's tests. `name` is what runs them, as Markdown; `since` is the branch's iteration since which
 * they fail, if known.
 */
export type TestState =
  | { readonly kind: 'passed' | 'not-run'; readonly name: string }
  | { readonly kind: 'failed'; readonly name: string; readonly since: number | null }
  /** `steps` holds the pipeline's commands that passed instead, as Markdown. */
  | { readonly kind: 'unset'; readonly steps: readonly string[] };

const SHOWN = 3;

const SHOWN_REASONS = 2;

/**
 * Returns what people must know besides the outcome, each with its remedy: failed calls, files that were left out,
 * tools that the agent was denied. `backticks` mark code.
 */
export function listAlarms(report: RunReport): readonly string[] {
  return [...warnOfFailedCalls(report), ...leftOutAlarm(workOf(report)?.withheld ?? [], 0), ...deniedCommands(report)];
}

/** Returns the alarms of a branch, over all runs. */
export function listBranchAlarms(report: WorkedReport): readonly string[] {
  const { leftOut, leftOutMore } = report.change;
  return [...leftOutAlarm(leftOut, leftOutMore), ...deniedCommands(report)];
}

/** Reports files that were left out, grouped by reason, since the reason determines the remedy. */
function leftOutAlarm(named: WorkedReport['withheld'], more: number): readonly string[] {
  const reasons = new Map(named.map(({ path, why }) => [path, why]));
  const files = reasons.size + more;
  if (files === 0) return [];
  const groups = Map.groupBy([...reasons.keys()], (path) => reasons.get(path) ?? '');
  const groupTexts = [...groups].slice(0, SHOWN_REASONS).map(([why, paths]) => {
    const names = namesOutOf(paths.slice(0, SHOWN).map(marked), paths.length);
    return ` ${names}: ${toOneLine(formatLeftOutReason(why, paths.length), 160).replaceAll('`', "'").replace(/\.$/, '')}.`;
  });
  const explained = [...groups.values()].slice(0, SHOWN_REASONS).flat().length;
  const rest = files === explained ? '' : ` For ${String(files - explained)} more, see “Left out”.`;
  return [
    `⚠️ ${formatCount(files, 'changed file')} ${files === 1 ? 'is' : 'are'} not in the branch.${groupTexts.join('')}${rest}`,
  ];
}

/** Returns the rules of `allowed-tools` that would allow the denied commands, or the commands where no rule would. */
function deniedCommands(report: RunReport): readonly string[] {
  const denials = iterationsOf(report)
    .flatMap(({ analysis }) => analysis.denials)
    .filter(({ tool }) => tool !== QUESTION_TOOL);
  if (denials.length === 0) return [];
  const allowed = settingOf(report)?.policy.allowedTools ?? [];
  const rules = [...new Set(denials.flatMap((denial) => suggestRulesToAllow(denial, allowed)))];
  const times = denials.length === 1 ? '' : ` ${formatCount(denials.length, 'time')}`;
  const named = (texts: readonly string[]): string => texts.slice(0, SHOWN).map(marked).join(', ');
  const commands = [...new Set(denials.map(({ tool, command }) => command ?? tool))];
  return [
    rules.length > 0
      ? `⛔ The agent was denied a tool${times}. To allow it, add to \`allowed-tools\`: ${named(rules)}.`
      : `⛔ The agent was denied a tool${times}: ${named(commands)}. Either each part of such a command is already allowed on its own, or none of it should be.`,
  ];
}

function marked(foreign: string): string {
  return `\`${toOneLine(foreign, 80).replaceAll('`', "'")}\``;
}

/** Returns the result of `verify` on the branch: of this run, else of an earlier one. */
export function findTestState(report: RunReport): TestState {
  const [first, ...others] = laneOf(report)?.verifyCommands ?? [];
  if (first === undefined)
    return { kind: 'unset', steps: listPassedCommands(report).map((step) => renderCode(step, 60)) };
  const newest = pickVerification(report);
  const name = newest.kind === 'failed' ? newest.command : others.length === 0 ? first : 'verify';
  const since = workOf(report)?.change.failingSince ?? null;
  const kind = newest.kind === 'not-run' ? earlier(report, since) : newest.kind;
  return kind === 'failed' ? { kind, name: renderCode(name, 80), since } : { kind, name: renderCode(name, 80) };
}

function earlier(report: RunReport, failingSince: number | null): Verification['kind'] {
  if (failingSince !== null) return 'failed';
  const shares = Object.values(workOf(report)?.change.tasks ?? {});
  return shares.map(({ verification }) => verification).findLast((kind) => kind !== 'not-run') ?? 'not-run';
}

/** Renders Markdown such as ``npm test` passes`, without a full stop. */
export function renderTestState(state: TestState): string {
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
        : `no \`verify\` is set; ${describePassedSteps(state.steps)}`;
  }
}

/**
 * Describes the steps that ran in place of `verify`, in the agent's work tree after the last iteration. `steps` holds
 * at least one, as Markdown.
 */
export function describePassedSteps(steps: readonly string[]): string {
  return `${steps.length === 1 ? 'the step' : 'the steps'} ${namesOf(steps)} of the pipeline passed in the last iteration`;
}
