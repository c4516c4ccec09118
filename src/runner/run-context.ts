import { existsSync, statSync } from 'node:fs';
import type { context } from '@actions/github';
import type { RunContext } from '../config/config.ts';
import { textOf, UserError } from '../errors.ts';

type GitHubContext = typeof context;

/** GitHub's own cap for a webhook payload is 25 MB. */
const MAX_EVENT_BYTES = 25 * 1024 * 1024;

/** Reads what the runner says about this run, which is in `environment`, this process's own; throws one UserError that lists every problem. */
export async function readRunContext(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Omit<RunContext, 'loginProblems' | 'verifyProblems'>> {
  const problems: string[] = [];
  const need = (name: string): string => {
    const value = (environment[name] ?? '').trim();
    if (value === '')
      problems.push(
        `- ${name} is not set: this is a GitHub Action and must run in a job, where the runner sets that variable.`,
      );
    return value;
  };

  const repository = need('GITHUB_REPOSITORY');
  const [owner = '', repo = '', ...rest] = repository.split('/');
  if (repository !== '' && (owner === '' || repo === '' || rest.length > 0))
    problems.push(`- GITHUB_REPOSITORY is "${repository}": expected owner/name.`);
  const workspace = need('GITHUB_WORKSPACE');
  const temp = need('RUNNER_TEMP');
  const serverUrl = need('GITHUB_SERVER_URL').replace(/\/+$/, '');
  const apiUrl = need('GITHUB_API_URL').replace(/\/+$/, '');
  const runId = need('GITHUB_RUN_ID');
  const eventName = need('GITHUB_EVENT_NAME');
  const github = await readContext(need('GITHUB_EVENT_PATH'), problems);
  if (github === null || problems.length > 0)
    throw new UserError('configuration', `The job's environment is incomplete:\n${problems.join('\n')}`);

  const runUrl = `${serverUrl}/${owner}/${repo}/actions/runs/${runId}`;
  return {
    workspace,
    temp,
    repository: { owner, repo },
    serverUrl,
    apiUrl,
    runId,
    runAttempt: Math.max(1, github.runAttempt || 1),
    runUrl,
    logUrl: runUrl,
    runnerName: environment['RUNNER_NAME'] ?? '',
    // owner/repo/.github/workflows/ralph.yml@refs/heads/main; of a reusable workflow the one that calls it.
    workflowPath: /^[^/]+\/[^/]+\/([^@]+)@/.exec(environment['GITHUB_WORKFLOW_REF'] ?? '')?.[1] ?? null,
    event: { name: eventName, payload: github.payload },
  };
}

/** The toolkit's context, which parses the event as it loads: what it would throw or write to the log for is looked for first. */
async function readContext(path: string, problems: string[]): Promise<GitHubContext | null> {
  if (path === '') return null;
  if (!existsSync(path)) {
    problems.push(`- GITHUB_EVENT_PATH is "${path}": there is no such file.`);
    return null;
  }
  const { size } = statSync(path);
  if (size > MAX_EVENT_BYTES) {
    problems.push(`- GITHUB_EVENT_PATH is "${path}": ${String(size)} bytes is more than an event can have.`);
    return null;
  }
  try {
    const { context } = await import('@actions/github');
    return context;
  } catch (error) {
    problems.push(`- GITHUB_EVENT_PATH is "${path}": not a JSON file (${textOf(error)}).`);
    return null;
  }
}
