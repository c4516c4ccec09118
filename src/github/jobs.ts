import type { Forge } from '../ports/forge.ts';
import type { Client, Octokit } from './client.ts';

/** As many as a page holds; a job beyond it is not found. */
const MOST_JOBS = 100;

/** Where the run's own log stands. */
export function createJobs({ ask }: Client): Pick<Forge, 'stepUrl'> {
  return {
    stepUrl({ runId, runAttempt, runnerName }) {
      return ask({ doing: 'list the jobs of this run', needs: ['actions: read'] }, async (octokit, at) => {
        const { data } = await octokit.rest.actions.listJobsForWorkflowRunAttempt({
          ...at,
          run_id: Number(runId),
          attempt_number: runAttempt,
          per_page: MOST_JOBS,
          // A link is worth one request.
          request: { retries: 0 },
        });
        const job = jobOn(data.jobs, runnerName);
        if (job === null || job.html_url === null) return null;
        const [step, ...others] = (job.steps ?? []).filter(isRunning);
        return step === undefined || others.length > 0 ? job.html_url : `${job.html_url}#step:${String(step.number)}:1`;
      });
    },
  };
}

type Job = Awaited<ReturnType<Octokit['rest']['actions']['listJobsForWorkflowRunAttempt']>>['data']['jobs'][number];

/** A runner has one job at a time. Where the name tells nothing, the job is certain only if it is the only one. */
function jobOn(jobs: readonly Job[], runnerName: string): Job | null {
  const running = jobs.filter(isRunning);
  const named = running.filter(({ runner_name: name }) => name !== null && name !== '' && name === runnerName);
  const [job, ...others] = named.length > 0 ? named : running;
  return job === undefined || others.length > 0 ? null : job;
}

function isRunning({ status }: { readonly status: string }): boolean {
  return status === 'in_progress';
}
