import { refusedCommands } from '../../agents/rules/shell-rules.ts';
import {
  DEFAULT_AGENT_VERSION,
  DEFAULT_ANSWER_CHECKS,
  DEFAULT_ANSWER_REVIEWS,
  DEFAULT_ALLOWED_TOOLS,
  DEFAULT_BRANCH_PREFIX,
  DEFAULT_MAX_COST_USD,
  DEFAULT_MAX_COST_USD_PER_DAY,
  DEFAULT_MAX_MINUTES,
  DEFAULT_NOTIFY,
  DEFAULT_SOURCES,
  DEFAULT_STATE_STORE,
  DEFAULT_TASK_LABEL,
} from '../../cli/defaults.ts';
import { chooseFrom } from '../../config/agent-inputs.ts';
import { parsePriceLines } from '../../config/price-lines.ts';
import { unpricedModels } from '../agents/prices.ts';
import { loginProblemsOf } from '../agents/providers.ts';
import { INPUT_NAMES, inputProblems } from '../../config/inputs.ts';
import { KEY_INPUTS } from '../../config/key-inputs.ts';
import { renamedTo } from '../../config/renamed.ts';
import type { ActionRules } from '../../core/doctor/facts.ts';
import { EVENTS } from '../../gate/event/event-table.ts';

/** What the checks know of this version of the action. */
export const actionRules: ActionRules = {
  inputs: INPUT_NAMES,
  renamed: renamedTo,
  inputProblems,
  events: EVENTS,
  loginProblems: (environment, inputs) => loginProblemsOf(environment, chooseFrom(inputs).order),
  agents: (inputs) => chooseFrom(inputs).order,
  unpricedModels: (inputs) =>
    unpricedModels(
      chooseFrom(inputs).order,
      parsePriceLines(
        (inputs['prices'] ?? '')
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== ''),
      ).prices,
    ),
  keyInputs: KEY_INPUTS,
  refusedCommands,
  defaults: {
    'task-label': DEFAULT_TASK_LABEL,
    'task-sources': DEFAULT_SOURCES,
    notify: DEFAULT_NOTIFY,
    'state-store': DEFAULT_STATE_STORE,
    'agent-version': DEFAULT_AGENT_VERSION,
    'allowed-tools': DEFAULT_ALLOWED_TOOLS,
    'max-cost-usd': DEFAULT_MAX_COST_USD,
    'max-cost-usd-per-day': DEFAULT_MAX_COST_USD_PER_DAY,
    'max-minutes': DEFAULT_MAX_MINUTES,
    'answer-reviews': DEFAULT_ANSWER_REVIEWS,
    'answer-checks': DEFAULT_ANSWER_CHECKS,
    'branch-prefix': DEFAULT_BRANCH_PREFIX,
  },
};
