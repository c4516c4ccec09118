import { textOf } from '../errors.ts';
import type { Order } from '../core/sharing/orders.ts';
import type { Outcome } from '../core/outcome.ts';
import { nextTask } from '../core/tasks/queue.ts';
import { issueOfTask, isListed, type Task } from '../core/tasks/task.ts';
import type { Work } from '../handover/work.ts';
import { jobsOf, type Config, type RunContext } from '../config/config.ts';
import type { Forge } from '../ports/forge.ts';
import type { Clock } from '../ports/machine.ts';
import { renderLiveStatus, type Doing } from '../report/pages/live-status.ts';
import { STATUS_MARKER } from '../report/pages/status-comment.ts';
import { tasksWithProgress } from './lane-view.ts';
import { within } from './within.ts';

/** Between two edits of the same comment, in ms: nobody reads faster. */
const MIN_GAP_MS = 20_000;
/** A comment is not worth more of a run's time, in ms. */
const MAX_WAIT_MS = 10_000;
/** What fails so often is not tried any more. */
const MAX_FAILURES = 2;

interface LiveStatusDeps {
  readonly forge: Pick<Forge, 'upsertComment'>;
  readonly config: Pick<Config, 'policy' | 'handoff'>;
  readonly context: Pick<RunContext, 'runUrl' | 'serverUrl' | 'repository'>;
  readonly clock: Clock;
  readonly debug: (text: string) => void;
  readonly redact: (text: string) => string;
}

interface Beginning {
  readonly task: Task;
  readonly iteration: number;
  /** What people ordered since the run began. */
  readonly orders: readonly Order[];
}

/** Shows how the run stands: in the status comment of its task's issue, or of the pull request for a task of a file. Never throws. */
interface LiveStatus {
  /** As an iteration begins. */
  readonly showLive: (work: Work, begins: Beginning) => Promise<void>;
  /** As a wait for the end of a limit begins. */
  readonly showWait: (work: Work, until: Extract<Outcome, { kind: 'parked' }>) => Promise<void>;
}

/** One edit per iteration, at most one in 20 s on the same comment. */
export function createLiveStatus({ forge, config, context, clock, debug, redact }: LiveStatusDeps): LiveStatus {
  let shown: { readonly thread: number; readonly at: number } | null = null;
  let failures = 0;
  return {
    showLive: (work, begins) => show(work, { kind: 'iterates', ...begins }),
    showWait: (work, { reason, resumeAt }) => {
      const { state, tasks } = work;
      const task = nextTask(tasks, state.tasks, state.currentTask);
      return task === null ? Promise.resolve() : show(work, { kind: 'waits', for: reason, task, until: resumeAt });
    },
  };

  async function show({ lane, tasks, state, journal, startedAt }: Work, doing: Doing): Promise<void> {
    const thread = issueOfTask(doing.task) ?? lane.pullRequest?.number ?? null;
    const now = clock.now();
    if (thread === null || failures >= MAX_FAILURES) return;
    const isEarly = shown !== null && shown.thread === thread && now - shown.at < MIN_GAP_MS;
    // A wait is long: what stands for as long must be true.
    if (isEarly && doing.kind === 'iterates') return;
    const body = renderLiveStatus({
      doing,
      tasks: tasksWithProgress(tasks.filter(isListed), state, context),
      journal,
      limits: config.policy,
      jobs: jobsOf(config),
      startedAt,
      now,
      runUrl: context.runUrl,
    });
    try {
      const written = await within(MAX_WAIT_MS, forge.upsertComment(thread, STATUS_MARKER, redact(body)));
      if (written.kind === 'granted') shown = { thread, at: now };
      else failures += 1;
    } catch (error) {
      failures += 1;
      debug(`The status comment on #${String(thread)} was not updated: ${textOf(error)}`);
    }
  }
}
