import type { Server } from 'node:http';
import type { IsolationFacts } from '../../core/isolation/probe.ts';
import type { HostRule } from '../../core/isolation/hosts.ts';
import { listenOnLoopback } from '../../isolation/listening.ts';
import type { Room } from '../../ports/room.ts';

/** How a run keeps what runs the lane's code apart. */
export interface Isolation {
  readonly level: IsolationFacts['level'];
  /** null: such programs run as this user. */
  readonly room: Room | null;
  /** A program's environment there. */
  readonly environmentFor: (given: Readonly<Record<string, string>>) => Record<string, string>;
  /** A server becomes reachable from there; returns its port on 127.0.0.1. */
  readonly listen: (server: Server) => Promise<number>;
  /** Opens hosts beside those of the inputs; before `begin`. */
  readonly allow: (hosts: readonly HostRule[]) => void;
  /** With the brokers' port: closes the network and measures what is open; before the first program. Throws a UserError where it does not hold what was asked for. */
  readonly begin: (brokerPort: number | null) => Promise<void>;
  /** Ends all processes there and counts what is left. */
  readonly count: () => Promise<void>;
  /** null: nothing was measured yet. */
  readonly facts: () => IsolationFacts | null;
  /** Removes what was made; returns what could not be, as a sentence; null: nothing. */
  readonly close: () => Promise<string | null>;
}

/** What is measured beside the level. */
export interface Measured {
  readonly network: IsolationFacts['network'];
  readonly probe: IsolationFacts['probe'];
  readonly keyHidden: boolean;
  readonly processesLeft: number | null;
}

/** Programs run as this user; `why`: see `IsolationFacts`. */
export function notIsolated(why: string | null): Isolation {
  let measured: Measured | null = null;
  return {
    level: 'none',
    room: null,
    environmentFor: (given) => ({ ...given }),
    listen: listenOnLoopback,
    allow: () => undefined,
    begin: (brokerPort) => {
      measured = { network: 'open', probe: null, keyHidden: brokerPort !== null, processesLeft: null };
      return Promise.resolve();
    },
    count: () => Promise.resolve(),
    facts: () => (measured === null ? null : { level: 'none', why, allowedHosts: 0, refused: {}, ...measured }),
    close: () => Promise.resolve(null),
  };
}
