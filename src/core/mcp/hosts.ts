import { bracketed, isPublicHost, parseTarget, uniqueHosts, type HostRule, type Target } from '../isolation/hosts.ts';
import type { McpServer } from './server.ts';

/** Where a server of an address is; `path`: the rest of it. Null: the text is no such address. */
export interface McpAddress {
  readonly secure: boolean;
  readonly target: Target;
  readonly path: string;
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|0:0:0:0:0:0:0:1)$/;

/** Reads an address without user name, fragment and what no address has unencoded; a URL parser would forgive too much. */
export function parseMcpAddress(url: string): McpAddress | null {
  const [, protocol, host = '', path = ''] = /^(https?):\/\/([^/?#@]+)([/?][!-~]*)?$/i.exec(url) ?? [];
  if (protocol === undefined || /["#<>\\^`{|}]/.test(path)) return null;
  const secure = protocol.toLowerCase() === 'https';
  const target = parseTarget(host, secure ? HTTPS_PORT : HTTP_PORT);
  return target === null ? null : { secure, target, path };
}

/** Whether an address is on this machine. */
export function isLoopback({ host }: Target): boolean {
  return LOOPBACK.test(host);
}

/** Hosts that an isolated agent must reach for its servers, as far as any host can be allowed to it. */
export function mcpHosts(servers: readonly McpServer[]): readonly HostRule[] {
  return uniqueHosts(targetsOf(servers).filter(({ host }) => isPublicHost(host)));
}

/** Addresses of servers that no isolated agent reaches, as `host:port`: those of this machine but for `localPorts`, and those of its network. */
export function unreachableHosts(servers: readonly McpServer[], localPorts: readonly number[]): readonly string[] {
  return targetsOf(servers)
    .filter((target) => !isPublicHost(target.host) && !(isLoopback(target) && localPorts.includes(target.port)))
    .map(({ host, port }) => `${bracketed(host)}:${String(port)}`);
}

function targetsOf(servers: readonly McpServer[]): readonly Target[] {
  return servers.flatMap((server) => {
    const target = server.kind === 'remote' ? (parseMcpAddress(server.url)?.target ?? null) : null;
    return target === null ? [] : [target];
  });
}
