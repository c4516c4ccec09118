import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

/** One violation of GitHub's own description. `where` names the side and the operation. */
export interface Violation {
  readonly where: string;
  readonly problem: string;
}

/**
 * Validates requests and answers against GitHub's OpenAPI description (`github.json`, made by
 * scripts/extract-openapi.ts).
 */
export interface Validator {
  /** Validates a request: `path` without the query, `body` as parsed JSON, or undefined if none. */
  request(
    method: string,
    path: string,
    sent: { readonly query: URLSearchParams; readonly body: unknown },
  ): readonly Violation[];
  response(
    method: string,
    path: string,
    answer: { readonly status: number; readonly body?: unknown },
  ): readonly Violation[];
}

/**
 * The validator is created once per process: compiling the schemas again would cost each stand-in a tenth of a second.
 */
let made: Validator | null = null;

export function createOpenapiValidator(): Validator {
  return (made ??= createValidator());
}

function createValidator(): Validator {
  const description = JSON.parse(readFileSync(new URL('./github.json', import.meta.url), 'utf8')) as Description;
  const check = createCheck(description);
  const routes = Object.entries(description.operations).map(([route, operation]) => createRoute(route, operation));
  const routeOf = (method: string, path: string) =>
    routes.find((route) => route.method === method && route.pattern.test(path));

  return {
    request(method, path, { query, body }) {
      const route = routeOf(method, path);
      if (route === undefined)
        return [{ where: `request ${method} ${path}`, problem: 'is not an operation of the description' }];
      const { operation } = route;
      return [
        ...check.text(`${route.name} path`, operation.path, route.pattern.exec(path)?.groups ?? {}),
        ...check.text(`${route.name} query`, operation.query, Object.fromEntries(query)),
        ...requestBody(operation, body),
      ].map((problem) => ({ where: `request ${route.name}`, problem }));

      function requestBody({ body: expected }: Operation, sent: unknown): readonly string[] {
        if (sent === undefined) return expected?.required === true ? ['has no body'] : [];
        return expected === null
          ? ['has a body, and must not']
          : check.json(`${method} ${route?.name ?? ''} body`, expected.schema, sent);
      }
    },
    response(method, path, { status, body }) {
      const route = routeOf(method, path);
      // An unknown operation was already reported with the request, so its answer is not validated.
      if (route === undefined) return [];
      const where = `response ${route.name} ${String(status)}`;
      // null means an answer without a body; a missing key means an unknown status.
      const schemas: Operation['responses'] = { ...answersOfAnyOperation, ...route.operation.responses };
      const schema = schemas[status];
      if (schema === undefined) return [{ where, problem: 'is not a documented status' }];
      if (schema === null) return body === undefined ? [] : [{ where, problem: 'has a body, and must not' }];
      return check.json(where, schema, body).map((problem) => ({ where, problem }));
    },
  };
}

/** Statuses that the description lists for few operations, although GitHub returns them for all. */
const answersOfAnyOperation: Readonly<Record<number, Schema>> = {
  301: { $ref: '#/$defs/basic-error' },
  401: { $ref: '#/$defs/basic-error' },
  403: { $ref: '#/$defs/basic-error' },
  404: { $ref: '#/$defs/basic-error' },
  410: { $ref: '#/$defs/basic-error' },
  429: { $ref: '#/$defs/basic-error' },
};

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly path: Schema;
  readonly query: Schema;
  readonly body: { readonly required: boolean; readonly schema: Schema } | null;
  readonly responses: Readonly<Record<string, Schema | null>>;
}

interface Description {
  readonly operations: Readonly<Record<string, Operation>>;
  readonly $defs: Readonly<Record<string, Schema>>;
}

interface Route {
  readonly name: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly operation: Operation;
}

function createRoute(name: string, operation: Operation): Route {
  const [method = '', template = ''] = name.split(' ');
  const pattern = template.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)');
  return { name, method, pattern: new RegExp(`^${pattern}$`), operation };
}

/**
 * Compiles each schema at its first use. Parameters are text and are coerced to the schema's types; bodies are taken
 * literally.
 */
function createCheck({ $defs }: Description) {
  const create = (coerceTypes: boolean) => {
    const ajv = new Ajv({
      coerceTypes,
      allErrors: true,
      strict: true,
      strictTypes: false,
      strictRequired: false,
      allowUnionTypes: true,
    });
    addFormats.default(ajv);
    ajv.addSchema({ $id: 'github', $defs }, 'github');
    const compiled = new Map<string, ValidateFunction>();
    return (name: string, schema: Schema, value: unknown): readonly string[] => {
      const validate = compiled.get(name) ?? ajv.compile(absolute(schema));
      compiled.set(name, validate);
      if (validate(value)) return [];
      return (validate.errors ?? []).map((error) =>
        `${error.instancePath} ${error.message ?? 'is invalid'} ${JSON.stringify(error.params)}`.trim(),
      );
    };
  };
  return { text: create(true), json: create(false) };
}

/**
 * Makes the references of a schema absolute: an operation's schema is compiled outside the document that they point
 * into.
 */
function absolute(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', () => '"github#/$defs/')) as Schema;
}
