import type { GraphQLError } from 'graphql';
import { accountOf, type Person, personOf } from '../accounts.ts';
import {
  resolveCommitFields,
  resolvePullFields,
  resolvePullsFields,
  resolveRefFields,
} from '../feedback/pull-fields.ts';
import { sliceConnection, createGraphqlFailure, formatGithubInstant, type Slice } from './graphql-parts.ts';
import { createIssueMutations } from './issue-mutations.ts';
import { armAutoMerge, disarmAutoMerge, editComment, editIssue } from '../people.ts';
import type { Call } from '../route.ts';
import {
  createStoredIssue,
  isSameName,
  type StoredComment,
  type StoredEdit,
  type StoredEvent,
  type StoredIssue,
  type StoredPull,
} from '../state.ts';

/**
 * Creates the root of GitHub's GraphQL for one repository, with the fields that a run queries. A field that is a
 * function gets its arguments from the query.
 */
export function createRoot(call: Call): object {
  const { state, token } = call;

  return {
    viewer: { login: call.viewer.login },

    repository: ({ owner, name }: { readonly owner: string; readonly name: string }) => {
      const { repository } = state;
      const isOurs = `${owner}/${name}`.toLowerCase() === `${repository.owner}/${repository.name}`.toLowerCase();
      if (!isOurs || token.permissions.metadata === undefined)
        throw createGraphqlFailure('NOT_FOUND', `Could not resolve to a Repository with the name '${owner}/${name}'.`);
      return {
        id: 'R_1',
        issues: ({ orderBy, ...slice }: Slice & { readonly orderBy?: { readonly field: string } | null }) => {
          if (token.permissions.issues === undefined) throw forbidden();
          const issues = state.issues.filter(({ number }) => !isPull(number));
          const at = (issue: StoredIssue): number => (orderBy?.field === 'UPDATED_AT' ? issue.updatedAt : issue.number);
          return sliceConnection(issues.toSorted((one, other) => at(other) - at(one)).map(issueFields), slice);
        },
        label: ({ name: wanted }: { readonly name: string }) => {
          const known = state.labels.find((label) => isSameName(label.name, wanted));
          return known === undefined ? null : { id: `LA_${String(known.id)}` };
        },
        issue: ({ number }: Numbered) => found(number, isPull(number) ? undefined : issueOf(number), 'an Issue'),
        ref: async ({ qualifiedName }: { readonly qualifiedName: string }) => {
          if (token.permissions.contents === undefined) throw forbidden();
          return resolveRefFields(await pullSurroundings(), qualifiedName);
        },
        viewerDefaultMergeMethod: 'SQUASH',
        object: async ({ oid }: { readonly oid: string }) => {
          if (token.permissions.contents === undefined) throw forbidden();
          return resolveCommitFields(await pullSurroundings(), oid);
        },
        defaultBranchRef: async () => {
          if (token.permissions.contents === undefined) throw forbidden();
          const { defaultBranch } = state.repository;
          return { ...resolveRefFields(await pullSurroundings(), defaultBranch), rules: rulesOf };
        },
        pullRequests: async ({ states, ...slice }: Slice & { readonly states?: readonly string[] | null }) => {
          if (token.permissions.pull_requests === undefined) throw forbidden();
          return resolvePullsFields(await pullSurroundings(), { states: states ?? null, slice });
        },
        pullRequest: async ({ number }: Numbered) => {
          if (token.permissions.pull_requests === undefined) throw forbidden();
          const pull = state.pulls.find((candidate) => candidate.number === number);
          if (pull === undefined)
            throw createGraphqlFailure(
              'NOT_FOUND',
              `Could not resolve to a PullRequest with the number of ${String(number)}.`,
            );
          return resolvePullFields(await pullSurroundings(), pull);
        },
        issueOrPullRequest: ({ number }: Numbered) => found(number, issueOf(number), 'an issue or pull request'),
      };
    },

    ...createIssueMutations(call, { forbidden, comment: commentFields }),

    createIssue: ({ input }: { readonly input: { readonly title: string; readonly body?: string } }) => {
      if (token.permissions.issues !== 'write') throw forbidden();
      if (!state.settings.issuesEnabled) throw createGraphqlFailure('UNPROCESSABLE', 'Repository has issues disabled.');
      const { title, body = '' } = input;
      const author = personOf(state, call.viewer.login);
      return { issue: issueFields(createStoredIssue(state, { title, body, author }, call.now)) };
    },

    updateIssue: ({ input }: { readonly input: { readonly id: string; readonly body?: string } }) => {
      if (token.permissions.issues !== 'write') throw forbidden();
      const issue = state.issues.find(({ id }) => input.id === `I_${String(id)}`);
      if (issue === undefined)
        throw createGraphqlFailure('NOT_FOUND', `Could not resolve to a node with the global id of '${input.id}'.`);
      editIssue(state, issue.number, { body: input.body ?? '', by: call.viewer.login, now: call.now });
      return { issue: issueFields(issue) };
    },

    updatePullRequest: ({ input }: { readonly input: { readonly pullRequestId: string; readonly body?: string } }) => {
      const { number } = pullToChange(input.pullRequestId);
      editIssue(state, number, { body: input.body ?? '', by: call.viewer.login, now: call.now });
      return { clientMutationId: null };
    },

    markPullRequestReadyForReview: ({ input }: { readonly input: { readonly pullRequestId: string } }) => {
      const pull = pullToChange(input.pullRequestId);
      pull.draft = false;
      return { pullRequest: { id: input.pullRequestId, isDraft: false } };
    },

    convertPullRequestToDraft: ({ input }: { readonly input: { readonly pullRequestId: string } }) => {
      const pull = pullToChange(input.pullRequestId);
      if (!state.settings.draftsSupported)
        throw createGraphqlFailure('UNPROCESSABLE', 'Draft pull requests are not supported in this repository.');
      pull.draft = true;
      return { pullRequest: { id: input.pullRequestId, isDraft: true } };
    },

    enablePullRequestAutoMerge: async ({
      input,
    }: {
      readonly input: { readonly pullRequestId: string; readonly expectedHeadOid?: string };
    }) => {
      const pull = pullToChange(input.pullRequestId);
      if (token.permissions.contents !== 'write') throw forbidden();
      const { branches } = await pullSurroundings();
      const head = branches[pull.head] ?? pull.headSha;
      if (input.expectedHeadOid !== undefined && input.expectedHeadOid !== head)
        throw createGraphqlFailure('UNPROCESSABLE', `Expected head oid ${input.expectedHeadOid}, but it is ${head}`);
      if (!state.settings.autoMergeAllowed)
        throw createGraphqlFailure('UNPROCESSABLE', 'Pull request Auto merge is not allowed for this repository');
      if (state.settings.requiredApprovals === 0)
        throw createGraphqlFailure(
          'UNPROCESSABLE',
          `Pull request Pull request is in ${state.settings.mergeableWord} status`,
        );
      armAutoMerge(state, pull.number, { by: call.viewer.login, now: call.now });
      return { clientMutationId: null };
    },

    disablePullRequestAutoMerge: ({ input }: { readonly input: { readonly pullRequestId: string } }) => {
      const pull = pullToChange(input.pullRequestId);
      if (token.permissions.contents !== 'write') throw forbidden();
      if (!disarmAutoMerge(state, pull.number, { by: call.viewer.login, now: call.now }))
        throw createGraphqlFailure('UNPROCESSABLE', "Can't disable auto-merge for this pull request.");
      return { pullRequest: { id: input.pullRequestId } };
    },

    dequeuePullRequest: ({ input }: { readonly input: { readonly id: string } }) => {
      const pull = pullToChange(input.id);
      if (token.permissions.contents !== 'write') throw forbidden();
      if (!state.mergeQueue.delete(pull.number))
        throw createGraphqlFailure('UNPROCESSABLE', 'The pull request is not in the merge queue.');
      return { mergeQueueEntry: null };
    },

    resolveReviewThread: ({ input }: { readonly input: { readonly threadId: string } }) => {
      const { pull_requests: pulls, contents } = token.permissions;
      if (pulls !== 'write' || contents !== 'write') throw forbidden();
      const thread = state.threads.find(({ id }) => input.threadId === `PRRT_${String(id)}`);
      if (thread === undefined)
        throw createGraphqlFailure(
          'NOT_FOUND',
          `Could not resolve to a node with the global id of '${input.threadId}'.`,
        );
      thread.isResolved = true;
      return { thread: { isResolved: true } };
    },

    updateIssueComment: ({ input }: { readonly input: { readonly id: string; readonly body: string } }) => {
      const { issues, pull_requests: pulls } = token.permissions;
      if (issues !== 'write' && pulls !== 'write') throw forbidden();
      const comment = state.comments.find(({ id }) => input.id === `IC_${String(id)}`);
      if (comment === undefined)
        throw createGraphqlFailure('NOT_FOUND', `Could not resolve to a node with the global id of '${input.id}'.`);
      editComment(state, comment.id, { body: input.body, by: call.viewer.login, now: call.now });
      return { issueComment: { databaseId: comment.id } };
    },

    minimizeComment: ({ input }: { readonly input: { readonly subjectId: string; readonly classifier: string } }) => {
      const { issues, pull_requests: pulls } = token.permissions;
      if (issues !== 'write' && pulls !== 'write') throw forbidden();
      const comment = state.comments.find(({ id }) => input.subjectId === `IC_${String(id)}`);
      if (comment === undefined)
        throw createGraphqlFailure(
          'NOT_FOUND',
          `Could not resolve to a node with the global id of '${input.subjectId}'.`,
        );
      comment.minimized = true;
      return {
        minimizedComment: {
          __typename: 'IssueComment',
          isMinimized: true,
          minimizedReason: input.classifier.toLowerCase(),
        },
      };
    },
  };

  function rulesOf(slice: Slice): object {
    const parameters = { __typename: 'RequiredStatusChecksParameters', strictRequiredStatusChecksPolicy: true };
    return sliceConnection(state.settings.mustBeCurrent ? [{ parameters }] : [], slice);
  }

  function pullToChange(nodeId: string): StoredPull {
    if (token.permissions.pull_requests !== 'write') throw forbidden();
    const pull = state.pulls.find(({ id }) => nodeId === `PR_${String(id)}`);
    if (pull === undefined)
      throw createGraphqlFailure('NOT_FOUND', `Could not resolve to a node with the global id of '${nodeId}'.`);
    return pull;
  }

  async function pullSurroundings() {
    const timeline = (number: number) => timelineOf(issueOf(number));
    return { call, branches: await call.branches(), actor, forbidden, comment: commentFields, timeline };
  }

  function found(number: number, issue: StoredIssue | undefined, what: string): object {
    const { issues, pull_requests: pulls } = token.permissions;
    if (issues === undefined && (pulls === undefined || !isPull(number))) throw forbidden();
    if (issue === undefined)
      throw createGraphqlFailure('NOT_FOUND', `Could not resolve to ${what} with the number of ${String(number)}.`);
    return issueFields(issue);
  }

  function issueFields(issue: StoredIssue): object {
    const lastEdit = issue.edits.at(-1);
    // With the first edit, GitHub also records the original version as an edit.
    const [first] = issue.edits;
    const written =
      first === undefined ? [] : [{ by: issue.author, at: issue.createdAt, text: first.before }, ...issue.edits];
    return {
      __typename: isPull(issue.number) ? 'PullRequest' : 'Issue',
      id: `I_${String(issue.id)}`,
      viewerDidAuthor: issue.author.login === call.viewer.login,
      number: issue.number,
      fullDatabaseId: issue.id,
      title: issue.title,
      body: issue.body,
      closed: issue.state === 'closed',
      createdAt: formatGithubInstant(issue.createdAt),
      author: actor(issue.author),
      includesCreatedEdit: issue.edits.length > 0,
      ...lastChange(lastEdit),
      userContentEdits: (slice: Slice) =>
        sliceConnection(
          written
            .toReversed()
            .map(({ by, at, text }) => ({ editedAt: formatGithubInstant(at), editor: actor(by), diff: text })),
          slice,
        ),
      timelineItems: timelineOf(issue),
      comments: (slice: Slice) =>
        sliceConnection(state.comments.filter((comment) => comment.issue === issue.number).map(commentFields), slice),
    };
  }

  function timelineOf(issue: StoredIssue | undefined) {
    return ({ itemTypes, ...slice }: Slice & { readonly itemTypes?: readonly string[] | null }) => {
      const isAsked = ({ kind }: StoredEvent): boolean => itemTypes?.includes(eventTypes[kind].itemType) ?? true;
      return sliceConnection((issue?.events ?? []).filter(isAsked).map(eventFields), slice);
    };
  }

  function eventFields(event: StoredEvent): object {
    const did = {
      __typename: eventTypes[event.kind].name,
      createdAt: formatGithubInstant(event.at),
      actor: actor(event.by),
    };
    if (event.kind === 'labeled' || event.kind === 'unlabeled') return { ...did, label: { name: event.label } };
    if ('what' in event) return { ...did, ...givenFields(event) };
    return event.kind === 'renamed' ? { ...did, previousTitle: event.from, currentTitle: event.to } : did;
  }

  function givenFields({ kind, what, before }: Extract<StoredEvent, { readonly what: string }>): object {
    const isRetyped = kind === 'type-set' && before !== null;
    return {
      ...(isRetyped ? { __typename: 'IssueTypeChangedEvent', prevIssueType: { name: before } } : {}),
      assignee: { __typename: 'User', login: what },
      milestoneTitle: what,
      issueType: { name: what },
    };
  }

  function commentFields({ id, issue, author, body, createdAt, updatedAt, edited, minimized }: StoredComment): object {
    return {
      ...{ id: `IC_${String(id)}`, fullDatabaseId: String(id), updatedAt: formatGithubInstant(updatedAt) },
      url: call.render.site(`/issues/${String(issue)}#issuecomment-${String(id)}`),
      authorAssociation: call.render.association(author),
      author: actor(author),
      viewerDidAuthor: author.login === call.viewer.login,
      body,
      createdAt: formatGithubInstant(createdAt),
      isMinimized: minimized,
      ...lastChange(edited ?? undefined),
    };
  }

  function lastChange(edit: StoredEdit | undefined): object {
    return {
      lastEditedAt: edit === undefined ? null : formatGithubInstant(edit.at),
      editor: edit === undefined ? null : actor(edit.by),
    };
  }

  /** Returns the author of something, or null for a deleted account; in GraphQL a bot's login has no `[bot]`. */
  function actor({ login, type }: Person): object | null {
    if (login.endsWith('-deleted')) return null;
    return {
      __typename: state.accounts.get(login)?.type ?? type,
      login: login.replace(/\[bot\]$/, ''),
      databaseId: accountOf(state, login).id,
    };
  }

  function issueOf(number: number): StoredIssue | undefined {
    return state.issues.find((issue) => issue.number === number);
  }

  function isPull(number: number): boolean {
    return state.pulls.some((pull) => pull.number === number);
  }

  function forbidden(): GraphQLError {
    return createGraphqlFailure(
      'FORBIDDEN',
      `Resource not accessible by ${token.kind === 'app' ? 'integration' : 'personal access token'}`,
    );
  }
}

const eventTypes: Readonly<Record<StoredEvent['kind'], { readonly name: string; readonly itemType: string }>> = {
  labeled: { name: 'LabeledEvent', itemType: 'LABELED_EVENT' },
  unlabeled: { name: 'UnlabeledEvent', itemType: 'UNLABELED_EVENT' },
  renamed: { name: 'RenamedTitleEvent', itemType: 'RENAMED_TITLE_EVENT' },
  closed: { name: 'ClosedEvent', itemType: 'CLOSED_EVENT' },
  reopened: { name: 'ReopenedEvent', itemType: 'REOPENED_EVENT' },
  'base-deleted': { name: 'BaseRefDeletedEvent', itemType: 'BASE_REF_DELETED_EVENT' },
  armed: { name: 'AutoMergeEnabledEvent', itemType: 'AUTO_MERGE_ENABLED_EVENT' },
  disarmed: { name: 'AutoMergeDisabledEvent', itemType: 'AUTO_MERGE_DISABLED_EVENT' },
  'assignee-set': { name: 'AssignedEvent', itemType: 'ASSIGNED_EVENT' },
  'assignee-unset': { name: 'UnassignedEvent', itemType: 'UNASSIGNED_EVENT' },
  'milestone-set': { name: 'MilestonedEvent', itemType: 'MILESTONED_EVENT' },
  'milestone-unset': { name: 'DemilestonedEvent', itemType: 'DEMILESTONED_EVENT' },
  'type-set': { name: 'IssueTypeAddedEvent', itemType: 'ISSUE_TYPE_ADDED_EVENT' },
  'type-unset': { name: 'IssueTypeRemovedEvent', itemType: 'ISSUE_TYPE_REMOVED_EVENT' },
  'project-set': { name: 'AddedToProjectV2Event', itemType: 'ADDED_TO_PROJECT_V2_EVENT' },
  'project-unset': { name: 'RemovedFromProjectV2Event', itemType: 'REMOVED_FROM_PROJECT_V2_EVENT' },
};

interface Numbered {
  readonly number: number;
}
