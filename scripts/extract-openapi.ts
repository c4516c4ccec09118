/**
 * Extracts the operations that the action uses from GitHub's OpenAPI description and writes them, as JSON Schema, to
 * testbed/openapi/github.json. Run it after adding an operation below, or to update the description:
 *
 * node scripts/extract-openapi.ts
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The package with GitHub's description; it is 385 MB unpacked, so it is not a dependency of the project. */
const npmPackage = { name: '@octokit/openapi', version: '23.0.2', file: 'generated/api.github.com.json' };

const REPOSITORY = '/repos/{owner}/{repo}';
const operations: Readonly<Record<string, readonly string[]>> = {
  '/rate_limit': ['get'],
  '/search/issues': ['get'],
  '/users/{username}': ['get'],
  [REPOSITORY]: ['get'],
  [`${REPOSITORY}/issues`]: ['get', 'post'],
  [`${REPOSITORY}/issues/{issue_number}`]: ['get', 'patch'],
  [`${REPOSITORY}/issues/{issue_number}/comments`]: ['get', 'post'],
  [`${REPOSITORY}/issues/comments/{comment_id}`]: ['get', 'patch'],
  [`${REPOSITORY}/issues/{issue_number}/assignees`]: ['post'],
  [`${REPOSITORY}/labels`]: ['get', 'post'],
  [`${REPOSITORY}/labels/{name}`]: ['get'],
  [`${REPOSITORY}/issues/{issue_number}/labels`]: ['get', 'post'],
  [`${REPOSITORY}/issues/{issue_number}/labels/{name}`]: ['delete'],
  [`${REPOSITORY}/issues/{issue_number}/dependencies/blocked_by`]: ['get', 'post'],
  [`${REPOSITORY}/issues/{issue_number}/sub_issues`]: ['get', 'post'],
  [`${REPOSITORY}/issues/{issue_number}/reactions`]: ['get', 'post'],
  [`${REPOSITORY}/issues/comments/{comment_id}/reactions`]: ['get', 'post'],
  [`${REPOSITORY}/collaborators/{username}/permission`]: ['get'],
  [`${REPOSITORY}/pulls`]: ['get', 'post'],
  [`${REPOSITORY}/pulls/{pull_number}`]: ['get', 'patch'],
  [`${REPOSITORY}/pulls/{pull_number}/requested_reviewers`]: ['post'],
  [`${REPOSITORY}/pulls/{pull_number}/comments/{comment_id}/replies`]: ['post'],
  [`${REPOSITORY}/check-runs/{check_run_id}/annotations`]: ['get'],
  [`${REPOSITORY}/actions/jobs/{job_id}`]: ['get'],
  [`${REPOSITORY}/actions/jobs/{job_id}/logs`]: ['get'],
  [`${REPOSITORY}/actions/runs/{run_id}`]: ['get'],
  [`${REPOSITORY}/actions/runs/{run_id}/attempts/{attempt_number}/jobs`]: ['get'],
  [`${REPOSITORY}/actions/permissions/workflow`]: ['get'],
  [`${REPOSITORY}/actions/secrets`]: ['get'],
  [`${REPOSITORY}/actions/organization-secrets`]: ['get'],
  [`${REPOSITORY}/actions/workflows`]: ['get'],
  [`${REPOSITORY}/contents/{path}`]: ['get'],
  [`${REPOSITORY}/rules/branches/{branch}`]: ['get'],
  [`${REPOSITORY}/rulesets`]: ['get'],
  [`${REPOSITORY}/git/matching-refs/{ref}`]: ['get'],
  [`${REPOSITORY}/git/commits`]: ['post'],
  [`${REPOSITORY}/branches/{branch}/protection`]: ['get'],
  [`${REPOSITORY}/actions/caches`]: ['get', 'delete'],
  [`${REPOSITORY}/actions/caches/{cache_id}`]: ['delete'],
};

/** The schema keywords that are kept unchanged; other formats are GitHub's own and mean nothing to a validator. */
const keywords = [
  'type',
  'enum',
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'required',
];
const formats = ['date-time', 'date', 'uri', 'email', 'uuid'];

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const target = new URL('../testbed/openapi/github.json', import.meta.url);
const description = download();
const extract = {
  source: `npm:${npmPackage.name}@${npmPackage.version} ${npmPackage.file} (https://github.com/github/rest-api-description), made by scripts/extract-openapi.ts`,
  licence:
    'MIT, https://spdx.org/licenses/MIT (GitHub REST API description: Copyright GitHub, Inc.; @octokit/openapi: Copyright Octokit contributors)',
  changes:
    'Only some operations; texts and examples left out; OpenAPI 3.0 schemas written as JSON Schema; oneOf as anyOf; request bodies closed.',
  operations: Object.fromEntries(
    Object.entries(operations).flatMap(([path, methods]) => methods.map((method) => operation(path, method))),
  ),
};
const schemas = referencedSchemas(extract.operations);
writeFileSync(target, `${JSON.stringify({ ...extract, $defs: schemas })}\n`);
console.log(
  `${Object.keys(extract.operations).length} operations, ${Object.keys(schemas).length} schemas, ${Math.round(readFileSync(target).length / 1024)} KiB`,
);

function download(): JsonObject {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    execFileSync(
      'npm',
      ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${npmPackage.name}@${npmPackage.version}`],
      { cwd: folder, stdio: 'inherit' },
    );
    return JSON.parse(
      readFileSync(join(folder, 'node_modules', npmPackage.name, npmPackage.file), 'utf8'),
    ) as JsonObject;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function operation(path: string, method: string): [string, JsonObject] {
  const found = at(description, 'paths', path, method);
  const parameters = ((found['parameters'] ?? []) as JsonObject[]).map(resolve);
  return [
    `${method.toUpperCase()} ${path}`,
    {
      path: parameterSchema(parameters.filter((parameter) => parameter['in'] === 'path')),
      query: parameterSchema(parameters.filter((parameter) => parameter['in'] === 'query')),
      body: found['requestBody'] === undefined ? null : requestBody(found['requestBody'] as JsonObject),
      responses: Object.fromEntries(
        Object.entries(found['responses'] as JsonObject).map(([status, response]) => [
          status,
          content(resolve(response as JsonObject)),
        ]),
      ),
    },
  ];
}

function parameterSchema(parameters: readonly JsonObject[]): JsonObject {
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map((parameter) => [parameter['name'] as string, jsonSchema(parameter['schema'] as Json)]),
    ),
    required: parameters
      .filter((parameter) => parameter['required'] === true)
      .map((parameter) => parameter['name'] as string),
    additionalProperties: false,
  };
}

function requestBody(body: JsonObject): JsonObject {
  return { required: body['required'] === true, schema: closed(content(body) as JsonObject) };
}

/** Forbids unknown properties: GitHub ignores them, but the tests must report them. */
function closed(schema: JsonObject): JsonObject {
  const variants = schema['anyOf'] as JsonObject[] | undefined;
  if (variants !== undefined && schema['properties'] === undefined) return { ...schema, anyOf: variants.map(closed) };
  return schema['properties'] === undefined ? schema : { ...schema, additionalProperties: false };
}

/** Returns the JSON schema of a body, or null if there is no JSON body. */
function content(message: JsonObject): Json {
  const schema = (message['content'] as Record<string, JsonObject> | undefined)?.['application/json']?.['schema'];
  return schema === undefined ? null : jsonSchema(schema);
}

function resolve(value: JsonObject): JsonObject {
  const reference = value['$ref'] as string | undefined;
  return reference === undefined ? value : at(description, ...reference.replace('#/', '').split('/'));
}

function at(value: JsonObject, ...keys: readonly string[]): JsonObject {
  return keys.reduce((inner, key) => {
    const next = inner[key];
    if (next === undefined || next === null)
      throw new Error(`The description has no ${keys.join(' → ')} (missing: ${key}).`);
    return next as JsonObject;
  }, value);
}

/** Converts an OpenAPI 3.0 schema to JSON Schema: `nullable` becomes a type, and texts are removed. */
function jsonSchema(schema: Json): JsonObject {
  const from = schema as JsonObject;
  if (typeof from['$ref'] === 'string') return { $ref: `#/$defs/${from['$ref'].split('/').at(-1) ?? ''}` };
  const result: JsonObject = {};
  for (const key of keywords) if (from[key] !== undefined) result[key] = from[key];
  if (formats.includes(from['format'] as string)) result['format'] = from['format'] as string;
  if (from['properties'] !== undefined)
    result['properties'] = Object.fromEntries(
      Object.entries(from['properties'] as JsonObject).map(([name, inner]) => [name, jsonSchema(inner)]),
    );
  if (from['items'] !== undefined) result['items'] = jsonSchema(from['items']);
  const additional = from['additionalProperties'];
  if (additional !== undefined)
    result['additionalProperties'] = typeof additional === 'boolean' ? additional : jsonSchema(additional);
  if (from['allOf'] !== undefined) result['allOf'] = (from['allOf'] as Json[]).map(jsonSchema);
  // GitHub's variants overlap (several are nullable), so a literal `oneOf` would refuse valid values.
  const variants = [from['anyOf'], from['oneOf']].filter((list) => list !== undefined) as Json[][];
  if (variants.length > 0) result['anyOf'] = variants.flat().map(jsonSchema);
  return from['nullable'] === true ? orNull(result) : result;
}

function orNull(schema: JsonObject): JsonObject {
  if (schema['type'] === undefined) return { anyOf: [schema, { type: 'null' }] };
  const values = schema['enum'] as Json[] | undefined;
  return {
    ...schema,
    type: [schema['type'], 'null'],
    ...(values === undefined ? {} : { enum: [...new Set([...values, null])] }),
  };
}

/**
 * Returns every component that `from` references, directly or through other components, and `basic-error`, which any
 * operation may return.
 */
function referencedSchemas(from: Json): Record<string, JsonObject> {
  const result: Record<string, JsonObject> = {};
  const waiting = ['basic-error', ...namesIn(from)];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (result[name] !== undefined) continue;
    const schema = jsonSchema(at(description, 'components', 'schemas', name));
    result[name] = schema;
    waiting.push(...namesIn(schema));
  }
  return Object.fromEntries(Object.entries(result).sort(([left], [right]) => left.localeCompare(right)));
}

function namesIn(value: Json): string[] {
  return [...JSON.stringify(value).matchAll(/"#\/\$defs\/([^"]+)"/g)].map((match) => match[1] ?? '');
}
