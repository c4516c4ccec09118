import { namesOf } from '../text/phrase.ts';
import type { ParsedPipeline, PlannedPipeline, PlannedStep } from './parse-pipeline.ts';
import type { Pipeline, Step } from './pipeline.ts';
import { problemLines, type Problem } from './reading/command-variables.ts';

/** Files of the base branch: texts by path, and why others were not read. */
interface BaseTexts {
  readonly texts: Readonly<Record<string, string>>;
  readonly unread: Readonly<Record<string, string>>;
}

/** What a file says, as far as it can be read. */
type Readable = Exclude<ParsedPipeline, { readonly kind: 'no-pipeline' }>;

/** The files that a pipeline names, to be read from the base branch. */
export function filesNamedBy({ steps }: Readable): readonly string[] {
  return [...new Set(steps.flatMap(({ prompt, marker }) => [prompt, marker]).flatMap((named) => named?.path ?? []))];
}

/** All that is wrong with a pipeline: what its file says, and the prompts that it names. */
export function problemsWith(file: string, parsed: Readable, base: BaseTexts): readonly string[] {
  const known = parsed.kind === 'wrong' ? parsed.problems : [];
  const isKnown = ({ at }: Problem): boolean =>
    known.some((problem) => problem.at?.line === at?.line && problem.at?.column === at?.column);
  // A prompt that is a step's marker is no file of the base branch either.
  const ofPrompts = parsed.steps.flatMap((step) => promptProblem(step, base)).filter((problem) => !isKnown(problem));
  return problemLines(file, [...known, ...ofPrompts]);
}

/** The pipeline with its prompts, which are there, and markers that people have set on the base branch. */
export function resolvePipeline(file: string, planned: PlannedPipeline, base: BaseTexts): Pipeline {
  const steps = planned.steps.map(({ step, prompt, marker }): Step => {
    if (step.kind !== 'agent') return step;
    return {
      ...step,
      prompt: prompt === null ? null : { path: prompt.path, text: base.texts[prompt.path] ?? '' },
      marker: marker === null ? null : { file: marker.path, isOnBase: isThere(base, marker.path) },
    };
  });
  return { file, steps, maxIterationsPerTask: planned.maxIterationsPerTask };
}

function promptProblem({ prompt }: PlannedStep, { texts, unread }: BaseTexts): readonly Problem[] {
  if (prompt === null) return [];
  const { path, at } = prompt;
  const wrong = (what: string): readonly Problem[] => [{ at, message: `\`prompt_file\` ${path} ${what}` }];
  if (Object.hasOwn(unread, path)) return wrong(unread[path] ?? '');
  const text = Object.hasOwn(texts, path) ? texts[path] : undefined;
  if (text === undefined) return wrong('is not a file of the base branch');
  return text.trim() === '' ? wrong('is empty') : [];
}

function isThere({ texts, unread }: BaseTexts, path: string): boolean {
  return Object.hasOwn(texts, path) || Object.hasOwn(unread, path);
}

/** What people read of a pipeline that counts: one line. */
export function describePipeline({ file, steps }: Pipeline, unused: readonly string[]): string {
  const names = namesOf(steps.map(({ name, kind }) => `${name} (${kind})`));
  const without = unused.length === 0 ? '' : `; without meaning here: ${namesOf(unused)}`;
  return `\`${file}\`: ${steps.length} ${steps.length === 1 ? 'step' : 'steps'}: ${names}${without}`;
}
