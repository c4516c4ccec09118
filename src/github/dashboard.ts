import { isDashboardText } from '../core/dashboard/boxes.ts';
import type { DashboardIssue, ForgeAdapter } from '../ports/forge.ts';
import { ACCOUNT_FRAGMENT, type Actor, type Client, toAccount } from './client.ts';
import { extractGraphqlAnswer } from './graphql/errors.ts';
import { askAboutIssues } from './histories.ts';
import { fitBody } from './pull-requests.ts';

type DashboardMethods = Pick<ForgeAdapter, 'readDashboard' | 'writeDashboard' | 'openDashboard'>;

/**
 * The fields of a dashboard. GitHub lists versions newest first; `diff` is the whole text of one, and null if a person
 * deleted it from the history. A click on a box makes a version.
 */
const FRAGMENTS = `fragment Dashboard on Issue {
  id number body closed
  userContentEdits(first: 30) { totalCount nodes { diff editor { ...Account } } }
}
${ACCOUNT_FRAGMENT}`;

const WRITE = `mutation ($id: ID!, $body: String!) {
  updateIssue(input: { id: $id, body: $body }) { issue { ...Dashboard } }
}
${FRAGMENTS}`;

/** Number of recently changed issues that are searched for an existing dashboard. */
const LOOKED_AT = 50;

const FIND = `query ($owner: String!, $repo: String!) {
  repository(owner: $owner, name: $repo) {
    id
    issues(first: ${String(LOOKED_AT)}, orderBy: { field: UPDATED_AT, direction: DESC }) {
      nodes { id number body viewerDidAuthor }
    }
  }
}`;

const MAKE = `mutation ($repository: ID!, $title: String!, $body: String!) {
  createIssue(input: { repositoryId: $repository, title: $title, body: $body }) { issue { id number } }
}`;

interface DashboardAnswer {
  readonly id: string;
  readonly number: number;
  readonly body: string;
  readonly closed: boolean;
  readonly userContentEdits: {
    readonly totalCount: number;
    readonly nodes: readonly ({ readonly diff: string | null; readonly editor: Actor | null } | null)[] | null;
  } | null;
}

interface FindAnswer {
  readonly repository: {
    readonly id: string;
    readonly issues: {
      readonly nodes: readonly ({
        readonly id: string;
        readonly number: number;
        readonly body: string;
        readonly viewerDidAuthor: boolean;
      } | null)[];
    };
  };
}

const NEEDS = ['issues: write'];

/** Creates the access to the dashboard, which reads, writes and opens it. */
export function createDashboardMethods(client: Client): DashboardMethods {
  return {
    async readDashboard(number) {
      const purpose = { doing: `read the dashboard #${String(number)}`, needs: ['issues: read'] };
      const question = { field: 'issue', selection: '...Dashboard', fragments: FRAGMENTS, atOnce: 1 } as const;
      const found = await askAboutIssues<DashboardAnswer>(client, purpose, { ...question, numbers: [number] });
      const answer = found.get(number);
      return answer === undefined ? null : toDashboard(answer);
    },

    writeDashboard: (id, body) =>
      client.ask({ doing: 'write the dashboard', needs: NEEDS }, async (octokit) => {
        try {
          const { updateIssue } = await octokit.graphql<{
            readonly updateIssue: { readonly issue: DashboardAnswer | null } | null;
          }>(WRITE, { id, body: fitBody(body) });
          return updateIssue?.issue == null ? null : toDashboard(updateIssue.issue);
        } catch (error) {
          const { errors = [] } = extractGraphqlAnswer(error);
          if (errors.length > 0 && errors.every(({ type }) => type === 'NOT_FOUND')) return null;
          throw error;
        }
      }),

    openDashboard: ({ title, body }) =>
      client.ask({ doing: 'make the dashboard', needs: NEEDS }, async (octokit, at) => {
        const { repository } = await octokit.graphql<FindAnswer>(FIND, { ...at });
        // Anybody can open an issue whose text begins like the dashboard's, so check the author.
        const known = repository.issues.nodes.find((one) => one?.viewerDidAuthor === true && isDashboardText(one.body));
        if (known != null) return { isNew: false, issue: { number: known.number, id: known.id } };
        const { createIssue } = await octokit.graphql<{
          readonly createIssue: { readonly issue: { readonly id: string; readonly number: number } };
          // Do not retry: GitHub may have created the dashboard in spite of a failure, and a later run then finds it.
        }>(MAKE, { repository: repository.id, title, body: fitBody(body), request: { retries: 0 } });
        const { id, number } = createIssue.issue;
        return { isNew: true, issue: { number, id } };
      }),
  };
}

function toDashboard({ id, number, body, closed, userContentEdits }: DashboardAnswer): DashboardIssue {
  const nodes = userContentEdits?.nodes ?? [];
  return {
    ...{ id, number, body, isOpen: !closed },
    revisions: nodes.map((one) => ({ by: toAccount(one?.editor ?? null), text: one?.diff ?? null })).toReversed(),
    edits: userContentEdits?.totalCount ?? 0,
  };
}
