import type { Forge, Issue, Permission } from '../ports.ts';
import type { Client, Octokit } from './client.ts';
import { statusOf } from './errors.ts';

type IssueMethods = Pick<Forge, 'defaultBranch' | 'openIssuesWithLabel' | 'issue' | 'permissionOf'>;

/** The repository, its issues, and who may do what in it. */
export function createIssues({ ask }: Client): IssueMethods {
  return {
    defaultBranch: () =>
      ask({ doing: 'read the repository', needs: ['contents: read'] }, async (octokit, at) => (await octokit.rest.repos.get({ ...at })).data.default_branch),

    // Oldest first: an issue that is opened between two pages then cannot push another one off its page.
    openIssuesWithLabel: (label) =>
      ask({ doing: `list the open issues labelled "${label}"`, needs: ['issues: read'] }, async (octokit, at) => {
        const found = await octokit.paginate(octokit.rest.issues.listForRepo, { ...at, labels: label, state: 'open', sort: 'created', direction: 'asc', per_page: 100 });
        return found.map(toIssue).filter((issue) => !issue.isPullRequest);
      }),

    issue: (number) =>
      ask({ doing: `read issue #${String(number)}`, needs: ['issues: read'] }, async (octokit, at) => {
        try {
          return toIssue((await octokit.rest.issues.get({ ...at, issue_number: number })).data);
        } catch (error) {
          if (statusOf(error) === 404 || isDeleted(error)) return null;
          throw error;
        }
      }),

    permissionOf: (login) =>
      ask({ doing: `read the permission of ${login}`, needs: ['contents: read'] }, async (octokit, at) => {
        try {
          const { permission, role_name: role } = (await octokit.rest.repos.getCollaboratorPermissionLevel({ ...at, username: login })).data;
          return permissions.find((known) => known === role) ?? permissions.find((known) => known === permission) ?? 'none';
        } catch (error) {
          if (statusOf(error) === 404) return 'none';
          throw error;
        }
      }),
  };
}

/** `permission` knows no maintain and triage, `role_name` may be an organisation's own role. */
const permissions: readonly Permission[] = ['admin', 'maintain', 'write', 'triage', 'read', 'none'];

/** 410 is the answer for a deleted issue, and for all of them when issues are switched off. */
function isDeleted(error: unknown): boolean {
  return statusOf(error) === 410 && error instanceof Error && /deleted/i.test(error.message);
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
    blockedBy: answer.issue_dependencies_summary?.total_blocked_by ?? 0,
    openSubIssues: (answer.sub_issues_summary?.total ?? 0) - (answer.sub_issues_summary?.completed ?? 0),
  };
}
