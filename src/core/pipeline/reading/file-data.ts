import { parseLocatedJson, type LocatedJson } from '../../../json/located.ts';
import { parseLocatedYaml, type LocatedYaml } from '../../../yaml/located.ts';
import { nearest } from '../../text/nearest.ts';
import { isAnybodys, PIPELINE_FILES, stepKinds } from '../pipeline.ts';

/** A file as plain data, with variables as it names them: `${MAX:-5}` is that text, in quotes or not. */
export type FileData = LocatedJson | LocatedYaml;

/** Reads JSON or YAML by the file's name; never throws. */
export function readFileData(file: string, text: string): FileData {
  if (!file.endsWith('.json')) return parseLocatedYaml(text);
  const { masked, texts } = maskedReferences(text);
  return parseLocatedJson(masked, texts);
}

/** Whether data of that file is a pipeline. The root's `config.yaml` may be anybody's: it counts where a step is ours. */
export function hasSteps(file: string, data: unknown): data is { readonly steps: unknown } {
  if (typeof data !== 'object' || data === null || !('steps' in data)) return false;
  return !isAnybodys(file) || areSteps(data.steps);
}

/** Whether it is a list with a step whose type is ours, or nearly one of ours beside a name. */
export function areSteps(steps: unknown): boolean {
  return (
    Array.isArray(steps) &&
    steps.some(
      (step: unknown) =>
        typeof step === 'object' &&
        step !== null &&
        'type' in step &&
        typeof step.type === 'string' &&
        (isKind(step.type) || ('name' in step && nearest(step.type, stepKinds) !== null)),
    )
  );
}

function isKind(type: string): boolean {
  return (stepKinds as readonly string[]).includes(type);
}

/** The same of a text that cannot be read as YAML. */
export function looksLikeSteps(text: string): boolean {
  return /^["']?steps["']?:/m.test(text) && STEP_TYPE.test(text);
}

const STEP_TYPE = new RegExp(String.raw`(?:^|[{,-])[ \t]*["']?type["']?:[ \t]+["']?(?:${stepKinds.join('|')})\b`, 'm');

/** How many steps each of these files has, without those that are switched off; null where it has none. Without files that cannot be read. `texts`: by path. */
export function stepCounts(texts: Readonly<Record<string, string>>): Readonly<Record<string, number | null>> {
  return Object.fromEntries(
    PIPELINE_FILES.filter((file) => Object.hasOwn(texts, file)).flatMap((file) => {
      const read = readFileData(file, texts[file] ?? '');
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

/** A text in quotes, which may not be closed, or a reference outside of one. */
const TOKEN = /"(?:[^"\\\r\n]|\\.)*"?|\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^{}\r\n]*)?\}/g;

/** References outside of quotes are values of their own, whatever they stand for: as texts of the same length, so that every place stays where it is. */
function maskedReferences(text: string): { readonly masked: string; readonly texts: ReadonlyMap<number, string> } {
  const texts = new Map<number, string>();
  const masked = text.replace(TOKEN, (token: string, offset: number) => {
    if (token.startsWith('"')) return token;
    // `${MODEL:-"opus"}` is how a text is written where the value is put in before the file is read.
    texts.set(offset, token.replace(/:-\s*"([^"\\]*)"\s*\}$/, ':-$1}'));
    return `"${'x'.repeat(token.length - 2)}"`;
  });
  return { masked, texts };
}
