import { namesOf } from '../text/lists.ts';
import type { PlannedPipeline, PlannedStep } from './parse-pipeline.ts';
import type { Pipeline, Step } from './pipeline.ts';

/** Files of the base branch: texts by path, and why others were not read. */
interface BaseTexts {
  readonly texts: Readonly<Record<string, string>>;
  readonly unread: Readonly<Record<string, string>>;
}

type ResolvedPipeline =
  | { readonly kind: 'pipeline'; readonly pipeline: Pipeline }
  | { readonly kind: 'wrong'; readonly problems: readonly string[] };

/** The files that a pipeline names, to be read from the base branch. */
export function filesNamedBy({ steps }: PlannedPipeline): readonly string[] {
  return [...new Set(steps.flatMap(({ prompt, marker }) => [prompt, marker]).flatMap((named) => named?.path ?? []))];
}

/** The pipeline with its prompts, and markers that people have set on the base branch. */
export function resolvePipeline(file: string, planned: PlannedPipeline, base: BaseTexts): ResolvedPipeline {
  const problems = planned.steps.flatMap((step) => promptProblem(step, base));
  if (problems.length > 0) return { kind: 'wrong', problems };
  const steps = planned.steps.map(({ step, prompt, marker }): Step => {
    if (step.kind !== 'agent') return step;
    return {
      ...step,
      prompt: prompt === null ? null : { path: prompt.path, text: base.texts[prompt.path] ?? '' },
      marker: marker === null ? null : { file: marker.path, isOnBase: isThere(base, marker.path) },
    };
  });
  return { kind: 'pipeline', pipeline: { file, steps, maxIterationsPerTask: planned.maxIterationsPerTask } };
}

function promptProblem({ prompt }: PlannedStep, { texts, unread }: BaseTexts): readonly string[] {
  if (prompt === null) return [];
  const { path, problemAt } = prompt;
  if (Object.hasOwn(unread, path)) return [problemAt(`\`prompt_file\` ${path} ${unread[path] ?? ''}`)];
  const text = Object.hasOwn(texts, path) ? texts[path] : undefined;
  if (text === undefined) return [problemAt(`\`prompt_file\` ${path} is not a file of the base branch`)];
  return text.trim() === '' ? [problemAt(`\`prompt_file\` ${path} is empty`)] : [];
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
