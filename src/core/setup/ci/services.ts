import { quoteShellText, toOneLine } from '../../text/phrase.ts';
import { listMapEntries, isRecord, getList, getMapping, textOfScalar, pickText, type YamlMap } from './yaml-data.ts';
import type { UnreadLine } from '../project.ts';
import type { CiStep } from './jobs.ts';

/** The services of a job as lines of YAML, and the places on localhost where they answer. */
interface Services {
  readonly lines: readonly string[];
  /**
   * The steps that start the same containers with `docker run` instead of `services`; null if that is impossible for
   * one.
   */
  readonly steps: readonly string[] | null;
  readonly hosts: readonly string[];
}

const MAX_HOSTS = 10;
const MAX_DEPTH = 4;

/** Returns services as init's workflow starts them; null if none, or if only CI can start them. */
export function convertServices(services: YamlMap): Services | null {
  if (Object.keys(services).length === 0) return null;
  const lines = mapLines(services, 1);
  if (lines === null) return null;
  const ports = listMapEntries(services).flatMap(([, service]) => (isRecord(service) ? getList(service, 'ports') : []));
  const mapped = ports.flatMap((port) => /^(\d+):\d+/.exec(textOfScalar(port))?.[1] ?? []);
  const hosts = mapped
    .filter((port) => Number(port) >= 1024 && Number(port) < 65_536)
    .map((port) => `localhost:${port}`);
  const steps = listMapEntries(services).map(([name, service]) => stepsOf(name, isRecord(service) ? service : {}));
  return {
    lines: ['services:', ...lines],
    steps: steps.includes(null) ? null : steps.flatMap((lines) => lines ?? []),
    hosts: [...new Set(hosts)].slice(0, MAX_HOSTS),
  };
}

/** Renders a mapping as lines; null if a name or a value in it cannot be copied into another workflow. */
function mapLines(map: YamlMap, depth: number): readonly string[] | null {
  const lines: string[] = [];
  for (const [name, value] of listMapEntries(map)) {
    if (!/^[A-Za-z_][\w-]*$/.test(name)) return null;
    const below = isRecord(value) && depth < MAX_DEPTH ? mapLines(value, depth + 1) : [];
    const items = Array.isArray(value) ? value.map(scalar) : [];
    const own = isRecord(value) || Array.isArray(value) ? '' : scalar(value);
    if (below === null || own === null || items.includes(null)) return null;
    lines.push(`${'  '.repeat(depth)}${name}:${own === '' ? '' : ` ${own}`}`, ...below);
    lines.push(...items.map((item) => `${'  '.repeat(depth + 1)}- ${item ?? ''}`));
  }
  return lines;
}

/** Renders a value in quotes; null for an expression, or for a value that is not plain. */
function scalar(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string' || value.includes('${{')) return null;
  return JSON.stringify(value.trim().replaceAll(/\s+/g, ' '));
}

/** Keys of a service that options of `docker run` express. */
const STARTABLE: readonly string[] = ['image', 'env', 'ports', 'volumes', 'options'];
/** Matches options without characters that a shell would expand or interpret. */
const PLAIN_OPTIONS = /^(?:[\w./:=,@%+\s-]|"[^"$`\\]*"|'[^']*')*$/;
const PLAIN_IMAGE = /^[\w./:@-]+$/;
const CONTAINER_NAME = /^[A-Za-z0-9][\w-]+$/;

/** Returns the steps that start a service and wait for its health check; null if `docker run` cannot express it. */
function stepsOf(name: string, service: YamlMap): readonly string[] | null {
  const image = pickText(service, 'image');
  const options = pickText(service, 'options').trim().replaceAll(/\s+/g, ' ');
  const isStartable =
    listMapEntries(service).every(([key]) => STARTABLE.includes(key)) &&
    [PLAIN_IMAGE.test(image), PLAIN_OPTIONS.test(options), CONTAINER_NAME.test(name)].every(Boolean);
  if (!isStartable) return null;
  const each = (option: string, values: readonly string[]): readonly string[] =>
    values.map((value) => `--${option} ${quoteShellText(value)}`);
  const start = [
    `docker run --detach --name ${name}`,
    ...each('publish', getList(service, 'ports').map(textOfScalar)),
    ...each('volume', getList(service, 'volumes').map(textOfScalar)),
    ...each(
      'env',
      listMapEntries(getMapping(service, 'env')).map(([key, value]) => `${key}=${textOfScalar(value)}`),
    ),
    ...(options === '' ? [] : [options]),
    image,
  ].join(' ');
  const health = `timeout 120 sh -c 'until docker inspect --format "{{.State.Health.Status}}" ${name} | grep --quiet ^healthy; do sleep 1; done'`;
  return [start, ...(options.includes('--health-cmd') ? [health] : [])].map((line) => `- run: ${JSON.stringify(line)}`);
}

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
