import { toOneLine } from '../../text/phrase.ts';
import type { UnreadLine } from '../project.ts';
import type { CiStep } from './jobs.ts';

/** Returns the note on a job that runs in a container; empty for a job on the runner itself. */
export function describeContainerJob(image: string): readonly UnreadLine[] {
  const why =
    "the agent's job runs on the runner itself: add steps that install what the image has and the runner lacks";
  return image === '' ? [] : [{ what: `container: ${toOneLine(image, 80)}`, why }];
}

/** Returns the steps of a container job in a form that runs on the runner, which is Ubuntu and not root. */
export function convertContainerSteps(steps: readonly CiStep[]): readonly CiStep[] {
  return steps.map((step) => {
    if (step.kind === 'local') return { ...step, steps: convertContainerSteps(step.steps) };
    if (step.kind !== 'run') return step;
    const { command } = step;
    if (OTHER_PACKAGE_MANAGER.test(command.text))
      return { kind: 'unread', what: command.text, why: "it is for the container's system", isSetUp: false };
    return { ...step, command: { ...command, text: command.text.replaceAll(NEEDS_ROOT, '$1sudo $2') } };
  });
}

const OTHER_PACKAGE_MANAGER = /\b(?:apk|dnf|yum|microdnf|zypper|pacman)\s+(?:-\S+\s+)*(?:add|install|update|upgrade)\b/;
const NEEDS_ROOT = /(^|&& |; )((?:apt|apt-get)\s)/g;
