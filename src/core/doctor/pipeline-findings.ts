import { namesOf } from '../text/lists.ts';
import { sentence } from '../text/sentence.ts';
import type { PipelineTrial } from './facts.ts';
import { cure, fine, noted, refused, unchecked, type Finding } from './finding.ts';

/** The steps of an iteration, or what is wrong with their file. Without such a file nothing is said. */
export function pipelineFindings({ where, found, openVariables }: PipelineTrial): readonly Finding[] {
  return findingsOf(found)
    .map((one) => (one.kind === 'ok' || openVariables.length === 0 ? one : open(one, openVariables)))
    .map((one) => ({ ...one, where }));
}

function findingsOf(found: PipelineTrial['found']): readonly Finding[] {
  switch (found.kind) {
    case 'unknown':
      return [
        unchecked(
          'pipeline',
          `Whether there is a pipeline, and a usable one, could not be checked: ${found.why}`,
          cure('Check it in a run, by a comment.', { paste: '/ralph doctor' }),
        ),
      ];
    case 'wrong':
      return found.problems.map((says) => refused('pipeline', sentence(says)));
    case 'read':
      return [
        ...found.says.map((says) => fine('pipeline', sentence(says))),
        ...found.warnings.map((says) => noted('pipeline', says)),
      ];
  }
}

/** What holds without the value of a variable may be wrong with it. */
function open({ says }: Finding, variables: readonly string[]): Finding {
  return unchecked(
    'pipeline',
    `Without the value of ${namesOf(variables.map((name) => `\`${name}\``))}, which only a run knows: ${says}`,
    cure('Check it in a run, by a comment.', { paste: '/ralph doctor' }),
  );
}
