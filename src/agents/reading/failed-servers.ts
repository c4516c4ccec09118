import { asArray, asObject, asString } from './json.ts';

/** States of an MCP server in which an agent has none of its tools. */
const FAILED = /^(?:failed|error|needs[-_]auth|not[-_]connected|disconnected)$/i;
const MAX_SERVERS = 20;

/** `docs (failed)`: the servers of a list that the agent cannot use, each `{ name, status }`. */
export function failedServers(value: unknown): readonly string[] {
  return asArray(value)
    .flatMap((item) => {
      const server = asObject(item);
      const [name, status] = [asString(server?.['name']), asString(server?.['status'])];
      return name !== null && status !== null && FAILED.test(status) ? [`${name.slice(0, 80)} (${status})`] : [];
    })
    .slice(0, MAX_SERVERS);
}
