import type { Dependency, Forge } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import type { Client, Octokit, RepositoryName } from './client.ts';
import { isGoneError, statusOf } from './errors.ts';
import { askAboutIssues, type IssueQuestion } from './issue-queries.ts';
import { isOf, repositoryOfIssue } from './issues.ts';

type DependencyMethods = Pick<Forge, 'dependenciesOf' | 'statesOf'>;

/** What waits for what. */
export function createDependencies(client: Client, log: Log): DependencyMethods {
  let isReported = false;
  const reportOnce = (number: number): void => {
    if (!isReported)
      log.info(
        `GitHub does not list dependencies or sub-issues of #${String(number)} (404): this server is too old to know them. Such issues count as having none.`,
      );
    isReported = true;
  };

  return {
    // By REST: GraphQL's published schema has sub-issues, but no dependencies.
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
            if (statusOf(error) === 404) reportOnce(number);
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

/** A merged pull request is closed, too. */
const stateQuestion: IssueQuestion = {
  field: 'issueOrPullRequest',
  selection: '... on Issue { closed } ... on PullRequest { closed }',
  fragments: '',
  atOnce: 100,
};

function stateOf(answer: { readonly closed: boolean } | undefined): Dependency['state'] {
  if (answer === undefined) return 'missing';
  return answer.closed ? 'closed' : 'open';
}

type IssueAnswer = Awaited<ReturnType<Octokit['rest']['issues']['listSubIssues']>>['data'][number];

function toDependency(answer: IssueAnswer, at: RepositoryName): Dependency {
  return {
    number: answer.number,
    state: answer.state === 'open' ? 'open' : 'closed',
    elsewhere: isOf(at, answer) ? null : repositoryOfIssue(answer),
  };
}
