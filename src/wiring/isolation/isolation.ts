import type { Server } from 'node:http';
import { dirname, join } from 'node:path';
import type { IsolationFacts } from '../../core/isolation/probe.ts';
import type { AgentName } from '../../core/agent-names.ts';
import type { HostRule } from '../../core/isolation/hosts.ts';
import { listenOnLoopback } from '../../isolation/listening.ts';
import type { AgentSandbox } from '../../ports/agent-sandbox.ts';
import type { World } from '../world.ts';

/** The isolation of the programs that run the lane's code. */
export interface Isolation {
  readonly level: IsolationFacts['level'];
  /** The agent's sandbox, or null if such programs run as this user. */
  readonly agentSandbox: AgentSandbox | null;
  /** Returns a program's environment inside the isolation. */
  readonly environmentFor: (given: Readonly<Record<string, string>>) => Record<string, string>;
  /** Makes a server reachable from inside; returns its port on 127.0.0.1. */
  readonly listen: (server: Server) => Promise<number>;
  /** Opens hosts in addition to those of the inputs; must be called before `begin`. */
  readonly allow: (hosts: readonly HostRule[]) => void;
  /**
   * Closes the network except for the brokers' port, and measures what is open to these agents. Must be called before
   * the first program. Throws a UserError if the isolation is weaker than requested.
   */
  readonly begin: (brokerPort: number | null, agents: readonly AgentName[]) => Promise<void>;
  /** Ends all isolated processes and counts those that remain. */
  readonly count: () => Promise<void>;
  /** Returns the measured facts, or null if nothing has been measured yet. */
  readonly facts: () => IsolationFacts | null;
  /**
   * Removes what was created. Returns a sentence about the parts that could not be removed, or null if none.
   */
  readonly close: () => Promise<string | null>;
}

/** The measurements other than the level. */
export interface MeasuredIsolation {
  readonly network: IsolationFacts['network'];
  readonly probe: IsolationFacts['probe'];
  readonly keyHidden: boolean;
  readonly processesLeft: number | null;
}

/** The sentences of the facts. */
export type IsolationRemarks = Pick<IsolationFacts, 'why' | 'caches'>;

/** Returns the isolation in which programs run as this user. */
export function createNoIsolation(about: IsolationRemarks): Isolation {
  let measured: MeasuredIsolation | null = null;
  return {
    level: 'none',
    agentSandbox: null,
    environmentFor: (given) => ({ ...given }),
    listen: listenOnLoopback,
    allow: () => undefined,
    begin: (brokerPort) => {
      measured = { network: 'open', probe: null, keyHidden: brokerPort !== null, processesLeft: null };
      return Promise.resolve();
    },
    count: () => Promise.resolve(),
    facts: () => (measured === null ? null : { level: 'none', ...about, allowedHosts: 0, refused: {}, ...measured }),
    close: () => Promise.resolve(null),
  };
}

/**
 * Returns folders in which sandboxes may be created, the usual one first. If that is not possible on disk, they are
 * next to the runner's checkouts.
 */
export function listSandboxFolders({ RUNNER_TEMP }: World['environment']): readonly [string, ...string[]] {
  return ['/var/tmp', ...(RUNNER_TEMP === undefined ? [] : [join(dirname(RUNNER_TEMP), '_ralph')])];
}

/** The folder in which user ids are reserved. A restart empties it. */
export const RESERVATIONS = '/run';
