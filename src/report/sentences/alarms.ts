import type { Denial } from '../../core/analysis/analysis.ts';
import { namesOutOf } from '../../core/text/lists.ts';
import { oneLine } from '../../core/text/one-line.ts';
import type { RunReport, WorkedReport } from '../../handover/report.ts';
import { count } from '../format.ts';
import { iterationsOf, settingOf, workOf } from '../facts.ts';

const SHOWN = 3;

/** What nobody may miss beside the outcome, each with its cure, as sentences in which `backticks` mark code: files that were left out, tools that the agent was denied. */
export function alarms(report: RunReport): readonly string[] {
  return [
    ...leftOutAlarm(
      (workOf(report)?.withheld ?? []).map(({ path }) => path),
      0,
    ),
    ...deniedCommands(report),
  ];
}

/** The same of a branch, over all runs. */
export function branchAlarms(report: WorkedReport): readonly string[] {
  const { leftOut, leftOutMore } = report.change;
  return [
    ...leftOutAlarm(
      leftOut.map(({ path }) => path),
      leftOutMore,
    ),
    ...deniedCommands(report),
  ];
}

function leftOutAlarm(named: readonly string[], more: number): readonly string[] {
  const paths = [...new Set(named)];
  const files = paths.length + more;
  if (files === 0) return [];
  const [is, it] = files === 1 ? ['is', 'it'] : ['are', 'them'];
  return [
    `⚠️ ${count(files, 'changed file')} ${is} not in the branch: ${namesOutOf(paths.slice(0, SHOWN).map(marked), files)}. The reasons are below; \`allow-protected-paths\` lets ${it} in where a path is the reason.`,
  ];
}

/** The rule of `allowed-tools` that would let each command pass. */
function deniedCommands(report: RunReport): readonly string[] {
  const denials = iterationsOf(report).flatMap(({ analysis }) => analysis.denials);
  const allowed = settingOf(report)?.policy.allowedTools ?? [];
  const rules = [...new Set(denials.map(ruleFor).filter((rule) => rule !== null && !allowed.includes(rule)))];
  if (rules.length === 0) return [];
  const times = denials.length === 1 ? '' : ` ${count(denials.length, 'time')}`;
  return [
    `⛔ The agent was denied a tool${times}. To allow it, add to \`allowed-tools\`: ${rules
      .slice(0, SHOWN)
      .map((rule) => marked(rule ?? ''))
      .join(', ')}.`,
  ];
}

/** A rule for one of these would allow everything. */
const SHELLS = new Set(['bash', 'sh', 'zsh', 'eval', 'exec', 'env', 'sudo', 'xargs', 'cd']);

/** `Bash(cargo:*)` for `cargo test`; null where no rule helps: a question, a shell. */
export function ruleFor({ tool, command }: Denial): string | null {
  if (tool === 'AskUserQuestion') return null;
  if (command === null) return /^[\w-]{1,60}$/.test(tool) ? tool : null;
  const program = /^\s*(?:\w+=\S*\s+)*([\w./-]{1,60})/.exec(command)?.[1];
  return program === undefined || tool !== 'Bash' || SHELLS.has(program) ? null : `Bash(${program}:*)`;
}

function marked(foreign: string): string {
  return `\`${oneLine(foreign, 80).replaceAll('`', "'")}\``;
}
