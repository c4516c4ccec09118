import { UserError } from '../errors.ts';
import type { Forge, ForgeAdapter, Issue, LabelDefinition } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import type { Client, Octokit, RepositoryName } from './client.ts';
import { isGoneError, isInvalid, statusOf } from './errors.ts';

type LabelMethods = Pick<ForgeAdapter, 'labelNames' | 'addLabels' | 'changeLabels'>;

/** Maximum number of pages of labels, with 100 labels each. */
const MAX_LABEL_PAGES = 10;

/** Labels that the repository is known to have, in lower case because GitHub compares without case. */
export type KnownLabels = Set<string>;

type IssueMethods = Pick<
  Forge,
  'defaultBranch' | 'openIssuesWithLabel' | 'issue' | 'ownIssues' | 'openSubIssue' | 'addDependency'
>;

const NEWEST = `query ($owner: String!, $repo: String!) {
  repository(owner: $owner, name: $repo) {
    issues(first: 100, orderBy: { field: CREATED_AT, direction: DESC }) {
      nodes { fullDatabaseId number body viewerDidAuthor }
    }
  }
}`;

interface NewestAnswer {
  readonly repository: {
    readonly issues: {
      readonly nodes: readonly ({
        readonly fullDatabaseId: string | number | null;
        readonly number: number;
        readonly body: string;
        readonly viewerDidAuthor: boolean;
      } | null)[];
    };
  };
}

/**
 * Maximum number of issues, which takes 20 of the 1,000 requests an hour; a run would not reach later issues for weeks.
 */
const MOST_ISSUES = 2000;

/** Creates methods that read the repository and its issues, and that add the issues' labels to `known`. */
export function createIssueMethods(
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

    // The oldest come first, so that an issue opened between two pages cannot push another one off its page.
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
          .filter((answer) => isOfRepository(at, answer))
          .map(read)
          .filter(
            (issue) => !issue.isPullRequest && issue.labels.some((name) => name.toLowerCase() === label.toLowerCase()),
          );
      }),

    issue: (number) =>
      ask({ doing: `read issue #${String(number)}`, needs: ['issues: read'] }, async (octokit, at) => {
        try {
          const { data } = await octokit.rest.issues.get({ ...at, issue_number: number });
          // A transferred issue is found by a redirect, in its new repository.
          return isOfRepository(at, data) ? read(data) : null;
        } catch (error) {
          if (isGoneError(error)) return null;
          throw error;
        }
      }),

    ownIssues: () =>
      ask({ doing: 'read the newest issues', needs: ['issues: read'] }, async (octokit, at) => {
        const { repository } = await octokit.graphql<NewestAnswer>(NEWEST, { ...at });
        return repository.issues.nodes.flatMap((one) =>
          one?.viewerDidAuthor === true ? [{ number: one.number, id: Number(one.fullDatabaseId), body: one.body }] : [],
        );
      }),

    openSubIssue: (parent, { labels, ...text }, earlier) =>
      ask({ doing: `make a sub-issue of #${String(parent)}`, needs: ['issues: write'] }, async (octokit, at) => {
        // If GitHub has made it in spite of a failure, the next try finds it.
        const request = { retries: 0 };
        const made =
          earlier ?? (await octokit.rest.issues.create({ ...at, ...text, labels: [...labels], request })).data;
        await octokit.rest.issues
          .addSubIssue({ ...at, issue_number: parent, sub_issue_id: made.id })
          .catch(unlessLinked);
        return { number: made.number, id: made.id };
      }),

    addDependency: (number, blockedBy) =>
      ask(
        { doing: `make #${String(number)} wait for another issue`, needs: ['issues: write'] },
        async (octokit, at) => {
          await octokit.rest.issues
            .addBlockedByDependency({ ...at, issue_number: number, issue_id: blockedBy })
            .catch(unlessLinked);
        },
      ),
  };
}

/** Ignores GitHub's refusal of a link between issues that exists already. */
function unlessLinked(error: unknown): undefined {
  if (!isInvalid(error, /already|duplicate|one parent/i)) throw error;
}

/** True if an issue belongs to this repository. */
export function isOfRepository({ owner, repo }: RepositoryName, issue: Pick<IssueAnswer, 'repository_url'>): boolean {
  return repositoryOfIssue(issue).toLowerCase() === `${owner}/${repo}`.toLowerCase();
}

/** Returns the repository of an issue as `owner/repo`. */
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

/**
 * Creates methods that read and change labels. `known` contains labels that were seen on issues, and grows with those
 * that are created.
 */
export function createLabelMethods({ ask }: Client, { known }: { readonly known: KnownLabels }): LabelMethods {
  return {
    labelNames: () =>
      ask({ doing: 'list the labels', needs: ['issues: read'] }, async (octokit, at) => {
        const names: string[] = [];
        let pages = 0;
        for await (const { data } of octokit.paginate.iterator(octokit.rest.issues.listLabelsForRepo, {
          ...at,
          per_page: 100,
        })) {
          names.push(...data.map(({ name }) => name));
          pages += 1;
          if (pages === MAX_LABEL_PAGES) break;
        }
        return names;
      }),

    addLabels: (number, names) =>
      ask({ doing: `label pull request #${String(number)}`, needs: ['pull-requests: write'] }, async (octokit, at) => {
        await octokit.rest.issues.addLabels({ ...at, issue_number: number, labels: [...names] });
      }),

    async changeLabels(number, { from, add, remove }) {
      const present = from.map(lowerCase);
      const added = add.filter(({ name }) => !present.includes(lowerCase(name)));
      const removed = remove.filter((name) => present.includes(lowerCase(name)));
      if (added.length === 0 && removed.length === 0) return;
      await ask({ doing: `change the labels of #${String(number)}`, needs: ['issues: write'] }, async (octokit, at) => {
        for (const label of added) await create(octokit, at, label);
        const issue = { ...at, issue_number: number };
        try {
          if (added.length > 0)
            await octokit.rest.issues.addLabels({ ...issue, labels: added.map(({ name }) => name) });
          for (const name of removed) await tryRemove(octokit, { ...issue, name });
        } catch (error) {
          throw isGoneError(error)
            ? new UserError('configuration', `Issue #${String(number)} no longer exists.`)
            : error;
        }
      });
    },
  };

  /**
   * Creates a label unless it exists. GitHub would create a missing label itself, but grey and without a description.
   */
  async function create(
    octokit: Octokit,
    at: RepositoryName,
    { name, color, description }: LabelDefinition,
  ): Promise<void> {
    if (known.has(lowerCase(name))) return;
    try {
      await octokit.rest.issues.createLabel({ ...at, name, color, description });
    } catch (error) {
      if (!isInvalid(error, /already_exists/)) throw error;
    }
    known.add(lowerCase(name));
  }
}

/** Removes a label; does nothing if somebody has removed it already. */
async function tryRemove(
  octokit: Octokit,
  label: RepositoryName & { readonly issue_number: number; readonly name: string },
): Promise<void> {
  try {
    await octokit.rest.issues.removeLabel({ ...label });
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
  }
}

function lowerCase(name: string): string {
  return name.toLowerCase();
}
