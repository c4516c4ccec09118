import type { Forge, Issue } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import type { Client, Octokit, RepositoryName } from './client.ts';
import { isGoneError } from './errors.ts';
import type { KnownLabels } from './labels.ts';

type IssueMethods = Pick<Forge, 'defaultBranch' | 'openIssuesWithLabel' | 'issue'>;

/** 20 requests of the 1,000 an hour; what stands further down would not be reached in weeks. */
const MOST_ISSUES = 2000;

/** The repository and its issues. Their labels are noted in `known`. */
export function createIssues(
  { ask }: Client,
  { known, log }: { readonly known: KnownLabels; readonly log: Log },
): IssueMethods {
  const read = (answer: IssueAnswer): Issue => {
    const issue = toIssue(answer);
    for (const label of issue.labels) known.add(label.toLowerCase());
    return issue;
  };

  return {
    defaultBranch: () =>
      ask(
        { doing: 'read the repository', needs: ['contents: read'] },
        async (octokit, at) => (await octokit.rest.repos.get({ ...at })).data.default_branch,
      ),

    // Oldest first: an issue that is opened between two pages then cannot push another one off its page.
    openIssuesWithLabel: (label) =>
      ask({ doing: `list the open issues labelled "${label}"`, needs: ['issues: read'] }, async (octokit, at) => {
        const found: IssueAnswer[] = [];
        const pages = octokit.paginate.iterator(octokit.rest.issues.listForRepo, {
          ...at,
          labels: label,
          state: 'open',
          sort: 'created',
          direction: 'asc',
          per_page: 100,
        });
        for await (const { data, headers } of pages) {
          found.push(...data);
          if (found.length < MOST_ISSUES || !hasNext(headers)) continue;
          log.warning(
            `More than ${MOST_ISSUES.toLocaleString('en')} open issues and pull requests have the label "${label}": this run sees the oldest ${MOST_ISSUES.toLocaleString('en')} only. Close some, or remove the label.`,
          );
          break;
        }
        return found
          .filter((answer) => isOf(at, answer))
          .map(read)
          .filter(
            (issue) => !issue.isPullRequest && issue.labels.some((name) => name.toLowerCase() === label.toLowerCase()),
          );
      }),

    issue: (number) =>
      ask({ doing: `read issue #${String(number)}`, needs: ['issues: read'] }, async (octokit, at) => {
        try {
          const { data } = await octokit.rest.issues.get({ ...at, issue_number: number });
          // A transferred issue is found by a redirect, in the repository that it went to.
          return isOf(at, data) ? read(data) : null;
        } catch (error) {
          if (isGoneError(error)) return null;
          throw error;
        }
      }),
  };
}

/** Whether an issue is one of this repository. */
export function isOf({ owner, repo }: RepositoryName, issue: Pick<IssueAnswer, 'repository_url'>): boolean {
  return repositoryOfIssue(issue).toLowerCase() === `${owner}/${repo}`.toLowerCase();
}

/** `owner/repo`. */
export function repositoryOfIssue({ repository_url: url }: Pick<IssueAnswer, 'repository_url'>): string {
  return url.split('/').slice(-2).join('/');
}

function hasNext({ link = '' }: { readonly link?: string | undefined }): boolean {
  return link.includes('rel="next"');
}

type IssueAnswer = Awaited<ReturnType<Octokit['rest']['issues']['get']>>['data'];

function toIssue(answer: IssueAnswer): Issue {
  return {
    number: answer.number,
    title: answer.title,
    body: answer.body ?? '',
    url: answer.html_url,
    labels: answer.labels.map((label) => (typeof label === 'string' ? label : (label.name ?? ''))),
    state: answer.state === 'open' ? 'open' : 'closed',
    isPullRequest: answer.pull_request !== undefined,
    blockedBy: answer.issue_dependencies_summary?.blocked_by ?? 0,
    openSubIssues: (answer.sub_issues_summary?.total ?? 0) - (answer.sub_issues_summary?.completed ?? 0),
  };
}
