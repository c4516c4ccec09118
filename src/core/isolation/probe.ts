import { z } from 'zod';
import { tryJson } from '../text/try-json.ts';

/** How far what runs the lane's code is kept apart from this program, the strongest first. */
const isolationLevels = ['namespace', 'user', 'sandbox', 'none'] as const;

export type IsolationLevel = (typeof isolationLevels)[number];

const MAX_HOSTS = 100;

const MAX_CHECKS = 100;

const name = z.string().max(300);

const count = z.number().int().nonnegative();

/** What was measured of a run's isolation, and nothing that was only planned. */
export const isolationFacts = z.strictObject({
  level: z.enum(isolationLevels),
  /** Why it is not a stronger one, as a sentence; null: it is what was asked for, or the strongest. */
  why: z.string().max(500).nullable(),
  /** What the probe tried from the agent's place, and the names of those checks that are not as they should be; null: it did not run. */
  probe: z.strictObject({ checks: count, failed: z.array(name).max(MAX_CHECKS) }).nullable(),
  /** `limited`: broker and proxy are all that can be reached; `any`: the user opened it; `open`: nothing here can limit it. */
  network: z.enum(['limited', 'any', 'open']),
  /** How many hosts the proxy lets through, and services of this machine can be reached. */
  allowedHosts: count,
  /** `host:port` that the proxy refused → how often; at most 100 of them. */
  refused: z.record(name, count).refine((refused) => Object.keys(refused).length <= MAX_HOSTS),
  /** Whether a broker kept the model key, so that the agent never held it. */
  keyHidden: z.boolean(),
  /** Processes that were left when the last call had ended; null: not counted. */
  processesLeft: count.nullable(),
});

/** See `isolationFacts`. */
export type IsolationFacts = z.infer<typeof isolationFacts>;

/**
 * Where a check must find its try refused: `always`; only in namespaces, a `namespace` or a `sandbox`; only where there is
 * a user of its own, `own-user`; wherever the network is `limited`; only in namespaces whose network is limited,
 * `own-network`; `never`. Or it `works` everywhere.
 */
type Demand = 'always' | 'namespaces' | 'own-user' | 'limited' | 'own-network' | 'never' | 'works';

/** What the probe tries from the agent's place. Each name continues "the agent can …". */
const DEMANDS = {
  "read the action's environment": 'always',
  "read the action's memory map": 'always',
  "read the action's memory": 'always',
  "list the action's open files": 'always',
  'signal the action': 'always',
  "read the action's command line": 'namespaces',
  'become root with sudo': 'always',
  'become root with su': 'always',
  // It gives no rights by itself, only more of the kernel to attack; util-linux alone has no way to forbid it.
  'make a user namespace': 'never',
  "list the runner's home": 'always',
  "list the runner's temporary folder": 'always',
  "use the runner's file commands": 'always',
  // Everybody may write there on GitHub's images: a user of its own changes nothing about that.
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
  // No firewall knows them.
  "connect to the machine's abstract sockets": 'own-network',
  // No namespace keeps them apart.
  "use the kernel's keys": 'always',
  'make sockets that no network namespace holds': 'always',
  'use files that were open when it was started': 'always',
  // A read-only file system does not keep anybody from them.
  'use sockets of daemons in folders that are shown': 'namespaces',
  // In a sandbox they are the runner's own, and what they are good for elsewhere is not there.
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

export type CheckName = keyof typeof DEMANDS;

/** `open`: what was tried worked; `closed`: it was refused; `absent`: this run does not have it. */
const checkResults = ['open', 'closed', 'absent'] as const;

export type CheckResult = (typeof checkResults)[number];

/** Everything that is checked, in the order in which it is shown. */
export const checkNames = Object.keys(DEMANDS) as readonly CheckName[];

const probeAnswer = z.partialRecord(z.enum(checkNames), z.enum(checkResults));

/** What the probe found; what it does not say is not proven. */
export type ProbeResults = Readonly<z.infer<typeof probeAnswer>>;

/** Reads what a process of the agent's user has answered; null: nothing that a probe says, so that nothing is proven. */
export function parseProbeAnswer(text: string): ProbeResults | null {
  const parsed = probeAnswer.safeParse(tryJson(text));
  return parsed.success ? parsed.data : null;
}

/** How many checks count at that level, and which of them are not as they should be. */
export function judgeProbe(
  level: IsolationLevel,
  network: IsolationFacts['network'],
  results: ProbeResults,
): NonNullable<IsolationFacts['probe']> {
  const demanded = checkNames.filter((name) => wantedOf(name, level, network) !== null);
  const failed = demanded.filter((name) => {
    const found = results[name];
    return found !== 'absent' && found !== wantedOf(name, level, network);
  });
  return { checks: demanded.length, failed };
}

/** What a check should find; null: it is not demanded at that level. */
export function wantedOf(
  name: CheckName,
  level: IsolationLevel,
  network: IsolationFacts['network'],
): Exclude<CheckResult, 'absent'> | null {
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

/** The names of failed checks, sorted by what they mean: the agent `can` do what it should not, it `cannot` do what it needs; `unknown`: no check of this version. */
export function meaningOf(failed: readonly string[]): {
  readonly can: readonly string[];
  readonly cannot: readonly string[];
  readonly unknown: readonly string[];
} {
  const demandOf = (name: string): Demand | null => (isCheckName(name) ? DEMANDS[name] : null);
  return {
    can: failed.filter((name) => demandOf(name) !== null && demandOf(name) !== 'works'),
    cannot: failed.filter((name) => demandOf(name) === 'works'),
    unknown: failed.filter((name) => demandOf(name) === null),
  };
}

function isCheckName(name: string): name is CheckName {
  return Object.hasOwn(DEMANDS, name);
}

/** What the user asked for; `auto`: the strongest that works here. */
export const wantedIsolations = ['auto', 'namespace', 'user', 'none'] as const;

export type WantedIsolation = (typeof wantedIsolations)[number];

/** A level that could not be had: `why` as a clause, such as `sudo asks for a password`. */
export interface FailedLevel {
  readonly level: Exclude<IsolationLevel, 'none'>;
  readonly why: string;
}

/** The levels to try, in this order, before there is none. */
export function levelsToTry(wanted: WantedIsolation): readonly FailedLevel['level'][] {
  if (wanted === 'auto') return ['namespace', 'user', 'sandbox'];
  return wanted === 'none' ? [] : [wanted];
}

/** Why a level is not taken that leaves the network open, or does not reach a service, as clauses. */
export const NO_BOUNDS = 'no firewall can be set up here, so `allowed-hosts` cannot be enforced';

export const NO_SERVICES = 'it reaches no service on localhost, which `allowed-hosts` names';

/** `why`: a sentence for people; null: it is what was asked for. */
type Settled =
  | { readonly kind: 'settled'; readonly level: IsolationLevel; readonly why: string | null }
  | { readonly kind: 'unusable'; readonly problem: string };

/**
 * What holds after `failed`, in the order of the tries; `reached`: the level that could be had, null: none of them.
 * `mustLimit`: the network has to be limited, see `asksForBounds`; a level that cannot do it is among the failed ones.
 * `byOutsiders`: people without write permission can bring about events like this run's; it does not fall to `none` unasked.
 */
export function settleLevel(
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
      problem: `\`allowed-hosts\` cannot be enforced on this runner, because the agent cannot be isolated as it needs there (${whys}). Use a runner with sudo, such as GitHub's Ubuntu runners.${OPEN_IT}`,
    };
  if (tried.byOutsiders)
    return {
      kind: 'unusable',
      problem: `The agent cannot be isolated on this runner (${whys}), and issues and comments may contain text by anyone. Use a runner with sudo, such as GitHub's Ubuntu runners, or accept the risk with \`isolation: none\`.`,
    };
  return { kind: 'settled', level: 'none', why: `No isolation is available here (${whys}).` };
}

const OPEN_IT = ' To leave the network open, set `allowed-hosts: any`.';
