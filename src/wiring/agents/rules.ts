import { CAPABILITIES, type AgentName } from '../../core/agent-names.ts';
import { rulesVerdict } from '../../core/agents/rules-verdict.ts';
import { UserError } from '../../errors.ts';
import type { Isolation } from '../isolation/isolation.ts';
import type { World } from '../world.ts';
import { ADAPTERS } from './adapters.ts';

/** Says where an agent's own rules differ from `allowed-tools`; throws a UserError where it could do more, and nothing else would be its limit. */
export async function checkRules(
  { config, log }: Pick<World, 'config' | 'log'>,
  name: AgentName,
  { level }: Pick<Isolation, 'level'>,
): Promise<void> {
  const { cli } = await ADAPTERS[name].cli();
  const verdict = rulesVerdict(CAPABILITIES[name].title, cli.rulesGap(config.policy.allowedTools), level);
  if (verdict.kind === 'refused') throw new UserError('configuration', verdict.text);
  if (verdict.kind === 'said') log.warning(verdict.text);
}
