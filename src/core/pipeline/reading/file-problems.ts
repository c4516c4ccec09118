import type { z } from 'zod';
import { findNearest } from '../../text/nearest.ts';
import { toOneLine } from '../../text/phrase.ts';
import { BREAKER_KEYS, configSchemas, FILE_KEYS, STEP_KEYS } from '../file-schema.ts';
import { stepKinds } from '../pipeline.ts';

/** A problem at a path of the file. */
export interface FileProblem {
  readonly path: readonly PropertyKey[];
  /** The wrong part: the key or its value. */
  readonly of: 'key' | 'value';
  readonly message: string;
}

/** Converts the issues of a schema into messages for people, one per unknown key. */
export function describeSchemaIssues(issues: readonly z.core.$ZodIssue[], data: unknown): readonly FileProblem[] {
  return issues.flatMap((issue): readonly FileProblem[] => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({
        path: [...issue.path, key],
        of: 'key' as const,
        message: unknownKey(key, issue.path, data),
      }));
    const name = issue.path.at(-1);
    const value = valueAt(data, issue.path);
    const what = typeof name === 'string' ? `\`${name}\`` : issue.path.length === 0 ? 'the file' : 'the step';
    if (value === undefined) return [{ path: issue.path.slice(0, -1), of: 'value', message: `${what} is missing` }];
    return [{ path: issue.path, of: 'value', message: `${what} ${describeIssue(issue, value)}` }];
  });
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown): string {
  // A union on `type` fails only if the step's type is unknown.
  if (issue.code === 'invalid_union' && issue.path.at(-1) === 'type') {
    const near = typeof value === 'string' ? findNearest(value, stepKinds) : null;
    const hint = near === null ? '' : `: did you mean "${near}"?`;
    return `is ${describeValue(value)}, not a type of step (${stepKinds.join(', ')})${hint}`;
  }
  if (issue.code === 'invalid_type') return `must be ${typeWords(issue.expected)}, but is ${describeValue(value)}`;
  return issue.message;
}

function typeWords(expected: string): string {
  const words: Readonly<Record<string, string>> = {
    string: 'a string',
    boolean: 'true or false',
    object: 'an object',
    array: 'a list',
    int: 'a whole number',
    number: 'a number',
  };
  return Object.hasOwn(words, expected) ? (words[expected] ?? expected) : expected;
}

function unknownKey(key: string, path: readonly PropertyKey[], data: unknown): string {
  const known = keysAt(path, data);
  const ofConfig = path.length === 2 ? configKeys(valueAt(data, path)) : [];
  const quoted = `\`${toOneLine(key, 60)}\``;
  if (ofConfig.includes(key)) return `${quoted} belongs in \`config\` of the step`;
  const near = findNearest(key, known);
  return `${quoted} is not known here${near === null ? '' : `: did you mean \`${near}\`?`}`;
}

/** Returns the keys that the object at a path may have. */
function keysAt(path: readonly PropertyKey[], data: unknown): readonly string[] {
  if (path.length === 0) return FILE_KEYS;
  if (path.length === 2) return STEP_KEYS;
  if (path.at(-1) === 'circuit_breaker') return BREAKER_KEYS;
  return configKeys(valueAt(data, path.slice(0, 2)));
}

function configKeys(step: unknown): readonly string[] {
  const type = valueAt(step, ['type']);
  const schema = typeof type === 'string' && Object.hasOwn(configSchemas, type) ? type : null;
  return schema === null ? [] : Object.keys(configSchemas[schema as keyof typeof configSchemas].shape);
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? (value as Readonly<Record<PropertyKey, unknown>>)[part]
        : undefined,
    data,
  );
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return toOneLine(JSON.stringify(value), 60);
}
