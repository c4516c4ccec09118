import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentName, KEY_VARIABLES } from '../../core/agent-names.ts';
import { describeMissingIsolation } from '../../core/agents/login-term.ts';
import { buildSandboxEnvironment } from '../../core/isolation/environment.ts';
import {
  listAllowedHosts,
  type AllowedHosts,
  requiresNetworkLimit,
  type HostRule,
  findModelHosts,
  listModelHosts,
  nameOfTarget,
  withHosts,
} from '../../core/isolation/hosts.ts';
import {
  type FailedLevel,
  type IsolationFacts,
  listLevelsToTry,
  groupByMeaning,
  NO_BOUNDS,
  NO_SERVICES,
  decideIsolationLevel,
} from '../../core/isolation/probe.ts';
import { isByOutsiders } from '../../core/isolation/outsiders.ts';
import { describeWritableFolders } from '../../core/isolation/program-folders.ts';
import { isWithin } from '../../core/isolation/view.ts';
import { describeRemains } from '../../core/isolation/sandbox-record.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { getErrorMessage, UserError } from '../../errors.ts';
import { createProxyFinder } from '../../github/proxied-fetch.ts';
import type { OpenedAgentSandbox } from '../../isolation/namespaces/open-sandbox.ts';
import type { AgentSandboxOptions } from '../../isolation/namespaces/sandbox-of.ts';
import { isHiddenFolder, buildSandboxOptions, locateRuntimeFolder } from './sandbox-place.ts';
import { withNamedWait } from '../../ports/waits.ts';
import type { World } from '../world.ts';
import { createNoIsolation, type Isolation, type IsolationRemarks, type MeasuredIsolation } from './isolation.ts';
import { ALL_PROVIDERS } from '../agents/providers.ts';

const END_GRACE_MS = 500;
/** Abilities without which a call is wasted. */
const NEEDED: ReadonlySet<string> = new Set(['write to the work tree', 'write to its home', 'reach the broker']);

/**
 * Returns the strongest requested isolation that works here. Throws a UserError if none, before anything is
 * spent.
 */
export async function createIsolation(world: World): Promise<Isolation> {
  const { config, context } = world;
  const { wanted } = config.isolation;
  // Start asking the package managers now, because they are slow; the answers are needed only at the first call.
  const hosts = wanted === 'none' ? null : hostsFor(world);
  hosts?.catch(() => undefined);
  const failed: FailedLevel[] = [];
  const mustLimit = requiresNetworkLimit(config.isolation.hosts);
  let opened: OpenedAgentSandbox | null = null;
  for (const level of listLevelsToTry(wanted)) {
    const tried = await openBounded(world, level, mustLimit).catch((error: unknown) => getErrorMessage(error));
    if (typeof tried !== 'string') {
      opened = tried;
      break;
    }
    failed.push({ level, why: tried });
  }
  const mustIsolate = config.handoff.login.kind !== 'lasting';
  const byOutsiders = !mustIsolate && isByOutsiders(context.event);
  const settled = decideIsolationLevel(wanted, { reached: opened?.level ?? null, failed, byOutsiders, mustLimit });
  if (settled.kind === 'unusable') throw new UserError('configuration', settled.problem);
  if (settled.level === 'none' && mustIsolate)
    throw new UserError('configuration', describeMissingIsolation(settled.why));
  if (settled.why !== null && opened === null) world.log.warning(settled.why);
  const { warnOfCacheSteps } = await import('./cache-steps.ts');
  const about = { why: settled.why, caches: await warnOfCacheSteps(world, settled.level) };
  return opened === null || hosts === null ? createNoIsolation(about) : isolatedIn(world, { opened, hosts, about });
}

const BROKEN_BOUNDS =
  "`allowed-hosts` cannot be enforced on this runner: a firewall for the agent's user could not be set up. No call was made. Use a runner with sudo, such as GitHub's Ubuntu runners, or set `allowed-hosts: any` to leave the network open.";
const OPEN_NETWORK =
  "Nothing limits the agent's network on this runner, because no firewall can be set up for its user. Use a runner where `isolation: namespace` works, such as GitHub's Ubuntu runners, or accept it with `allowed-hosts: any`.";

/**
 * Returns the agent's sandbox, or the reason why it could not be created. Rejects a sandbox with an open network if the
 * network must be limited.
 */
async function openBounded(
  world: World,
  level: FailedLevel['level'],
  mustLimit: boolean,
): Promise<OpenedAgentSandbox | string> {
  const options = buildSandboxOptions(world);
  if (level === 'sandbox' && options.localPorts.length > 0) return NO_SERVICES;
  const opened = await openLevel(world, level, options);
  if (!mustLimit || (await opened.limitNetwork([]))) return opened;
  await opened.close();
  return NO_BOUNDS;
}

async function openLevel(
  world: World,
  level: FailedLevel['level'],
  options: AgentSandboxOptions,
): Promise<OpenedAgentSandbox> {
  if (level !== 'sandbox') {
    const { openAgentSandbox } = await import('../../isolation/namespaces/open-sandbox.ts');
    return await openAgentSandbox(level, options);
  }
  const [{ openRootlessSandbox }, { installSandboxRuntime }] = await Promise.all([
    import('../../isolation/rootless/open-rootless-sandbox.ts'),
    import('../../isolation/rootless/install.ts'),
  ]);
  const { environment, runTag } = world;
  const runtime = (): Promise<string> =>
    installSandboxRuntime({ folder: locateRuntimeFolder(world), environment, runTag });
  return await openRootlessSandbox({ ...options, runtime });
}

async function isolatedIn(
  world: World,
  begun: {
    readonly opened: OpenedAgentSandbox;
    readonly hosts: Promise<AllowedHosts>;
    readonly about: IsolationRemarks;
  },
): Promise<Isolation> {
  const { opened, hosts, about } = begun;
  const { config, context, log } = world;
  const { agentSandbox, level } = opened;
  const options = buildSandboxOptions(world);
  const { createEgress } = await import('../../isolation/egress.ts');
  let allowed: AllowedHosts = { kind: 'listed', hosts: [] };
  let more: readonly HostRule[] = [];
  let never: readonly string[] = [];
  const egress = createEgress({
    get allowed() {
      return allowed;
    },
    get never() {
      return never;
    },
    upstreamFor: await createProxyFinder(),
  });
  const proxyPort = await opened.listen(egress.server);
  let measured: MeasuredIsolation | null = null;

  async function begin(brokerPort: number | null, agents: readonly AgentName[]): Promise<void> {
    never = modelHosts(world, agents);
    const ofModel = findModelHosts(config.isolation.hosts, never).map(nameOfTarget);
    if (ofModel.length > 0)
      log.warning(
        `\`allowed-hosts\` does not open ${listFirstNames(ofModel)} to the agent: it reaches its model only through the action.`,
      );
    allowed = withHosts(await hosts, more);
    const isLimited = await opened.limitNetwork([proxyPort, ...(brokerPort === null ? [] : [brokerPort])]);
    if (!isLimited && requiresNetworkLimit(config.isolation.hosts)) throw new UserError('configuration', BROKEN_BOUNDS);
    if (!isLimited && allowed.kind !== 'any') log.warning(OPEN_NETWORK);
    if (level === 'user') await warnOfOpenPrograms(world);
    const network = !isLimited ? 'open' : allowed.kind === 'any' ? 'any' : 'limited';
    // Take the folder back first: an earlier step may have stored sessions in it.
    await agentSandbox.takeBack(agentSandbox.folders.session);
    for (const name of agents) await mkdir(join(agentSandbox.folders.session, name), { recursive: true });
    await agentSandbox.give(agentSandbox.folders.session);
    const { probeAgentSandbox } = await import('./probe-sandbox.ts');
    const probe = await probeAgentSandbox(world, opened, { brokerPort, proxyPort, network });
    measured = { network, keyHidden: brokerPort !== null, probe, processesLeft: null };
    for (const gap of opened.gaps) log.warning(gap);
    const problem = problemOf(probe);
    if (problem === null) return;
    const { can, cannot } = groupByMeaning(probe?.failed ?? []);
    const { wanted } = config.isolation;
    if (cannot.some((name) => NEEDED.has(name)))
      throw new UserError(
        'infrastructure',
        `The isolated agent cannot work on this runner: ${problem}. No call was made. Use another runner, or set \`isolation\` to a weaker level.`,
      );
    const mustHold = wanted !== 'auto' || isByOutsiders(context.event) || config.handoff.login.kind !== 'lasting';
    if (mustHold && (probe === null || can.length > 0))
      throw new UserError(
        'configuration',
        `The isolation of the agent (\`${level}\`) does not hold on this runner: ${problem}. No call was made. Use another runner, or accept the risk with \`isolation: none\`.`,
      );
    log.warning(`The agent is not isolated as it should be: ${problem}.`);
  }

  return {
    level,
    agentSandbox,
    environmentFor: (given) =>
      buildSandboxEnvironment(given, {
        home: agentSandbox.folders.home,
        proxyPort,
        isVisible: (path) => !isHiddenFolder(path, options),
      }),
    listen: (server) => opened.listen(server),
    allow: (asked) => {
      more = asked;
    },
    begin,
    count: async () => {
      const left = await agentSandbox.end(END_GRACE_MS);
      if (measured !== null) measured = { ...measured, processesLeft: left.length };
      if (left.length === 0) await agentSandbox.takeBack(agentSandbox.folders.session);
    },
    facts: () =>
      measured === null
        ? null
        : {
            level,
            ...about,
            allowedHosts: allowed.kind === 'any' ? 0 : allowed.hosts.length + options.localPorts.length,
            refused: egress.refused(),
            ...measured,
          },
    close: async () => {
      await egress.close();
      return describeRemains(await opened.close());
    },
  };
}

/** Maximum time in ms to ask a package manager for its registry. */
const QUESTION_MS = 3_000;
const MAX_ANSWER_BYTES = 256 * 1024;

/**
 * Returns the hosts that the proxy lets through: those of the inputs, and the registries of this machine's own package
 * managers.
 */
async function hostsFor({ config, environment }: World): Promise<AllowedHosts> {
  const asked = config.isolation.hosts;
  if (asked.kind !== 'registries-and') return listAllowedHosts(asked, []);
  const [{ detectRegistryHosts: registryHosts }, { collectOutput }] = await Promise.all([
    import('../../isolation/registries.ts'),
    import('../../processes/collect-output.ts'),
  ]);
  const kept = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const run = async (file: string, args: readonly string[]): Promise<string | null> => {
    const { end, stdout } = await collectOutput(
      {
        ...{ file, args, environment: agentlessEnvironment(kept), input: '', timeoutMs: QUESTION_MS },
        // Do not run it in the checkout, whose settings belong to the lane.
        cwd: '/',
        family: { kind: 'group', graceMs: 0, leftover: 'end' },
      },
      MAX_ANSWER_BYTES,
    );
    return end.kind === 'exited' && end.code === 0 ? stdout.toString() : null;
  };
  const registries = await withNamedWait('the package managers, to find their registries', () =>
    registryHosts({ environment, run }),
  );
  return listAllowedHosts(asked, registries);
}

/** Warns of writable program folders. Inside namespaces they are read-only anyway. */
async function warnOfOpenPrograms({ environment, context, log }: World): Promise<void> {
  const { findProgramFolders } = await import('../../isolation/program-folders.ts');
  const folders = await findProgramFolders(environment.PATH ?? '');
  // For `verify`, ignore those in the work tree, because its programs come from the clean clone.
  const warning = describeWritableFolders(folders.filter(({ path }) => !isWithin(path, context.workspace)));
  if (warning !== null) log.warning(warning);
}

/** Returns the environment for package managers, without tokens and keys. */
function agentlessEnvironment(entries: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries(
    entries.filter(([name]) => !/TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY$|API_?KEY|^INPUT_|^ACTIONS_/i.test(name)),
  );
}

/** Returns the hosts that only the broker contacts, including configured gateways. */
function modelHosts({ environment }: World, agents: readonly AgentName[]): readonly string[] {
  const bases = Object.entries(environment).filter(([name]) => isProviderAddress(name));
  // An IPv6 address has brackets in a URL, so remove them.
  const ofGateways = bases.map(([, base]) => (URL.parse(base ?? '')?.hostname ?? '').replace(/^\[|\]$/g, ''));
  return [...listModelHosts(agents), ...ofGateways.filter((host) => host !== '')];
}

/**
 * Returns true if a variable seems to contain a provider's address: an agent's variable, or one that begins like a
 * key's.
 */
function isProviderAddress(name: string): boolean {
  const isLikeKey = KEY_VARIABLES.some((key) => key.split('_')[0] === name.split('_')[0]);
  return name.endsWith('_BASE_URL') && (isLikeKey || ALL_PROVIDERS.variables.test(name));
}

/** Returns the problem that the probe found, as a clause, or null if it found none. */
function problemOf(probe: IsolationFacts['probe']): string | null {
  if (probe === null) return 'what it can reach could not be checked from inside the sandbox';
  const { can, cannot, unknown } = groupByMeaning(probe.failed);
  const named = [...can.map((name) => `it can ${name}`), ...cannot.map((name) => `it cannot ${name}`), ...unknown];
  return named.length === 0 ? null : listFirstNames(named);
}
