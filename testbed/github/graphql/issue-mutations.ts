import type { GraphQLError } from 'graphql';
import { createGraphqlFailure } from './graphql-parts.ts';
import { labelIssue, unlabelIssue } from '../people.ts';
import type { Call } from '../route.ts';
import { reactTo } from '../routes-issues.ts';
import { addComment, type StoredComment, type StoredIssue } from '../state.ts';

const CONTENTS: Readonly<Record<string, string>> = {
  ...{ EYES: 'eyes', THUMBS_UP: '+1', THUMBS_DOWN: '-1', CONFUSED: 'confused' },
};

interface LabelsInput {
  readonly input: { readonly labelableId: string; readonly labelIds: readonly string[] };
}

/** Creates the mutations that react to issues, label them and comment on them. */
export function createIssueMutations(
  call: Call,
  { forbidden, comment }: { readonly forbidden: () => GraphQLError; readonly comment: (of: StoredComment) => object },
): object {
  const { state, token, viewer, now } = call;
  const done = { clientMutationId: null };

  return {
    addReaction: ({ input }: { readonly input: { readonly subjectId: string; readonly content: string } }) => {
      const { on, issue } = reviewed(input.subjectId) ?? issueAt(input.subjectId);
      if (issue.locked) throw locked('reaction');
      reactTo(call, { on, content: CONTENTS[input.content] ?? '' });
      return done;
    },
    addLabelsToLabelable: ({ input }: LabelsInput) => {
      const { number } = issueToChange(input.labelableId);
      for (const label of labelsOf(input.labelIds)) labelIssue(state, number, { label, by: viewer.login, now });
      return done;
    },
    removeLabelsFromLabelable: ({ input }: LabelsInput) => {
      const { number } = issueToChange(input.labelableId);
      for (const label of labelsOf(input.labelIds)) unlabelIssue(state, number, { label, by: viewer.login, now });
      return done;
    },
    addComment: ({ input }: { readonly input: { readonly subjectId: string; readonly body: string } }) => {
      const issue = issueToChange(input.subjectId);
      if (issue.locked) throw locked('comment');
      const added = addComment(state, { issue: issue.number, body: input.body, author: viewer }, now);
      return { commentEdge: { node: comment(added) } };
    },
  };

  function issueAt(nodeId: string) {
    const issue = issueToChange(nodeId);
    return { issue, on: { kind: 'issue', number: issue.number } } as const;
  }

  /** Returns a review, or a comment in one, with the issue of its pull request; null for any other id. */
  function reviewed(nodeId: string) {
    const review = state.reviews.find(({ id }) => nodeId === `PRR_${String(id)}`);
    const comments = state.threads.flatMap((thread) => thread.comments.map((one) => ({ ...one, pull: thread.pull })));
    const comment = comments.find(({ id }) => nodeId === `PRRC_${String(id)}`);
    const found = review ?? comment;
    if (found === undefined) return null;
    if (token.permissions.pull_requests !== 'write') throw forbidden();
    const issue = state.issues.find(({ number }) => number === found.pull);
    if (issue === undefined) throw unresolved(nodeId);
    return { issue, on: { kind: review === undefined ? 'review-comment' : 'review', id: found.id } } as const;
  }

  function issueToChange(nodeId: string): StoredIssue {
    const issue = state.issues.find(({ id }) => nodeId === `I_${String(id)}`);
    if (issue === undefined) throw unresolved(nodeId);
    const isPull = state.pulls.some(({ number }) => number === issue.number);
    if (token.permissions.issues !== 'write' && !(isPull && token.permissions.pull_requests === 'write'))
      throw forbidden();
    return issue;
  }

  function labelsOf(ids: readonly string[]): readonly string[] {
    return ids.map((nodeId) => {
      const label = state.labels.find(({ id }) => nodeId === `LA_${String(id)}`);
      if (label === undefined) throw unresolved(nodeId);
      return label.name;
    });
  }
}

function locked(what: string): GraphQLError {
  return createGraphqlFailure('FORBIDDEN', `Unable to create ${what} because issue is locked.`);
}

function unresolved(nodeId: string): GraphQLError {
  return createGraphqlFailure('NOT_FOUND', `Could not resolve to a node with the global id of '${nodeId}'.`);
}
