import type { Verification } from '../../core/evidence.ts';
import { isQuestionDenial, suggestRulesToAllow } from '../../core/people/rules-to-allow.ts';
import { listFirstNames, toOneLine } from '../../core/text/phrase.ts';
import { formatLeftOutGroup, groupLeftOut } from '../../core/review/left-out.ts';
import type { RunReport, WorkedReport } from '../../handover/report.ts';
import {
  listIterations,
  selectLaneReport,
  pickVerification,
  listPassedCommands,
  selectReportSetting,
  selectWorkedReport,
  warnOfFailedCalls,
} from '../facts.ts';
import { formatCount } from '../format.ts';
import { renderCode } from '../markdown.ts';

/**
 * The state of a branch's tests. `name` is the program that runs them, as Markdown. `since` is the branch's iteration
 * since which they have been failing, if known.
 */
export type TestState =
  /** `unseen`: it has not run on the newest commit. */
  | { readonly kind: 'passed' | 'not-run' | 'unseen'; readonly name: string }
  | { readonly kind: 'failed'; readonly name: string; readonly since: number | null }
  /** No tests are configured. `steps` contains the pipeline's commands that passed instead, as Markdown. */
  | { readonly kind: 'unset'; readonly steps: readonly string[] };

const SHOWN = 3;

/** Maximum number of characters of the names and reasons of files; further files are only counted. */
const MAX_LEFT_OUT_CHARS = 700;

/**
 * Returns what people must know besides the outcome, each with its remedy: failed calls, files that were left out,
 * tools that the agent was denied. `backticks` mark code. A `page` has the section “Left out”, which names the files.
 */
export function listAlarms(report: RunReport, place: 'page' | 'words'): readonly string[] {
  const withheld = selectWorkedReport(report)?.withheld ?? [];
  const leftOut = place === 'page' ? leftOutElsewhere(withheld, 0) : leftOutAlarm(withheld);
  return [...warnOfFailedCalls(report), ...leftOut, ...deniedCommands(report)];
}

/** Returns the alarms of a branch, over all runs, for its page. */
export function listBranchAlarms(report: WorkedReport): readonly string[] {
  const { leftOut, leftOutMore } = report.change;
  return [...leftOutElsewhere(leftOut, leftOutMore), ...deniedCommands(report)];
}

/** Counts files that were left out, which the page names with the reasons. */
function leftOutElsewhere(named: WorkedReport['withheld'], more: number): readonly string[] {
  const files = countFiles(named) + more;
  return files === 0 ? [] : [`${notInBranch(files)}: see “Left out”.`];
}

/** Names files that were left out by reason, since the reason determines the remedy. */
function leftOutAlarm(named: WorkedReport['withheld']): readonly string[] {
  const files = countFiles(named);
  if (files === 0) return [];
  const groups = groupLeftOut(named, MAX_LEFT_OUT_CHARS, marked).map(
    ({ why, ...group }) => ` ${formatLeftOutGroup({ ...group, why: asText(why) })}.`,
  );
  return [`${notInBranch(files)}.${groups.join('')}`];
}

function countFiles(named: WorkedReport['withheld']): number {
  return new Set(named.map(({ path }) => path)).size;
}

function notInBranch(files: number): string {
  return `⚠️ ${formatCount(files, 'changed file')} ${files === 1 ? 'is' : 'are'} not in the branch`;
}

function asText(why: string): string {
  return toOneLine(why, 160).replaceAll('`', "'").replace(/\.$/, '');
}

/**
 * Returns the rules of `allowed-tools` that would allow the denied commands, or the commands themselves if no rule
 * would.
 */
function deniedCommands(report: RunReport): readonly string[] {
  const denials = listIterations(report)
    .flatMap(({ analysis }) => analysis.denials)
    .filter((denial) => !isQuestionDenial(denial));
  if (denials.length === 0) return [];
  const allowed = selectReportSetting(report)?.policy.allowedTools ?? [];
  const rules = [...new Set(denials.flatMap((denial) => suggestRulesToAllow(denial, allowed)))];
  const times = denials.length === 1 ? '' : ` ${formatCount(denials.length, 'time')}`;
  const named = (texts: readonly string[]): string => texts.slice(0, SHOWN).map(marked).join(', ');
  const commands = [...new Set(denials.map(({ tool, command }) => command ?? tool))];
  return [
    rules.length > 0
      ? `⛔ The agent was denied a tool${times}. To allow it, add to \`allowed-tools\`: ${named(rules)}.`
      : `⛔ The agent was denied a tool${times}: ${named(commands)}. Either each part of such a command is already allowed on its own, or a rule for it would allow far more.`,
  ];
}

function marked(foreign: string): string {
  return `\`${toOneLine(foreign, 80).replaceAll('`', "'")}\``;
}

/** Returns the result of `verify` on the branch: that of this run, otherwise that of an earlier one. */
export function findTestState(report: RunReport): TestState {
  const [first, ...others] = selectLaneReport(report)?.verifyCommands ?? [];
  if (first === undefined)
    return { kind: 'unset', steps: listPassedCommands(report).map((step) => renderCode(step, 60)) };
  const newest = pickVerification(report);
  const name = newest.kind === 'failed' ? newest.command : others.length === 0 ? first : 'verify';
  if (report.outcome.reason === 'unverified') return { kind: 'unseen', name: renderCode(name, 80) };
  const since = selectWorkedReport(report)?.change.failingSince ?? null;
  const kind = newest.kind === 'not-run' ? earlier(report, since) : newest.kind;
  return kind === 'failed' ? { kind, name: renderCode(name, 80), since } : { kind, name: renderCode(name, 80) };
}

function earlier(report: RunReport, failingSince: number | null): Verification['kind'] {
  if (failingSince !== null) return 'failed';
  const shares = Object.values(selectWorkedReport(report)?.change.tasks ?? {});
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
    case 'unseen':
      return `${state.name} has not run on the newest commit`;
    case 'not-run':
      return `nothing was tested: ${state.name} has not run`;
    case 'unset':
      return state.steps.length === 0
        ? 'nothing was tested: no `verify` is set'
        : `no \`verify\` is set; ${describePassedSteps(state.steps)}`;
  }
}

/**
 * Describes the steps that ran in place of `verify`, in the agent's work tree after the last iteration. `steps`
 * contains at least one, as Markdown.
 */
export function describePassedSteps(steps: readonly string[]): string {
  return `${steps.length === 1 ? 'the step' : 'the steps'} ${listFirstNames(steps)} of the pipeline passed in the last iteration`;
}
