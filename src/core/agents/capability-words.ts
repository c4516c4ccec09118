import { CAPABILITIES, type AgentName, type Capabilities } from '../agent-names.ts';

const RULES: Readonly<Record<Capabilities['toolRules'], string | null>> = {
  each: null,
  sandbox: 'has a sandbox instead of rules for single commands',
  none: 'follows no rules of tools',
};

/** What an agent does not offer, as a sentence; null: it offers all. */
export function lackOf(name: AgentName): string | null {
  const { title, resume, tokens, cost, denials, toolRules, turnLimit } = CAPABILITIES[name];
  const lacks = [
    resume ? null : 'continues no conversation',
    tokens ? null : 'tells no tokens',
    cost ? null : 'tells no cost',
    denials ? null : 'reports no refused tools',
    RULES[toolRules],
    turnLimit ? null : 'takes no limit of turns',
  ].filter((lack) => lack !== null);
  const last = lacks.pop();
  if (last === undefined) return null;
  return `${title} ${lacks.length === 0 ? last : `${lacks.join(', ')} and ${last}`}.`;
}
