import { existsSync, readFileSync } from 'node:fs';
import { hasProviderKey } from '../config/agent-environment.ts';
import type { RunContext } from '../config/config.ts';
import { textOf, UserError } from '../errors.ts';

/** GitHub's own cap for a webhook payload is 25 MB. */
const MAX_EVENT_BYTES = 25 * 1024 * 1024;

/** Reads what the runner says about this run; throws one UserError that lists every problem. */
export function readRunContext(environment: Readonly<Record<string, string | undefined>>): RunContext {
  const problems: string[] = [];
  const need = (name: string): string => {
    const value = (environment[name] ?? '').trim();
    if (value === '')
      problems.push(`- ${name} is not set: this is a GitHub Action and runs in a job; the runner sets that variable.`);
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
  const payload = readEvent(need('GITHUB_EVENT_PATH'), problems);
  if (problems.length > 0)
    throw new UserError('configuration', `The job's environment is not complete:\n${problems.join('\n')}`);

  return {
    workspace,
    temp,
    repository: { owner, repo },
    serverUrl,
    apiUrl,
    runId,
    runAttempt: Math.max(1, Number.parseInt(environment.GITHUB_RUN_ATTEMPT ?? '1', 10) || 1),
    runUrl: `${serverUrl}/${owner}/${repo}/actions/runs/${runId}`,
    event: { name: eventName, payload },
    hasProviderKey: hasProviderKey(environment),
  };
}

function readEvent(path: string, problems: string[]): unknown {
  if (path === '') return null;
  if (!existsSync(path)) {
    problems.push(`- GITHUB_EVENT_PATH is "${path}": there is no such file.`);
    return null;
  }
  try {
    const text = readFileSync(path, 'utf8');
    if (text.length <= MAX_EVENT_BYTES) return JSON.parse(text);
    problems.push(
      `- GITHUB_EVENT_PATH is "${path}": ${String(text.length)} characters are more than an event can have.`,
    );
  } catch (error) {
    problems.push(`- GITHUB_EVENT_PATH is "${path}": not a file of JSON (${textOf(error)}).`);
  }
  return null;
}
