import { grouped } from '../../core/grouped.ts';
import { QUESTION_TOOL, rulesToAllow } from '../../core/people/rules-to-allow.ts';
import { namesOutOf } from '../../core/text/lists.ts';
import { oneLine } from '../../core/text/one-line.ts';
import type { RunReport, WorkedReport } from '../../handover/report.ts';
import { count } from '../format.ts';
import { failedCalls } from '../agent-failures.ts';
import { iterationsOf, settingOf, workOf } from '../facts.ts';

const SHOWN = 3;
const SHOWN_REASONS = 2;

/** What nobody may miss beside the outcome, each with its cure, as sentences in which `backticks` mark code: calls that failed, files that were left out, tools that the agent was denied. */
export function alarms(report: RunReport): readonly string[] {
  return [...failedCalls(report), ...leftOutAlarm(workOf(report)?.withheld ?? [], 0), ...deniedCommands(report)];
}

/** The same of a branch, over all runs. */
export function branchAlarms(report: WorkedReport): readonly string[] {
  const { leftOut, leftOutMore } = report.change;
  return [...leftOutAlarm(leftOut, leftOutMore), ...deniedCommands(report)];
}

/** The first of each reason, since the reason says what helps. */
function leftOutAlarm(named: WorkedReport['withheld'], more: number): readonly string[] {
  const reasons = new Map(named.map(({ path, why }) => [path, why]));
  const files = reasons.size + more;
  if (files === 0) return [];
  const groups = grouped([...reasons.keys()], (path) => reasons.get(path) ?? '');
  const said = [...groups].slice(0, SHOWN_REASONS).map(([why, paths]) => {
    const names = namesOutOf(paths.slice(0, SHOWN).map(marked), paths.length);
    return ` ${names}: ${oneLine(why, 160).replaceAll('`', "'").replace(/\.$/, '')}.`;
  });
  const explained = [...groups.values()].slice(0, SHOWN_REASONS).flat().length;
  const rest = files === explained ? '' : ` For ${String(files - explained)} more, see “Left out”.`;
  return [`⚠️ ${count(files, 'changed file')} ${files === 1 ? 'is' : 'are'} not in the branch.${said.join('')}${rest}`];
}

/** The rules of `allowed-tools` that would let the commands pass; where none does, the commands. */
function deniedCommands(report: RunReport): readonly string[] {
  const denials = iterationsOf(report)
    .flatMap(({ analysis }) => analysis.denials)
    .filter(({ tool }) => tool !== QUESTION_TOOL);
  if (denials.length === 0) return [];
  const allowed = settingOf(report)?.policy.allowedTools ?? [];
  const rules = [...new Set(denials.flatMap((denial) => rulesToAllow(denial, allowed)))];
  const times = denials.length === 1 ? '' : ` ${count(denials.length, 'time')}`;
  const named = (texts: readonly string[]): string => texts.slice(0, SHOWN).map(marked).join(', ');
  const commands = [...new Set(denials.map(({ tool, command }) => command ?? tool))];
  return [
    rules.length > 0
      ? `⛔ The agent was denied a tool${times}. To allow it, add to \`allowed-tools\`: ${named(rules)}.`
      : `⛔ The agent was denied a tool${times}: ${named(commands)}. Either each part of such a command is already allowed on its own, or none of it should be.`,
  ];
}

function marked(foreign: string): string {
  return `\`${oneLine(foreign, 80).replaceAll('`', "'")}\``;
}
