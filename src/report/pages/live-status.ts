import { tasksDone } from '../../core/tasks/queue.ts';
import type { Order } from '../../core/sharing/orders.ts';
import { nameOfTaskId } from '../../core/tasks/ids.ts';
import { firstNames } from '../../core/text/lists.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import type { ParkReason } from '../../core/outcome.ts';
import type { Policy } from '../../core/policy.ts';
import { formatInstant, MINUTE_MS } from '../../core/time.ts';
import type { TaskReport } from '../../handover/report.ts';
import { count, formatCost, formatDuration } from '../format.ts';
import { quotedFailure } from '../agent-failures.ts';
import { knownCost } from '../sentences/unknown-cost.ts';
import { link, prose, text, taskLink } from '../markdown.ts';
import { iterationResult } from './progress.ts';
import { tasksBar } from './progress-bar.ts';
import { verificationWord } from './sections.ts';
import { STATUS_MARKER } from './status-comment.ts';

const MAX_ORDERS = 3;
const AT_WORK = '**🚧 Ralph is at work.**';

/** What a run does now. */
export type Doing =
  | {
      readonly kind: 'iterates';
      readonly task: TaskReport['task'];
      /** 1-based: the one that begins. */
      readonly iteration: number;
      /** What people ordered since the run began, oldest first. */
      readonly orders: readonly Order[];
    }
  /** `task`: the next one; `until`: an instant in ms. */
  | { readonly kind: 'waits'; readonly for: ParkReason; readonly task: TaskReport['task']; readonly until: number };

/** How a run stands while it works. */
export interface LiveStatus {
  readonly doing: Doing;
  readonly tasks: readonly TaskReport[];
  /** This run's iterations, oldest first. */
  readonly journal: readonly JournalEntry[];
  readonly limits: Pick<Policy, 'maxIterations' | 'maxRunMs' | 'maxCostUsd'>;
  readonly startedAt: number;
  readonly now: number;
  /** Of how many jobs the run is. */
  readonly jobs: 'one' | 'three';
  readonly runUrl: string;
}

/** The sticky status comment of a run that works: which iteration, what the last one came to, time and money against their limits. True for as long as it stands. */
export function renderLiveStatus(live: LiveStatus): string {
  const { doing, tasks, journal, limits, jobs, startedAt, now, runUrl } = live;
  const orders = doing.kind === 'iterates' ? doing.orders : [];
  const named = `${taskLink(doing.task)} ${text(doing.task.title, 120)} (${link('live log', runUrl)})`;
  const last = journal.at(-1) ?? null;
  const costUsd = journal.reduce((sum, { analysis }) => sum + (analysis.costUsd ?? 0), 0);
  const tokens = journal.reduce((sum, { analysis }) => sum + (analysis.tokens ?? 0), 0);
  const cost = knownCost({ tokens, costUsd }).map(
    (known) => ` · ${known}${limits.maxCostUsd > 0 ? ` of ${formatCost(limits.maxCostUsd)}` : ''}`,
  );
  const done = tasks.filter(({ progress }) => progress.state === 'done').length;
  const minutes = Math.floor(Math.max(0, now - startedAt) / MINUTE_MS);
  return [
    STATUS_MARKER,
    doing.kind === 'iterates'
      ? `${AT_WORK} Iteration ${doing.iteration} of ${limits.maxIterations} began ${formatInstant(now)}: ${named}`
      : `${AT_WORK} ${doing.for === 'step_circuit' ? 'The circuit of a step is open' : 'A limit is reached'}, so the run waits until ${formatInstant(doing.until)}, then continues with ${named}`,
    ...(last === null ? [] : [`Last iteration: ${lastWords(last)}`]),
    `\`${tasksBar(tasks)}\` ${tasksDone(done, tasks.length)} · ${minutes} of ${Math.round(limits.maxRunMs / MINUTE_MS)} min${cost.join('')}`,
    ...(orders.length === 0 ? [] : [`For the next run: ${firstNames(orders.map(orderWords), MAX_ORDERS)}`]),
    jobs === 'one'
      ? '<sub>Updated with every iteration. To end the run after this iteration, comment `/ralph stop`.</sub>'
      : `<sub>Updated when the run ends. To end it now, cancel ${link('the run', runUrl)}: what is finished is kept.</sub>`,
  ].join('\n\n');
}

/** Whether a status comment is one of a run that works. */
export function isLiveStatus(comment: string): boolean {
  return comment.startsWith(`${STATUS_MARKER}\n\n${AT_WORK}`);
}

/** Given while the run works, so that no answer of another run need be found here again. */
function orderWords({ kind, task, by }: Order): string {
  const words = `${kind.replace('-', ' ')}${task === null ? '' : ` ${nameOfTaskId(task)}`}`;
  return `\`/ralph ${words}\` of ${text(by, 40)}`;
}

function lastWords(entry: JournalEntry): string {
  const { evidence, analysis, startedAt, endedAt } = entry;
  return [
    entry.verdict.agentFailed ? prose(quotedFailure(entry), 300) : iterationResult(entry),
    evidence.fileCount === 0
      ? 'nothing changed'
      : `${count(evidence.fileCount, 'file')} (+${evidence.insertions} −${evidence.deletions})`,
    ...(evidence.verification.kind === 'not-run' ? [] : [`\`verify\` ${verificationWord(evidence.verification)}`]),
    formatDuration(endedAt - startedAt),
    ...(analysis.costUsd === null ? [] : [formatCost(analysis.costUsd)]),
  ].join(' · ');
}
