import { SETUP_PATHS } from '../../core/setup/files.ts';
import type { FileChange } from '../../core/setup/ownership.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { toPlainLine } from '../arguments.ts';
import type { SetupReport } from './setup-schema.ts';

/** Returns the text about the facts that were found in the repository. */
export function renderFoundProject({ project, leftToFile: left }: SetupReport): string {
  const stacks = project.stacks.map(({ language, folder, packageManager, frameworks, test }) => {
    const where = folder === '' ? '' : ` in ${folder}/`;
    return `  ${[language, ...frameworks].join(', ')}${where} (${packageManager}): ${toPlainLine(test ?? 'no tests found', 160)}\n`;
  });
  const others = project.otherRalphs.map(({ name, path, advice }) => `  ${name} (${path}): ${advice}\n`);
  const tasks = project.taskFiles.map((path) => `  tasks in ${path}\n`);
  const workflow =
    project.ralphWorkflow === SETUP_PATHS.workflow ? [] : [`  a workflow for Ralph in ${project.ralphWorkflow}\n`];
  const settings =
    left === null || left.inputs.length === 0
      ? []
      : [`  ${left.path} sets ${listFirstNames(left.inputs)}: the workflow changes none of them\n`];
  const nothing = stacks.length === 0 && project.ci.from.length === 0 ? ['  no language with known commands\n'] : [];
  return `Found:\n${[...stacks, ...nothing, ...ciLines(project.ci), ...workflow, ...tasks, ...others, ...settings].join('')}`;
}

function ciLines({ from, unread }: SetupReport['project']['ci']): readonly string[] {
  return [
    ...from.map((job) => `  set-up and verify as in ${toPlainLine(job, 200)}\n`),
    ...unread.map(({ what, why }) => `  not proposed: ${toPlainLine(what, 100)} (${toPlainLine(why, 100)})\n`),
  ];
}

/** Returns the text about checks of CI that `verify` does not contain. */
export function renderOfferedChecks({ project }: SetupReport): string {
  const { offered } = project.ci;
  if (offered.length === 0) return '';
  const lines = offered.map((line) => `  ${toPlainLine(line, 200)}\n`).join('');
  return `\nYour CI also runs these; add the ones that must pass to verify:\n${lines}`;
}

/** Returns the files that change, one per line. */
export function renderChangedFiles(changes: readonly FileChange[]): string {
  const words: Readonly<Record<FileChange['kind'], string>> = {
    ...{ create: 'new', extend: 'more lines', shorten: 'fewer lines', delete: 'deleted' },
    ...{ same: 'stays', absent: 'not there', left: 'stays: it is there and differs' },
  };
  const lines = changes.map((change) => {
    const size = 'after' in change ? `, ${change.after.split('\n').length - 1} lines` : '';
    return `  ${change.path} (${words[change.kind]}${change.kind === 'create' ? size : ''})\n`;
  });
  return `Files:\n${lines.join('')}`;
}

/** Returns the changes of the files as a diff, and the files that stay as they are. */
export function renderPreview(changes: readonly FileChange[], colours: boolean): string {
  const paint = (whole: string): string => {
    const line = whole.replace(/\r$/, '');
    const shown = toPlainLine(line, 400) === '' ? '' : line.replace(/[^\P{Cc}\t]/gu, '?');
    const colour = line.startsWith('+') ? '32' : line.startsWith('-') ? '31' : line.startsWith('@') ? '36' : null;
    return colours && colour !== null ? `\u001B[${colour}m${shown}\u001B[0m` : shown;
  };
  return changes
    .flatMap((change) => [...listDiffLines(change).map(paint), ...leftLines(change)].map((line) => `${line}\n`))
    .join('');
}

function leftLines(change: FileChange): readonly string[] {
  if (change.kind !== 'left') return [];
  if (change.wanted === null) return [`${change.path} is not as init wrote it, so it stays as it is.`];
  return [
    `${change.path} already exists and differs, so it stays as it is. Init would have written this:`,
    ...change.wanted.split('\n').map((line) => `    ${line}`.trimEnd()),
  ];
}

/** Returns the remaining steps, and the maximum cost of a first run. */
export function renderStepsByHand({ byHand, maxCostUsd }: SetupReport): string {
  const steps = byHand.map(({ what, url }, at) => `  ${at + 1}. ${what}${url === null ? '' : `\n     ${url}`}\n`);
  const amount = (usd: number): string => (usd === 0 ? 'without a limit' : `at most $${usd}`);
  return `\nLeft to do by hand:\n${steps.join('')}
The first run costs ${amount(maxCostUsd.run)} for the model, all runs of a day ${amount(maxCostUsd.day)} (max-cost-usd, max-cost-usd-per-day). A call in progress can exceed that by one model response.

Next:
  ralph doctor --verify   checks the set-up, and runs verify in a clean clone
  ralph sandbox --repo .  plays the workflow on this machine: no account, no cost
  ralph run               works on the tasks here\n`;
}

/** Renders a change as lines of a unified diff with a single hunk; empty if nothing changes. */
export function listDiffLines(change: FileChange): readonly string[] {
  if (!('before' in change)) return [];
  const before = splitDiffLines(change.before ?? '');
  const after = 'after' in change ? splitDiffLines(change.after) : [];
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const from = Math.max(0, start - CONTEXT_LINES);
  const tail = Math.min(end, CONTEXT_LINES);
  const removed = before.slice(start, before.length - end);
  const added = after.slice(start, after.length - end);
  const kept = before.slice(from, start);
  const behind = before.slice(before.length - end, before.length - end + tail);
  const range = (lines: number): string => {
    const count = kept.length + lines + behind.length;
    return `${count === 0 ? 0 : from + 1},${count}`;
  };
  return [
    change.before === null ? '--- /dev/null' : `--- a/${change.path}`,
    change.kind === 'delete' ? '+++ /dev/null' : `+++ b/${change.path}`,
    `@@ -${range(removed.length)} +${range(added.length)} @@`,
    ...kept.map((line) => ` ${line}`),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ...behind.map((line) => ` ${line}`),
  ];
}

const CONTEXT_LINES = 3;

function splitDiffLines(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
