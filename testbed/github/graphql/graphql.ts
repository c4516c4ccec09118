import type { Violation } from '../../openapi/validator.ts';
import { type GitHubAnswer, type Call, text } from '../route.ts';

/**
 * Answers a GraphQL query: always with status 200, and with `errors` beside the available data. The `graphql` package
 * executes queries on GitHub's schema.
 */
export async function answerGraphql(call: Call): Promise<GitHubAnswer> {
  const { graphql, createRoot, schema } = await loadSchema();
  const { query, variables } = call.body;
  const unknown = call.state.settings.unknownFields.filter((name) => new RegExp(`\\b${name}\\b`).test(text(query)));
  if (unknown.length > 0) return { status: 200, body: { errors: unknown.map(unknownField) } };
  const result = await graphql.graphql({
    schema,
    source: text(query),
    rootValue: createRoot(call),
    variableValues: Object(variables) as Record<string, unknown>,
  });
  const errors = result.errors?.map(({ message, path, locations, extensions }) => ({
    ...extensions,
    path,
    locations,
    message,
  }));
  return {
    status: 200,
    body: { ...(result.data === undefined ? {} : { data: result.data }), ...(errors === undefined ? {} : { errors }) },
  };
}

function unknownField(name: string): object {
  return {
    path: ['query', name],
    extensions: { code: 'undefinedField', typeName: 'PullRequest', fieldName: name },
    message: `Field '${name}' doesn't exist on type 'PullRequest'`,
  };
}

/** GraphQL's answer when its hourly points are used up; the status is still 200. */
export const graphqlExhausted: GitHubAnswer = {
  status: 200,
  body: {
    errors: [
      {
        type: 'RATE_LIMIT',
        code: 'graphql_rate_limit',
        message: 'API rate limit already exceeded for installation ID 1.',
      },
    ],
  },
};

/** The violations of each query so far; a run repeats the same few queries. */
const judged = new Map<string, Promise<readonly Violation[]>>();

/** Validates a query against GitHub's schema. */
export function findGraphqlViolations(query: string): Promise<readonly Violation[]> {
  const known = judged.get(query) ?? judge(query);
  judged.set(query, known);
  return known;
}

async function judge(query: string): Promise<readonly Violation[]> {
  const { graphql, schema } = await loadSchema();
  const where = 'request POST /graphql';
  try {
    return graphql.validate(schema, graphql.parse(query)).map((error) => ({ where, problem: error.message }));
  } catch (error) {
    return [{ where, problem: `is not valid GraphQL: ${String(error)}` }];
  }
}

const LATER = ['IssueTypeAdded', 'IssueTypeChanged', 'IssueTypeRemoved', 'AddedToProjectV2', 'RemovedFromProjectV2'];

/** Events of GitHub's timeline that the published schema lacks. */
const LATER_EVENTS = `
extend enum IssueTimelineItemsItemType {
  ${LATER.map((name) => `${name}Event`.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, '_').toUpperCase()).join(' ')}
}
extend union IssueTimelineItems = ${LATER.map((name) => `${name}Event`).join(' | ')}
${LATER.map((name) => {
  const types = name.startsWith('IssueType') ? 'issueType: GivenIssueType prevIssueType: GivenIssueType' : '';
  return `type ${name}Event { actor: Actor createdAt: DateTime! ${types} }`;
}).join('\n')}
type GivenIssueType { name: String! }`;

let loaded: ReturnType<typeof load> | undefined;

/** Loads the schema at the first query and once per process, because that takes half a second. */
function loadSchema(): ReturnType<typeof load> {
  return (loaded ??= load());
}

async function load() {
  const [graphql, { createRoot }, { schema }] = await Promise.all([
    import('graphql'),
    import('./graphql-root.ts'),
    import('@octokit/graphql-schema'),
  ]);
  const idl = `${schema.idl}\n${LATER_EVENTS}`;
  return { graphql, createRoot, schema: graphql.buildSchema(idl, { assumeValid: true, noLocation: true }) };
}
