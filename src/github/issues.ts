import { UserError } from '../errors.ts';
import type { Forge, ForgeAdapter, Issue, LabelDefinition } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import { gatherCalls } from '../ports/gathered-calls.ts';
import { limitIssueSearch } from '../core/tasks/issue-query.ts';
import type { Client, Octokit, RepositoryName } from './client.ts';
import { isGoneError, isInvalid, readHttpStatus } from './errors.ts';
import { writeAllOrEach, type KnownNodes, type WriteOnIssue } from './wishes/issue-writes.ts';

type LabelMethods = Pick<ForgeAdapter, 'labelNames' | 'addLabels' | 'changeLabels'>;

/** Maximum number of pages of labels, with 100 labels each. */
const MAX_LABEL_PAGES = 10;

type IssueMethods = Pick<
  Forge,
  'defaultBranch' | 'openIssuesWithLabel' | 'searchIssues' | 'issue' | 'ownIssues' | 'openSubIssue' | 'addDependency'
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
 * Maximum number of issues, for which 20 of the 1,000 requests an hour are needed; a run would not reach later issues
 * for weeks.
 */
const MAX_LISTED_ISSUES = 2000;

/** Maximum number of results that GitHub gives for a search. */
const MAX_SEARCH_RESULTS = 1000;

/** Creates the access to the repository and its issues; adds the issues and labels that it sees to `known`. */
export function createIssueMethods(
  { ask }: Client,
  { known, log }: { readonly known: KnownNodes; readonly log: Log },
): IssueMethods {
  const read = (answer: IssueAnswer): Issue => {
    known.threads.set(answer.number, answer.node_id);
    for (const label of answer.labels) {
      const { name = '', node_id: id = null } = typeof label === 'string' ? { name: label } : label;
      known.labels.set(lowerCase(name), id);
    }
    return toIssue(answer);
  };

  return {
    defaultBranch: () =>
      ask(
        { doing: 'read the repository', needs: ['contents: read'] },
        async (octokit, at) => (await octokit.rest.repos.get({ ...at })).data.default_branch,
      ),

    // Ask for the oldest first, so that an issue opened between two pages cannot push another one off its page.
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
          if (found.length < MAX_LISTED_ISSUES || !hasNext(headers)) continue;
          log.warning(
            `More than ${MAX_LISTED_ISSUES.toLocaleString('en')} open issues and pull requests have the label "${label}": this run sees the oldest ${MAX_LISTED_ISSUES.toLocaleString('en')} only. Close some, or remove the label.`,
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

    searchIssues: (query) =>
      ask(
        { doing: `search for issues by \`issue-query\` (${query})`, needs: ['issues: read'], ifInvalid: FIX_QUERY },
        async (octokit, at) => {
          const found: SearchAnswer['items'] = [];
          for (let page = 1; page <= MAX_SEARCH_RESULTS / 100; page += 1) {
            const { data } = await octokit.rest.search.issuesAndPullRequests({
              ...{ q: limitIssueSearch(query, at), sort: 'created', order: 'asc', per_page: 100, page },
              advanced_search: 'true',
            });
            // Incomplete results do not show whether anything is left to do, so fail.
            if (data.incomplete_results)
              throw new UserError(
                'infrastructure',
                `GitHub's search by \`issue-query\` took too long and found only a part of the issues (${query}). Run again later, or make the query simpler.`,
              );
            found.push(...data.items);
            if (data.items.length === 0 || found.length >= data.total_count) break;
            if (found.length >= MAX_SEARCH_RESULTS)
              log.warning(
                `\`issue-query\` finds ${String(data.total_count)} open issues: this run sees the oldest ${MAX_SEARCH_RESULTS.toLocaleString('en')} only.`,
              );
          }
          const open = found.filter((answer) => answer.state === 'open' && isOfRepository(at, answer));
          return open.map(read).filter((issue) => !issue.isPullRequest);
        },
      ),

    issue: (number) =>
      ask({ doing: `read issue #${String(number)}`, needs: ['issues: read'] }, async (octokit, at) => {
        try {
          const { data } = await octokit.rest.issues.get({ ...at, issue_number: number });
          // A redirect leads from a transferred issue to its new repository, so ignore it there.
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

    openSubIssue: (parent, text, earlier) =>
      ask({ doing: `make a sub-issue of #${String(parent)}`, needs: ['issues: write'] }, async (octokit, at) => {
        // Do not retry: if GitHub created the issue in spite of a failure, the next attempt finds it.
        const request = { retries: 0 };
        const made = earlier ?? (await octokit.rest.issues.create({ ...at, ...text, request })).data;
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

/** Returns true if an issue belongs to this repository. */
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

type SearchAnswer = Awaited<ReturnType<Octokit['rest']['search']['issuesAndPullRequests']>>['data'];

/** The part of an issue that lists and searches have in common. */
type IssueAnswer = Pick<
  Awaited<ReturnType<Octokit['rest']['issues']['get']>>['data'],
  | ('number' | 'node_id' | 'title' | 'body' | 'html_url' | 'repository_url' | 'labels' | 'state')
  | ('issue_dependencies_summary' | 'sub_issues_summary')
> & { readonly pull_request?: unknown };

const FIX_QUERY =
  'Correct the setting `issue-query`: https://docs.github.com/search-github shows what GitHub understands.';

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
 * Creates the access to labels, which reads and changes them. `known` contains labels that were seen on issues, and
 * grows with those that are created.
 */
export function createLabelMethods(
  { ask }: Client,
  { known, write }: { readonly known: KnownNodes; readonly write: WriteOnIssue },
): LabelMethods {
  /** Creates missing labels. Their ids are needed only if several changes are sent together. */
  const createMissing = gatherCalls<MissingLabels, undefined>(async (asked) => {
    for (const { octokit, at, labels } of asked)
      for (const label of labels) await create({ octokit, at, needsId: asked.length > 1 }, label);
    return asked.map(() => ({ status: 'fulfilled', value: undefined }));
  });

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
      ask({ doing: `label #${String(number)}`, needs: ['issues: write', 'pull-requests: write'] }, (octokit, at) =>
        writeAllOrEach(names, (some) =>
          octokit.rest.issues.addLabels({ ...at, issue_number: number, labels: [...some] }),
        ),
      ),

    async changeLabels(number, { from, add, remove }) {
      const present = from.map(lowerCase);
      const added = add.filter(({ name }) => !present.includes(lowerCase(name)));
      const removed = remove.filter((name) => present.includes(lowerCase(name)));
      if (added.length === 0 && removed.length === 0) return;
      await ask({ doing: `change the labels of #${String(number)}`, needs: ['issues: write'] }, async (octokit, at) => {
        const names = added.map(({ name }) => name);
        if (names.length > 0) await createMissing({ octokit, at, labels: added });
        const issue = { ...at, issue_number: number };
        const change = (
          name: 'addLabelsToLabelable' | 'removeLabelsFromLabelable',
          changed: readonly string[],
          alone: () => Promise<unknown>,
        ) => write(octokit, { mutation: mutationOf(name, number, changed), answerOf: () => undefined, alone });
        try {
          if (names.length > 0)
            await change('addLabelsToLabelable', names, () =>
              octokit.rest.issues.addLabels({ ...issue, labels: names }),
            );
          if (removed.length > 0)
            await change('removeLabelsFromLabelable', removed, async () => {
              for (const name of removed) await tryRemove(octokit, { ...issue, name });
            });
        } catch (error) {
          throw isGoneError(error)
            ? new UserError('configuration', `Issue #${String(number)} no longer exists.`)
            : error;
        }
      });
    },
  };

  /** Returns the mutation of these labels of an issue, or null if an id is unknown. */
  function mutationOf(
    name: 'addLabelsToLabelable' | 'removeLabelsFromLabelable',
    number: number,
    labels: readonly string[],
  ): Parameters<WriteOnIssue>[1]['mutation'] {
    const labelableId = known.threads.get(number);
    const ids = labels.map((label) => known.labels.get(lowerCase(label)) ?? null);
    return labelableId === undefined || ids.includes(null) ? null : { name, input: { labelableId, labelIds: ids } };
  }

  /**
   * Creates a label unless it exists. GitHub would create a missing label itself, but grey and without a description.
   */
  async function create(
    { octokit, at, needsId }: Pick<MissingLabels, 'octokit' | 'at'> & { readonly needsId: boolean },
    { name, color, description }: LabelDefinition,
  ): Promise<void> {
    if (known.labels.has(lowerCase(name))) return;
    let id: string | null = null;
    try {
      id = (await octokit.rest.issues.createLabel({ ...at, name, color, description })).data.node_id;
    } catch (error) {
      if (!isInvalid(error, /already_exists/)) throw error;
      if (needsId) id = await idOfLabel(octokit, { ...at, name });
    }
    known.labels.set(lowerCase(name), id);
  }
}

/** Returns GraphQL's id of a label, or null if somebody has deleted the label. */
async function idOfLabel(octokit: Octokit, label: RepositoryName & { readonly name: string }): Promise<string | null> {
  const { repository } = await octokit.graphql<{
    readonly repository: { readonly label: { readonly id: string } | null };
  }>(
    'query ($owner: String!, $repo: String!, $name: String!) { repository(owner: $owner, name: $repo) { label(name: $name) { id } } }',
    { ...label },
  );
  return repository.label?.id ?? null;
}

interface MissingLabels {
  readonly octokit: Octokit;
  readonly at: RepositoryName;
  readonly labels: readonly LabelDefinition[];
}

/** Removes a label; does nothing if somebody has removed it already. */
async function tryRemove(
  octokit: Octokit,
  label: RepositoryName & { readonly issue_number: number; readonly name: string },
): Promise<void> {
  try {
    await octokit.rest.issues.removeLabel({ ...label });
  } catch (error) {
    if (readHttpStatus(error) !== 404) throw error;
  }
}

function lowerCase(name: string): string {
  return name.toLowerCase();
}
