/** Tools that the agent's CLI runs itself; every other type runs on the provider's servers. A tool without a type is one of these, too. */
const OWN_TOOLS = /^(?:custom|(?:bash|text_editor|memory|computer|tool_search_tool(?:_regex|_bm25)?)_\d{8})$/;
const WEB_SEARCH = /^web_search_\d{8}$/;

/** Where a request keeps text and data of its own, which nobody reads as parts of the protocol. */
const OPAQUE = new Set(['input', 'input_schema', 'text', 'thinking', 'data', 'metadata']);

/** Sources that are in the request themselves. */
const OWN_SOURCES: readonly unknown[] = ['base64', 'text', 'content'];

/** More than any conversation nests. */
const MAX_DEPTH = 64;

/** What in a request makes the provider's servers fetch or run something, in words; null: nothing does. */
export function reachesOut(body: Readonly<Record<string, unknown>>, mayWebSearch: boolean): string | null {
  if (isGiven(body['mcp_servers'])) return 'MCP servers';
  if (isGiven(body['container'])) return 'a container';
  return toolIn(body['tools'], mayWebSearch) ?? sourceIn([body['messages'], body['system'], body['tools']], 0);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

function toolIn(tools: unknown, mayWebSearch: boolean): string | null {
  if (tools === undefined || tools === null) return null;
  if (!Array.isArray(tools)) return 'tools in an unknown form';
  for (const tool of tools as readonly unknown[]) {
    const type = isRecord(tool) ? tool['type'] : 'unknown';
    if (type === undefined || type === null || (typeof type === 'string' && OWN_TOOLS.test(type))) continue;
    if (mayWebSearch && typeof type === 'string' && WEB_SEARCH.test(type)) continue;
    return `the tool ${JSON.stringify(type).slice(0, 60)} of the provider's servers`;
  }
  return null;
}

/** Content that the provider would get from elsewhere, at any depth. */
function sourceIn(value: unknown, depth: number): string | null {
  if (depth > MAX_DEPTH) return 'a request that nests too deep';
  if (Array.isArray(value)) return firstOf(value as readonly unknown[], (part) => sourceIn(part, depth + 1));
  if (!isRecord(value)) return null;
  const source = value['source'];
  const kind = isRecord(source) ? source['type'] : undefined;
  if (kind === 'url' || kind === 'file') return `content from ${kind === 'url' ? 'an address' : 'a stored file'}`;
  if (kind !== undefined && !OWN_SOURCES.includes(kind))
    return `content from a source of the kind ${JSON.stringify(kind).slice(0, 60)}`;
  if (isGiven(value['file_id'])) return 'content from a stored file';
  const parts = Object.entries(value).filter(([name]) => !OPAQUE.has(name));
  return firstOf(parts, ([, part]) => sourceIn(part, depth + 1));
}

function firstOf<T>(items: readonly T[], find: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
