import { listFirstNames } from '../text/phrase.ts';
import type { ParsedPipeline, PlannedPipeline, PlannedStep } from './parse-pipeline.ts';
import type { Pipeline, Step } from './pipeline.ts';
import { formatPipelineProblems, type PipelineProblem } from './reading/command-variables.ts';

/** Files of the base branch: texts by path, and reasons by path for files that were not read. */
interface BaseTexts {
  readonly texts: Readonly<Record<string, string>>;
  readonly unread: Readonly<Record<string, string>>;
}

/** A parsed file that is a pipeline, valid or not. */
type Readable = Exclude<ParsedPipeline, { readonly kind: 'no-pipeline' }>;

/** Returns the files that a pipeline names and that must be read from the base branch. */
export function listPipelineFiles({ steps }: Readable): readonly string[] {
  return [...new Set(steps.flatMap(({ prompt, marker }) => [prompt, marker]).flatMap((named) => named?.path ?? []))];
}

/** Returns all problems of a pipeline: those of its file and those of the prompts that it names. */
export function problemsOfPipeline(file: string, parsed: Readable, base: BaseTexts): readonly string[] {
  const known = parsed.kind === 'wrong' ? parsed.problems : [];
  const isKnown = ({ at }: PipelineProblem): boolean =>
    known.some((problem) => problem.at?.line === at?.line && problem.at?.column === at?.column);
  // A prompt that is also a step's marker is already reported at the same position, so it is not reported twice.
  const ofPrompts = parsed.steps.flatMap((step) => promptProblem(step, base)).filter((problem) => !isKnown(problem));
  return formatPipelineProblems(file, [...known, ...ofPrompts]);
}

/** Returns the pipeline with its prompts, which must exist, and with the markers that exist on the base branch. */
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

function promptProblem({ prompt }: PlannedStep, { texts, unread }: BaseTexts): readonly PipelineProblem[] {
  if (prompt === null) return [];
  const { path, at } = prompt;
  const wrong = (what: string): readonly PipelineProblem[] => [{ at, message: `\`prompt_file\` ${path} ${what}` }];
  if (Object.hasOwn(unread, path)) return wrong(unread[path] ?? '');
  const text = Object.hasOwn(texts, path) ? texts[path] : undefined;
  if (text === undefined) return wrong('is not a file of the base branch');
  return text.trim() === '' ? wrong('is empty') : [];
}

function isThere({ texts, unread }: BaseTexts, path: string): boolean {
  return Object.hasOwn(texts, path) || Object.hasOwn(unread, path);
}

/** Describes a pipeline in one line for people. */
export function describePipeline({ file, steps }: Pipeline, unused: readonly string[]): string {
  const names = listFirstNames(steps.map(({ name, kind }) => `${name} (${kind})`));
  const without = unused.length === 0 ? '' : `; without effect: ${listFirstNames(unused)}`;
  return `\`${file}\`: ${steps.length} ${steps.length === 1 ? 'step' : 'steps'}: ${names}${without}`;
}
