import { entriesOf, isRecord, listIn, scalarText, type YamlMap } from './yaml-data.ts';

/** The services of a job as lines of YAML, and the places on localhost where they answer. */
interface Services {
  readonly lines: readonly string[];
  readonly hosts: readonly string[];
}

const MAX_HOSTS = 10;
const MAX_DEPTH = 4;

/** Returns services as init's workflow starts them; null if there are none, or if only CI can start them. */
export function servicesOf(services: YamlMap): Services | null {
  if (Object.keys(services).length === 0) return null;
  const lines = mapLines(services, 1);
  if (lines === null) return null;
  const ports = entriesOf(services).flatMap(([, service]) => (isRecord(service) ? listIn(service, 'ports') : []));
  const mapped = ports.flatMap((port) => /^(\d+):\d+/.exec(scalarText(port))?.[1] ?? []);
  const hosts = mapped
    .filter((port) => Number(port) >= 1024 && Number(port) < 65_536)
    .map((port) => `localhost:${port}`);
  return { lines: ['services:', ...lines], hosts: [...new Set(hosts)].slice(0, MAX_HOSTS) };
}

/** Renders a mapping as lines; null if a name or a value in it cannot be copied into another workflow. */
function mapLines(map: YamlMap, depth: number): readonly string[] | null {
  const lines: string[] = [];
  for (const [name, value] of entriesOf(map)) {
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
