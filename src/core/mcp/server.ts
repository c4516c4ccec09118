/** A server of the Model Context Protocol whose tools the agent gets. */
export type McpServer = CommandServer | RemoteServer;

interface Named {
  readonly name: string;
  /** Those that the agent may use; empty: all. */
  readonly tools: readonly string[];
}

/** A program that speaks on its standard input and output. Values may name variables, see `valueParts`. */
export interface CommandServer extends Named {
  readonly kind: 'command';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A server at an address, which names no variables. */
export interface RemoteServer extends Named {
  readonly kind: 'remote';
  readonly transport: 'http' | 'sse';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the input `mcp-config` says. */
export type McpAsked =
  | { readonly kind: 'none' }
  /** The text of a configuration. */
  | { readonly kind: 'inline'; readonly text: string }
  /** A file of the base branch, from the working directory. */
  | { readonly kind: 'file'; readonly path: string };
