import { parseLocatedJson, type LocatedJson } from '../../../json/parse.ts';
import { parseLocatedYaml, type LocatedYaml } from '../../../yaml/parse.ts';
import { findNearest } from '../../text/nearest.ts';
import { isSharedFileName, PIPELINE_FILES, stepKinds } from '../pipeline.ts';

/** A file as plain data. Variables stay as texts such as `${MAX:-5}`, whether quoted or not. */
export type FileData = LocatedJson | LocatedYaml;

/** Parses JSON or YAML by the file's name; never throws. */
export function parseFileData(file: string, text: string): FileData {
  if (!file.endsWith('.json')) return parseLocatedYaml(text);
  const { masked, texts } = maskedReferences(text);
  return parseLocatedJson(masked, texts);
}

/**
 * Returns true if data of the file is a pipeline. The root's `config.yaml` may belong to any tool, so it is a pipeline
 * only if one of its steps has a known type.
 */
export function hasSteps(file: string, data: unknown): data is { readonly steps: unknown } {
  if (typeof data !== 'object' || data === null || !('steps' in data)) return false;
  return !isSharedFileName(file) || areSteps(data.steps);
}

/** Returns true if a value is a list with a step of a known type, or a named step of a nearly known type. */
export function areSteps(steps: unknown): boolean {
  return (
    Array.isArray(steps) &&
    steps.some(
      (step: unknown) =>
        typeof step === 'object' &&
        step !== null &&
        'type' in step &&
        typeof step.type === 'string' &&
        (isKind(step.type) || ('name' in step && findNearest(step.type, stepKinds) !== null)),
    )
  );
}

function isKind(type: string): boolean {
  return (stepKinds as readonly string[]).includes(type);
}

/**
 * Returns true if a text that cannot be parsed as YAML looks like a list of steps. It is the counterpart of `areSteps`,
 * which needs parsed data.
 */
export function looksLikeSteps(text: string): boolean {
  return /^["']?steps["']?:/m.test(text) && STEP_TYPE.test(text);
}

const STEP_TYPE = new RegExp(String.raw`(?:^|[{,-])[ \t]*["']?type["']?:[ \t]+["']?(?:${stepKinds.join('|')})\b`, 'm');

/**
 * Returns the number of enabled steps per readable pipeline file; null if the file has no steps. `texts` is keyed by
 * path.
 */
export function countStepsByFile(texts: Readonly<Record<string, string>>): Readonly<Record<string, number | null>> {
  return Object.fromEntries(
    PIPELINE_FILES.filter((file) => Object.hasOwn(texts, file)).flatMap((file) => {
      const read = parseFileData(file, texts[file] ?? '');
      if (read.kind === 'malformed') return [];
      const steps: unknown = hasSteps(file, read.data) ? read.data.steps : null;
      const count = Array.isArray(steps) ? steps.filter((step) => !isOff(step)).length : null;
      return [[file, count] as const];
    }),
  );
}

function isOff(step: unknown): boolean {
  return typeof step === 'object' && step !== null && 'enabled' in step && step.enabled === false;
}

/** Matches a quoted text, which may be unclosed, or a reference outside of quotes. */
const TOKEN = /"(?:[^"\\\r\n]|\\.)*"?|\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^{}\r\n]*)?\}/g;

/** Replaces references outside of quotes with quoted texts of equal length, so that all positions stay correct. */
function maskedReferences(text: string): { readonly masked: string; readonly texts: ReadonlyMap<number, string> } {
  const texts = new Map<number, string>();
  const masked = text.replace(TOKEN, (token: string, offset: number) => {
    if (token.startsWith('"')) return token;
    // Quotes inside a default, as in `${MODEL:-"opus"}`, serve tools that expand variables before parsing, and are
    // removed.
    texts.set(offset, token.replace(/:-\s*"([^"\\]*)"\s*\}$/, ':-$1}'));
    return `"${'x'.repeat(token.length - 2)}"`;
  });
  return { masked, texts };
}
