import { z } from 'zod';
import { tryJson } from '../text/try-json.ts';

/** The levels of isolation between the lane's code and this program, strongest first. */
const isolationLevels = ['namespace', 'user', 'sandbox', 'none'] as const;

export type IsolationLevel = (typeof isolationLevels)[number];

const MAX_HOSTS = 100;

const MAX_CHECKS = 100;

const name = z.string().max(300);

const count = z.number().int().nonnegative();

/** The measured facts about a run's isolation; plans are not included. */
export const isolationFacts = z.lazy(() =>
  z.strictObject({
    level: z.enum(isolationLevels),
    /** The reason why the level is not stronger, as a sentence; null if it is the requested or the strongest one. */
    why: z.string().max(500).nullable(),
    /**
     * Number of attempts that the probe made from the agent's position, and the names of failed ones; null if the probe
     * did not run.
     */
    probe: z.strictObject({ checks: count, failed: z.array(name).max(MAX_CHECKS) }).nullable(),
    /**
     * `limited`: only broker and proxy can be reached; `any`: the user opened the network; `open`: this machine has no
     * means to limit it.
     */
    network: z.enum(['limited', 'any', 'open']),
    /** Number of hosts that the proxy allows and of reachable services of this machine. */
    allowedHosts: count,
    /** Refused `host:port` → number of refusals; at most 100 entries. */
    refused: z.record(name, count).refine((refused) => Object.keys(refused).length <= MAX_HOSTS),
    /** True if a broker kept the model key, so that the agent never held it. */
    keyHidden: z.boolean(),
    /** Number of processes left after the last call; null if they were not counted. */
    processesLeft: count.nullable(),
    /** A warning about steps of the job that store files of the agent in a cache, as sentences; null if none does. */
    caches: z.string().max(500).nullable().default(null),
  }),
);

/** The type of `isolationFacts`. */
export type IsolationFacts = z.infer<typeof isolationFacts>;

/**
 * The condition under which a check's attempt must be refused: `always`; `namespaces`: at level `namespace` or
 * `sandbox`; `own-user`: if the agent has a user of its own; `limited`: if the network is limited; `own-network`: in
 * namespaces with a limited network; `never`. `works`: the attempt must succeed everywhere.
 */
type Demand = 'always' | 'namespaces' | 'own-user' | 'limited' | 'own-network' | 'never' | 'works';

/** The attempts that the probe makes from the agent's position. Each name completes "the agent can …". */
const DEMANDS = {
  "read the action's environment": 'always',
  "read the action's memory map": 'always',
  "read the action's memory": 'always',
  "list the action's open files": 'always',
  'signal the action': 'always',
  "read the action's command line": 'namespaces',
  'become root with sudo': 'always',
  'become root with su': 'always',
  // A user namespace grants no rights by itself but exposes more of the kernel. util-linux alone cannot forbid user
  // namespaces, so the probe only records whether they are possible.
  'make a user namespace': 'never',
  "list the runner's home": 'always',
  "list the runner's temporary folder": 'always',
  "use the runner's file commands": 'always',
  // On GitHub's images these folders are writable for everybody, so a separate user does not prevent it.
  'write to /usr/local/bin': 'namespaces',
  'write to /opt': 'namespaces',
  'write to /opt/hostedtoolcache': 'namespaces',
  'write to /usr/share': 'namespaces',
  'write to /etc': 'always',
  'use Docker': 'always',
  'use system daemons such as D-Bus': 'namespaces',
  "see the machine's /tmp": 'namespaces',
  'connect to other machines directly': 'limited',
  'send UDP to other machines': 'limited',
  'connect to other local ports': 'limited',
  // Firewalls do not cover abstract sockets, so only a network namespace can refuse this.
  "connect to the machine's abstract sockets": 'own-network',
  // Namespaces do not separate the kernel's keys, so the system call filter must refuse this.
  "use the kernel's keys": 'always',
  'make sockets that no network namespace holds': 'always',
  'use files that were open when it was started': 'always',
  // A read-only file system does not prevent connections to sockets, so their folders must be hidden.
  'use sockets of daemons in folders that are shown': 'namespaces',
  // A sandbox keeps the runner's groups, but their files and devices are not present in it, so only the agent's own
  // user must refuse this.
  'use rights of groups': 'own-user',
  'gain rights by set-uid programs': 'always',
  'use capabilities': 'always',
  'write to the work tree': 'works',
  'use git in the work tree': 'works',
  'write to its home': 'works',
  'write to /tmp': 'works',
  'reach the broker': 'works',
  'reach the proxy': 'works',
} as const satisfies Readonly<Record<string, Demand>>;

export type AttemptName = keyof typeof DEMANDS;

/** `open`: the attempt succeeded; `closed`: it was refused; `absent`: its object does not exist in this run. */
const attemptResults = ['open', 'closed', 'absent'] as const;

export type AttemptResult = (typeof attemptResults)[number];

/** All attempts, in the order in which they are shown. */
export const attemptNames = Object.keys(DEMANDS) as readonly AttemptName[];

const probeAnswer = z.partialRecord(z.enum(attemptNames), z.enum(attemptResults));

/** The results of the probe; a missing attempt is treated as unproven. */
export type ProbeResults = Readonly<z.infer<typeof probeAnswer>>;

/**
 * Parses the output of a process of the agent's user. Returns null if it is not a probe answer, so that nothing is
 * proven by it.
 */
export function parseProbeAnswer(text: string): ProbeResults | null {
  const parsed = probeAnswer.safeParse(tryJson(text));
  return parsed.success ? parsed.data : null;
}

/** Returns the number of attempts that the level demands, and the failed ones among them. */
export function judgeProbe(
  level: IsolationLevel,
  network: IsolationFacts['network'],
  results: ProbeResults,
): NonNullable<IsolationFacts['probe']> {
  const demanded = attemptNames.filter((name) => findExpectedResult(name, level, network) !== null);
  const failed = demanded.filter((name) => {
    const found = results[name];
    return found !== 'absent' && found !== findExpectedResult(name, level, network);
  });
  return { checks: demanded.length, failed };
}

/** Returns the expected result of an attempt; null if the level does not demand one. */
export function findExpectedResult(
  name: AttemptName,
  level: IsolationLevel,
  network: IsolationFacts['network'],
): Exclude<AttemptResult, 'absent'> | null {
  const demand = DEMANDS[name];
  if (demand === 'works') return 'open';
  return level !== 'none' && isDemanded(demand, level, network) ? 'closed' : null;
}

function isDemanded(
  demand: Exclude<Demand, 'works'>,
  level: Exclude<IsolationLevel, 'none'>,
  network: IsolationFacts['network'],
): boolean {
  switch (demand) {
    case 'always':
      return true;
    case 'namespaces':
      return level !== 'user';
    case 'own-user':
      return level !== 'sandbox';
    case 'limited':
      return network === 'limited';
    case 'own-network':
      return level !== 'user' && network === 'limited';
    case 'never':
      return false;
  }
}

/**
 * Sorts failed attempts by meaning: the agent `can` do what it should not, `cannot` do what it needs, or `unknown` to
 * this version.
 */
export function groupByMeaning(failed: readonly string[]): {
  readonly can: readonly string[];
  readonly cannot: readonly string[];
  readonly unknown: readonly string[];
} {
  const demandOf = (name: string): Demand | null => (isAttemptName(name) ? DEMANDS[name] : null);
  return {
    can: failed.filter((name) => demandOf(name) !== null && demandOf(name) !== 'works'),
    cannot: failed.filter((name) => demandOf(name) === 'works'),
    unknown: failed.filter((name) => demandOf(name) === null),
  };
}

function isAttemptName(name: string): name is AttemptName {
  return Object.hasOwn(DEMANDS, name);
}

/** The values of the input `isolation`; `auto`: the strongest level that works here. */
export const wantedIsolations = ['auto', 'namespace', 'user', 'none'] as const;

export type WantedIsolation = (typeof wantedIsolations)[number];

/** A level that is not available. */
export interface FailedLevel {
  readonly level: Exclude<IsolationLevel, 'none'>;
  /** The reason as a clause, such as `sudo asks for a password`. */
  readonly why: string;
}

/** Returns the levels to try, in this order, before `none`. */
export function listLevelsToTry(wanted: WantedIsolation): readonly FailedLevel['level'][] {
  if (wanted === 'auto') return ['namespace', 'user', 'sandbox'];
  return wanted === 'none' ? [] : [wanted];
}

/** The reason for not using a level that leaves the network open, as a clause. */
export const NO_BOUNDS = 'no firewall can be set up here, so `allowed-hosts` cannot be enforced';

/** The reason for not using a level that keeps local services out of reach, as a clause. */
export const NO_SERVICES = 'it reaches no service on localhost, which `allowed-hosts` names';

/** The decided level; `why` is a sentence for people, or null if the level is the requested one. */
type Settled =
  | { readonly kind: 'settled'; readonly level: IsolationLevel; readonly why: string | null }
  | { readonly kind: 'unusable'; readonly problem: string };

/**
 * Decides the level after the attempts; `reached` is the level that works, null if none does. `mustLimit`: the network
 * must be limited (see `requiresNetworkLimit`), and levels that cannot limit it are among the `failed` ones.
 * `byOutsiders`: people without write permission can cause this event, so `auto` does not fall back to `none`.
 */
export function decideIsolationLevel(
  wanted: WantedIsolation,
  tried: {
    readonly reached: FailedLevel['level'] | null;
    readonly failed: readonly FailedLevel[];
    readonly byOutsiders: boolean;
    readonly mustLimit: boolean;
  },
): Settled {
  const whys = tried.failed.map(({ level, why }) => `\`${level}\`: ${why}`).join('; ');
  if (tried.reached !== null)
    return {
      kind: 'settled',
      level: tried.reached,
      why: tried.failed.length === 0 ? null : `Stronger isolation is not available here (${whys}).`,
    };
  if (wanted === 'none' && tried.mustLimit)
    return {
      kind: 'unusable',
      problem:
        'With `isolation: none` the agent reaches the whole network, so `allowed-hosts` cannot be enforced. Remove `allowed-hosts`, or set `isolation: auto`.',
    };
  if (wanted === 'none') return { kind: 'settled', level: 'none', why: null };
  if (wanted !== 'auto')
    return {
      kind: 'unusable',
      problem: `\`isolation: ${wanted}\` is not available on this runner (${whys}). Use a runner where it is, such as GitHub's Ubuntu runners, or set \`isolation\` to a level that works here.${tried.mustLimit ? OPEN_IT : ''}`,
    };
  if (tried.mustLimit)
    return {
      kind: 'unusable',
      problem: `\`allowed-hosts\` cannot be enforced on this runner, because the isolation that it needs is not available (${whys}). Use a runner with sudo, such as GitHub's Ubuntu runners.${OPEN_IT}`,
    };
  if (tried.byOutsiders)
    return {
      kind: 'unusable',
      problem: `The agent cannot be isolated on this runner (${whys}), and issues and comments may contain text by anyone. Use a runner with sudo, such as GitHub's Ubuntu runners, or accept the risk with \`isolation: none\`.`,
    };
  return { kind: 'settled', level: 'none', why: `No isolation is available here (${whys}).` };
}

const OPEN_IT = ' To leave the network open, set `allowed-hosts: any`.';
