import { setTimeout as wait } from 'node:timers/promises';
import { getErrorText } from '../errors.ts';
import type { Dependency, Forge, ForgeAdapter } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import {
  type Client,
  createAccountLookups,
  createClient,
  type ForgeOptions,
  type Octokit,
  type RepositoryName,
  usualPace,
} from './client.ts';
import { createDashboardMethods } from './dashboard.ts';
import { createCommentMethods } from './comments.ts';
import { isGoneError, readHttpStatus } from './errors.ts';
import { createFeedbackMethods } from './feedback/feedback.ts';
import { askAboutIssues, createHistoryMethods, type IssueQuestion } from './histories.ts';
import { createIssueMethods, createLabelMethods, isOfRepository, repositoryOfIssue } from './issues.ts';
import { createPullRequestMethods } from './pull-requests.ts';
import { readRepositorySettings } from './settings.ts';
import { createIssueWriter, type KnownNodes } from './wishes/issue-writes.ts';

type CacheMethods = Pick<Forge, 'deleteSupersededCaches'>;

/** Maximum number of deletions per run. A run adds one entry, so a backlog is gone after a few runs. */
const MAX_CACHE_DELETIONS = 20;

/** Maximum time in ms that a run waits for this housekeeping. */
const MAX_CLEANUP_MS = 10_000;

type Listed = Awaited<ReturnType<Octokit['rest']['actions']['getActionsCacheList']>>['data']['actions_caches'][number];

type Known = Required<Pick<Listed, 'id' | 'key' | 'ref' | 'version'>>;

type DependencyMethods = Pick<Forge, 'dependenciesOf' | 'statesOf'>;

/** The query for the states of issues; a merged pull request is closed, too. */
const stateQuestion: IssueQuestion = {
  field: 'issueOrPullRequest',
  selection: '... on Issue { closed } ... on PullRequest { closed }',
  fragments: '',
  atOnce: 100,
};

type IssueAnswer = Awaited<ReturnType<Octokit['rest']['issues']['listSubIssues']>>['data'][number];

/** Maximum number of jobs, which is one page; a job on a later page is not found. */
const MAX_JOBS_READ = 100;

type Job = Awaited<ReturnType<Octokit['rest']['actions']['listJobsForWorkflowRunAttempt']>>['data']['jobs'][number];

/** Creates the port to GitHub. Nothing is loaded or sent before the first method that needs the API. */
export function createForge(options: ForgeOptions): ForgeAdapter {
  const client = createClient(options);
  const { log } = options;
  const known: KnownNodes = { labels: new Map(), threads: new Map() };
  const write = createIssueWriter();
  return {
    ...createIssueMethods(client, { known, log }),
    ...createAccountLookups(client),
    ...createHistoryMethods(client),
    ...createDependencies(client, log),
    ...createLabelMethods(client, { known, write }),
    ...createCommentMethods(client, { nodes: known, write }),
    ...createPullRequestMethods(client, log),
    ...createDashboardMethods(client),
    ...createCaches(client, options),
    ...createJobs(client),
    ...createFeedbackMethods(client, options),
    makeCommit: (commit) =>
      client.ask({ doing: 'make a signed commit', needs: ['contents: write'] }, async (octokit, at) => {
        const { data } = await octokit.rest.git.createCommit({ ...at, ...commit, parents: [...commit.parents] });
        return { id: data.sha, isVerified: data.verification.verified, reason: data.verification.reason };
      }),
    settings: (query) => readRepositorySettings(client, query),
    requests: client.requests,
  };
}

/** Creates the lookups of workflow runs: of the address of this run's own log, and of the ends of others. */
function createJobs({ ask }: Client): Pick<Forge, 'stepUrl' | 'countEndedAttempts'> {
  const ended = new Map<string, Promise<number>>();
  const countEnded = (runId: string): Promise<number> =>
    ask({ doing: `see if run ${runId} has ended`, needs: ['actions: read'] }, async (octokit, at) => {
      // Do not retry: without an answer, the run counts as working.
      const run = { ...at, run_id: Number(runId), exclude_pull_requests: true, request: { retries: 0 } };
      const { status, run_attempt: newest = 1 } = (await octokit.rest.actions.getWorkflowRun(run)).data;
      // If only failed jobs run again, they work under the claim of the attempt in which the gate succeeded.
      return status === 'completed' ? newest : 0;
    });
  return {
    countEndedAttempts(runId) {
      const known = ended.get(runId) ?? countEnded(runId);
      ended.set(runId, known);
      return known;
    },
    stepUrl({ runId, runAttempt, runnerName }) {
      return ask({ doing: 'list the jobs of this run', needs: ['actions: read'] }, async (octokit, at) => {
        const { data } = await octokit.rest.actions.listJobsForWorkflowRunAttempt({
          ...at,
          run_id: Number(runId),
          attempt_number: runAttempt,
          per_page: MAX_JOBS_READ,
          // Do not retry: a link is worth only one request.
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

/**
 * Returns the running job on this runner, which runs one job at a time. If the name does not identify it, returns a job
 * only if no other one runs.
 */
function jobOn(jobs: readonly Job[], runnerName: string): Job | null {
  const running = jobs.filter(isRunning);
  const named = running.filter(({ runner_name: name }) => name !== null && name !== '' && name === runnerName);
  const [job, ...others] = named.length > 0 ? named : running;
  return job === undefined || others.length > 0 ? null : job;
}

function isRunning({ status }: { readonly status: string }): boolean {
  return status === 'in_progress';
}

/** Creates the lookups of dependencies between issues. */
function createDependencies(client: Client, log: Log): DependencyMethods {
  let isReported = false;
  const reportOnce = (number: number): void => {
    if (!isReported)
      log.info(
        `GitHub does not list dependencies or sub-issues of #${String(number)} (404): this server is too old to know them. Such issues count as having none.`,
      );
    isReported = true;
  };

  return {
    // Use REST, because GraphQL's published schema has sub-issues but no dependencies.
    dependenciesOf: (number) =>
      client.ask({ doing: `read what #${String(number)} depends on`, needs: ['issues: read'] }, async (octokit, at) => {
        const issue = { ...at, issue_number: number, per_page: 100 };
        const lists = [
          () => octokit.paginate(octokit.rest.issues.listDependenciesBlockedBy, issue),
          () => octokit.paginate(octokit.rest.issues.listSubIssues, issue),
        ];
        const found: Dependency[] = [];
        for (const list of lists) {
          try {
            found.push(...(await list()).map((answer) => toDependency(answer, at)));
          } catch (error) {
            if (!isGoneError(error)) throw error;
            if (readHttpStatus(error) === 404) reportOnce(number);
          }
        }
        return found;
      }),

    async statesOf(numbers) {
      const found = await askAboutIssues<{ readonly closed: boolean }>(
        client,
        { doing: 'read whether issues are open', needs: ['issues: read', 'pull-requests: read'] },
        { ...stateQuestion, numbers },
      );
      return new Map(numbers.map((number) => [number, stateOf(found.get(number))]));
    },
  };
}

function stateOf(answer: { readonly closed: boolean } | undefined): Dependency['state'] {
  if (answer === undefined) return 'missing';
  return answer.closed ? 'closed' : 'open';
}

function toDependency(answer: IssueAnswer, at: RepositoryName): Dependency {
  return {
    number: answer.number,
    state: answer.state === 'open' ? 'open' : 'closed',
    elsewhere: isOfRepository(at, answer) ? null : repositoryOfIssue(answer),
  };
}

/** Creates the function that deletes Actions caches of the repository. */
function createCaches(
  client: Client,
  { debug = () => undefined, pace = usualPace }: Pick<ForgeOptions, 'debug' | 'pace'>,
): CacheMethods {
  /** True if the token lacks `actions: write`; its permissions do not change during a run. */
  let isRefused = false;

  return {
    async deleteSupersededCaches(keyPrefix, keep) {
      // Do nothing without a prefix, because all caches of the repository would match.
      if (isRefused || keyPrefix === '') return 0;
      const over = new AbortController();
      let deleted = 0;
      const work = client.ask({ doing: 'delete superseded caches', needs: ['actions: write'] }, async (octokit, at) => {
        try {
          const { data } = await octokit.rest.actions.getActionsCacheList({
            ...at,
            key: keyPrefix,
            sort: 'created_at',
            direction: 'desc',
            per_page: 100,
            request: { retries: 0 },
          });
          for (const { id } of superseded(data.actions_caches, keyPrefix, Math.max(1, keep))
            .slice(-MAX_CACHE_DELETIONS)
            .reverse()) {
            if (over.signal.aborted) return;
            if (await tryDelete(octokit, { ...at, cache_id: id })) deleted += 1;
          }
        } catch (error) {
          isRefused = [403, 404].includes(readHttpStatus(error) ?? 0);
          throw error;
        }
      });
      const reported = work.catch((error: unknown) => {
        debug(getErrorText(error));
      });
      await Promise.race([
        reported,
        wait(Math.min(MAX_CLEANUP_MS, pace.requestMs), undefined, { signal: over.signal }).catch(() => undefined),
      ]);
      over.abort();
      return deleted;
    },
  };
}

/**
 * Returns the caches to delete, newest first like `caches`. Keeps the newest `keep` of each ref and version: a run
 * finds only caches of its own ref or of the default branch, and only in its own compression format, so a newer cache
 * of another ref or version does not replace them.
 */
function superseded(caches: readonly Listed[], keyPrefix: string, keep: number): readonly Known[] {
  const seen = new Map<string, number>();
  return caches.filter(isKnown).filter(({ key, ref, version }) => {
    // GitHub claims to filter by prefix, but check it here, because deletions must not depend on that.
    if (!key.startsWith(keyPrefix)) return false;
    const shelf = `${ref} ${version}`;
    const newer = seen.get(shelf) ?? 0;
    seen.set(shelf, newer + 1);
    return newer >= keep;
  });
}

function isKnown(cache: Listed): cache is Listed & Known {
  return [cache.id, cache.key, cache.ref, cache.version].every((part) => part !== undefined);
}

/** Deletes a cache; returns false if it was already gone, because other runs tidy up as well. */
async function tryDelete(
  octokit: Octokit,
  cache: { readonly owner: string; readonly repo: string; readonly cache_id: number },
): Promise<boolean> {
  try {
    await octokit.rest.actions.deleteActionsCacheById({ ...cache, request: { retries: 0 } });
    return true;
  } catch (error) {
    if (readHttpStatus(error) === 404) return false;
    throw error;
  }
}
