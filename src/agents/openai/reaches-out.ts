import { findFirstResult, hasContent } from '../passing/protocol.ts';
import { asObject, type JsonObject } from '../reading/json-value.ts';
import type { OpenAiApi } from './usage.ts';

/** Tools that the agent's CLI runs itself, or that only contain such tools, which are checked as well. */
const OWN = new Set<unknown>(['function', 'custom', 'local_shell', 'apply_patch', 'namespace']);

/** Types of the tool that searches on the provider's servers. */
export const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

/** Models that search by themselves, as OpenAI and OpenRouter name them. */
const SEARCHING = /-search-(?:preview|api)|deep-research|:online/i;

/** Fields of a request that make the provider's servers use stored content, or act by themselves. */
const REACHING: readonly (readonly [field: string, what: string])[] = [
  ['previous_response_id', 'a stored response'],
  ['conversation', 'a stored conversation'],
  ['prompt', 'a stored prompt'],
  ['container', 'a container'],
  ['mcp_servers', 'MCP servers'],
  ['plugins', "plugins of the provider's servers"],
];

/** Items of a conversation whose content is in the request. */
const ITEMS = new Set<unknown>([
  ...['message', 'agent_message', 'reasoning', 'compaction', 'compaction_summary', 'context_compaction'],
  ...['compaction_trigger', 'configuration_update', 'additional_tools', 'web_search_call'],
  ...['tool_search_call', 'tool_search_output', 'apply_patch_call', 'apply_patch_call_output'],
  ...['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'],
  ...['local_shell_call', 'local_shell_call_output'],
]);

/** Parts of a message whose content is in the request. */
const PARTS = new Set<unknown>([
  ...['text', 'input_text', 'output_text', 'summary_text', 'reasoning_text', 'refusal', 'encrypted_content'],
  ...['thinking', 'redacted_thinking', 'input_image', 'image_url', 'video_url', 'input_audio', 'input_file', 'file'],
]);

/** Fields with a request's own text and data, which are not part of the protocol. */
const OPAQUE = new Set([
  ...['text', 'arguments', 'parameters', 'schema', 'output_schema', 'format', 'response_format', 'metadata'],
  ...['client_metadata', 'internal_chat_message_metadata_passthrough', 'annotations', 'action', 'operation'],
  ...['chat_template_kwargs', 'logit_bias'],
]);

/** Maximum depth: no conversation nests deeper. */
const MAX_DEPTH = 64;

/** The protocol's spelling of names: a gateway may read another spelling as the same field. */
const NAME = /^[a-z\d_.$-]*$/;

/**
 * Describes the part of a request that makes the provider's servers fetch or look up content, or run programs; null if
 * no part does. `sent` is the part that is passed on.
 */
export function findProviderAction(
  api: OpenAiApi,
  body: JsonObject,
  sent: JsonObject,
  mayWebSearch: boolean,
): string | null {
  const reaching = REACHING.find(([field]) => hasContent(body[field]));
  if (reaching !== undefined) return reaching[1];
  if (hasContent(body['background']) && body['background'] !== false) return 'a response in the background';
  if (!mayWebSearch && hasContent(body['web_search_options'])) return 'a web search';
  if (!mayWebSearch && searchesByItself(sent['model']))
    return `the model ${describeValue(sent['model'])}, which searches`;
  return (
    choiceProblem(sent['tool_choice'], mayWebSearch) ??
    (api === 'responses' ? itemProblem(sent['input']) : null) ??
    problemIn(sent, mayWebSearch, 0)
  );
}

function choiceProblem(choice: unknown, mayWebSearch: boolean): string | null {
  const given = asObject(choice);
  return given === null || given['type'] === 'allowed_tools' ? null : toolProblem(given, mayWebSearch);
}

function itemProblem(input: unknown): string | null {
  if (!hasContent(input) || typeof input === 'string') return null;
  if (!Array.isArray(input)) return 'a conversation in an unknown form';
  return findFirstResult(input as readonly unknown[], (item) => {
    const type = asObject(item)?.['type'];
    // An item without a type is a message, or the id of an object that the provider has stored.
    const isMessage = (type === undefined || type === null) && typeof asObject(item)?.['role'] === 'string';
    return isMessage || ITEMS.has(type) ? null : `an item ${describeValue(type)} of a conversation`;
  });
}

/** Returns the first problem at any depth. */
function problemIn(value: unknown, mayWebSearch: boolean, depth: number): string | null {
  if (depth > MAX_DEPTH) return 'a request that nests too deep';
  if (Array.isArray(value)) {
    return findFirstResult(value as readonly unknown[], (part) => problemIn(part, mayWebSearch, depth + 1));
  }
  const given = asObject(value);
  if (given === null) return null;
  return findFirstResult(Object.entries(given), ([name, part]) => {
    if (OPAQUE.has(name)) return null;
    if (!NAME.test(name)) return `the field ${describeValue(name)}`;
    return fieldProblem(name, part, mayWebSearch) ?? problemIn(part, mayWebSearch, depth + 1);
  });
}

function fieldProblem(name: string, value: unknown, mayWebSearch: boolean): string | null {
  if (!hasContent(value)) return null;
  if (name === 'tools') {
    if (!Array.isArray(value)) return 'tools in an unknown form';
    return findFirstResult(value as readonly unknown[], (tool) => toolProblem(tool, mayWebSearch));
  }
  if (name === 'content' || name === 'output') return partProblem(value);
  if (/^(?:file|image|container|vector_store)_ids?$/.test(name)) return 'content from a stored file';
  if (name === 'audio' && hasContent(asObject(value)?.['id'])) return 'content from a stored sound';
  if (name.endsWith('_url')) return isInline(addressIn(value)) ? null : 'content from an address';
  // Allow only plain base64, or an address that contains the data.
  if (name === 'file_data' || name === 'data')
    return isText(value) && isPlain(value) ? null : 'content from an address';
  return null;
}

function partProblem(content: unknown): string | null {
  if (!Array.isArray(content)) return null;
  return findFirstResult(content as readonly unknown[], (part) => {
    const type = asObject(part)?.['type'];
    return typeof part === 'string' || PARTS.has(type) ? null : `content ${describeValue(type)}`;
  });
}

function addressIn(value: unknown): unknown {
  return asObject(value)?.['url'] ?? value;
}

function isInline(address: unknown): boolean {
  return isText(address) && address.startsWith('data:');
}

function isPlain(text: string): boolean {
  return text.startsWith('data:') || !text.includes(':');
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Returns the problem of a tool in words; null if the agent's CLI runs it, or it is a search that the user allows. */
function toolProblem(tool: unknown, mayWebSearch: boolean): string | null {
  const given = asObject(tool);
  const type = given?.['type'];
  if (OWN.has(type)) return null;
  // The request itself says whether the CLI runs these two.
  if (type === 'tool_search' && given?.['execution'] === 'client') return null;
  if (type === 'shell' && asObject(given?.['environment'])?.['type'] === 'local') return null;
  if (mayWebSearch && typeof type === 'string' && WEB_SEARCH.test(type)) return null;
  return `the tool ${describeValue(type)} of the provider's servers`;
}

/** True if a model searches on the provider's servers without a tool. */
export function searchesByItself(model: unknown): boolean {
  return typeof model === 'string' && SEARCHING.test(model);
}

/** Returns a value from the agent as words for the log. */
function describeValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  return value === undefined || value === null ? 'without a type' : 'of an unknown form';
}
