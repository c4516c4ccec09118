import { CAPABILITIES, type AgentName } from '../../core/agent-names.ts';
import { rulesVerdict, type RulesVerdict } from '../../core/agents/rules-verdict.ts';
import type { AgentStep, Pipeline } from '../../core/pipeline/pipeline.ts';
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
  const verdict = (await verdictsOf(name, level))(config.policy.allowedTools);
  if (verdict.kind === 'refused') throw new UserError('configuration', verdict.text);
  if (verdict.kind === 'said') log.warning(verdict.text);
}

/** The same for the steps of a pipeline that have rules of their own; what was said of `allowed-tools` is not said again. */
export async function checkStepRules(
  { config, log }: Pick<World, 'config' | 'log'>,
  name: AgentName,
  { level, pipeline }: Pick<Isolation, 'level'> & { readonly pipeline: Pick<Pipeline, 'steps'> | null },
): Promise<void> {
  const steps = (pipeline?.steps ?? []).filter(hasOwnRules);
  if (steps.length === 0) return;
  const judge = await verdictsOf(name, level);
  const known = judge(config.policy.allowedTools);
  for (const step of steps) {
    const verdict = judge(step.allowedTools);
    if (verdict.kind === 'fine') continue;
    const text = `Step ${step.name} has rules of its own. ${verdict.text}`;
    if (verdict.kind === 'refused') throw new UserError('configuration', text);
    if (known.kind === 'fine' || known.text !== verdict.text) log.warning(text);
  }
}

function hasOwnRules(
  step: Pipeline['steps'][number],
): step is AgentStep & { readonly allowedTools: readonly string[] } {
  return step.kind === 'agent' && step.allowedTools !== null;
}

async function verdictsOf(
  name: AgentName,
  level: Isolation['level'],
): Promise<(allowedTools: readonly string[]) => RulesVerdict> {
  const { cli } = await ADAPTERS[name].cli();
  return (allowedTools) => rulesVerdict(CAPABILITIES[name].title, cli.rulesGap(allowedTools), level);
}
