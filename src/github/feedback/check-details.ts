import { createLogTail, type LogWindow } from '../../core/feedback/checks/log-tail.ts';
import type { Annotation, CheckDetails, CheckNow } from '../../core/feedback/pull-request-now.ts';
import { UserError } from '../../errors.ts';
import type { Client, ForgeOptions, Octokit } from '../client.ts';
import { downloadLog } from './log-download.ts';

/** Beyond them an annotation says the same again. */
const MOST_ANNOTATIONS = 50;
/** A failed check is looked at once; what cannot be read is missing, and said to be. */
const once = { request: { retries: 0 } };

interface Job extends LogWindow {
  readonly name: string;
  readonly step: string | null;
}

/** Job, step, annotations and the end of the log of a failed check; never throws for what GitHub does not give. */
export async function detailsOf(
  client: Client,
  { of, id, app }: CheckNow,
  options: Pick<ForgeOptions, 'apiUrl' | 'pace'>,
): Promise<CheckDetails> {
  if (of !== 'check-run' || id === null) return { job: null, step: null, annotations: [], log: null, missing: null };
  const annotations = await tried(() => readAnnotations(client, id));
  if (app !== 'github-actions')
    return { job: null, step: null, annotations: annotations.got ?? [], log: null, missing: annotations.missing };
  const job = await tried(() => readJob(client, id));
  const log = await tried(() => readLog(client, { job: id, window: job.got ?? { from: null, to: null }, ...options }));
  const missing = [annotations.missing, job.missing, log.missing, log.got?.missing].filter((why) => why != null);
  return {
    job: job.got?.name ?? null,
    step: job.got?.step ?? null,
    annotations: annotations.got ?? [],
    log: log.got?.text ?? null,
    // The same permission may be why two of them are missing.
    missing: missing.length === 0 ? null : [...new Set(missing)].join(' '),
  };
}

/** What was read, or why it was not. */
async function tried<T>(read: () => Promise<T>): Promise<{ readonly got: T | null; readonly missing: string | null }> {
  try {
    return { got: await read(), missing: null };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { got: null, missing: error.message };
  }
}

function readAnnotations({ ask }: Client, id: number): Promise<readonly Annotation[]> {
  return ask({ doing: 'read the annotations of a check', needs: ['checks: read'] }, async (octokit, at) => {
    const { data } = await octokit.rest.checks.listAnnotations({
      ...at,
      check_run_id: id,
      per_page: MOST_ANNOTATIONS,
      ...once,
    });
    return data.map(({ path, start_line: line, annotation_level: level, message }) => ({
      path,
      line,
      level: level ?? '',
      message: message ?? '',
    }));
  });
}

function readJob({ ask }: Client, id: number): Promise<Job> {
  return ask({ doing: 'read a failed job', needs: ['actions: read'] }, async (octokit, at) => {
    const { data } = await octokit.rest.actions.getJobForWorkflowRun({ ...at, job_id: id, ...once });
    const failed = failedStep(data.steps ?? []);
    return {
      name: data.name,
      step: failed?.name ?? null,
      from: instant(failed?.started_at),
      to: instant(failed?.completed_at),
    };
  });
}

type Step = NonNullable<
  Awaited<ReturnType<Octokit['rest']['actions']['getJobForWorkflowRun']>>['data']['steps']
>[number];

/** Steps after it fail because of it; one that ran out of time was cancelled. */
function failedStep(steps: readonly Step[]): Step | null {
  const first = (conclusion: string): Step | undefined => steps.find((step) => step.conclusion === conclusion);
  return first('failure') ?? first('cancelled') ?? null;
}

function instant(text: string | null | undefined): number | null {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? null : at;
}

interface Log {
  readonly text: string;
  readonly missing: string | null;
}

/** GitHub says where the log is kept, which is elsewhere: there it is read without the token. */
async function readLog(
  { ask }: Client,
  {
    job,
    window,
    ...options
  }: Pick<ForgeOptions, 'apiUrl' | 'pace'> & { readonly job: number; readonly window: LogWindow },
): Promise<Log> {
  const doing = 'read the log of a failed job';
  const address = await ask({ doing, needs: ['actions: read'] }, async (octokit, at) => {
    const { headers } = await octokit.request('GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs', {
      ...at,
      job_id: job,
      request: { retries: 0, redirect: 'manual' },
    });
    return headers.location ?? null;
  });
  const tail = createLogTail(window);
  const missing = await downloadLog({ address, ...options }, (text) => tail.push(text));
  return { text: tail.end(), missing };
}
